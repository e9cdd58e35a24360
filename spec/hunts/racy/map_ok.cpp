// A map gets an entry while another thread waits for the lock to look for it.
#include <map>
#include <mutex>
#include <thread>
#include "../hunt.h"

std::map<int, int> squares;
std::mutex mutex;

int main() {
    std::thread thread([] {
        std::lock_guard<std::mutex> guard(mutex);
        squares.emplace(3, 9);
    });
    {
        std::lock_guard<std::mutex> guard(mutex);
        USE(static_cast<int>(squares.count(3)));
    }
    thread.join();
    return 0;
}
