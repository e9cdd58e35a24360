// A std::unique_lock that could not get its mutex protects nothing.
#include <mutex>
#include <thread>
#include "../order.h"

int value;
std::timed_mutex mutex;

int main() {
    std::thread thread([] {
        std::unique_lock<std::timed_mutex> lock(mutex);
        value = 1; //~ race 1: write
        dh_done(1);
        dh_step(2);
        lock.unlock();
        dh_done(3);
    });
    dh_step(1);
    std::unique_lock<std::timed_mutex> lock(mutex, std::try_to_lock);
    dh_use(value); //~ race 1: read
    dh_done(2);
    dh_step(3);
    bool locked = lock.try_lock();
    lock.unlock();
    thread.join();
    return locked ? 0 : 1;
}
