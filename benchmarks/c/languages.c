/* Language speed without AD: the C limit.  lists-cells builds real cons cells as the
   Scheme programs do; lists-fused is what deforestation would leave. */
#include "bench.h"
#define NI __attribute__((noipa))
static long NI fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static long NI tak(long x, long y, long z) { return !(y < x) ? z : tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y)); }
static long fib_in(long n) { return n < 2 ? n : fib_in(n - 1) + fib_in(n - 2); }
static long NI fib_inl(long n) { return fib_in(n); }
static double NI floatloop(long n) { double x = 0.5; for (long i = 0; i < n; i++) x = x + 1e-7 * x * (1.0 - x); return x; }
typedef struct cell { double v; struct cell *next; } cell;
static cell pool[3100000]; static long top;
static double NI cells(long n) {
  top = 0; cell *l = 0, *m = 0, **t = &m, *f = 0, **u = &f; double s = 0;
  for (long i = n - 1; i >= 0; i--) { cell *c = pool + top++; c->v = i; c->next = l; l = c; }
  for (; l; l = l->next) { cell *c = pool + top++; c->v = l->v * 2 + 1; *t = c; t = &c->next; } *t = 0;
  for (; m; m = m->next) if (m->v > 1000) { cell *c = pool + top++; c->v = m->v; *u = c; u = &c->next; } *u = 0;
  for (; f; f = f->next) s += f->v;
  return s;
}
static double NI fused(long n) { double s = 0; for (long i = 0; i < n; i++) { double x = i * 2.0 + 1; if (x > 1000) s += x; } return s; }
int main(void) {
  double r = 0; volatile long n = 27, m = 10000000, k = 1000000, a = 18, b = 12, c = 6;
  BENCH("L-fib", "gcc", "calls kept", r, r = fib(n));
  BENCH("L-fib", "gcc-inline", "gcc's recursion inlining", r, r = fib_inl(n));
  BENCH("L-tak", "gcc", "calls kept", r, r = tak(a, b, c));
  BENCH("L-floatloop", "gcc", "", r, r = floatloop(m));
  BENCH("L-lists", "gcc", "cons cells", r, r = cells(k));
  BENCH("L-lists", "gcc-fused", "deforested", r, r = fused(k));
  return 0;
}
