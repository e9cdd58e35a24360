// The last std::weak_ptr to go frees the counts behind all use through those that went before, and their going orders nothing else.
#include <memory>
#include <thread>
#include "../order.h"

static volatile long note;

int main() {
    std::weak_ptr<long> owner = std::make_shared<long>(7);
    std::thread thread([user = owner]() mutable {
        note = 1;
        std::weak_ptr<long>(user).reset();
        user.reset();
        dh_done(1);
    });
    dh_step(1);
    owner.reset();
    thread.join();
    note = 2;
}
