// A lambda that runs in a thread has a reference to a variable that its maker goes on using.
#include <thread>
#include "../hunt.h"

int main() {
    int total = 0;
    std::thread thread([total]() mutable { total = 1; });
    total = 2;
    APART();
    thread.join();
    USE(total);
    return 0;
}
