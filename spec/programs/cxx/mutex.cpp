// A std::lock_guard holds its mutex until its scope ends, and no longer.
#include <mutex>
#include <thread>
#include "../order.h"

int value;
std::mutex mutex;

int main() {
    std::thread thread([] {
        {
            std::lock_guard<std::mutex> guard(mutex);
        }
        value = 1; //~ race 1: write
        dh_done(1);
    });
    dh_step(1);
    {
        std::lock_guard<std::mutex> guard(mutex);
        dh_use(value); //~ race 1: read
    }
    thread.join();
}
