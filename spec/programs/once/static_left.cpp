// A static local whose initialiser an exception left is initialised again, behind what it did before.
#include <thread>
#include "../order.h"

int runs, value;

static int initial() {
    if (++runs == 1)
        throw 1;
    value = 1; //~ race 1: write
    return 5;
}

static void call() {
    try {
        static int local = initial();
        dh_use(local);
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
    dh_use(value); //~ race 1: read
    call();
    first.join();
    second.join();
}
