// The guard of a static local orders its construction before every later pass through it.
#include <thread>
#include "../order.h"

int value;

struct Table {
    Table() {
        value = 1;
    }
};

static Table &table() {
    static Table only;
    return only;
}

int main() {
    std::thread thread([] {
        table();
        dh_done(1);
    });
    dh_step(1);
    table();
    dh_use(value);
    thread.join();
}
