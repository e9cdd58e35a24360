// A lambda that runs in a thread has a reference to a variable that its maker goes on using.
#include <thread>
#include "../hunt.h"

int main() {
    int total = 0;
    std::thread thread([&total] { total = 1; }); //~ race 1: write
    total = 2; //~ race 1: write
    APART();
    thread.join();
    USE(total);
    return 0;
}
