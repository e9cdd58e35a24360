// std::latch orders what came before its last count down before what follows a wait for it.
//! std: c++20
#include <latch>
#include <thread>
#include "../order.h"

int value;
std::latch latch{1};

int main() {
    std::thread thread([] {
        value = 1;
        latch.count_down();
        dh_done(1);
    });
    latch.wait();
    dh_step(1);
    dh_use(value);
    thread.join();
}
