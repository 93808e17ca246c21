/* W13: the long-loop gradient of checkpointVLAD's example: n = 1000 reals, l outer
   iterations, each an uneven number of steps; a step turns the vector by angles that
   depend on its length.  Reverse by hand, once keeping the state before every step
   and once by bisection (divide and conquer: about log2(steps/64) live states and the
   64 of a leaf).  l = 401 and 3203. */
#include "bench.h"
#define N 1000
#define LEAF 64
static long nsteps, done, live, peak;
static int ilog2i(long x) { int k = 0; while (x >>= 1) k++; return k; }
static long count(long l) {
  long s = 0; for (long i = 1; i <= l; i++) s += 1l << (ilog2i(l) - ilog2i(1 + (1013l * 27 * i) % l)); return s;
}
static inline void turn(double *x, int from, int to, double c, double s) {
  for (int k = from; k < to; k += 2) { double a = x[k], b = x[k + 1]; x[k] = c * a - s * b; x[k + 1] = s * a + c * b; }
}
static inline double len(const double *x) { double s = 0; for (int k = 0; k < N; k++) s += x[k] * x[k]; return sqrt(s); }
static void step(double *x) {
  double y = len(x); done++;
  turn(x, 0, N, cos(1.2 * y), sin(1.2 * y)); turn(x, 1, N - 1, cos(1.4 * y), sin(1.4 * y));
}
static inline double unturn(const double *out, double *b, int from, int to, double c, double s) {
  double g = 0;                                       /* adjoint of the angle; b becomes the adjoint of the input */
  for (int k = from; k < to; k += 2) {
    double p = b[k], q = b[k + 1]; g += q * out[k] - p * out[k + 1];
    b[k] = c * p + s * q; b[k + 1] = c * q - s * p;
  }
  return g;
}
static void rstep(const double *x0, double *b) {
  double x1[N], x2[N], y = len(x0), c1 = cos(1.2 * y), s1 = sin(1.2 * y), c2 = cos(1.4 * y), s2 = sin(1.4 * y);
  memcpy(x1, x0, sizeof x1); turn(x1, 0, N, c1, s1);
  memcpy(x2, x1, sizeof x2); turn(x2, 1, N - 1, c2, s2);
  double g = 1.4 * unturn(x2, b, 1, N - 1, c2, s2) + 1.2 * unturn(x1, b, 0, N, c1, s1);
  for (int k = 0; k < N; k++) b[k] += g * x0[k] / y;
}
static double *store;                                  /* for the leaf, or for everything */
static void all(const double *x, double *b, long n) {
  double z[N]; memcpy(z, x, sizeof z);
  for (long i = 0; i < n; i++) { memcpy(store + i * N, z, sizeof z); step(z); }
  while (n-- > 0) rstep(store + n * N, b);
}
static void bisect(const double *x, double *b, long n) {
  if (n <= LEAF) { all(x, b, n); return; }
  double *m = malloc(sizeof(double) * N); if (++live > peak) peak = live;
  memcpy(m, x, sizeof(double) * N); for (long i = 0; i < n / 2; i++) step(m);
  bisect(m, b, n - n / 2); free(m); live--;
  bisect(x, b, n / 2);
}
static double x0[N], g[N];
static void forward(double *x, long n) { memcpy(x, x0, sizeof x0); for (long i = 0; i < n; i++) step(x); }
static void run(void (*rev)(const double *, double *, long), long n) { forward(g, n); rev(x0, g, n); }
int main(void) {
  for (int k = 0; k < N; k++) x0[k] = N - k;
  for (long l = 401; l <= 3203; l += 2802) {
    char w[32], c[80]; nsteps = count(l); double z[N];
    store = malloc(sizeof(double) * N * LEAF);
    snprintf(w, 32, "W13-%ld", l);
    snprintf(c, 80, "value, %ld steps", nsteps);
    BENCH(w, PEER "-value", c, z[0], forward(z, nsteps));
    BENCH(w, PEER "-ckpt", "bisection", g[0], run(bisect, nsteps));
    free(store); store = malloc(sizeof(double) * N * nsteps);
    snprintf(c, 80, "store all, %.3g MB", 8e-6 * N * nsteps);
    BENCH(w, PEER, c, g[0], run(all, nsteps)); free(store);
  }
  return 0;
}
