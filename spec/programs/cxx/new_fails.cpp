// An operator new that finds no memory throws, and the program goes on.
#include <cstddef>
#include <new>
#include <string>
#include <thread>
#include "../order.h"

int value, caught;
volatile std::size_t much = static_cast<std::size_t>(1) << 60;
void *volatile made;

static void handler() {
    throw std::bad_alloc();
}

static void fail() {
    try {
        made = new char[much];
    } catch (const std::bad_alloc &) {
        caught++;
    }
    try {
        made = ::operator new(much, std::align_val_t(64));
    } catch (const std::bad_alloc &) {
        caught++;
    }
    try {
        std::string().reserve(much);
    } catch (const std::bad_alloc &) {
        caught++;
    }
    made = new (std::nothrow) char[much];
    if (made == nullptr)
        caught++;
}

int main() {
    std::thread thread([] {
        fail();
        std::set_new_handler(handler);
        fail();
        value = 1; //~ race 1: write
        dh_done(1);
    });
    dh_step(1);
    dh_use(value); //~ race 1: read
    thread.join();
    return caught == 8 ? 0 : 1;
}
