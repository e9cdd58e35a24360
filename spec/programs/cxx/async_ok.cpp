// std::async runs a task in a thread of its own, and get comes after it.
#include <future>
#include "../order.h"

int value;

int main() {
    std::future<int> future = std::async(std::launch::async, [] {
        value = 1;
        dh_done(1);
        return 3;
    });
    dh_step(1);
    int result = future.get();
    dh_use(value);
    return result == 3 ? 0 : 1;
}
