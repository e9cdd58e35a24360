// std::async runs a task in a thread of its own, and get comes after it.
#include <future>
#include "../order.h"

int value;

int main() {
    std::future<int> future = std::async(std::launch::async, [] {
        value = 1; //~ race 1: write
        dh_done(1);
        return 3;
    });
    dh_step(1);
    dh_use(value); //~ race 1: read
    int result = future.get();
    return result == 3 ? 0 : 1;
}
