// std::jthread joins when its life ends, not before.
//! std: c++20
#include <thread>
#include "../order.h"

int value;

int main() {
    {
        std::jthread thread([] {
            value = 1;
            dh_done(1);
        });
        dh_step(1);
    }
    dh_use(value);
}
