// As main.c, with std::thread.
#include <cstdio>
#include <string>
#include <thread>
#include "order.h"
#include "store.h"

int main() {
    std::thread thread([] {
        store_put(1);
        done();
    });
    wait_until_done();
    std::string size = std::to_string(store_size());
    thread.join();
    std::puts(size.c_str());
    return size == "1" ? 0 : 2;
}
