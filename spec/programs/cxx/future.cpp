// A std::future that is ready hands over its value and what was written before it was set.
#include <future>
#include <thread>
#include "../order.h"

int value;

int main() {
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::thread thread([&promise] {
        promise.set_value(3);
        value = 1; //~ race 1: write
        dh_done(1);
    });
    int result = future.get();
    dh_step(1);
    dh_use(value); //~ race 1: read
    thread.join();
    return result == 3 ? 0 : 1;
}
