// std::atomic publishes what came before its release store, to whoever loads it with acquire.
#include <atomic>
#include <thread>
#include "../order.h"

int value;
std::atomic<bool> ready{false};

int main() {
    std::thread thread([] {
        value = 1;
        ready.store(true, std::memory_order_release);
        dh_done(1);
    });
    dh_step(1);
    while (!ready.load(std::memory_order_acquire))
        continue;
    dh_use(value);
    thread.join();
}
