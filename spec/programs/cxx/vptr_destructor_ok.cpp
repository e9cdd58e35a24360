// A virtual call races with the destructor that sets the virtual table back to the base's.
#include <thread>
#include "../order.h"

struct Base {
    virtual void leave() { dh_done(3); }
    __attribute__((noinline)) virtual ~Base() { leave(); }
    virtual int number() { return 1; }
};

struct Derived : Base {
    ~Derived() override {}
    int number() override { return 2; }
};

int main() {
    Base *object = new Derived;
    std::thread thread([object] {
        dh_use(object->number());
        dh_done(1);
    });
    dh_step(1);
    thread.join();
    object->~Base();
    ::operator delete(object);
}
