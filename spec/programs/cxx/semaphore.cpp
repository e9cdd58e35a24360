// std::counting_semaphore passes on what came before a release to the acquire that it lets through.
//! std: c++20
#include <semaphore>
#include <thread>
#include "../order.h"

int value;
std::counting_semaphore<4> semaphore{0};

int main() {
    std::thread thread([] {
        semaphore.release();
        value = 1; //~ race 1: write
        dh_done(1);
    });
    semaphore.acquire();
    dh_step(1);
    dh_use(value); //~ race 1: read
    thread.join();
}
