//! Code address to function, file and line, outside the program under test.
