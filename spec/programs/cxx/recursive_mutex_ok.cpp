// A std::recursive_mutex is given back when its last guard goes.
#include <mutex>
#include <thread>
#include "../order.h"

int value;
std::recursive_mutex mutex;

int main() {
    std::thread thread([] {
        {
            std::lock_guard<std::recursive_mutex> outer(mutex);
            { std::lock_guard<std::recursive_mutex> inner(mutex); }
            value = 1;
        }
        dh_done(1);
    });
    dh_step(1);
    std::unique_lock<std::recursive_mutex> lock(mutex);
    dh_use(value);
    lock.unlock();
    thread.join();
}
