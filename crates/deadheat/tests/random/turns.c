/* What a random program's threads take turns by, and what is known of the heap: not instrumented, so that it orders nothing.
 * The steps that races are told in are printed at the end, one a line. */
#include <sched.h>
#include <stdio.h>

enum { STEPS = 1 << 16, PLACES = 64 };

static int now;
static char told[STEPS];
static void *places[PLACES];

void turn(int step) {
    while (__atomic_load_n(&now, __ATOMIC_SEQ_CST) != step) sched_yield();
}

void done(int step) {
    __atomic_store_n(&now, step + 1, __ATOMIC_SEQ_CST);
}

void *place(int at) {
    return places[at];
}

void put(int at, void *what) {
    places[at] = what;
}

/* The race detector calls it as soon as a race is found. */
void __tsan_on_report(void *report) {
    (void)report;
    told[now % STEPS] = 1;
}

void print_told(void) {
    for (int step = 0; step < STEPS; step++) {
        if (told[step]) printf("%d\n", step);
    }
}
