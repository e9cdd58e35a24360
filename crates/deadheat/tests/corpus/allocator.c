// An allocator that stands in for the C library's, under all of its names. It never gives anything back, and its bookkeeping is
// guarded by a lock that nobody sees.
#include <stddef.h>
#include <string.h>

static char room[64 << 20];
static size_t used;
static int held;

static void *take(size_t size) {
    while (__sync_lock_test_and_set(&held, 1)) {
    }
    size_t at = (used + 15) & ~(size_t)15;
    used = at + 16 + size;
    __sync_lock_release(&held);
    *(size_t *)(room + at) = size;
    return room + at + 16;
}

size_t malloc_usable_size(void *block) { return block ? ((size_t *)block)[-2] : 0; }

#define BOTH(result, name, arguments) \
    result name arguments; \
    result __libc_##name arguments __attribute__((alias(#name))); \
    result name arguments

BOTH(void *, malloc, (size_t size)) { return take(size); }
BOTH(void, free, (void *block)) { (void)block; }
BOTH(void *, calloc, (size_t count, size_t size)) { return memset(take(count * size), 0, count * size); }
BOTH(void *, memalign, (size_t alignment, size_t size)) {
    return (char *)(((size_t)take(size + alignment) + alignment - 1) & ~(alignment - 1));
}
BOTH(void *, realloc, (void *block, size_t size)) {
    size_t old = malloc_usable_size(block);
    return memcpy(take(size), block, old < size ? old : size);
}
