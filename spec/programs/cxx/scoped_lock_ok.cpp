// std::scoped_lock takes all of its mutexes: who holds any one of them is ordered with it.
#include <mutex>
#include <thread>
#include "../order.h"

int value;
std::mutex one, other, third;

int main() {
    std::thread thread([] {
        std::scoped_lock all(one, other);
        value = 1;
        dh_done(1);
    });
    dh_step(1);
    {
        std::scoped_lock some(other);
        dh_use(value);
    }
    thread.join();
}
