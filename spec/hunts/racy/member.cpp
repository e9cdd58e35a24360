// A static member is shared by all objects, whatever mutex each object has of its own.
#include <mutex>
#include <thread>
#include "../hunt.h"

struct Gauge {
    static int latest;
    std::mutex mutex;
    WHOLE void measure(int number) {
        std::lock_guard<std::mutex> guard(mutex);
        latest = number; //~ race 1: write, race 1: write
    }
};

int Gauge::latest;
Gauge gauges[2];

int main() {
    std::thread thread([] { gauges[0].measure(1); });
    gauges[1].measure(2);
    thread.join();
    return 0;
}
