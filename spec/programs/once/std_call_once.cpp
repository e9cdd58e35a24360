// std::call_once returns after the function, to whoever ran it and to whoever found it run.
#include <mutex>
#include <thread>
#include "../order.h"

int value;
std::once_flag once;

static void initialise() {
    value = 1; //~ race 1: write
}

int main() {
    std::thread thread([] {
        std::call_once(once, initialise);
        dh_done(1);
    });
    dh_step(1);
    dh_use(value); //~ race 1: read
    std::call_once(once, initialise);
    thread.join();
}
