// A promise that is kept at the end of its thread orders all that the thread did for who sees that it is kept.
#include <future>
#include <thread>
#include "../order.h"

int value, other;

int main() {
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::thread first([&promise] {
        promise.set_value_at_thread_exit(1);
        value = 1;
    });
    int got = future.get();
    dh_use(value);
    std::packaged_task<int(int)> task([](int number) { return number + 1; });
    std::future<int> done = task.get_future();
    std::thread second([&task] {
        task.make_ready_at_thread_exit(2);
        other = 1;
    });
    done.wait();
    dh_use(other);
    first.join();
    second.join();
    return got + done.get() == 4 ? 0 : 1;
}
