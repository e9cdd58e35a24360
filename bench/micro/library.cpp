/* What calls of the C and C++ libraries cost: `library NAME` makes the call some times and prints the nanoseconds of processor time that one took; `library list`
 * names the calls. A second thread is there all the time, since a detector may look at nothing while one thread runs alone; it sleeps. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

static volatile size_t sink;
static volatile int one = 1;
static char from[256], to[256];
static sem_t over, semaphore;
static pthread_key_t key;
static thread_local int local;
static std::mutex mutex;
static std::timed_mutex timed;
static std::recursive_mutex recursive;
static std::shared_mutex shared;
static pthread_spinlock_t spin;
static std::condition_variable condition;
static std::once_flag flag;
static std::atomic<int> atomic;
static struct counted { std::atomic<int> references; int value; } counted;
static std::shared_ptr<int> pointer = std::make_shared<int>(1);
static std::function<int(int)> function = [](int number) { return number + one; };
static struct base { virtual ~base() = default; virtual int give(int number) { return number; } } object;
static base *volatile any = &object;
static std::map<int, int> tree;
static std::unordered_map<int, int> table;
static std::vector<int> numbers;
static std::deque<int> queue;
static std::string text;
static jmp_buf back;
static FILE *null;
static int zeros, event, sockets[2], set;
static pollfd polled;
static epoll_event wanted = {EPOLLIN, {nullptr}};

struct derived : base {
    int give(int number) override { return number + 1; }
};

static void mapped(size_t size) {
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile long *>(memory) = 1;
    munmap(memory, size);
}

__attribute__((noinline)) static void thrower(long number) {
    if (number >= 0)
        throw number;
}

static void *nothing(void *argument) { return argument; }

struct call {
    const char *name;
    long times;
    void (*make)(long);
};

#define CALL(name, times, ...) {name, times, [](long i) { (void)i; __VA_ARGS__; }}
enum : long { MANY = 1000000, SOME = 100000, FEW = 5000 };

static const call calls[] = {
    CALL("strlen", MANY, sink = strlen(from)),
    CALL("strcmp", MANY, sink = strcmp(from, to)),
    CALL("memcpy of 16 bytes", MANY, memcpy(to, from, 16 * one)),
    CALL("memmove of 200 bytes", MANY, memmove(to, from, 200 * one)),
    CALL("memset of 64 bytes", MANY, memset(to, 'x', 64 * one)),
    CALL("strdup and free", MANY, free(strdup(from + 180))),
    CALL("snprintf", SOME, snprintf(to, 64, "%ld %s %u", i, "abc", 7U)),
    CALL("strtod", MANY, sink = static_cast<size_t>(strtod("1.5", nullptr))),
    CALL("calloc and free", MANY, free(calloc(one, 64))),
    CALL("realloc", MANY, free(realloc(malloc(32 * one), 64))),
    CALL("malloc and free of 64 KiB", SOME, free(malloc(65536 * one))),
    CALL("std::mutex", MANY, mutex.lock(); mutex.unlock()),
    CALL("std::mutex by try_lock", MANY, if (mutex.try_lock()) mutex.unlock()),
    CALL("std::timed_mutex", SOME, timed.try_lock_for(std::chrono::milliseconds(1)); timed.unlock()),
    CALL("std::recursive_mutex twice", MANY, recursive.lock(); recursive.lock(); recursive.unlock(); recursive.unlock()),
    CALL("std::shared_mutex for a reader", MANY, shared.lock_shared(); shared.unlock_shared()),
    CALL("spin lock", MANY, pthread_spin_lock(&spin); pthread_spin_unlock(&spin)),
    CALL("a new mutex", MANY, std::mutex fresh; fresh.lock(); fresh.unlock()),
    CALL("notify_one without waiters", MANY, condition.notify_one()),
    CALL("semaphore posted and waited for", SOME, sem_post(&semaphore); sem_wait(&semaphore)),
    CALL("std::call_once behind the first", MANY, std::call_once(flag, [] {})),
    CALL("static variable that is there", MANY, static std::string made("x"); sink = made.size()),
    CALL("thread-specific data", MANY, pthread_setspecific(key, from); sink = reinterpret_cast<size_t>(pthread_getspecific(key))),
    CALL("thread_local", MANY, local += static_cast<int>(i)),
    CALL("copy of a std::shared_ptr", MANY, auto copy = pointer; sink = *copy),
    CALL("std::make_shared", SOME, sink = *std::make_shared<int>(one)),
    CALL("std::make_unique", SOME, sink = std::make_unique<std::string>("a text that is not short")->size()),
    CALL("std::function", MANY, sink = function(static_cast<int>(i))),
    CALL("virtual function", MANY, sink = any->give(static_cast<int>(i))),
    CALL("new and delete of a derived class", SOME, base *made = new derived; any = made; any = &object; delete made),
    CALL("std::string added to", MANY, text += "abcdef"; if (text.size() > 1000) text.clear()),
    CALL("std::map found in", MANY, tree[static_cast<int>(i % 1000)] += 1),
    CALL("std::unordered_map found in", MANY, table[static_cast<int>(i % 1000)] += 1),
    CALL("std::vector added to", MANY, if (numbers.size() > 10000) numbers.clear(); numbers.push_back(static_cast<int>(i))),
    CALL("std::deque added to", MANY, queue.push_back(static_cast<int>(i)); if (queue.size() > 50) queue.pop_front()),
    CALL("std::sort of 100", FEW, std::vector<int> some(100); for (int k = 0; k < 100; k++) some[k] = k * 7919 % 100; std::sort(some.begin(), some.end())),
    CALL("std::ostringstream", FEW, std::ostringstream out; out << i << " x"; sink = out.str().size()),
    CALL("std::promise and std::future", SOME, std::promise<int> promise; promise.set_value(1); sink = promise.get_future().get()),
    CALL("std::async", FEW, sink = std::async(std::launch::async, [] { return 1; }).get()),
    CALL("pthread_create and pthread_join", FEW, pthread_t thread; pthread_create(&thread, nullptr, nothing, nullptr); pthread_join(thread, nullptr)),
    CALL("throw and catch", FEW, try { thrower(i); } catch (long) {}),
    CALL("setjmp and longjmp", SOME, if (!setjmp(back)) longjmp(back, 1)),
    CALL("atomic added to", MANY, atomic++),
    CALL("atomic added to (relaxed)", MANY, atomic.fetch_add(1, std::memory_order_relaxed)),
    CALL("atomic loaded", MANY, sink = atomic.load()),
    CALL("atomic stored", MANY, atomic.store(one)),
    CALL("atomic exchanged if equal", MANY, int expected = atomic.load(std::memory_order_relaxed); atomic.compare_exchange_strong(expected, expected + 1)),
    CALL("atomic beside a plain member", MANY, counted.references++; counted.value++),
    CALL("fence", MANY, std::atomic_thread_fence(std::memory_order_seq_cst)),
    CALL("clock_gettime", MANY, timespec now; clock_gettime(CLOCK_MONOTONIC, &now); sink = now.tv_nsec),
    CALL("getenv", MANY, sink = reinterpret_cast<size_t>(getenv("HOME"))),
    CALL("stat", SOME, struct stat about; stat("/", &about)),
    CALL("fputc", MANY, fputc('x', null)),
    CALL("fprintf", SOME, fprintf(null, "%ld %s\n", i, "abc")),
    CALL("fwrite of 64 bytes", MANY, fwrite(from, 1, 64, null)),
    CALL("fopen and fclose", FEW, fclose(fopen("/dev/null", "r"))),
    CALL("open and close", FEW, close(open("/dev/null", O_RDONLY))),
    CALL("read of 64 bytes", SOME, sink = read(zeros, to, 64)),
    CALL("eventfd written and read", SOME, uint64_t number = 1; sink = write(event, &number, 8); sink = read(event, &number, 8)),
    CALL("send and recv of 64 bytes", SOME, sink = send(sockets[0], from, 64, 0); sink = recv(sockets[1], to, 64, 0)),
    CALL("poll", SOME, poll(&polled, 1, 0)),
    CALL("epoll_ctl to change", SOME, epoll_ctl(set, EPOLL_CTL_MOD, event, &wanted)),
    CALL("epoll_wait", SOME, epoll_event found; epoll_wait(set, &found, 1, 0)),
    CALL("mmap and munmap of 64 KiB", FEW, mapped(64UL << 10)),
    CALL("mmap and munmap of 4 MiB", FEW, mapped(4UL << 20)),
    CALL("mmap and munmap of 16 MiB", FEW, mapped(16UL << 20)),
};

static void *sleeper(void *until) {
    while (sem_wait(static_cast<sem_t *>(until))) {}
    return nullptr;
}

static double now() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

int main(int count, char **arguments) {
    const char *wanted_call = count == 2 ? arguments[1] : "";
    if (strcmp(wanted_call, "list") == 0) {
        for (const call &row : calls) puts(row.name);
        return 0;
    }
    const auto row = std::find_if(std::begin(calls), std::end(calls), [=](const call &row) { return strcmp(row.name, wanted_call) == 0; });
    if (row == std::end(calls)) return 2;
    memset(from, 'x', 200);
    memset(to, 'x', 200);
    sem_init(&over, 0, 0);
    sem_init(&semaphore, 0, 0);
    pthread_spin_init(&spin, 0);
    pthread_key_create(&key, nullptr);
    null = fopen("/dev/null", "w");
    zeros = open("/dev/zero", O_RDWR);
    event = eventfd(1, 0);
    polled = {event, POLLIN, 0};
    set = epoll_create1(0);
    if (null == nullptr || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0 || epoll_ctl(set, EPOLL_CTL_ADD, event, &wanted) != 0)
        return 1;
    pthread_t thread;
    pthread_create(&thread, nullptr, sleeper, &over);
    const double begun = now();
    for (long i = 0; i < row->times; i++) row->make(i);
    printf("%.2f\n", (now() - begun) / static_cast<double>(row->times));
    sem_post(&over);
    pthread_join(thread, nullptr);
    return 0;
}
