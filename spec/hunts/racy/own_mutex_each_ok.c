// Each object's mutex protects the object; the sum over all objects has none.
#include <pthread.h>
#include "../hunt.h"

struct account { pthread_mutex_t mutex; int balance; };
struct account accounts[2] = {{PTHREAD_MUTEX_INITIALIZER, 0}, {PTHREAD_MUTEX_INITIALIZER, 0}};
int sum;
pthread_mutex_t sum_mutex = PTHREAD_MUTEX_INITIALIZER;

WHOLE static int more(int number) {
    return number + 10;
}

static void *deposit(void *argument) {
    struct account *account = argument;
    pthread_mutex_lock(&account->mutex);
    account->balance = 10;
    pthread_mutex_lock(&sum_mutex);
    sum = more(sum);
    pthread_mutex_unlock(&sum_mutex);
    pthread_mutex_unlock(&account->mutex);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, deposit, &accounts[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
