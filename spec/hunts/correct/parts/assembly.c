// A lock that exchanges one word by an instruction of its own, not instrumented.
#include <sched.h>

void assembly_lock(void);
void assembly_unlock(void);

static int taken;

static int exchange(int value) {
#if defined(__x86_64__)
    __asm__ volatile("xchgl %0, %1" : "+r"(value), "+m"(taken) : : "memory");
    return value;
#else
    return __atomic_exchange_n(&taken, value, __ATOMIC_SEQ_CST);
#endif
}

void assembly_lock(void) {
    while (exchange(1))
        sched_yield();
}

void assembly_unlock(void) {
    exchange(0);
}
