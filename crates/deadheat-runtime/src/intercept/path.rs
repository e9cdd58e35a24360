//! Names of files: they are read.

use core::ffi::{c_char, c_int, c_uint, c_void};

use super::touch::{read_path, read_text};

functions! {
    dh_wrap_unlink / unlink "unlink" (path: *const c_char) -> c_int, pc, before read_path(pc, path), after _got ();
    dh_wrap_rmdir / rmdir "rmdir" (path: *const c_char) -> c_int, pc, before read_path(pc, path), after _got ();
    dh_wrap_chdir / chdir "chdir" (path: *const c_char) -> c_int, pc, before read_path(pc, path), after _got ();
    dh_wrap_remove / remove "remove" (path: *const c_char) -> c_int, pc, before read_path(pc, path), after _got ();
    dh_wrap_system / system "system" (command: *const c_char) -> c_int, pc, before read_text(pc, command), after _got ();
    dh_wrap_access / access "access" (path: *const c_char, mode: c_uint) -> c_int, pc, before read_path(pc, path), after _got ();
    dh_wrap_mkdir / mkdir "mkdir" (path: *const c_char, mode: c_uint) -> c_int, pc, before read_path(pc, path), after _got ();
    dh_wrap_chmod / chmod "chmod" (path: *const c_char, mode: c_uint) -> c_int, pc, before read_path(pc, path), after _got ();
    dh_wrap_mkfifo / mkfifo "mkfifo" (path: *const c_char, mode: c_uint) -> c_int, pc, before read_path(pc, path), after _got ();
    dh_wrap_truncate / truncate "truncate" (path: *const c_char, len: i64) -> c_int, pc, before read_path(pc, path), after _got ();
    dh_wrap_chown / chown "chown" (path: *const c_char, user: c_uint, group: c_uint) -> c_int, pc, before read_path(pc, path), after _got ();
    dh_wrap_rename / rename "rename" (from: *const c_char, to: *const c_char) -> c_int, pc, before { read_path(pc, from); read_path(pc, to); }, after _got ();
    dh_wrap_link / link "link" (from: *const c_char, to: *const c_char) -> c_int, pc, before { read_path(pc, from); read_path(pc, to); }, after _got ();
    dh_wrap_symlink / symlink "symlink" (from: *const c_char, to: *const c_char) -> c_int, pc, before { read_path(pc, from); read_path(pc, to); }, after _got ();
    dh_wrap_unlinkat / unlinkat "unlinkat" (folder: c_int, path: *const c_char, flags: c_int) -> c_int, pc, before read_path(pc, path), after _got ();
    dh_wrap_mkdirat / mkdirat "mkdirat" (folder: c_int, path: *const c_char, mode: c_uint) -> c_int, pc, before read_path(pc, path), after _got ();
    dh_wrap_faccessat / faccessat "faccessat" (folder: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int, pc, before read_path(pc, path), after _got ();
    dh_wrap_renameat / renameat "renameat" (folder: c_int, from: *const c_char, other: c_int, to: *const c_char) -> c_int, pc, before { read_path(pc, from); read_path(pc, to); }, after _got ();
    dh_wrap_opendir / opendir "opendir" (path: *const c_char) -> *mut c_void, pc, before read_path(pc, path), after _got ();
    dh_wrap_popen / popen "popen" (command: *const c_char, how: *const c_char) -> *mut c_void, pc, before { read_text(pc, command); read_text(pc, how); }, after _got ();
    dh_wrap_perror / perror "perror" (text: *const c_char) -> (), pc, before read_text(pc, text), after _got ();
}
