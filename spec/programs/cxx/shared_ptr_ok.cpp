// The last std::shared_ptr to go deletes the object after all use through the others, not through bare pointers.
#include <memory>
#include <thread>
#include "../order.h"

int main() {
    auto owner = std::make_shared<long>(7);
    auto user = owner;
    std::thread thread([user]() mutable {
        dh_use(*user);
        user.reset();
        dh_done(1);
    });
    user.reset();
    dh_step(1);
    owner.reset();
    thread.join();
}
