/* Hessian-vector product of the chained Rosenbrock function
   sum 100 (x[i+1]-x[i]^2)^2 + (1-x[i])^2, n = 100, 10^4, 10^5.
     formula: the tridiagonal Hessian times v in one vectorised pass
     f-over-r: tangent of the hand adjoint: forward and reverse sweep with a tape */
#include "bench.h"
static void __attribute__((noipa)) formula(const double *restrict x, const double *restrict v,
                                           double *restrict h, int n) {
  h[0] = (1200 * x[0] * x[0] - 400 * x[1] + 2) * v[0] - 400 * x[0] * v[1];
  for (int i = 1; i < n - 1; i++)
    h[i] = (1200 * x[i] * x[i] - 400 * x[i + 1] + 202) * v[i] - 400 * (x[i] * v[i + 1] + x[i - 1] * v[i - 1]);
  h[n - 1] = 200 * v[n - 1] - 400 * x[n - 2] * v[n - 2];
}
static void __attribute__((noipa)) for_over_rev(const double *restrict x, const double *restrict v,
                                                double *restrict h, double *restrict t, int n) {
  for (int i = 0; i < n - 1; i++) {
    t[2 * i] = x[i + 1] - x[i] * x[i]; t[2 * i + 1] = v[i + 1] - 2 * x[i] * v[i];
  }
  double carry = 0;
  for (int i = n - 2; i >= 0; i--) {
    double bd = 200 * t[2 * i], BD = 200 * t[2 * i + 1];
    h[i + 1] = carry + BD;
    carry = -2 * (BD * x[i] + bd * v[i]) + 2 * v[i];
  }
  h[0] = carry;
}
int main(void) {
  int ns[] = {100, 10000, 100000};
  for (int k = 0; k < 3; k++) {
    int n = ns[k]; double *x = malloc(8 * n), *v = malloc(8 * n), *h = malloc(8 * n), *t = malloc(16 * n); char w[32];
    for (int i = 0; i < n; i++) { x[i] = sin(i); v[i] = cos(i); }
    snprintf(w, 32, "W10-%d", n);
    BENCH(w, PEER, "formula", h[1], formula(x, v, h, n));
    BENCH(w, PEER "-f/r", "forward over reverse", h[1], for_over_rev(x, v, h, t, n));
  }
  return 0;
}
