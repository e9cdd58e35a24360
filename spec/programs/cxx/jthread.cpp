// std::jthread joins when its life ends, not before.
//! std: c++20
#include <thread>
#include "../order.h"

int value;

int main() {
    {
        std::jthread thread([] {
            value = 1; //~ race 1: write
            dh_done(1);
        });
        dh_step(1);
        dh_use(value); //~ race 1: read
    }
}
