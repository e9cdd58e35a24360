// A character of a string is replaced while it is read.
#include <string>
#include <thread>
#include "../hunt.h"

std::string text = "a text too long to lie in the string object itself";

int main() {
    std::thread thread([] {
        text[3] = 'x'; //~ race 1: write
    });
    {
        USE(static_cast<int>(text[3])); //~ race 1: read
    }
    thread.join();
    return 0;
}
