// std::condition_variable gives the mutex back while it waits and holds it again afterwards.
#include <condition_variable>
#include <mutex>
#include <thread>
#include "../order.h"

int value;
bool ready;
std::mutex mutex;
std::condition_variable condition;

int main() {
    std::unique_lock<std::mutex> lock(mutex);
    std::thread thread([] {
        {
            std::lock_guard<std::mutex> guard(mutex);
            ready = true;
        }
        condition.notify_all();
        value = 1; //~ race 1: write
        dh_done(1);
    });
    condition.wait(lock, [] { return ready; });
    dh_step(1);
    dh_use(value); //~ race 1: read
    lock.unlock();
    thread.join();
}
