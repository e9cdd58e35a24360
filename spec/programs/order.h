// Orders the steps of a program by means that no race detector can see.
//
// Invariant: nothing in here calls a hook of the race detector, a function of libc, or anything
// else that is intercepted. The functions are kept whole (never inlined, never analysed from
// outside), carry the attribute that keeps the instrumentation out, touch memory in inline
// assembly alone, and make their system calls themselves. So a program's accesses happen in one
// known order each time, and still nothing has ordered them.
//
// Steps are numbered from 0 to 31. A step that was reached stays reached.
#ifndef DEADHEAT_ORDER_H
#define DEADHEAT_ORDER_H

#if defined(__clang__)
#define DH_HIDDEN static __attribute__((noinline, unused, disable_sanitizer_instrumentation))
#else
#define DH_HIDDEN static __attribute__((noipa, unused, no_sanitize("thread")))
#endif

static int dh_reached[32];
static int dh_threads[32];

#if defined(__x86_64__)
#define DH_FUTEX 202
#define DH_YIELD 24
#define DH_GETTID 186
#define DH_TKILL 200
#define DH_LOAD(into, from) __asm__ volatile("movl %1, %0" : "=r"(into) : "m"(from) : "memory")
#define DH_STORE(to, value) __asm__ volatile("xchgl %0, %1" : "+r"(value), "+m"(to) : : "memory")
#define DH_CALL(result, number, a, b, c)                                                        \
    __asm__ volatile("xorl %%r10d, %%r10d\n\tsyscall"                                           \
                     : "=a"(result)                                                             \
                     : "0"((long)(number)), "D"((long)(a)), "S"((long)(b)), "d"((long)(c))      \
                     : "rcx", "r8", "r9", "r10", "r11", "memory")
#elif defined(__aarch64__)
#define DH_FUTEX 98
#define DH_YIELD 124
#define DH_GETTID 178
#define DH_TKILL 130
#define DH_LOAD(into, from) __asm__ volatile("ldar %w0, %1" : "=r"(into) : "Q"(from) : "memory")
#define DH_STORE(to, value) __asm__ volatile("stlr %w1, %0" : "=Q"(to) : "r"(value) : "memory")
#define DH_CALL(result, number, a, b, c)                                                        \
    do {                                                                                        \
        register long x8_ __asm__("x8") = (long)(number);                                       \
        register long x0_ __asm__("x0") = (long)(a);                                            \
        register long x1_ __asm__("x1") = (long)(b);                                            \
        register long x2_ __asm__("x2") = (long)(c);                                            \
        register long x3_ __asm__("x3") = 0;                                                    \
        __asm__ volatile("svc 0" : "+r"(x0_) : "r"(x8_), "r"(x1_), "r"(x2_), "r"(x3_) : "memory"); \
        (result) = x0_;                                                                         \
    } while (0)
#else
#error "order.h: say how to load, store and call the system on this processor"
#endif

// The kernel's commands: wait while a word has a value, wake all who wait for it.
#define DH_FUTEX_WAIT 0
#define DH_FUTEX_WAKE 1

// Says that step `step` was reached.
DH_HIDDEN void dh_done(int step) {
    int one = 1;
    long result;
    DH_STORE(dh_reached[step], one);
    DH_CALL(result, DH_FUTEX, &dh_reached[step], DH_FUTEX_WAKE, 1 << 30);
    (void)result;
}

// Waits until step `step` was reached.
DH_HIDDEN void dh_step(int step) {
    int reached;
    long result;
    for (;;) {
        DH_LOAD(reached, dh_reached[step]);
        if (reached)
            return;
        DH_CALL(result, DH_FUTEX, &dh_reached[step], DH_FUTEX_WAIT, 0);
        (void)result;
    }
}

// The last thing that a thread does before it ends: step `step` was reached by this thread.
DH_HIDDEN void dh_leave(int step) {
    long self;
    int thread;
    DH_CALL(self, DH_GETTID, 0, 0, 0);
    thread = (int)self;
    DH_STORE(dh_threads[step], thread);
    dh_done(step);
}

// Waits until the thread that called `dh_leave(step)` is gone for the kernel too, so that its
// stack and its id are free for another.
DH_HIDDEN void dh_gone(int step) {
    int thread;
    long result;
    dh_step(step);
    DH_LOAD(thread, dh_threads[step]);
    for (;;) {
        DH_CALL(result, DH_TKILL, thread, 0, 0);
        if (result < 0)
            return;
        DH_CALL(result, DH_YIELD, 0, 0, 0);
    }
}

// Reads a value, and keeps the compiler from seeing that nobody needs it.
#define dh_use(value) __asm__ volatile("" : : "r"(value))

#endif
