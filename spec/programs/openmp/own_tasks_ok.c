// Tasks that each thread makes for itself and waits for order nothing between the threads, also where the one's are told of in the memory of the other's.
//! flags: -fopenmp
#include "../order.h"

int parts[2];
int value;
int other;

int main(void) {
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        {
            value = 1;
#pragma omp task
            parts[1]++;
#pragma omp taskwait
            other = 1;
        }
#pragma omp barrier
        {
#pragma omp task
#pragma omp critical
            parts[0]++;
#pragma omp taskwait
            dh_use(value);
            dh_use(other);
        }
    }
    return 0;
}
