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

/* The least of the greatest of x1^2 + y1^2 - x2^2 - y2^2, as in saddle.c: the inner gradient by formula, no derivative in the inner steps,
   since they do not depend on (x1, y1). */
static double length(double x, double y) { return sqrt(x * x + y * y); }

static void descend(double (*value)(double, double, double, double *), double start, double of, double *at) {
  double x = start, y = start, g[2], next[2], eta = 1e-5, f = value(x, y, of, g);
  for (int i = 0; length(g[0], g[1]) > 1e-5;) {
    if (i == 10) {
      eta *= 2, i = 0;
      continue;
    }
    double u = x - eta * g[0], v = y - eta * g[1];
    if (length(u - x, v - y) <= 1e-5) break;
    double new = value(u, v, of, next);
    if (new < f) x = u, y = v, f = new, g[0] = next[0], g[1] = next[1], i++;
    else eta /= 2, i = 0;
  }
  at[0] = x, at[1] = y;
}

/* of (x2, y2), where (x1, y1) has the square of its length given; the start is not */
static double inner(double x, double y, double squares, double *g) {
  g[0] = 2 * x, g[1] = 2 * y;
  return 0 - (squares - (x * x + y * y));
}

static double outer(double x, double y, double start, double *g) {
  double best[2], squares = x * x + y * y;
  descend(inner, start, squares, best);
  g[0] = 2 * x, g[1] = 2 * y;
  return squares - (best[0] * best[0] + best[1] * best[1]);
}

void saddles(long n, const double *start, double *result) {
#pragma omp parallel for schedule(dynamic, 16)
  for (long i = 0; i < n; i++) {
    double a[2], b[2];
    descend(outer, start[i], start[i], a);
    descend(inner, start[i], a[0] * a[0] + a[1] * a[1], b);
    result[i] = a[0] + 3 * a[1] + 5 * b[0] + 7 * b[1];
  }
}
