/* Makes the demonstration happen in the same order each time: report() comes after the worker's
   last put(). It does so behind the back of the race detector, in code without instrumentation,
   and does not order anything by the rules of C. */
#if defined(__clang__)
#define HIDDEN static __attribute__((noinline, disable_sanitizer_instrumentation))
#else
#define HIDDEN static __attribute__((noipa, no_sanitize("thread")))
#endif

static int is_done;

HIDDEN void done(void) {
    int one = 1;
    __asm__ volatile("xchgl %0, %1" : "+r"(one), "+m"(is_done) : : "memory");
}

HIDDEN void wait_until_done(void) {
    int seen;
    do
        __asm__ volatile("pause\n\tmovl %1, %0" : "=r"(seen) : "m"(is_done) : "memory");
    while (!seen);
}
