// Forks a child that starts a thread of its own, then becomes another program: three traces.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int value;

static void *work(void *unused) {
  (void)unused;
  value++;
  return 0;
}

static void start_and_join(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  pthread_join(thread, 0);
}

int main(int argc, char **argv) {
  start_and_join();
  if (argc > 1) return value == 1 ? 7 : 1;
  pid_t child = fork();
  if (child == 0) {
    start_and_join();
    _exit(value == 2 ? 3 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) != 3) return 1;
  execl(argv[0], argv[0], "again", (char *)0);
  return 1;
}
