// A thread that a global's constructor started goes on beside main.
#include <thread>
#include "../order.h"

int value;

struct Service {
    std::thread thread;
    Service() : thread([] {
        dh_step(1);
        value = 1;
        dh_done(2);
    }) {}
    ~Service() {
        if (thread.joinable())
            thread.join();
    }
};

Service service;

int main() {
    dh_done(1);
    dh_step(2);
    service.thread.join();
    dh_use(value);
}
