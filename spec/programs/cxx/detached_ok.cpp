// A detached std::thread is ordered before nothing.
#include <thread>
#include "../order.h"

int value;

int main() {
    std::thread thread([] {
        value = 1;
        dh_leave(1);
    });
    thread.join();
    dh_gone(1);
    dh_use(value);
}
