/* The stack need not be executable. */
.section .note.GNU-stack, "", %progbits
