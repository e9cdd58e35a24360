// A map gets an entry while another thread looks for it.
#include <map>
#include <thread>
#include "../hunt.h"

std::map<int, int> squares;

int main() {
    std::thread thread([] {
        squares.emplace(3, 9); //~ race 1: write
    });
    {
        USE(static_cast<int>(squares.count(3))); //~ race 1: read
    }
    thread.join();
    return 0;
}
