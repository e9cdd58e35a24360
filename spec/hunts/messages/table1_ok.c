// The size of the paper's Table 1: 4 threads, 700 accesses, 130 calls, 50 conflicting pairs, 3 races.
//
// Every two of the threads share a channel of 7 fields (42 pairs); `stage` and `goal` add 5. Each
// place is passed by one thread alone, with one stack. In each of 8 rounds each thread computes for
// about 62 ms, in registers: 2 s of processor time in all.
#include <pthread.h>
#include "../hunt.h"

#define ROUNDS 8
#define STEPS 2600000

// A channel, its lock, and the functions of the thread that fills it and of the one that empties it.
#define CHANNEL(name)                                                                             \
    struct { pthread_mutex_t lock; int a, b, c, d, e, f, g; } name = {.lock = PTHREAD_MUTEX_INITIALIZER}; \
    WHOLE static void fill_##name(int round) {                                                    \
        pthread_mutex_lock(&name.lock);                                                           \
        name.a = round; APART(); name.b = round; APART(); name.c = round; APART();                \
        name.d = round; APART(); name.e = round; APART(); name.f = round; APART();                \
        name.g = round;                                                                           \
        pthread_mutex_unlock(&name.lock);                                                         \
    }                                                                                             \
    WHOLE static void empty_##name(void) {                                                        \
        pthread_mutex_lock(&name.lock);                                                           \
        USE(name.a); USE(name.b); USE(name.c); USE(name.d); USE(name.e); USE(name.f); USE(name.g); \
        pthread_mutex_unlock(&name.lock);                                                         \
    }

CHANNEL(main_to_1) CHANNEL(main_to_2) CHANNEL(main_to_3) CHANNEL(from_1_to_2) CHANNEL(from_2_to_3) CHANNEL(from_3_to_1)

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int stage, goal, progress, found, best;

// A chain of divisions: each waits for the one before, so that it lasts as long at -O0 as at -O2.
WHOLE static void compute(double x) {
    for (int step = 0; step < STEPS; step++)
        x = 1.5 / (0.5 + 1.5 / (0.5 + 1.5 / (0.5 + 1.5 / (0.5 + x))));
    USE((long)x);
}

static void *first(void *nothing) {
    for (int round = 0; round < ROUNDS; round++) {
        compute(round);
        empty_main_to_1();
        pthread_mutex_lock(&lock);
        progress = round;
        pthread_mutex_unlock(&lock);
        fill_from_1_to_2(round);
        empty_from_3_to_1();
    }
    pthread_mutex_lock(&lock);
    goal = 1;
    USE(stage);
    pthread_mutex_unlock(&lock);
    return nothing;
}

static void *second(void *nothing) {
    for (int round = 0; round < ROUNDS; round++) {
        compute(round);
        empty_main_to_2();
        empty_from_1_to_2();
        if (round == 2) {
            pthread_mutex_lock(&lock);
            found = 1;
            pthread_mutex_unlock(&lock);
        }
        fill_from_2_to_3(round);
    }
    pthread_mutex_lock(&lock);
    USE(goal);
    USE(stage);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    best = 2;
    pthread_mutex_unlock(&lock);
    return nothing;
}

static void *third(void *nothing) {
    for (int round = 0; round < ROUNDS; round++) {
        compute(round);
        empty_main_to_3();
        empty_from_2_to_3();
        fill_from_3_to_1(round);
        if (round == 5) {
            pthread_mutex_lock(&lock);
            USE(found);
            pthread_mutex_unlock(&lock);
        }
    }
    pthread_mutex_lock(&lock);
    USE(goal);
    USE(stage);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    best = 3;
    pthread_mutex_unlock(&lock);
    return nothing;
}

int main(void) {
    void *(*const roles[])(void *) = {first, second, third};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, roles[i], 0);
    for (int round = 0; round < ROUNDS; round++) {
        compute(round);
        fill_main_to_1(round);
        fill_main_to_2(round);
        fill_main_to_3(round);
        pthread_mutex_lock(&lock);
        USE(progress);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    stage = 1;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return 0;
}
