// A statically linked C++ program is watched too.
//! flags: -static
#include <mutex>
#include <thread>
#include "../order.h"

int value;
std::mutex mutex;

int main() {
    int *number = new int(3);
    std::thread thread([number] {
        {
            std::lock_guard<std::mutex> guard(mutex);
            value = 1;
        }
        *number = 4;
        dh_done(1);
    });
    dh_step(1);
    {
        std::lock_guard<std::mutex> guard(mutex);
        dh_use(value);
    }
    thread.join();
    dh_use(*number);
    delete number;
}
