// A std::future that is ready hands over its value and what was written before it was set.
#include <future>
#include <thread>
#include "../order.h"

int value;

int main() {
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::thread thread([&promise] {
        value = 1;
        promise.set_value(3);
        dh_done(1);
    });
    int result = future.get();
    dh_step(1);
    dh_use(value);
    thread.join();
    return result == 3 ? 0 : 1;
}
