// A list grows while another thread looks at its last element.
#include <list>
#include <thread>
#include "../hunt.h"

std::list<int> numbers{1};

int main() {
    std::thread thread([] {
        numbers.push_back(2); //~ race 1: write
    });
    {
        USE(&*numbers.rbegin()); //~ race 1: read
    }
    thread.join();
    return 0;
}
