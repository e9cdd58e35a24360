// Two threads take turns by atomic numbers and spin: the plain text between them is ordered.
#include <atomic>
#include <string>
#include <thread>
#include "../hunt.h"

std::string text = "a";
std::atomic<int> turn{0};

static void wait_for(int mine) {
    while (turn.load(std::memory_order_acquire) != mine)
        std::this_thread::yield();
}

int main() {
    std::thread thread([] {
        for (int i = 0; i < 3; i++) {
            wait_for(1);
            text += 'b';
            turn.store(0, std::memory_order_release);
        }
    });
    for (int i = 0; i < 3; i++) {
        wait_for(0);
        text += 'c';
        turn.store(1, std::memory_order_release);
    }
    thread.join();
    return text.size() == 7 ? 0 : 1;
}
