// An exception past instrumented frames leaves the stack right for the accesses after it.
#include <stdexcept>
#include <thread>
#include "../order.h"

int value;

static __attribute__((noinline)) void deepest(int depth) {
    if (depth == 0)
        throw std::runtime_error("far enough");
    deepest(depth - 1);
    dh_use(depth);
}

static __attribute__((noinline)) void set() {
    value = 1; //~ race 1: write in set < worker
}

static void worker() {
    try {
        deepest(20);
    } catch (const std::runtime_error &) {
        set();
    }
    dh_done(1);
}

int main() {
    std::thread thread(worker);
    dh_step(1);
    dh_use(value); //~ race 1: read in main
    thread.join();
}
