// A thread_local object is constructed for each thread that uses it, and belongs to that one.
#include <thread>
#include "../order.h"

struct Cache {
    int hits;
    Cache() : hits(1) {}
    ~Cache() { hits = 0; }
};

int total;
thread_local Cache cache;

static void use() {
    cache.hits = cache.hits + 1;
}

int main() {
    std::thread thread([] {
        use();
        total = cache.hits;
        dh_done(1);
    });
    use();
    dh_step(1);
    thread.join();
    total = cache.hits;
    return total == 2 ? 0 : 1;
}
