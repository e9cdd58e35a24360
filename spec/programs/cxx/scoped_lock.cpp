// std::scoped_lock takes all of its mutexes: who holds any one of them is ordered with it.
#include <mutex>
#include <thread>
#include "../order.h"

int value;
std::mutex one, other, third;

int main() {
    std::thread thread([] {
        std::scoped_lock all(one, other);
        value = 1; //~ race 1: write
        dh_done(1);
    });
    dh_step(1);
    {
        std::scoped_lock some(third);
        dh_use(value); //~ race 1: read
    }
    thread.join();
}
