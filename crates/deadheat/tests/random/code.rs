//! A program as C: each step at a place of its own, in its turn.

use std::fmt::Write;

use crate::program::{ATOMICS, Access, BLOCKS, How, MUTEXES, Part, Program, RW_LOCKS, What};

const HEAD: &str = "\
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void turn(int step);
void done(int step);
void *place(int at);
void put(int at, void *what);
void print_told(void);

typedef long long wide __attribute__((vector_size(16), aligned(8)));
typedef long long odd_wide __attribute__((vector_size(16), aligned(1)));
typedef uint16_t odd_2 __attribute__((aligned(1)));
typedef uint32_t odd_4 __attribute__((aligned(1)));
typedef uint64_t odd_8 __attribute__((aligned(1)));

static __thread char own[4096];
static __thread volatile uint64_t sink;
";

/// Text that is known to be written.
macro_rules! add {
    ($text:expr, $($what:tt)*) => { writeln!($text, $($what)*).expect("a string takes all") };
}

/// The program as C, and the line of each step.
pub(crate) fn code(program: &Program) -> (String, Vec<u64>) {
    let mut text = HEAD.to_owned();
    let mut lines = vec![0; program.steps.len()];
    add!(text, "__attribute__((aligned(4096))) char memory[{}];", program.size + 64);
    add!(text, "static pthread_mutex_t mutexes[] = {{{}}};", "PTHREAD_MUTEX_INITIALIZER, ".repeat(MUTEXES));
    add!(
        text,
        "static pthread_rwlock_t rw_locks[] = {{{}}};",
        "PTHREAD_RWLOCK_INITIALIZER, ".repeat(RW_LOCKS)
    );
    // Each in a line of the caches for itself.
    add!(text, "__attribute__((aligned(64))) volatile char atomics[{}];", ATOMICS * 64);
    (0..program.threads).for_each(|thread| add!(text, "static void *thread_{thread}(void *);"));
    for thread in 0..program.threads {
        add!(text, "static void *thread_{thread}(void *nothing) {{");
        for (at, step) in program.steps.iter().enumerate().filter(|(_, step)| step.thread == thread) {
            add!(text, "    turn({at});");
            lines[at] = text.lines().count() as u64 + 1;
            add!(text, "    {}", statement(step.what));
            add!(text, "    done({at});");
        }
        add!(text, "    return nothing;\n}}");
    }
    add!(text, "int main(void) {{\n    pthread_t threads[{}];", program.first);
    let each = |text: &mut String, what: &dyn Fn(usize) -> String| {
        (0..program.first).for_each(|thread| add!(text, "    {}", what(thread)));
    };
    each(&mut text, &|thread| format!("pthread_create(&threads[{thread}], NULL, thread_{thread}, NULL);"));
    each(&mut text, &|thread| format!("pthread_join(threads[{thread}], NULL);"));
    add!(text, "    turn({});\n    print_told();\n    return 0;\n}}", program.steps.len());
    (text, lines)
}

fn statement(what: What) -> String {
    match what {
        What::Lock(at) => format!("pthread_mutex_lock(&mutexes[{at}]);"),
        What::Unlock(at) => format!("pthread_mutex_unlock(&mutexes[{at}]);"),
        What::ReadLock(at) => format!("pthread_rwlock_rdlock(&rw_locks[{at}]);"),
        What::WriteLock(at) => format!("pthread_rwlock_wrlock(&rw_locks[{at}]);"),
        What::RwUnlock(at, _) => format!("pthread_rwlock_unlock(&rw_locks[{at}]);"),
        What::Acquire(part) => format!("(void)__atomic_load_n({}, __ATOMIC_ACQUIRE);", place(part)),
        What::Release(part) => format!("__atomic_store_n({}, 1, __ATOMIC_RELEASE);", place(part)),
        What::Exchange(part) => {
            format!("(void)__atomic_exchange_n({}, 1, __ATOMIC_ACQ_REL);", place(part))
        }
        What::Store(part) => format!("__atomic_store_n({}, 1, __ATOMIC_RELAXED);", place(part)),
        What::Pass(part) => format!("(void)__atomic_exchange_n({}, 1, __ATOMIC_RELAXED);", place(part)),
        What::Look(part) => format!("(void)__atomic_load_n({}, __ATOMIC_RELAXED);", place(part)),
        What::AcquireFence => "atomic_thread_fence(memory_order_acquire);".to_owned(),
        What::ReleaseFence => "atomic_thread_fence(memory_order_release);".to_owned(),
        What::Create(child) => {
            let kept = format!("put({}, (void *)child);", BLOCKS + child);
            format!("{{ pthread_t child; pthread_create(&child, NULL, thread_{child}, NULL); {kept} }}")
        }
        // It is the thread's last step.
        What::End => String::new(),
        What::Join(child) => format!("pthread_join((pthread_t)place({}), NULL);", BLOCKS + child),
        What::Allocate(block, size) => format!("put({block}, malloc({size}));"),
        What::Free(block, _) => format!("free(place({block}));"),
        What::Access(access) => made(access),
    }
}

/// Where a part of an atomic is.
fn place(Part { atomic, offset, size }: Part) -> String {
    let kind = if size == 16 { "unsigned __int128".to_owned() } else { format!("uint{}_t", size * 8) };
    format!("(volatile {kind} *)(atomics + {})", atomic * 64 + offset)
}

/// The statement of an access.
fn made(Access { block, writes, offset, size, how }: Access) -> String {
    let from = match block {
        None => format!("(memory + {offset})"),
        Some(block) => format!("((char *)place({block}) + {offset})"),
    };
    match (how, writes) {
        (How::Range(0), true) => format!("memcpy({from}, own, {size});"),
        (How::Range(1), true) => format!("memmove({from}, own, {size});"),
        (How::Range(_), true) => format!("memset({from}, 7, {size});"),
        (How::Range(0), false) => format!("memcpy(own, {from}, {size});"),
        (How::Range(1), false) => format!("memmove(own, {from}, {size});"),
        (How::Range(_), false) => format!("memcpy(own + 1, {from}, {size});"),
        (How::Atomic, true) => {
            let kind = size * 8;
            format!("atomic_store_explicit((_Atomic uint{kind}_t *){from}, 1, memory_order_relaxed);")
        }
        (How::Atomic, false) => {
            let kind = size * 8;
            format!("(void)atomic_load_explicit((_Atomic uint{kind}_t *){from}, memory_order_relaxed);")
        }
        (How::Plain, _) => {
            let kind = match (size, offset % size.min(8) == 0) {
                (16, true) => "wide".to_owned(),
                (16, false) => "odd_wide".to_owned(),
                (1, _) | (_, true) => format!("uint{}_t", size * 8),
                _ => format!("odd_{size}"),
            };
            match (writes, size) {
                (true, 16) => format!("*(volatile {kind} *){from} = (wide){{1, 2}};"),
                (true, _) => format!("*(volatile {kind} *){from} = 1;"),
                (false, 16) => format!("{{ wide was = *(volatile {kind} *){from}; sink = was[0]; }}"),
                (false, _) => format!("(void)*(volatile {kind} *){from};"),
            }
        }
    }
}
