// An exception that was passed to another thread is destroyed at the end of its handler behind all use there, but not written in it so.
#include <atomic>
#include <exception>
#include <thread>
#include "../order.h"

struct Failure {
    volatile long code;
    ~Failure() { code = 0; }
};

std::exception_ptr passed;
std::atomic<bool> ready;

static void fail() {
    try {
        throw Failure{7};
    } catch (Failure &caught) {
        caught.code = 8;
        passed = std::current_exception();
        ready = true;
        dh_done(1);
        dh_step(2);
    }
}

int main() {
    std::thread thread(fail);
    dh_step(1);
    if (ready) {
        try {
            std::rethrow_exception(std::move(passed));
        } catch (const Failure &caught) {
            dh_use(caught.code);
        }
    }
    dh_done(2);
    thread.join();
}
