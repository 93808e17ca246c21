/* Calls with loops that take microseconds. Part of c_extension.c.

   A call that polls for Ctrl-C may take any time, so it takes a lock, is registered with a descriptor that Python's signal handler writes to
   (call_interruptibly), and lets go of the GIL: several times as much as a short loop. If it took microseconds in the last calls, it is made
   like a short call instead, while a thread watches. The thread ends a call that goes on for milliseconds, which is then made again the other
   way; since programs are pure, nothing else is seen of it. The thread sleeps when there are no such calls. */

#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { TICK = 4000000, IDLE = 250 }; /* ns between two looks of the thread; looks without a call, after which it waits for one */
enum { BRIEF = 20000 };              /* ns that a call may hold the GIL */
enum { AGAIN = 16 };                 /* calls of which one is measured */
enum { MOST_TRIALS = 1024 };

/* Of a procedure: may its next call be made so? After one that was ended, more measured calls have to be brief than before, so that
   procedures whose calls take different times lose little. */
struct brief {
  int is_brief, count, trials, needed;
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t begins;
  int is_running, is_waiting; /* the thread */
  int volatile *stopped;      /* of the call that is in progress: the variable that ends it */
  unsigned long number;       /* of calls that have begun */
} watch = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, NULL, 0};

static void *watched(void *unused) {
  unsigned long seen = 0, idle = 0;
  struct timespec const tick = {0, TICK};
  for (;;) {
    pthread_mutex_lock(&watch.lock);
    if (watch.stopped && watch.number == seen) *watch.stopped = 1;
    idle = watch.number == seen ? idle + 1 : 0;
    if (idle > IDLE && !watch.stopped) {
      watch.is_waiting = 1;
      while (watch.number == seen) pthread_cond_wait(&watch.begins, &watch.lock);
      watch.is_waiting = idle = 0;
    }
    seen = watch.number;
    pthread_mutex_unlock(&watch.lock);
    nanosleep(&tick, NULL);
  }
  return NULL;
}

/* In the child of a fork the thread does not exist. A fork holds the GIL, so no watched call is in progress. */
static void forget_watch(void) {
  pthread_mutex_init(&watch.lock, NULL);
  pthread_cond_init(&watch.begins, NULL);
  watch.is_running = watch.is_waiting = 0;
  watch.stopped = NULL;
}

/* Is the thread there? It gets no signals: Python's are for the main thread. */
static int is_watching(void) {
  static int is_told_of_forks;
  pthread_t thread;
  sigset_t all, before;
  if (watch.is_running) return 1;
  if (!is_told_of_forks && pthread_atfork(NULL, NULL, forget_watch)) return 0;
  is_told_of_forks = 1;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  watch.is_running = pthread_create(&thread, NULL, watched, NULL) == 0 && pthread_detach(thread) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return watch.is_running;
}

static void begin_watch(int volatile *stopped) {
  *stopped = 0;
  pthread_mutex_lock(&watch.lock);
  watch.stopped = stopped;
  watch.number++;
  if (watch.is_waiting) pthread_cond_signal(&watch.begins);
  pthread_mutex_unlock(&watch.lock);
}

static void end_watch(void) {
  pthread_mutex_lock(&watch.lock);
  watch.stopped = NULL;
  pthread_mutex_unlock(&watch.lock);
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* A call of a procedure took so long, or failed. */
static void note_duration(struct brief *brief, long long duration, int status) {
  int is_brief = !status && duration < BRIEF;
  brief->trials = is_brief ? brief->trials + 1 : 0;
  brief->is_brief = is_brief && brief->trials > brief->needed && is_watching();
  brief->count = 0;
}

static void note_ended(struct brief *brief) {
  brief->needed = brief->needed < MOST_TRIALS ? 2 * brief->needed + 1 : MOST_TRIALS;
  brief->is_brief = brief->trials = 0;
}
