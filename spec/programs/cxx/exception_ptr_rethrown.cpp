// The last handler of a rethrown exception to end frees it behind all use in the handlers that ended before, not behind their ends.
#include <exception>
#include <thread>
#include "../order.h"

int main() {
    auto failure = std::make_exception_ptr(7L);
    std::thread thread([user = failure]() mutable {
        const long *seen;
        try {
            std::rethrow_exception(std::move(user));
        } catch (const long &code) {
            seen = &code;
        }
        dh_use(*seen); //~ race 1: read
        dh_done(1);
    });
    try {
        std::rethrow_exception(std::move(failure));
    } catch (long) {
        dh_step(1);
    } //~ race 1: free
    thread.join();
}
