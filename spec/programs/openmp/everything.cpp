// What OpenMP's constructs order is no race, in whatever mixture; what they leave is one.
//! flags: -fopenmp
#include <cstdlib>
#include <vector>
#include <omp.h>
#include "../order.h"

const int size = 12;
int grid[size][size], waves[size + 1][size + 1], unguarded;

static void check(bool so) {
    if (!so)
        abort();
}

struct Vector {
    long first;
    Vector() : first() {}
};
#pragma omp declare reduction(plus : Vector : omp_out.first += omp_in.first) initializer(omp_priv = Vector())

static long fibonacci(int n) {
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a) firstprivate(n)
    a = fibonacci(n - 1);
#pragma omp task shared(b) firstprivate(n)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void reductions() {
    long sum = 0, product = 1;
    double real = 0;
    int least = 1 << 30, last = 0;
    Vector vector;
#pragma omp parallel num_threads(8)
    {
#pragma omp for reduction(+ : sum, real) reduction(min : least) reduction(plus : vector) schedule(guided)
        for (int i = 1; i < 1000; i++) {
            sum += i;
            real += i;
            least = i < least ? i : least;
            vector.first += i;
        }
        check(sum == 499500 && real == 499500 && least == 1 && vector.first == 499500);
#pragma omp for reduction(* : product) nowait
        for (int i = 0; i < 8; i++)
            product *= 2;
    }
    check(product == 256);
#pragma omp parallel for lastprivate(last) num_threads(3)
    for (int i = 0; i < 30; i++)
        last = i;
    check(last == 29);
}

static void loops() {
    int in[64], out[64], running = 0;
#pragma omp parallel for ordered(2) num_threads(4) schedule(static, 1)
    for (int i = 1; i <= size; i++)
        for (int j = 1; j <= size; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            waves[i][j] = waves[i - 1][j] + waves[i][j - 1] + 1;
#pragma omp ordered depend(source)
        }
    for (int i = 0; i < 64; i++)
        in[i] = i;
#pragma omp parallel for reduction(inscan, + : running) num_threads(4)
    for (int i = 0; i < 64; i++) {
        running += in[i];
#pragma omp scan inclusive(running)
        out[i] = running;
    }
    check(out[63] == 2016);
    std::vector<std::vector<int>> lists(16);
#pragma omp parallel for num_threads(4) schedule(dynamic)
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 100; k++)
            lists[i].push_back(k);
    for (auto &list : lists)
        check(list.size() == 100);
}

static void dependences() {
    int total = 0, a = 1, b = 2;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++)
#pragma omp task depend(in : grid[i ? i - 1 : i][j], grid[i][j ? j - 1 : j]) depend(out : grid[i][j])
            grid[i][j] = (i ? grid[i - 1][j] : 1) + (j ? grid[i][j - 1] : 1);
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp task depend(out : total)
        total = 0;
#pragma omp task depend(mutexinoutset : total)
        total += a;
#pragma omp task depend(mutexinoutset : total)
        total += b;
#pragma omp task depend(in : total)
        check(total == 3);
    }
}

static void tasks() {
    long number = 0, sum = 0;
    int steps[40];
#pragma omp parallel num_threads(4)
#pragma omp master
    number = fibonacci(12);
    check(number == 144);
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum)
        for (int i = 0; i < 64; i++)
#pragma omp task in_reduction(+ : sum) firstprivate(i)
            sum += i;
#pragma omp taskloop reduction(+ : sum) grainsize(5)
        for (int i = 0; i < 100; i++)
            sum += i;
        check(sum == 2016 + 4950);
        for (int i = 0; i < 40; i++)
#pragma omp task untied firstprivate(i) shared(steps)
        {
            steps[i] = i;
#pragma omp taskyield
            steps[i]++;
#pragma omp task final(i > 20) shared(steps) firstprivate(i)
            steps[i]++;
#pragma omp taskwait
            steps[i]++;
        }
    }
    for (int i = 0; i < 40; i++)
        check(steps[i] == i + 3);
}

int main() {
    for (int round = 0; round < 10; round++) {
        reductions();
        loops();
        dependences();
        tasks();
    }
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            unguarded = 1; //~ race 1: write
            dh_done(1);
        }
        if (omp_get_thread_num() == 1) {
            dh_step(1);
            dh_use(unguarded); //~ race 1: read
        }
    }
    return 0;
}
