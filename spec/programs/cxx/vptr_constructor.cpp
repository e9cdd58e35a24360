// A virtual call races with the constructor that is still setting the object's virtual table.
#include <thread>
#include "../order.h"

struct Base {
    std::thread thread;
    void start() {
        thread = std::thread([this] {
            dh_step(1);
            dh_use(number()); //~ race 1: read
        });
    }
    Base() {
        start();
    }
    virtual ~Base() = default;
    virtual int number() { return 1; }
};

struct Derived : Base {
    __attribute__((noinline)) Derived() { dh_done(1); } //~ race 1: write
    int number() override { return 2; }
};

int main() {
    Derived object;
    object.thread.join();
}
