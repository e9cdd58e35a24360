// Two threads write elements of one vector: one of the elements is the same.
#include <thread>
#include <vector>
#include "../hunt.h"

std::vector<int> numbers(4);

int main() {
    std::thread thread([] {
        numbers[0] = 1;
        APART();
        numbers[1] = 2;
    });
    numbers[2] = 3;
    thread.join();
    return 0;
}
