// std::thread orders its arguments and its start before the thread, and the thread before its join.
#include <thread>
#include "../order.h"

struct Work {
    int input = 3, output = 0;
};

Work work;

static void run(Work *work, int offset) {
    work->output = work->input + offset;
    dh_done(1);
}

int main() {
    std::thread thread(run, &work, 4);
    dh_step(1);
    thread.join();
    dh_use(work.output);
}
