// A program that has the C++ library in it is watched as one that is linked with it.
//! flags: -static-libstdc++
#include <exception>
#include <list>
#include <thread>
#include "../order.h"

int main() {
    std::list<int> numbers{1};
    auto failure = std::make_exception_ptr(7L);
    std::thread thread([&numbers, user = failure]() mutable {
        try {
            std::rethrow_exception(std::move(user));
        } catch (const long &code) {
            dh_use(code);
        }
        numbers.front() = 2;
        dh_done(1);
    });
    dh_step(1);
    failure = nullptr;
    thread.join();
    dh_use(numbers.front());
}
