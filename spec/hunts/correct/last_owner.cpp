// The last owner of a hand-counted object deletes it: the counting, acquire and release, orders that.
#include <atomic>
#include <thread>
#include "../hunt.h"

struct Shared {
    std::atomic<int> owners{2};
    int one = 0, other = 0;
};

static void let_go(Shared *shared) {
    if (shared->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        USE(shared->one + shared->other);
        delete shared;
    }
}

int main() {
    Shared *shared = new Shared;
    std::thread thread([shared] {
        shared->one = 1;
        let_go(shared);
    });
    shared->other = 2;
    let_go(shared);
    thread.join();
    return 0;
}
