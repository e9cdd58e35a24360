// A detached std::thread is ordered before nothing.
#include <thread>
#include "../order.h"

int value;

int main() {
    std::thread thread([] {
        value = 1; //~ race 1: write
        dh_leave(1);
    });
    thread.detach();
    dh_gone(1);
    dh_use(value); //~ race 1: read
}
