// std::atomic's wait and notify order by the value that is waited for.
//! std: c++20
#include <atomic>
#include <thread>
#include "../order.h"

int value;
std::atomic<int> stage{0};

int main() {
    std::thread thread([] {
        value = 1;
        stage.store(1, std::memory_order_release);
        stage.notify_one();
        dh_done(1);
    });
    stage.wait(0, std::memory_order_acquire);
    dh_step(1);
    dh_use(value);
    thread.join();
}
