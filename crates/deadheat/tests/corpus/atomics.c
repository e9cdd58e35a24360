/* Every atomic operation of 8 to 128 bits in every spelling that C has, with every order.
   Compiled for its references only; never run. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef unsigned __int128 uint128;
typedef uint8_t uint8;
typedef uint16_t uint16;
typedef uint32_t uint32;
typedef uint64_t uint64;
#define SIZES(X) X(8) X(16) X(32) X(64) X(128)

#define LOADS(n, o) s ^= __atomic_load_n(p, o);
#define STORES(n, o) __atomic_store_n(p, v, o);
#define READS(n, o)                                                                                \
    s ^= __atomic_exchange_n(p, v, o);                                                             \
    s ^= __atomic_fetch_add(p, v, o), s ^= __atomic_fetch_sub(p, v, o);                            \
    s ^= __atomic_fetch_and(p, v, o), s ^= __atomic_fetch_or(p, v, o);                             \
    s ^= __atomic_fetch_xor(p, v, o), s ^= __atomic_fetch_nand(p, v, o);                           \
    s ^= __atomic_add_fetch(p, v, o), s ^= __atomic_sub_fetch(p, v, o);                            \
    s ^= __atomic_and_fetch(p, v, o), s ^= __atomic_or_fetch(p, v, o);                             \
    s ^= __atomic_xor_fetch(p, v, o), s ^= __atomic_nand_fetch(p, v, o);                           \
    s ^= __atomic_compare_exchange_n(p, &e, v, false, o, __ATOMIC_RELAXED);                        \
    s ^= __atomic_compare_exchange_n(p, &e, v, true, o, __ATOMIC_RELAXED);
#define STRONGER(n, o, f)                                                                          \
    s ^= __atomic_compare_exchange_n(p, &e, v, false, o, f);                                       \
    s ^= __atomic_compare_exchange_n(p, &e, v, true, o, f);

#define GNU(n)                                                                                     \
    uint##n gnu##n(uint##n *p, uint##n v, uint##n e, int order) {                                  \
        uint##n s = 0;                                                                             \
        LOADS(n, __ATOMIC_RELAXED) LOADS(n, __ATOMIC_CONSUME)                                      \
        LOADS(n, __ATOMIC_ACQUIRE) LOADS(n, __ATOMIC_SEQ_CST) LOADS(n, order)                      \
        STORES(n, __ATOMIC_RELAXED) STORES(n, __ATOMIC_RELEASE)                                    \
        STORES(n, __ATOMIC_SEQ_CST) STORES(n, order)                                               \
        READS(n, __ATOMIC_RELAXED) READS(n, __ATOMIC_CONSUME) READS(n, __ATOMIC_ACQUIRE)           \
        READS(n, __ATOMIC_RELEASE) READS(n, __ATOMIC_ACQ_REL) READS(n, __ATOMIC_SEQ_CST)           \
        READS(n, order)                                                                            \
        STRONGER(n, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)                                            \
        STRONGER(n, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)                                            \
        STRONGER(n, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)                                            \
        STRONGER(n, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)                                            \
        return s;                                                                                  \
    }                                                                                              \
    uint##n generic##n(uint##n *p, uint##n v, uint##n e) {                                         \
        uint##n r;                                                                                 \
        __atomic_load(p, &r, __ATOMIC_ACQUIRE), __atomic_store(p, &r, __ATOMIC_RELEASE);           \
        __atomic_exchange(p, &v, &r, __ATOMIC_ACQ_REL);                                            \
        __atomic_compare_exchange(p, &e, &v, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);           \
        return r;                                                                                  \
    }                                                                                              \
    uint##n sync##n(uint##n *p, uint##n v, uint##n e) {                                            \
        uint##n s = __sync_fetch_and_add(p, v) ^ __sync_fetch_and_sub(p, v);                       \
        s ^= __sync_fetch_and_or(p, v) ^ __sync_fetch_and_and(p, v);                               \
        s ^= __sync_fetch_and_xor(p, v) ^ __sync_fetch_and_nand(p, v);                             \
        s ^= __sync_add_and_fetch(p, v) ^ __sync_sub_and_fetch(p, v);                              \
        s ^= __sync_or_and_fetch(p, v) ^ __sync_and_and_fetch(p, v);                               \
        s ^= __sync_xor_and_fetch(p, v) ^ __sync_nand_and_fetch(p, v);                             \
        s ^= __sync_bool_compare_and_swap(p, e, v) ^ __sync_val_compare_and_swap(p, e, v);         \
        s ^= __sync_lock_test_and_set(p, v);                                                       \
        __sync_lock_release(p);                                                                    \
        return s;                                                                                  \
    }                                                                                              \
    uint##n standard##n(_Atomic uint##n *p, uint##n v, uint##n e) {                                \
        uint##n s = *p;                                                                            \
        *p = v, *p += v, *p ^= v, (*p)++;                                                          \
        s ^= atomic_load_explicit(p, memory_order_consume) ^ atomic_exchange(p, v);                \
        s ^= atomic_fetch_add_explicit(p, v, memory_order_release) ^ atomic_fetch_or(p, v);        \
        s ^= atomic_compare_exchange_weak(p, &e, v) ^ atomic_compare_exchange_strong(p, &e, v);    \
        return s;                                                                                  \
    }
SIZES(GNU)

_Bool flags(atomic_flag *f, char *c) {
    _Bool s = atomic_flag_test_and_set_explicit(f, memory_order_acquire);
    atomic_flag_clear(f);
    s ^= __atomic_test_and_set(c, __ATOMIC_ACQ_REL);
    __atomic_clear(c, __ATOMIC_RELEASE);
    return s;
}

void *pointers(void *_Atomic *p, void *v) { void *s = atomic_exchange(p, v); atomic_store(p, s); return atomic_load(p); }
double floating(_Atomic double *p, double v) { *p = v; *p += v; return *p; }

void fences(int order) {
    atomic_thread_fence(memory_order_relaxed), atomic_thread_fence(memory_order_consume);
    atomic_thread_fence(memory_order_acquire), atomic_thread_fence(memory_order_release);
    atomic_thread_fence(memory_order_acq_rel), atomic_thread_fence(memory_order_seq_cst);
    atomic_signal_fence(memory_order_acquire), atomic_signal_fence(memory_order_seq_cst);
    atomic_signal_fence(memory_order_acq_rel), __atomic_signal_fence(__ATOMIC_RELEASE);
    __sync_synchronize();
    (void)order;
}
