// Four threads write for ever and count, in a file that outlives the process, the writes whose hook has returned.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned long *returned;
long data[4][4096];

// The detector does not see this store: it is no write of the program's own.
__attribute__((no_sanitize("thread"), noinline)) static void count(long thread, unsigned long n) {
  __asm__ volatile("movq %1, %0" : "=m"(returned[thread * 8]) : "r"(n));
}

static void *run(void *argument) {
  long thread = (long)argument;
  for (unsigned long n = 1;; n++) {
    data[thread][n * 7 % 4096] = n;
    count(thread, n);
  }
  return 0;
}

int main(int argc, char **argv) {
  int file = open(argv[argc - 1], O_RDWR | O_CREAT, 0644);
  if (file < 0 || ftruncate(file, 4096) != 0) return 1;
  returned = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  pthread_t threads[4];
  for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, run, (void *)i);
  pause();
}
