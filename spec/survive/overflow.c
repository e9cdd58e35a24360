// Recursion without an end: the stack overflows.
int calls;

int down(int depth) {
  volatile char room[64];
  room[0] = (char)depth;
  calls++;
  return down(depth + 1) + room[0];
}

int main(void) { return down(0); }
