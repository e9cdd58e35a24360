// A function of std::call_once that an exception left is called again, behind what it did before; the stack is right for the accesses after it.
#include <mutex>
#include <thread>
#include "../order.h"

int runs, value, other;
std::once_flag once;

static void initialise() {
    if (++runs == 1)
        throw 1;
    value = 1; //~ race 1: write
}

static __attribute__((noinline)) void call() {
    try {
        std::call_once(once, initialise);
    } catch (int) {
    }
}

static __attribute__((noinline)) void set() {
    other = 1; //~ race 2: write in set < first
}

static void first() {
    call();
    set();
    dh_done(1);
}

static void second() {
    dh_step(1);
    call();
    dh_done(2);
}

int main() {
    std::thread threads[] = {std::thread(first), std::thread(second)};
    dh_step(2);
    dh_use(value); //~ race 1: read
    dh_use(other); //~ race 2: read in main
    call();
    for (auto &thread : threads)
        thread.join();
}
