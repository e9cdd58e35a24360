// Who comes through a std::barrier knows what all others did before they arrived, not what they do behind that.
//! std: c++20
#include <barrier>
#include <thread>
#include "../order.h"

int value;
std::barrier<> barrier{2};

int main() {
    std::thread thread([] {
        auto token = barrier.arrive();
        value = 1; //~ race 1: write
        dh_done(1);
        dh_step(2);
        barrier.wait(std::move(token));
    });
    barrier.arrive_and_wait();
    dh_step(1);
    dh_use(value); //~ race 1: read
    dh_done(2);
    thread.join();
}
