// Writes more than the space that the test leaves for the trace, and still ends well.
#include <stdio.h>

long data[1 << 16];

int main(void) {
  unsigned long sum = 0;
  for (unsigned long i = 0; i < 4000000; i++) {
    unsigned long at = i * 2654435761u % (1 << 16);
    data[at] += (long)i;
    sum += (unsigned long)data[at];
  }
  printf("%lu\n", sum);
  return 0;
}
