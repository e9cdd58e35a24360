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
            std::unique_lock<std::shared_mutex> lock(mutex);
            value = 1;
        }
        dh_done(1);
    });
    dh_step(1);
    {
        std::shared_lock<std::shared_mutex> lock(mutex);
        dh_use(value);
    }
    thread.join();
}
