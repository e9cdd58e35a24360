// The program gives up after it has joined its thread.
#include <pthread.h>
#include <stdlib.h>

int done;

static void *work(void *unused) {
  (void)unused;
  done = 1;
  return 0;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  pthread_join(thread, 0);
  done = 2;
  abort();
}
