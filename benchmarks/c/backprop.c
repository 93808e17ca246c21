/* 2-2-1 sigmoid network on XOR, plain gradient descent (STALINGRAD does 10^6
   steps; one call here = 10^5 steps from the same start).  Seconds per call.
     scalar: the four patterns one after the other
     simd4:  the four patterns in the lanes of one vector (needs a vector exp) */
#include "bench.h"
#define STEPS 100000
static const double W0[9] = {0, -0.284227, 1.16054, 0, 0.617194, 1.30467, 0, -0.084395, 0.648461};
static const double A[4] = {0, 0, 1, 1}, B[4] = {0, 1, 0, 1}, T[4] = {0, 1, 1, 0};
static inline double sig(double x) { return 1 / (1 + exp(-x)); }
static double __attribute__((noipa)) scalar(void) {
  double w[9], e = 0; memcpy(w, W0, sizeof w);
  for (int s = 0; ; s++) {
    double g[9] = {0}; e = 0;
    for (int k = 0; k < 4; k++) {
      double h = sig(w[0] + w[1] * A[k] + w[2] * B[k]), i = sig(w[3] + w[4] * A[k] + w[5] * B[k]);
      double o = sig(w[6] + w[7] * h + w[8] * i), r = o - T[k];
      e += 0.5 * r * r;
      double bo = r * o * (1 - o), bh = bo * w[7] * h * (1 - h), bi = bo * w[8] * i * (1 - i);
      g[6] += bo; g[7] += bo * h; g[8] += bo * i;
      g[0] += bh; g[1] += bh * A[k]; g[2] += bh * B[k];
      g[3] += bi; g[4] += bi * A[k]; g[5] += bi * B[k];
    }
    if (s == STEPS) return e;
    for (int j = 0; j < 9; j++) w[j] -= 0.3 * g[j];
  }
}
static double __attribute__((noipa)) simd4(void) {
  double w[9], e = 0; memcpy(w, W0, sizeof w);
  for (int s = 0; ; s++) {
    double h[4], i[4], o[4], bo[4], bh[4], bi[4]; e = 0;
    for (int k = 0; k < 4; k++) h[k] = 1 / (1 + exp(-(w[0] + w[1] * A[k] + w[2] * B[k])));
    for (int k = 0; k < 4; k++) i[k] = 1 / (1 + exp(-(w[3] + w[4] * A[k] + w[5] * B[k])));
    for (int k = 0; k < 4; k++) o[k] = 1 / (1 + exp(-(w[6] + w[7] * h[k] + w[8] * i[k])));
    for (int k = 0; k < 4; k++) {
      double r = o[k] - T[k]; e += 0.5 * r * r;
      bo[k] = r * o[k] * (1 - o[k]);
      bh[k] = bo[k] * w[7] * h[k] * (1 - h[k]); bi[k] = bo[k] * w[8] * i[k] * (1 - i[k]);
    }
    if (s == STEPS) return e;
    double g[9] = {0};
    for (int k = 0; k < 4; k++) {
      g[6] += bo[k]; g[7] += bo[k] * h[k]; g[8] += bo[k] * i[k];
      g[0] += bh[k]; g[1] += bh[k] * A[k]; g[2] += bh[k] * B[k];
      g[3] += bi[k]; g[4] += bi[k] * A[k]; g[5] += bi[k] * B[k];
    }
    for (int j = 0; j < 9; j++) w[j] -= 0.3 * g[j];
  }
}
int main(void) {
  double r = 0;
  BENCH("W3", PEER, "scalar", r, r = scalar(); KEEP(r));
  BENCH("W3", PEER "-simd", "simd4", r, r = simd4(); KEEP(r));
  return 0;
}
