// A task has its own copy of an object, made and destroyed by the program.
//! flags: -fopenmp
#include "../order.h"

struct Text {
    int *letter;
    explicit Text(int value) : letter(new int(value)) {}
    Text(const Text &other) : letter(new int(*other.letter)) {}
    ~Text() { delete letter; }
};

int main() {
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 50; i++) {
        Text text(i);
#pragma omp task shared(text)
        {
            *text.letter += 1; //~ race 1: write
            dh_done(1);
        }
        if (i == 0) {
            dh_step(1);
            dh_use(*text.letter); //~ race 1: read
        }
#pragma omp taskwait
    }
    return 0;
}
