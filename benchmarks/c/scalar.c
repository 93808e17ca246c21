/* d/dx sin(cos x).  W6: d/dx x^n by a multiplication loop (n = 10, 1000).
   W11: gradient of a 10^6-step scalar loop x <- x + h*a*x*(1-x) (logistic growth)
   with respect to (x0, a): keeping every x, and with sqrt(n) checkpoints. */
#include "bench.h"
static double __attribute__((noipa)) sincos_v(double x) { return sin(cos(x)); }
static double __attribute__((noipa)) sincos_g(double x) {
  double s, c; sincos(x, &s, &c); return -s * cos(c);
}
static double __attribute__((noipa)) pow_v(double x, long n) {
  double r = 1; while (n-- > 0) r *= x; return r;
}
/* generic reverse: tape of r, as the AD of the loop must do */
static double tape[1000001];
static double __attribute__((noipa)) pow_g(double x, long n) {
  double r = 1, bx = 0, br = 1;
  for (long i = 0; i < n; i++) { tape[i] = r; r *= x; }
  for (long i = n - 1; i >= 0; i--) { bx += br * tape[i]; br *= x; }
  return bx;
}
/* forward: value and tangent in one loop, no tape */
static double __attribute__((noipa)) pow_f(double x, long n) {
  double r = 1, t = 0;
  for (long i = 0; i < n; i++) { t = t * x + r; r *= x; }
  return t;
}
#define N 1000000
#define H 1e-6
static double __attribute__((noipa)) loop_v(double x, double a) {
  double c = H * a; for (long i = 0; i < N; i++) x += c * x * (1 - x); return x;
}
static double __attribute__((noipa)) loop_all(double x, double a, double *ga) {
  double c = H * a, bx = 1, bc = 0;
  for (long i = 0; i < N; i++) { tape[i] = x; x += c * x * (1 - x); }
  for (long i = N - 1; i >= 0; i--) { double y = tape[i]; bc += bx * (y * (1 - y)); bx += bx * (c * (1 - 2 * y)); }
  *ga = bc * H; return bx;
}
static double __attribute__((noipa)) loop_ck(double x, double a, double *ga) {
  enum { K = 1000 }; static double ck[K]; double c = H * a, bx = 1, bc = 0;
  for (int k = 0; k < K; k++) { ck[k] = x; for (int i = 0; i < K; i++) x += c * x * (1 - x); }
  for (int k = K - 1; k >= 0; k--) {
    double y = ck[k];
    for (int i = 0; i < K; i++) { tape[i] = y; y += c * y * (1 - y); }
    for (int i = K - 1; i >= 0; i--) { y = tape[i]; bc += bx * (y * (1 - y)); bx += bx * (c * (1 - 2 * y)); }
  }
  *ga = bc * H; return bx;
}
static double __attribute__((noipa)) loop_fwd(double x, double a, double *ga) {
  double c = H * a, X = 1, A = 0;
  for (long i = 0; i < N; i++) { double d = 1 + c * (1 - 2 * x), f = x * (1 - x); A = A * d + f; X *= d; x += c * f; }
  *ga = A * H; return X;
}
/* Newton's square root, and its k-th derivative by carrying a Taylor polynomial of that order through the loop */
static inline __attribute__((always_inline)) double newton(double x, int k) {
  double y[5] = {1}, z[5], q[5];
  for (;;) {
    for (int i = 0; i <= k; i++) { /* q = (x + t) / y */
      double s = i == 0 ? x : i == 1 ? 1 : 0;
      for (int j = 1; j <= i; j++) s -= y[j] * q[i - j];
      q[i] = s / y[0];
    }
    for (int i = 0; i <= k; i++) z[i] = 0.5 * (y[i] + q[i]);
    double moved = fabs(z[0] - y[0]), factorial = 1;
    if (moved < 1e-15) { for (int i = 2; i <= k; i++) factorial *= i; return z[k] * factorial; }
    for (int i = 0; i <= k; i++) y[i] = z[i];
  }
}
#define NEWTON(k) static double __attribute__((noipa)) newton_##k(double x) { return newton(x, k); }
NEWTON(0) NEWTON(1) NEWTON(2) NEWTON(3) NEWTON(4)
int main(int argc, char **argv) {
  double r = 0, g = 0; volatile double x = 0.8, y = 1.0001, z = 0.1, a = 2;
  BENCH("W5-fwd", PEER, "value", r, r = sincos_v(x));
  BENCH("W5", PEER, "gradient", r, r = sincos_g(x));
  BENCH("W6-10", PEER "-value", "value", r, r = pow_v(y, 10));
  BENCH("W6-10", PEER, "reverse+tape", r, r = pow_g(y, 10));
  BENCH("W6-10", PEER "-fwd", "forward", r, r = pow_f(y, 10));
  BENCH("W6-1000", PEER "-value", "value", r, r = pow_v(y, 1000));
  BENCH("W6-1000", PEER, "reverse+tape", r, r = pow_g(y, 1000));
  BENCH("W6-1000", PEER "-fwd", "forward", r, r = pow_f(y, 1000));
  BENCH("W11", PEER "-value", "value", r, r = loop_v(z, a));
  BENCH("W11", PEER "-fwd", "forward 2 dirs", g, r = loop_fwd(z, a, &g));
  BENCH("W11", PEER "-ckpt", "sqrt checkpoints, 16 KB", g, r = loop_ck(z, a, &g));
  BENCH("W11", PEER, "store all, 8 MB", g, r = loop_all(z, a, &g));
  BENCH("newton-0", PEER, "taylor", r, r = newton_0(a));
  BENCH("newton-1", PEER, "taylor", r, r = newton_1(a));
  BENCH("newton-2", PEER, "taylor", r, r = newton_2(a));
  BENCH("newton-3", PEER, "taylor", r, r = newton_3(a));
  BENCH("newton-4", PEER, "taylor", r, r = newton_4(a));
  return 0;
}
