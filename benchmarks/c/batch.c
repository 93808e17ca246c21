/* Many at once, by hand: each function goes through n rows, in the threads of OpenMP. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

void rosenbrock(long n, const double *xs, double *g) {
#pragma omp parallel for
  for (long row = 0; row < n; row++) {
    const double *x = xs + 8 * row;
    double s[8] = {0};
    for (int i = 0; i < 7; i++) {
      double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
      s[i + 1] += 200 * a;
      s[i] += -400 * a * x[i] - 2 * b;
    }
    memcpy(g + 8 * row, s, sizeof s);
  }
}

/* Price, and its derivatives by s twice, by v and s, by v twice. */
void options(long n, const double *s, const double *v, const double *k, const double *t, double *price, double *ss, double *vs,
             double *vv) {
#pragma omp parallel for
  for (long i = 0; i < n; i++) {
    double root = sqrt(t[i]), w = v[i] * root, d = (log(s[i] / k[i]) + 0.5 * w * w) / w, e = d - w;
    double density = exp(-0.5 * d * d) * 0.3989422804014327;
    price[i] = s[i] * 0.5 * erfc(-d / sqrt(2)) - k[i] * 0.5 * erfc(-e / sqrt(2));
    ss[i] = density / (s[i] * w);
    vs[i] = -density * e / v[i];
    vv[i] = s[i] * density * root * d * e / v[i];
  }
}

void roots(long n, const double *m, const double *e, double *x, double *dx) {
#pragma omp parallel for
  for (long i = 0; i < n; i++) {
    double at = m[i], step;
    for (;;) {
      step = (at - e[i] * sin(at) - m[i]) / (1 - e[i] * cos(at));
      if (fabs(step) < 1e-10) break;
      at -= step;
    }
    x[i] = at;
    dx[i] = 1 / (1 - e[i] * cos(at));
  }
}

enum { STEPS = 1000 };

void pendulums(long n, const double *k, const double *d, const double *start, const double *target, double *dk, double *dd) {
#pragma omp parallel for
  for (long row = 0; row < n; row++) {
    double angles[STEPS], speeds[STEPS];
    double angle = start[row], speed = 0, ks = 0, ds = 0;
    for (int i = 0; i < STEPS; i++) {
      angles[i] = angle;
      speeds[i] = speed;
      speed += 0.01 * (-k[row] * sin(angle) - d[row] * speed);
      angle += 0.01 * speed;
    }
    double angle_s = 2 * (angle - target[row]), speed_s = 0;
    for (int i = STEPS - 1; i >= 0; i--) {
      speed_s += 0.01 * angle_s;
      double force_s = 0.01 * speed_s;
      ks -= force_s * sin(angles[i]);
      ds -= force_s * speeds[i];
      angle_s -= force_s * k[row] * cos(angles[i]);
      speed_s -= force_s * d[row];
    }
    dk[row] = ks;
    dd[row] = ds;
  }
}

enum { IN = 784, HIDDEN = 128, OUT = 10 };

void network(long n, const double *w1, const double *b1, const double *w2, const double *b2, const double *xs, const double *labels,
             double *g1, double *h1, double *g2, double *h2) {
#pragma omp parallel for
  for (long row = 0; row < n; row++) {
    const double *x = xs + row * IN;
    double hidden[HIDDEN], out[OUT], most = -INFINITY, total = 0;
    for (int i = 0; i < HIDDEN; i++) {
      double sum[8] = {0};
      for (int j = 0; j < IN; j += 8)
        for (int l = 0; l < 8; l++) sum[l] += w1[i * IN + j + l] * x[j + l];
      hidden[i] = tanh(b1[i] + ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])));
    }
    for (int i = 0; i < OUT; i++) {
      double sum = b2[i];
      for (int j = 0; j < HIDDEN; j++) sum += w2[i * HIDDEN + j] * hidden[j];
      out[i] = sum;
      most = fmax(most, sum);
    }
    for (int i = 0; i < OUT; i++) total += out[i] = exp(out[i] - most);
    for (int i = 0; i < OUT; i++) out[i] = out[i] / total - (i == (int)labels[row]);
    memcpy(h2 + row * OUT, out, sizeof out);
    for (int i = 0; i < OUT; i++)
      for (int j = 0; j < HIDDEN; j++) g2[(row * OUT + i) * HIDDEN + j] = out[i] * hidden[j];
    for (int i = 0; i < HIDDEN; i++) {
      double sum = 0;
      for (int j = 0; j < OUT; j++) sum += out[j] * w2[j * HIDDEN + i];
      sum *= 1 - hidden[i] * hidden[i];
      h1[row * HIDDEN + i] = sum;
      for (int j = 0; j < IN; j++) g1[(row * HIDDEN + i) * IN + j] = sum * x[j];
    }
  }
}
