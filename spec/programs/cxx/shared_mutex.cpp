// Who holds a std::shared_mutex shared may read, but not write.
#include <mutex>
#include <shared_mutex>
#include <thread>
#include "../order.h"

int value;
std::shared_mutex mutex;

int main() {
    std::thread thread([] {
        {
            std::shared_lock<std::shared_mutex> lock(mutex);
            value = 1; //~ race 1: write
        }
        dh_done(1);
    });
    dh_step(1);
    {
        std::shared_lock<std::shared_mutex> lock(mutex);
        dh_use(value); //~ race 1: read
    }
    thread.join();
}
