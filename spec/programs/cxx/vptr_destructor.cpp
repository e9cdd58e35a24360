// A virtual call races with the destructor that sets the virtual table back to the base's.
#include <thread>
#include "../order.h"

struct Base {
    virtual void leave() { dh_done(3); }
    __attribute__((noinline)) virtual ~Base() { leave(); } //~ race 1: write
    virtual int number() { return 1; }
};

struct Derived : Base {
    ~Derived() override {}
    int number() override { return 2; }
};

int main() {
    Base *object = new Derived;
    std::thread thread([object] {
        dh_use(object->number()); //~ race 1: read
        dh_done(1);
    });
    dh_step(1);
    object->~Base();
    thread.join();
    ::operator delete(object);
}
