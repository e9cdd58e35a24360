// The program closes all descriptors but three, or makes another one's number that of a file of its own, and then its threads go on.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 3, WRITES = 20000 };

long numbers[THREADS][8];

static void *work(void *number) {
  volatile long *at = number;
  for (long i = 0; i < WRITES; i++)
    *at = i;
  return 0;
}

int main(int count, char **arguments) {
  int file = open(arguments[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (!strcmp(arguments[1], "all"))
    for (int i = 3; i < 1024; i++)
      close(i);
  else
    for (int i = 100; i < 300; i++)
      if (fcntl(i, F_GETFD) >= 0)
        dup2(file, i);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], 0, work, numbers[i]);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], 0);
  struct stat status;
  stat(arguments[2], &status);
  printf("%ld", (long)status.st_size);
  return 0;
}
