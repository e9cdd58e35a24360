// A function of std::call_once that an exception left is called again, behind what it did before.
#include <mutex>
#include <thread>
#include "../order.h"

int runs, value;
std::once_flag once;

static void initialise() {
    if (++runs == 1)
        throw 1;
    value = 1;
}

static void call() {
    try {
        std::call_once(once, initialise);
    } catch (int) {
    }
}

int main() {
    std::thread first([] {
        call();
        dh_done(1);
    });
    std::thread second([] {
        dh_step(1);
        call();
        dh_done(2);
    });
    dh_step(2);
    call();
    dh_use(value);
    first.join();
    second.join();
}
