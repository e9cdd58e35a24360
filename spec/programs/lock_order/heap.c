// Two mutexes in blocks of the heap that are taken in opposite orders are told by where they were allocated.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

struct account {
    long balance;
    pthread_mutex_t lock;
};

struct account *mine, *yours;

static struct account *open_account(void) {
    struct account *account = malloc(sizeof *account);
    account->balance = 100;
    pthread_mutex_init(&account->lock, 0);
    return account;
}

static void *pay(void *nothing) {
    pthread_mutex_lock(&mine->lock);
    pthread_mutex_lock(&yours->lock); //~ finding 1: lock-order
    mine->balance--, yours->balance++;
    pthread_mutex_unlock(&yours->lock);
    pthread_mutex_unlock(&mine->lock);
    dh_done(1);
    return nothing;
}

static void *pay_back(void *nothing) {
    dh_step(1);
    pthread_mutex_lock(&yours->lock);
    pthread_mutex_lock(&mine->lock); //~ finding 1: lock-order
    mine->balance++, yours->balance--;
    pthread_mutex_unlock(&mine->lock);
    pthread_mutex_unlock(&yours->lock);
    return nothing;
}

int main(void) {
    pthread_t threads[2];
    mine = open_account(), yours = open_account();
    pthread_create(&threads[0], 0, pay, 0);
    pthread_create(&threads[1], 0, pay_back, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
