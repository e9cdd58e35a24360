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
        lines[3].bytes[63] = 1; //~ race 1: write
        numbers[7] = 1; //~ race 2: write
        dh_done(1);
    });
    dh_step(1);
    dh_use(lines[3].bytes[63]); //~ race 1: read
    delete[] numbers; //~ race 2: free
    thread.join();
    delete[] lines;
}
