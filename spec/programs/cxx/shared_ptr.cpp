// The last std::shared_ptr to go deletes the object after all use through the others, not through bare pointers.
#include <memory>
#include <thread>
#include "../order.h"

int main() {
    auto owner = std::make_shared<long>(7);
    long *user = owner.get();
    std::thread thread([user]() mutable {
        dh_use(*user); //~ race 1: read
        user = nullptr;
        dh_done(1);
    });
    dh_step(1);
    owner.reset(); //~ race 1: free
    thread.join();
}
