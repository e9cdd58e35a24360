// The last std::weak_ptr to go frees the counts behind all use through those that went before, and their going orders nothing else.
#include <memory>
#include <thread>
#include "../order.h"

static volatile long note;

int main() {
    std::weak_ptr<long> owner = std::make_shared<long>(7);
    std::thread thread([user = owner]() mutable {
        std::weak_ptr<long>(user).reset();
        user.reset();
        note = 1; //~ race 1: write
        dh_done(1);
    });
    dh_step(1);
    owner.reset();
    note = 2; //~ race 1: write
    thread.join();
}
