/* steer a charged particle's starting point (scalar w) by gradient descent
   through an Euler simulation whose force is itself a gradient.  One call = one
   complete argmin (STALINGRAD's program does 1000 of them).
     hand-F: force by closed form, d/dw by one carried tangent, value+derivative fused
     hand-F, charges in lanes: the same in 2-lane vectors
     hand-R: same force, d/dw by a hand-written adjoint with a tape of states
     mech-FF: dual numbers over dual numbers, mechanically, value and gradient
              recomputed separately as the source program says */
#include "bench.h"
#define DT 1e-1
static long steps, evals;

/* ---- value only ---- */
static inline double euler(double w) {
  double x0 = 0, x1 = 8, v0 = 0.75, v1 = 0;
  evals++;
  for (;;) {
    steps++;
    double p0 = x0 - 10, p1 = x1 - 10 + w, q0 = x0 - 10, q1 = x1;
    double rp = p0 * p0 + p1 * p1, rq = q0 * q0 + q1 * q1;
    double ip = 1 / (rp * sqrt(rp)), iq = 1 / (rq * sqrt(rq));
    double n0 = x0 + DT * v0, n1 = x1 + DT * v1;
    if (!(n1 > 0)) { double y = x0 - x1 / v1 * v0; return y * y; }
    v0 += DT * (p0 * ip + q0 * iq); v1 += DT * (p1 * ip + q1 * iq);
    x0 = n0; x1 = n1;
  }
}
/* ---- value and d/dw with a tangent ---- */
static inline double euler_f(double w, double *dw) {
  double x0 = 0, x1 = 8, v0 = 0.75, v1 = 0, X0 = 0, X1 = 0, V0 = 0, V1 = 0;
  evals++;
  for (;;) {
    steps++;
    double p0 = x0 - 10, p1 = x1 - 10 + w, q0 = x0 - 10, q1 = x1, P1 = X1 + 1;
    double rp = p0 * p0 + p1 * p1, rq = q0 * q0 + q1 * q1;
    double sp = sqrt(rp), sq = sqrt(rq), ip = 1 / (rp * sp), iq = 1 / (rq * sq);
    double n0 = x0 + DT * v0, n1 = x1 + DT * v1;
    double N0 = X0 + DT * V0, N1 = X1 + DT * V1;
    if (!(n1 > 0)) {
      double t = -x1 / v1, T = (-X1 - t * V1) / v1;
      double y = x0 + t * v0, Y = X0 + T * v0 + t * V0;
      *dw = 2 * y * Y; return y * y;
    }
    double kp = -3 * ip * ip * sp * (p0 * X0 + p1 * P1);    /* ip / rp without dividing */
    double kq = -3 * iq * iq * sq * (q0 * X0 + q1 * X1);
    V0 += DT * (X0 * (ip + iq) + p0 * kp + q0 * kq);
    V1 += DT * (P1 * ip + X1 * iq + p1 * kp + q1 * kq);
    v0 += DT * (p0 * ip + q0 * iq); v1 += DT * (p1 * ip + q1 * iq);
    x0 = n0; x1 = n1; X0 = N0; X1 = N1;
  }
}
#ifdef __SSE2__
/* the same with the two charges in the two lanes of a vector (halves the divider's work) */
#include <immintrin.h>
typedef double v2 __attribute__((vector_size(16)));
static inline double euler_v(double w, double *dw) {
  double x0 = 0, x1 = 8, v0 = 0.75, v1 = 0, X0 = 0, X1 = 0, V0 = 0, V1 = 0;
  const v2 c1 = {10 - w, 0}, C1 = {-1, 0};
  evals++;
  for (;;) {
    steps++;
    double p0 = x0 - 10, n0 = x0 + DT * v0, n1 = x1 + DT * v1, N0 = X0 + DT * V0, N1 = X1 + DT * V1;
    if (!(n1 > 0)) {
      double t = -x1 / v1, T = (-X1 - t * V1) / v1, y = x0 + t * v0, Y = X0 + T * v0 + t * V0;
      *dw = 2 * y * Y; return y * y;
    }
    v2 p1 = (v2){x1, x1} - c1, P1 = (v2){X1, X1} - C1;
    v2 r = (v2){p0 * p0, p0 * p0} + p1 * p1, s = (v2)_mm_sqrt_pd((__m128d)r), i = 1 / (r * s);
    v2 k = -3 * i * i * s * ((v2){p0 * X0, p0 * X0} + p1 * P1);
    v2 f = p1 * i, F = P1 * i + p1 * k;
    double I = i[0] + i[1];
    v0 += DT * p0 * I; v1 += DT * (f[0] + f[1]);
    V0 += DT * (X0 * I + p0 * (k[0] + k[1])); V1 += DT * (F[0] + F[1]);
    x0 = n0; x1 = n1; X0 = N0; X1 = N1;
  }
}
#endif
/* ---- value and d/dw with an adjoint; the tape keeps what the reverse needs ---- */
static struct { double p0, p1, q1, ip, iq, jp, jq; } tape[4096];
static inline double euler_r(double w, double *dw) {
  double x0 = 0, x1 = 8, v0 = 0.75, v1 = 0; int n = 0;
  evals++;
  for (;; n++) {
    steps++;
    double p0 = x0 - 10, p1 = x1 - 10 + w, q1 = x1;
    double n0 = x0 + DT * v0, n1 = x1 + DT * v1;
    if (!(n1 > 0)) break;
    double rp = p0 * p0 + p1 * p1, rq = p0 * p0 + q1 * q1;
    double sp = sqrt(rp), sq = sqrt(rq), ip = 1 / (rp * sp), iq = 1 / (rq * sq);
    tape[n].p0 = p0; tape[n].p1 = p1; tape[n].q1 = q1; tape[n].ip = ip; tape[n].iq = iq;
    tape[n].jp = ip * ip * sp; tape[n].jq = iq * iq * sq;
    v0 += DT * p0 * (ip + iq); v1 += DT * (p1 * ip + q1 * iq);
    x0 = n0; x1 = n1;
  }
  double t = -x1 / v1, y = x0 + t * v0, by = 2 * y;
  double bt = by * v0, bx0 = by, bv0 = by * t, bx1 = -bt / v1, bv1 = -bt * t / v1, bw = 0;
  while (n-- > 0) {
    double p0 = tape[n].p0, p1 = tape[n].p1, q1 = tape[n].q1, ip = tape[n].ip, iq = tape[n].iq;
    double a0 = DT * bv0, a1 = DT * bv1;
    double kp = -3 * tape[n].jp * (a0 * p0 + a1 * p1), kq = -3 * tape[n].jq * (a0 * p0 + a1 * q1);
    double bp1 = a1 * ip + kp * p1;
    bv0 += DT * bx0; bv1 += DT * bx1;
    bx0 += a0 * (ip + iq) + (kp + kq) * p0;
    bx1 += bp1 + a1 * iq + kq * q1;
    bw += bp1;
  }
  *dw = bw; return y * y;
}
/* ---- mechanical nested duals: inner e1 (2 directions, recomputed), outer e2 ---- */
typedef struct { double p, t; } D;            /* outer dual */
typedef struct { D p, t; } E;                 /* inner dual over outer dual */
#define DI static inline D
#define EI static inline E
DI d(double x) { return (D){x, 0}; }
DI dadd(D a, D b) { return (D){a.p + b.p, a.t + b.t}; }
DI dsub(D a, D b) { return (D){a.p - b.p, a.t - b.t}; }
DI dmul(D a, D b) { return (D){a.p * b.p, a.p * b.t + a.t * b.p}; }
DI ddiv(D a, D b) { double q = a.p / b.p; return (D){q, (a.t - q * b.t) / b.p}; }
DI dsqrt(D a) { double s = sqrt(a.p); return (D){s, a.t / (2 * s)}; }
EI eadd(E a, E b) { return (E){dadd(a.p, b.p), dadd(a.t, b.t)}; }
EI esub(E a, E b) { return (E){dsub(a.p, b.p), dsub(a.t, b.t)}; }
EI emul(E a, E b) { return (E){dmul(a.p, b.p), dadd(dmul(a.p, b.t), dmul(a.t, b.p))}; }
EI ediv(E a, E b) { D q = ddiv(a.p, b.p); return (E){q, ddiv(dsub(a.t, dmul(q, b.t)), b.p)}; }
EI esqrt(E a) { D s = dsqrt(a.p); return (E){s, ddiv(a.t, dmul(d(2), s))}; }
EI lift(D a) { return (E){a, d(0)}; }
static inline E pot(E x0, E x1, D w) {
  E c = lift(dsub(d(10), w)), ten = lift(d(10)), one = lift(d(1)), zero = lift(d(0));
  E a0 = esub(ten, x0), a1 = esub(c, x1), b0 = esub(ten, x0), b1 = esub(zero, x1);
  E da = esqrt(eadd(emul(a0, a0), eadd(emul(a1, a1), zero)));
  E db = esqrt(eadd(emul(b0, b0), eadd(emul(b1, b1), zero)));
  return eadd(ediv(one, da), eadd(ediv(one, db), zero));
}
static inline D euler_mech(D w) {
  D x0 = d(0), x1 = d(8), v0 = d(0.75), v1 = d(0), dt = d(DT);
  evals++;
  for (;;) {
    steps++;
    D g0 = pot((E){x0, d(1)}, lift(x1), w).t, g1 = pot(lift(x0), (E){x1, d(1)}, w).t;
    D n0 = dadd(x0, dmul(dt, v0)), n1 = dadd(x1, dmul(dt, v1));
    if (!(n1.p > 0)) {
      D t = ddiv(dsub(d(0), x1), v1), y = dadd(x0, dmul(t, v0));
      return dmul(y, y);
    }
    v0 = dadd(v0, dmul(dt, dmul(d(-1), g0))); v1 = dadd(v1, dmul(dt, dmul(d(-1), g1)));
    x0 = n0; x1 = n1;
  }
}
static inline double mech_f(double w, double *g) {
  D r = euler_mech((D){w, 1}); *g = r.t; return euler_mech(d(w)).p;
}
typedef double (*vg)(double, double *);
static inline __attribute__((always_inline)) double argmin(vg fg, int fused, double x) {
  double gx, fx = fg(x, &gx), eta = 1e-5; int i = 0;
  for (;;) {
    if (fabs(gx) <= 1e-5) return x;
    if (i == 10) { eta *= 2; i = 0; continue; }
    double y = x - eta * gx;
    if (fabs(x - y) <= 1e-5) return x;
    double gy, fy;
    if (fused) fy = fg(y, &gy); else fy = euler(y);
    if (fy < fx) { if (!fused) fg(y, &gy); x = y; fx = fy; gx = gy; i++; }
    else { eta /= 2; i = 0; }
  }
}
static double __attribute__((noipa)) run_f(double w) { return argmin(euler_f, 1, w); }
static double __attribute__((noipa)) run_v(double w) { return argmin(euler_v, 1, w); }
static double __attribute__((noipa)) run_r(double w) { return argmin(euler_r, 1, w); }
static double __attribute__((noipa)) run_m(double w) { return argmin(mech_f, 0, w); }
int main(void) {
  double r = 0; volatile double w0 = 0;
  steps = evals = 0; run_f(w0);
  fprintf(stderr, "particle: %ld evaluations, %ld Euler steps per argmin\n", evals, steps);
  BENCH("W1-FF", PEER, "hand-F", r, r = run_f(w0));
  BENCH("W1-FF", PEER "-simd", "hand-F, charges in lanes", r, r = run_v(w0));
  BENCH("W1-FF", PEER "-mech", "mech-FF", r, r = run_m(w0));
  BENCH("W1-RR", PEER, "hand-R", r, r = run_r(w0));
  return 0;
}
