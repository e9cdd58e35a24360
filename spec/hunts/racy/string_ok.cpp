// A character of a string is replaced while it is read.
#include <mutex>
#include <string>
#include <thread>
#include "../hunt.h"

std::string text = "a text too long to lie in the string object itself";
std::mutex mutex;

int main() {
    std::thread thread([] {
        std::lock_guard<std::mutex> guard(mutex);
        text[3] = 'x';
    });
    {
        std::lock_guard<std::mutex> guard(mutex);
        USE(static_cast<int>(text[3]));
    }
    thread.join();
    return 0;
}
