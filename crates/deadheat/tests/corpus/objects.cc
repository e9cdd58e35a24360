// What C++ adds: vptrs, exceptions, static locals, std::atomic and atomic_ref, lambdas, threads.
// Compiled for its references only; never run.
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Base {
    virtual ~Base() { seen = value(); }
    virtual int value() const { return 1; }
    int seen = 0;
};
struct Left : virtual Base {
    ~Left() override { seen = value(); }
    int value() const override { return 2; }
};
struct Right : virtual Base {
    ~Right() override { seen += value(); }
};
struct Both : Left, Right {
    ~Both() override { seen *= value(); }
    int value() const override { return 4; }
};

int call(Base *b) { return b->value(); }
Base *make(int n) { return n ? new Both : new Base; }
void destroy(Base *b) { delete b; }
Base *in_place(void *p) { return new (p) Left; }

int throws(int *p) {
    if (*p > 3) throw std::runtime_error("large");
    return ++*p;
}
int catches(int *p) {
    std::string s = "text";
    try { return throws(p) + static_cast<int>(s.size()); } catch (const std::exception &e) { return *p + e.what()[0]; }
}
std::vector<int> &local_static() {
    static std::vector<int> v(7, 3);
    return v;
}
thread_local std::string own = "mine";
std::string &tls() { return own; }

template <class T> T standard(std::atomic<T> &a, T v, T e) {
    T s = a.load(std::memory_order_acquire);
    a.store(v, std::memory_order_release);
    s = a.exchange(v, std::memory_order_acq_rel);
    a.compare_exchange_weak(e, v, std::memory_order_release, std::memory_order_relaxed);
    a.compare_exchange_strong(e, v, std::memory_order_seq_cst, std::memory_order_acquire);
    return s;
}
template <class T> T integral(std::atomic<T> &a, T v, T e) {
    a.fetch_add(v, std::memory_order_relaxed), a.fetch_sub(v, std::memory_order_consume);
    a &= v, a |= v, a ^= v, ++a, a--;
    return standard(a, v, e);
}
template unsigned char integral(std::atomic<unsigned char> &, unsigned char, unsigned char);
template unsigned short integral(std::atomic<unsigned short> &, unsigned short, unsigned short);
template unsigned int integral(std::atomic<unsigned int> &, unsigned int, unsigned int);
template unsigned long integral(std::atomic<unsigned long> &, unsigned long, unsigned long);
template bool standard(std::atomic<bool> &, bool, bool);
template double standard(std::atomic<double> &, double, double);
template int *standard(std::atomic<int *> &, int *, int *);
struct Pair { long a, b; };
template Pair standard(std::atomic<Pair> &, Pair, Pair);

std::atomic_flag flag = ATOMIC_FLAG_INIT;
std::mutex mutex;
std::shared_mutex shared;
std::once_flag once;
int concurrent(std::shared_ptr<int> p) {
    while (flag.test_and_set(std::memory_order_acquire)) {}
    flag.clear(std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_acq_rel);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::call_once(once, [&] { ++*p; });
    std::thread t([p] { std::lock_guard<std::mutex> hold(mutex); ++*p; });
    { std::shared_lock<std::shared_mutex> hold(shared); *p += 2; }
    t.join();
    return *p;
}
