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
        *number = 4; //~ race 1: write
        dh_done(1);
    });
    dh_step(1);
    {
        std::lock_guard<std::mutex> guard(mutex);
        dh_use(value);
    }
    dh_use(*number); //~ race 1: read
    thread.join();
    delete number;
}
