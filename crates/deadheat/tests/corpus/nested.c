// Locks of one heap block are held together while one more is asked for; something is told in the end.
#include <pthread.h>
#include <stdlib.h>

struct account { pthread_mutex_t first, second, third; } *account;
int value;

static void *store(void *nothing) {
    value = 1;
    return nothing;
}

int main(void) {
    pthread_t threads[2];
    account = malloc(sizeof *account);
    pthread_mutex_init(&account->first, 0);
    pthread_mutex_init(&account->second, 0);
    pthread_mutex_init(&account->third, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, store, 0);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&account->first);
        pthread_mutex_lock(&account->second);
        pthread_mutex_lock(&account->third);
        pthread_mutex_unlock(&account->third);
        pthread_mutex_unlock(&account->second);
        pthread_mutex_unlock(&account->first);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
