// A stack on which compare-exchange pushes, and from which all is taken at once.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

struct node { struct node *below; int value; };
struct node nodes[3];
_Atomic(struct node *) top;

static void *pusher(void *nothing) {
    for (int i = 0; i < 3; i++) {
        struct node *seen = atomic_load_explicit(&top, memory_order_relaxed);
        nodes[i].value = i + 1;
        do
            nodes[i].below = seen;
        while (!atomic_compare_exchange_weak_explicit(&top, &seen, &nodes[i], memory_order_release,
                                                      memory_order_relaxed));
    }
    return nothing;
}

int main(void) {
    pthread_t thread;
    int sum = 0;
    pthread_create(&thread, 0, pusher, 0);
    while (sum < 6) {
        struct node *node = atomic_exchange_explicit(&top, NULL, memory_order_acquire);
        if (!node)
            sched_yield();
        for (; node; node = node->below) {
            sum += node->value;
            node->value = 0;
        }
    }
    pthread_join(thread, 0);
    return 0;
}
