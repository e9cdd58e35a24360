// An exception that leaves a scope gives back the locks of its guards.
#include <mutex>
#include <thread>
#include "../order.h"

int value;
std::mutex mutex;

static __attribute__((noinline)) void change() {
    std::lock_guard<std::mutex> guard(mutex);
    value = 1;
    throw 1;
}

int main() {
    std::thread thread([] {
        try {
            change();
        } catch (int) {
            dh_done(1);
        }
    });
    dh_step(1);
    {
        std::lock_guard<std::mutex> guard(mutex);
        dh_use(value);
    }
    thread.join();
}
