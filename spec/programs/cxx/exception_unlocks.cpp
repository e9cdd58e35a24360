// An exception that leaves a scope gives back the locks of its guards.
#include <mutex>
#include <thread>
#include "../order.h"

int value;
std::mutex mutex;

static __attribute__((noinline)) void change() {
    std::lock_guard<std::mutex> guard(mutex);
    throw 1;
}

int main() {
    std::thread thread([] {
        try {
            change();
        } catch (int) {
            value = 1; //~ race 1: write
            dh_done(1);
        }
    });
    dh_step(1);
    {
        std::lock_guard<std::mutex> guard(mutex);
        dh_use(value); //~ race 1: read
    }
    thread.join();
}
