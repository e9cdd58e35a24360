//! Copies and fills that the compiler made calls of (clang and rustc).

use crate::intercept::memory::{on_memcpy, on_memmove, on_memset};

shim!(__tsan_memcpy, "rcx", on_memcpy);
shim!(__tsan_memmove, "rcx", on_memmove);
shim!(__tsan_memset, "rcx", on_memset);
