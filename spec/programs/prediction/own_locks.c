// Each of two objects has its lock, and both count into one number.
//! told by hb: none
//! told by sync-preserving: 1
//! told by sync-reversal: 1
//! told by shb: none
//! told by lockset: none
//! told by csp: 1
#include <pthread.h>

struct object {
    pthread_mutex_t lock;
    int used;
};

struct object first_object = {PTHREAD_MUTEX_INITIALIZER, 0}, second_object = {PTHREAD_MUTEX_INITIALIZER, 0};
int all_used, line;
pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void use(struct object *object) {
    pthread_mutex_lock(&object->lock);
    object->used++;
    all_used = object->used; //~ race 1: write, race 1: write
    pthread_mutex_unlock(&object->lock);
}

static void *one(void *nothing) {
    use(&first_object);
    pthread_mutex_lock(&log_lock);
    line = 1;
    pthread_mutex_unlock(&log_lock);
    return nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&log_lock);
    line = 2;
    pthread_mutex_unlock(&log_lock);
    use(&second_object);
    return nothing;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, one, 0);
    pthread_create(&second, 0, two, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
