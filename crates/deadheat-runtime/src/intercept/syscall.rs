//! What a program announces that makes system calls without the C library (`sanitizer/linux_syscall_hooks.h`).
//!
//! As the interceptors of the same calls: what goes in is released before the call, what comes out acquired after it.
//! A call that is not listed by its name here is let pass: it shows nothing but its own structures.

use core::ffi::{c_int, c_long, c_void};

use super::descriptor::{acquire, closing, release, used};
use super::file::{Part, both_made, each_part};
use super::touch::{asked_to_read, system_reads, system_writes};
use crate::cold::{fork, start};

shim!(__sanitizer_syscall_pre_impl_write, "rcx", on_write);
shim!(__sanitizer_syscall_pre_impl_send, "rcx", on_write);
shim!(__sanitizer_syscall_pre_impl_sendto, "rcx", on_write);
shim!(__sanitizer_syscall_pre_impl_writev, "rcx", on_write_parts);
shim!(__sanitizer_syscall_post_impl_read, "r8", on_read);
shim!(__sanitizer_syscall_post_impl_recv, "r8", on_read);
shim!(__sanitizer_syscall_post_impl_recvfrom, "r8", on_read);
shim!(__sanitizer_syscall_post_impl_readv, "r8", on_read_parts);
shim!(__sanitizer_syscall_post_impl_pread64, "r8", on_read_at);
shim!(__sanitizer_syscall_post_impl_pwrite64, "r8", on_written_at);
shim!(__sanitizer_syscall_post_impl_preadv, "r8", on_read_parts_at);
shim!(__sanitizer_syscall_post_impl_pwritev, "r8", on_written_parts_at);
shim!(__sanitizer_syscall_pre_impl_close, "rsi", on_close);
shim!(__sanitizer_syscall_post_impl_pipe, "rdx", on_pipe);
shim!(__sanitizer_syscall_post_impl_pipe2, "rdx", on_pipe);
shim!(__sanitizer_syscall_pre_impl_fork, "rdi", on_fork);
shim!(__sanitizer_syscall_post_impl_fork, "rsi", on_forked);

/// Names of calls before and after which nothing is done.
macro_rules! let_pass {
    ([$($before:ident)*] [$($after:ident)*] $($both:ident)*) => {
        #[cfg(deadheat_object)]
        core::arch::global_asm!(
            $(concat!(".globl __sanitizer_syscall_pre_impl_", stringify!($before)),
              concat!("__sanitizer_syscall_pre_impl_", stringify!($before), ":"),)*
            $(concat!(".globl __sanitizer_syscall_post_impl_", stringify!($after)),
              concat!("__sanitizer_syscall_post_impl_", stringify!($after), ":"),)*
            $(concat!(".globl __sanitizer_syscall_pre_impl_", stringify!($both)),
              concat!("__sanitizer_syscall_pre_impl_", stringify!($both), ":"),
              concat!(".globl __sanitizer_syscall_post_impl_", stringify!($both)),
              concat!("__sanitizer_syscall_post_impl_", stringify!($both), ":"),)*
            "ret",
        );
    };
}

let_pass! {
    [read recv recvfrom readv pread64 pwrite64 preadv pwritev pipe pipe2]
    [write send sendto writev close]
    accept accept4 access acct add_key adjtimex alarm bdflush bind brk capget capset chdir chmod chown chown16
    chroot clock_adjtime clock_getres clock_gettime clock_nanosleep clock_settime connect creat delete_module
    dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 exit
    exit_group faccessat fanotify_init fanotify_mark fchdir fchmod fchmodat fchown fchown16 fchownat fcntl
    fcntl64 fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat fstat64 fstatat64 fstatfs
    fstatfs64 fsync ftruncate futex futimesat get_mempolicy get_robust_list getcpu getcwd getdents getdents64
    getegid getegid16 geteuid geteuid16 getgid getgid16 getgroups getgroups16 gethostname getitimer getpeername
    getpgid getpgrp getpid getppid getpriority getresgid getresgid16 getresuid getresuid16 getrlimit getrusage
    getsid getsockname getsockopt gettid gettimeofday getuid getuid16 getxattr init_module inotify_add_watch
    inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_setup io_submit ioctl
    ioperm ioprio_get ioprio_set ipc kexec_load keyctl kill lchown lchown16 lgetxattr link linkat listen
    listxattr llistxattr llseek lookup_dcookie lremovexattr lseek lsetxattr lstat lstat64 madvise mbind
    migrate_pages mincore mkdir mkdirat mknod mknodat mlock mlockall mmap_pgoff mount move_pages mprotect
    mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink mremap msgctl msgget msgrcv msgsnd
    msync munlock munlockall munmap name_to_handle_at nanosleep newfstat newfstatat newlstat newstat newuname
    ni_syscall nice old_getrlimit old_mmap old_readdir old_select oldumount olduname open open_by_handle_at
    openat pause pciconfig_iobase pciconfig_read pciconfig_write perf_event_open personality pivot_root poll
    ppoll prlimit64 process_vm_readv process_vm_writev pselect6 ptrace quotactl readlink readlinkat reboot
    recvmmsg recvmsg remap_file_pages removexattr rename renameat request_key restart_syscall rmdir rt_sigaction
    rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max
    sched_get_priority_min sched_getaffinity sched_getparam sched_getscheduler sched_rr_get_interval
    sched_setaffinity sched_setparam sched_setscheduler sched_yield select semctl semget semop semtimedop
    sendfile sendfile64 sendmmsg sendmsg set_mempolicy set_robust_list set_tid_address setdomainname setfsgid
    setfsgid16 setfsuid setfsuid16 setgid setgid16 setgroups setgroups16 sethostname setitimer setns setpgid
    setpriority setregid setregid16 setresgid setresgid16 setresuid setresuid16 setreuid setreuid16 setrlimit
    setsid setsockopt settimeofday setuid setuid16 setxattr sgetmask shmat shmctl shmdt shmget shutdown
    sigaction sigaltstack signal signalfd signalfd4 sigpending sigprocmask socket socketcall socketpair splice
    spu_create spu_run ssetmask stat stat64 statfs statfs64 stime swapoff swapon symlink symlinkat sync syncfs
    sysctl sysfs sysinfo syslog tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime
    timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill truncate umask umount uname unlink
    unlinkat unshare uselib ustat utime utimensat utimes vfork vhangup vmsplice wait4 waitid waitpid
}

unsafe extern "C" fn on_write(file: c_long, from: *const c_void, len: usize, pc: usize) {
    if start::recording() {
        let reads = || asked_to_read(pc, from, len);
        if !release(pc, file as c_int, reads) {
            reads();
        }
    }
}

unsafe extern "C" fn on_write_parts(file: c_long, parts: *const Part, count: usize, pc: usize) {
    if start::recording() {
        // SAFETY: the program has so many parts.
        let reads =
            || unsafe { each_part(parts, count, isize::MAX, |from, len| system_reads(pc, from, len)) };
        if !release(pc, file as c_int, reads) {
            reads();
        }
    }
}

unsafe extern "C" fn on_read(got: c_long, file: c_long, to: *mut c_void, len: usize, pc: usize) {
    if got >= 0 && start::recording() {
        acquire(pc, file as c_int);
        system_writes(pc, to, (got as usize).min(len));
    }
}

unsafe extern "C" fn on_read_parts(got: c_long, file: c_long, parts: *const Part, count: usize, pc: usize) {
    if got >= 0 && start::recording() {
        acquire(pc, file as c_int);
        // SAFETY: the program has so many parts.
        unsafe { each_part(parts, count, got as isize, |to, len| system_writes(pc, to, len)) };
    }
}

unsafe extern "C" fn on_read_at(got: c_long, file: c_long, to: *mut c_void, len: usize, pc: usize) {
    if got > 0 && start::recording() {
        used(pc, file as c_int);
        system_writes(pc, to, (got as usize).min(len));
    }
}

unsafe extern "C" fn on_written_at(put: c_long, file: c_long, from: *const c_void, len: usize, pc: usize) {
    if put > 0 && start::recording() {
        used(pc, file as c_int);
        system_reads(pc, from, (put as usize).min(len));
    }
}

unsafe extern "C" fn on_read_parts_at(
    got: c_long,
    file: c_long,
    parts: *const Part,
    count: usize,
    pc: usize,
) {
    if start::recording() {
        used(pc, file as c_int);
        // SAFETY: the program has so many parts.
        unsafe { each_part(parts, count, got as isize, |to, len| system_writes(pc, to, len)) };
    }
}

unsafe extern "C" fn on_written_parts_at(
    put: c_long,
    file: c_long,
    parts: *const Part,
    count: usize,
    pc: usize,
) {
    if start::recording() {
        used(pc, file as c_int);
        // SAFETY: the program has so many parts.
        unsafe { each_part(parts, count, put as isize, |from, len| system_reads(pc, from, len)) };
    }
}

unsafe extern "C" fn on_close(file: c_long, pc: usize) {
    closing(pc, file as c_int);
}

unsafe extern "C" fn on_pipe(result: c_long, ends: *const [c_int; 2], pc: usize) {
    if result == 0 && start::recording() {
        both_made(pc, ends);
    }
}

unsafe extern "C" fn on_fork(_pc: usize) {
    fork::before_bare();
}

unsafe extern "C" fn on_forked(child: c_long, _pc: usize) {
    fork::after_bare(child == 0);
}
