// A runtime whose hooks only return: what the instrumentation alone costs. Programs that are
// compiled with -fsanitize=thread are linked with this object in place of a real runtime.
// Atomic operations, which the hooks have to carry out, are carried out.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NOTHING(name) \
    void name(void *at) { (void)at; }

#define PLAIN(size)                       \
    NOTHING(__tsan_read##size)            \
    NOTHING(__tsan_write##size)           \
    NOTHING(__tsan_read_write##size)      \
    NOTHING(__tsan_volatile_read##size)   \
    NOTHING(__tsan_volatile_write##size)  \
    NOTHING(__tsan_unaligned_read##size)  \
    NOTHING(__tsan_unaligned_write##size) \
    NOTHING(__tsan_unaligned_read_write##size) \
    NOTHING(__tsan_unaligned_volatile_read##size) \
    NOTHING(__tsan_unaligned_volatile_write##size)

PLAIN(1) PLAIN(2) PLAIN(4) PLAIN(8) PLAIN(16)
NOTHING(__tsan_vptr_read)
NOTHING(__tsan_func_entry)

void __tsan_init(void) {}
void __tsan_func_exit(void) {}
void __tsan_vptr_update(void *at, void *new) { (void)at, (void)new; }
void __tsan_read_range(void *at, size_t size) { (void)at, (void)size; }
void __tsan_write_range(void *at, size_t size) { (void)at, (void)size; }
void *__tsan_memcpy(void *to, const void *from, size_t size) { return memcpy(to, from, size); }
void *__tsan_memmove(void *to, const void *from, size_t size) { return memmove(to, from, size); }
void *__tsan_memset(void *to, int byte, size_t size) { return memset(to, byte, size); }
void __tsan_atomic_thread_fence(int order) { (void)order, __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int order) { (void)order, __atomic_signal_fence(__ATOMIC_SEQ_CST); }

#define ATOMIC(bits)                                                                              \
    typedef uint##bits##_t u##bits;                                                               \
    u##bits __tsan_atomic##bits##_load(u##bits *at, int order) {                                  \
        return (void)order, __atomic_load_n(at, __ATOMIC_SEQ_CST);                                \
    }                                                                                             \
    void __tsan_atomic##bits##_store(u##bits *at, u##bits v, int order) {                         \
        (void)order, __atomic_store_n(at, v, __ATOMIC_SEQ_CST);                                   \
    }                                                                                             \
    FETCH(bits, exchange, exchange_n)                                                             \
    FETCH(bits, fetch_add, fetch_add)                                                             \
    FETCH(bits, fetch_sub, fetch_sub)                                                             \
    FETCH(bits, fetch_and, fetch_and)                                                             \
    FETCH(bits, fetch_or, fetch_or)                                                               \
    FETCH(bits, fetch_xor, fetch_xor)                                                             \
    FETCH(bits, fetch_nand, fetch_nand)                                                           \
    bool __tsan_atomic##bits##_compare_exchange_strong(u##bits *at, u##bits *old, u##bits new,    \
                                                       int order, int failure) {                  \
        (void)order, (void)failure;                                                               \
        return __atomic_compare_exchange_n(at, old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }                                                                                             \
    bool __tsan_atomic##bits##_compare_exchange_weak(u##bits *at, u##bits *old, u##bits new,      \
                                                     int order, int failure) {                    \
        return __tsan_atomic##bits##_compare_exchange_strong(at, old, new, order, failure);       \
    }                                                                                             \
    u##bits __tsan_atomic##bits##_compare_exchange_val(u##bits *at, u##bits old, u##bits new,     \
                                                       int order, int failure) {                  \
        __tsan_atomic##bits##_compare_exchange_strong(at, &old, new, order, failure);             \
        return old;                                                                               \
    }
#define FETCH(bits, name, builtin)                                                   \
    u##bits __tsan_atomic##bits##_##name(u##bits *at, u##bits v, int order) {        \
        return (void)order, __atomic_##builtin(at, v, __ATOMIC_SEQ_CST);             \
    }
ATOMIC(8) ATOMIC(16) ATOMIC(32) ATOMIC(64)
