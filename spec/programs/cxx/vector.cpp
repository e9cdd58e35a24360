// A std::vector that grows frees its old elements under whoever still reads them.
#include <thread>
#include <vector>
#include "../order.h"

int main() {
    std::vector<int> numbers{1, 2, 3};
    const int &last = numbers.back();
    std::thread thread([&last] {
        dh_use(last); //~ race 1: read
        dh_done(1);
    });
    dh_step(1);
    numbers.reserve(1000); //~ race 1: free
    thread.join();
}
