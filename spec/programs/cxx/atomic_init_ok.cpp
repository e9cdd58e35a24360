// To construct a std::atomic is a plain write: another thread may use it only once it was told of it.
#include <atomic>
#include <new>
#include <thread>
#include "../order.h"

alignas(std::atomic<int>) unsigned char space[sizeof(std::atomic<int>)];

int main() {
    auto *number = reinterpret_cast<std::atomic<int> *>(space);
    new (number) std::atomic<int>(7);
    std::thread thread([number] {
        dh_step(1);
        number->fetch_add(1);
    });
    dh_done(1);
    thread.join();
}
