// Three thousand short threads, a third of them never joined.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static int alive;
int value;

static void *work(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  value++;
  alive--;
  pthread_cond_signal(&ended);
  pthread_mutex_unlock(&lock);
  return 0;
}

int main(void) {
  for (int i = 0; i < 3000; i++) {
    pthread_mutex_lock(&lock);
    alive++;
    pthread_mutex_unlock(&lock);
    pthread_t thread;
    if (pthread_create(&thread, 0, work, 0) != 0) return 1;
    if (i % 3 == 0) pthread_detach(thread);
    else pthread_join(thread, 0);
  }
  pthread_mutex_lock(&lock);
  while (alive > 0) pthread_cond_wait(&ended, &lock);
  printf("%d\n", value);
  pthread_mutex_unlock(&lock);
  return 0;
}
