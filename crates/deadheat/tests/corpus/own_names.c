// Functions of a program's own that have names of the C library, which are not the language's. `-DDEFINES` has them.
#ifdef DEFINES
int link(int one, int other) { return one + other; }
int access(long one) { return one != 0; }
int bind(int *one, int other) { return *one + other; }
void *wait(void *one) { return one; }
long times(long one) { return one * 2; }
int open(int one, int other) { return one * other; }
int mkdir(int one, int other) { return one - other; }
#else
#include <pthread.h>
#include <stdio.h>

int link(int, int);
int access(long);
int bind(int *, int);
void *wait(void *);
long times(long);
int open(int, int);
int mkdir(int, int);

static void *work(void *nothing) {
    printf("%d %d %ld %d %d\n", link(1, 7), access(5), times(3), open(2, 3), mkdir(9, 4));
    return wait(nothing);
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, (void *)1);
    int one = 3;
    int sum = bind(&one, 4);
    pthread_join(thread, 0);
    return sum != 7;
}
#endif
