// A list grows while another thread waits for the lock to look at its last element.
#include <list>
#include <mutex>
#include <thread>
#include "../hunt.h"

std::list<int> numbers{1};
std::mutex mutex;

int main() {
    std::thread thread([] {
        std::lock_guard<std::mutex> guard(mutex);
        numbers.push_back(2);
    });
    {
        std::lock_guard<std::mutex> guard(mutex);
        USE(&*numbers.rbegin());
    }
    thread.join();
    return 0;
}
