// new[] and delete[] give and take memory like new and delete, aligned or not.
//! std: c++17
//! location 1: heap
#include <thread>
#include "../order.h"

struct alignas(64) Line {
    char bytes[64];
};

int main() {
    Line *lines = new Line[4];
    int *numbers = new int[8]();
    std::thread thread([=] {
        lines[3].bytes[63] = 1;
        numbers[7] = 1;
        dh_done(1);
    });
    dh_step(1);
    thread.join();
    dh_use(lines[3].bytes[63]);
    delete[] numbers;
    delete[] lines;
}
