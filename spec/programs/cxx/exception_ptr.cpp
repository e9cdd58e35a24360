// The last std::exception_ptr to go destroys the exception behind all use through those that went before, and their going orders nothing else.
#include <exception>
#include <thread>
#include "../order.h"

struct Failure {
    volatile long code;
    ~Failure() { code = 0; }
};

static void see(std::exception_ptr pointer) {
    try {
        std::rethrow_exception(std::move(pointer));
    } catch (const Failure &failure) {
        dh_use(failure.code); //~ race 1: read
    }
}

static void change(std::exception_ptr pointer) {
    try {
        std::rethrow_exception(std::move(pointer));
    } catch (Failure &failure) {
        failure.code = 8; //~ race 1: write
    }
}

int main() {
    auto owner = std::make_exception_ptr(Failure{7});
    std::thread thread([user = owner]() mutable {
        change(std::move(user));
        dh_done(1);
    });
    dh_step(1);
    see(owner);
    owner = nullptr;
    thread.join();
}
