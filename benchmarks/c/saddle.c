/* min over (x1,y1) of max over (x2,y2) of (x1^2+y1^2)-(x2^2+y2^2), each by
   gradient descent with line search; the outer gradient goes through the whole
   inner search.  One call = one complete saddle point.
     hand: inner gradient by formula; activity analysis shows that the inner
           iterates carry no derivative of (x1,y1); value and gradient fused
     mech-FF: duals carried through every inner iteration, one direction at a
           time, value recomputed apart, inner gradient by duals over duals
     mech-R:  reverse with a tape of the inner iterations, inner gradient by formula */
#include "bench.h"
static long inner, outer;
static inline double nrm(double a, double b) { return sqrt(a * a + b * b); }
typedef struct { double p, t; } D;
typedef struct { D p, t; } E;
static inline D d(double x) { return (D){x, 0}; }
static inline D dadd(D a, D b) { return (D){a.p + b.p, a.t + b.t}; }
static inline D dsub(D a, D b) { return (D){a.p - b.p, a.t - b.t}; }
static inline D dmul(D a, D b) { return (D){a.p * b.p, a.p * b.t + a.t * b.p}; }
static inline D dsqrt(D a) { double s = sqrt(a.p); return (D){s, a.p > 0 ? a.t / (2 * s) : 0}; }
static inline E eadd(E a, E b) { return (E){dadd(a.p, b.p), dadd(a.t, b.t)}; }
static inline E esub(E a, E b) { return (E){dsub(a.p, b.p), dsub(a.t, b.t)}; }
static inline E esqr(E a) { D m = dmul(a.p, a.t); return (E){dmul(a.p, a.p), dadd(m, m)}; }
static inline E lift(D a) { return (E){a, d(0)}; }

/* inner search on h(x2,y2) = 0 - f; only doubles */
static inline double maxin(double x1, double y1, double *rx, double *ry) {
  double x = 1, y = 1, s = x1 * x1 + y1 * y1, gx = 2 * x, gy = 2 * y, eta = 1e-5;
  double fx = 0 - (s - (x * x + y * y)); int i = 0;
  for (;;) {
    if (nrm(gx, gy) <= 1e-5) break;
    if (i == 10) { eta *= 2; i = 0; continue; }
    inner++;
    double u = x - eta * gx, v = y - eta * gy;
    if (nrm(u - x, v - y) <= 1e-5) break;
    double fn = 0 - (s - (u * u + v * v));
    if (fn < fx) { x = u; y = v; fx = fn; gx = 2 * u; gy = 2 * v; i++; }
    else { eta /= 2; i = 0; }
  }
  *rx = x; *ry = y;
  return s - (x * x + y * y);
}
static inline double hand(double x, double y, double *gx, double *gy) {
  double a, b, v = maxin(x, y, &a, &b); *gx = 2 * x; *gy = 2 * y; return v;
}
/* mechanical: everything dual in one outer direction */
static inline E h(D x1, D y1, E x2, E y2) {
  return esub(lift(d(0)), esub(eadd(lift(dmul(x1, x1)), lift(dmul(y1, y1))), eadd(esqr(x2), esqr(y2))));
}
static inline D maxmech(D x1, D y1) {
  D x = d(1), y = d(1), eta = d(1e-5); int i = 0;
#define HV(x, y) h(x1, y1, lift(x), lift(y)).p
#define HX(x, y) h(x1, y1, (E){x, d(1)}, lift(y)).t
#define HY(x, y) h(x1, y1, lift(x), (E){y, d(1)}).t
  D fx = HV(x, y), gx = HX(x, y), gy = HY(x, y);
  for (;;) {
    if (dsqrt(dadd(dmul(gx, gx), dmul(gy, gy))).p <= 1e-5) break;
    if (i == 10) { eta = dmul(d(2), eta); i = 0; continue; }
    inner++;
    D u = dsub(x, dmul(eta, gx)), v = dsub(y, dmul(eta, gy)), a = dsub(u, x), b = dsub(v, y);
    if (dsqrt(dadd(dmul(a, a), dmul(b, b))).p <= 1e-5) break;
    D fn = HV(u, v);
    if (fn.p < fx.p) { x = u; y = v; fx = fn; gx = HX(u, v); gy = HY(u, v); i++; }
    else { eta.p /= 2; eta.t /= 2; i = 0; }
  }
  return dsub(d(0), HV(x, y));
}
static inline double mech(double x, double y, double *gx, double *gy) {
  *gx = maxmech((D){x, 1}, d(y)).t; *gy = maxmech(d(x), (D){y, 1}).t;
  return maxmech(d(x), d(y)).p;
}
/* reverse: tape of accepted steps (eta), then the adjoint of each update */
static double te[65536];
static inline double rev(double x1, double y1, double *gx_, double *gy_) {
  double x = 1, y = 1, s = x1 * x1 + y1 * y1, gx = 2 * x, gy = 2 * y, eta = 1e-5;
  double fx = 0 - (s - (x * x + y * y)); int i = 0, n = 0;
  for (;;) {
    if (nrm(gx, gy) <= 1e-5) break;
    if (i == 10) { eta *= 2; i = 0; continue; }
    inner++;
    double u = x - eta * gx, v = y - eta * gy;
    if (nrm(u - x, v - y) <= 1e-5) break;
    double fn = 0 - (s - (u * u + v * v));
    if (fn < fx) { te[n++] = eta; x = u; y = v; fx = fn; gx = 2 * u; gy = 2 * v; i++; }
    else { eta /= 2; i = 0; }
  }
  double bx = -2 * x, by = -2 * y, bs = 1;
  while (n-- > 0) { bx -= 2 * te[n] * bx; by -= 2 * te[n] * by; }
  KEEP(bx); KEEP(by);             /* adjoint of the (constant) start */
  *gx_ = bs * 2 * x1; *gy_ = bs * 2 * y1;
  return s - (x * x + y * y);
}
typedef double (*vg)(double, double, double *, double *);
static inline __attribute__((always_inline)) void argmin(vg fg, int fused, double *px, double *py) {
  double x = 1, y = 1, gx, gy, fx = fg(x, y, &gx, &gy), eta = 1e-5; int i = 0;
  for (;;) {
    if (nrm(gx, gy) <= 1e-5) break;
    if (i == 10) { eta *= 2; i = 0; continue; }
    outer++;
    double u = x - eta * gx, v = y - eta * gy;
    if (nrm(u - x, v - y) <= 1e-5) break;
    double a, b, fn = fused ? fg(u, v, &a, &b) : maxmech(d(u), d(v)).p;
    if (fn < fx) { if (!fused) fg(u, v, &a, &b); x = u; y = v; fx = fn; gx = a; gy = b; i++; }
    else { eta /= 2; i = 0; }
  }
  *px = x; *py = y;
}
#define RUN(name, fg, fused) static double __attribute__((noipa)) name(void) {     \
    double x, y, a, b; argmin(fg, fused, &x, &y); maxin(x, y, &a, &b);                \
    return x + 3 * y + 5 * a + 7 * b; }
RUN(run_h, hand, 1) RUN(run_m, mech, 0) RUN(run_r, rev, 1)
int main(void) {
  double r = 0;
  inner = outer = 0; run_h();
  fprintf(stderr, "saddle: %ld outer, %ld inner iterations per call\n", outer, inner);
  BENCH("W2-FF", PEER, "hand", r, r = run_h(); KEEP(r));
  BENCH("W2-FF", PEER "-mech", "mech-FF", r, r = run_m(); KEEP(r));
  BENCH("W2-RR", PEER, "hand", r, r = run_h(); KEEP(r));
  BENCH("W2-RR", PEER "-mech", "mech-R", r, r = run_r(); KEEP(r));
  return 0;
}
