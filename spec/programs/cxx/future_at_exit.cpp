// A promise that is kept at the end of its thread orders all that the thread did for who sees that it is kept.
#include <chrono>
#include <future>
#include <thread>
#include "../order.h"

int value;

int main() {
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::thread thread([&promise] {
        promise.set_value_at_thread_exit(1);
        value = 1; //~ race 1: write
        dh_done(1);
        dh_step(2);
    });
    dh_step(1);
    bool ready = future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    dh_use(value); //~ race 1: read
    dh_done(2);
    int got = future.get();
    thread.join();
    return !ready && got == 1 ? 0 : 1;
}
