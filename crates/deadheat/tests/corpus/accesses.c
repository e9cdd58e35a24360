/* Every plain access that a C compiler can instrument: sizes, alignments, volatile, compound,
   ranges and memory intrinsics. Compiled for its references only; never run. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef unsigned __int128 u128;
typedef int v4 __attribute__((vector_size(16)));
typedef int v8 __attribute__((vector_size(32)));

#define SIZES(X) X(8) X(16) X(32) X(64)
#define ACCESS(n)                                                                                  \
    uint##n##_t read##n(uint##n##_t *p) { return *p; }                                             \
    void write##n(uint##n##_t *p, uint##n##_t v) { *p = v; }                                       \
    void compound##n(uint##n##_t *p) { *p += 3; }                                                  \
    uint##n##_t volatile_read##n(volatile uint##n##_t *p) { return *p; }                           \
    void volatile_write##n(volatile uint##n##_t *p, uint##n##_t v) { *p = v; }                     \
    void volatile_compound##n(volatile uint##n##_t *p) { *p += 3; }                                \
    struct __attribute__((packed)) packed##n { char c; uint##n##_t v; volatile uint##n##_t w; };   \
    uint##n##_t unaligned_read##n(struct packed##n *p) { return p->v; }                            \
    void unaligned_write##n(struct packed##n *p, uint##n##_t v) { p->v = v; }                      \
    void unaligned_compound##n(struct packed##n *p) { p->v++; }                                    \
    uint##n##_t unaligned_volatile_read##n(struct packed##n *p) { return p->w; }                   \
    void unaligned_volatile_write##n(struct packed##n *p, uint##n##_t v) { p->w = v; }             \
    void unaligned_volatile_compound##n(struct packed##n *p) { p->w++; }
SIZES(ACCESS)

#define WIDE(name, type)                                                                           \
    type read_##name(type *p) { return *p; }                                                       \
    void write_##name(type *p, type v) { *p = v; }                                                 \
    void compound_##name(type *p) { *p = *p + *p; }                                                \
    type volatile_read_##name(volatile type *p) { return *p; }                                     \
    void volatile_write_##name(volatile type *p, type v) { *p = v; }                               \
    struct __attribute__((packed)) packed_##name { char c; type v; volatile type w; };             \
    type unaligned_read_##name(struct packed_##name *p) { return p->v; }                           \
    void unaligned_write_##name(struct packed_##name *p, type v) { p->v = v; }                     \
    void unaligned_compound_##name(struct packed_##name *p) { p->v = p->v + p->v; }                \
    type unaligned_volatile_read_##name(struct packed_##name *p) { return p->w; }                  \
    void unaligned_volatile_write_##name(struct packed_##name *p, type v) { p->w = v; }            \
    void unaligned_volatile_compound_##name(struct packed_##name *p) { p->w = p->w + p->w; }
WIDE(u128, u128)
WIDE(v4, v4)
WIDE(float, float)
WIDE(double, double)
WIDE(long_double, long double)
WIDE(complex_float, _Complex float)
WIDE(complex_double, _Complex double)
WIDE(pointer, uintptr_t)

void write_v8(v8 *p, v8 *q) { *p = *q; }

struct odd { char bytes[3]; };
struct large { long words[20]; };
struct bits { unsigned a : 3, b : 11; unsigned long c : 40; };
union mixed { int i; float f; char c[7]; };

void copy_odd(struct odd *p, struct odd *q) { *p = *q; }
void copy_large(struct large *p, struct large *q) { *p = *q; }
struct large return_large(struct large *p) { return *p; }
void zero_large(struct large *p) { *p = (struct large){0}; }
void bits_compound(struct bits *p) { p->a++, p->b += p->a, p->c = p->b; }
void copy_union(union mixed *p, union mixed *q) { *p = *q; }
int flexible(int n) { int a[n]; memset(a, n, sizeof a); int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }

void fixed_memory(char *p, char *q) { memset(p, 1, 64); memcpy(p, q, 64); memmove(p, q, 64); }
void any_memory(char *p, char *q, size_t n) { memset(p, 1, n); memcpy(p, q, n); memmove(p, q, n); }
void builtin_memory(char *p, char *q, size_t n) {
    __builtin_memset(p, 1, n), __builtin_memcpy(p, q, n), __builtin_memmove(p, q, n);
    __builtin_memset(p, 1, 24), __builtin_memcpy(p, q, 24), __builtin_memmove(p, q, 24);
}
int strings(char *p, char *q) { strcpy(p, "constant"); return strcmp(p, q) + (int)strlen(p) + memcmp(p, q, 16); }
void clear(void *p) { __builtin___clear_cache(p, (char *)p + 64); }

static int shared_static;
_Thread_local int local;
extern int external;
int globals(void) { return ++shared_static + ++local + ++external; }

void callee(void);
void tail(void) { callee(); }
__attribute__((noinline)) int recursive(int n) { return n ? n * recursive(n - 1) + shared_static : 1; }
