/* The driven pendulum of programs/pendulum.vlad, by hand: the equation of motion is solved for the acceleration on paper,
   q'' = -(g - a w^2 cos wt) sin(q) / l. The gradient by l, a and w carries three tangents along (forward), or stores the sines
   and cosines of each step (reverse). */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>

static inline double acceleration(double t, double q, double l, double a, double w) {
  return -(9.8 - a * w * w * cos(w * t)) / l * sin(q);
}
__attribute__((noinline)) double angle(double l, double a, double w, double n) {
  double h = 0.001 * n / n, q = 1, v = 0;
  for (int i = 0; i < n; i++) {
    double t = i * h, k1 = acceleration(t, q, l, a, w);
    double v2 = v + h / 2 * k1, k2 = acceleration(t + h / 2, q + h / 2 * v, l, a, w);
    double v3 = v + h / 2 * k2, k3 = acceleration(t + h / 2, q + h / 2 * v2, l, a, w);
    double v4 = v + h * k3, k4 = acceleration(t + h, q + h * v3, l, a, w);
    q += h / 6 * (v + v4 + 2 * (v2 + v3));
    v += h / 6 * (k1 + k4 + 2 * (k2 + k3));
  }
  return q;
}

/* The same by Lagrange's equations as they stand, (d_q L - d_t d_v L - (d_q d_v L) v) / (d_v d_v L), of
   L = m/2 (l^2 v^2 + 2 l v y' sin(q) + y'^2) - m g (y - l cos(q)) with y = a cos wt. Two terms with y' v cos(q) cancel on paper. */
static inline double stated(double t, double q, double v, double m, double l, double g, double a, double w) {
  double s, c, st, ct;
  sincos(q, &s, &c), sincos(w * t, &st, &ct);
  double y1 = -(a * w * st), y2 = -(a * w * w * ct);
  double by_q = m * l * v * y1 * c - m * g * l * s, by_t = m * l * y2 * s, by_q_v = m * l * y1 * c;
  return (by_q - by_t - by_q_v * v) / (m * l * l);
}
__attribute__((noinline)) double angle_stated(double l, double a, double w, double n) {
  double h = 0.001 * n / n, q = 1, v = 0;
  for (int i = 0; i < n; i++) {
    double t = i * h, k1 = stated(t, q, v, 1, l, 9.8, a, w);
    double v2 = v + h / 2 * k1, k2 = stated(t + h / 2, q + h / 2 * v, v2, 1, l, 9.8, a, w);
    double v3 = v + h / 2 * k2, k3 = stated(t + h / 2, q + h / 2 * v2, v3, 1, l, 9.8, a, w);
    double v4 = v + h * k3, k4 = stated(t + h, q + h * v3, v4, 1, l, 9.8, a, w);
    q += h / 6 * (v + v4 + 2 * (v2 + v3));
    v += h / 6 * (k1 + k4 + 2 * (k2 + k3));
  }
  return q;
}

typedef struct { double x, d[3]; } dual;
static inline dual moved(dual y, double h, dual k) {
  y.x += h * k.x;
  for (int i = 0; i < 3; i++) y.d[i] += h * k.d[i];
  return y;
}
static inline dual dual_acceleration(double t, dual q, double l, double a, double w) {
  double st, ct, s, c;
  sincos(w * t, &st, &ct), sincos(q.x, &s, &c);
  double g = 9.8 - a * w * w * ct, by_q = -g / l * c;
  return (dual){-g / l * s, {by_q * q.d[0] + g / (l * l) * s, by_q * q.d[1] + w * w * ct / l * s,
    by_q * q.d[2] + (2 * a * w * ct - a * w * w * t * st) / l * s}};
}
__attribute__((noinline)) dual forward(double l, double a, double w, double n) {
  double h = 0.001 * n / n;
  dual q = {1, {0}}, v = {0, {0}};
  for (int i = 0; i < n; i++) {
    double t = i * h;
    dual k1 = dual_acceleration(t, q, l, a, w), v2 = moved(v, h / 2, k1);
    dual k2 = dual_acceleration(t + h / 2, moved(q, h / 2, v), l, a, w), v3 = moved(v, h / 2, k2);
    dual k3 = dual_acceleration(t + h / 2, moved(q, h / 2, v2), l, a, w), v4 = moved(v, h, k3);
    dual k4 = dual_acceleration(t + h, moved(q, h, v3), l, a, w);
    q = moved(moved(moved(moved(q, h / 6, v), h / 6, v4), h / 3, v2), h / 3, v3);
    v = moved(moved(moved(moved(v, h / 6, k1), h / 6, k4), h / 3, k2), h / 3, k3);
  }
  return q;
}

typedef struct { double s[4], c[4], st[3], ct[3]; } record;
static record *tape;
static double l_, a_, w_;
static inline double back(record *r, int k, int at, double t, double s, double *by) { /* the sensitivity of q; s: of the slope */
  double g = 9.8 - a_ * w_ * w_ * r->ct[at], by_g = -s * r->s[k] / l_;
  by[0] += s * g / (l_ * l_) * r->s[k];
  by[1] -= by_g * w_ * w_ * r->ct[at];
  by[2] -= by_g * (2 * a_ * w_ * r->ct[at] - a_ * w_ * w_ * t * r->st[at]);
  return -s * g / l_ * r->c[k];
}
__attribute__((noinline)) dual reverse(double l, double a, double w, double n) {
  double h = 0.001 * n / n, q = 1, v = 0;
  l_ = l, a_ = a, w_ = w;
  for (int i = 0; i < n; i++) {
    double t = i * h, k[4], u[4], g[4];
    record *r = tape + i;
    for (int j = 0; j < 3; j++) sincos(w * (t + j * h / 2), &r->st[j], &r->ct[j]);
    for (int j = 0; j < 4; j++) g[j] = -(9.8 - a * w * w * r->ct[(j + 1) / 2]) / l;
    u[0] = v, sincos(q, &r->s[0], &r->c[0]), k[0] = g[0] * r->s[0];
    u[1] = v + h / 2 * k[0], sincos(q + h / 2 * v, &r->s[1], &r->c[1]), k[1] = g[1] * r->s[1];
    u[2] = v + h / 2 * k[1], sincos(q + h / 2 * u[1], &r->s[2], &r->c[2]), k[2] = g[2] * r->s[2];
    u[3] = v + h * k[2], sincos(q + h * u[2], &r->s[3], &r->c[3]), k[3] = g[3] * r->s[3];
    q += h / 6 * (u[0] + u[3] + 2 * (u[1] + u[2]));
    v += h / 6 * (k[0] + k[3] + 2 * (k[1] + k[2]));
  }
  dual found = {q, {0}};
  double by_q = 1, by_v = 0;
  for (int i = n - 1; i >= 0; i--) {
    double t = i * h, of_q = by_q, k1 = h / 6 * by_v, k2 = 2 * k1, k3 = 2 * k1, k4 = k1;
    double of_v = by_v + h / 6 * by_q, v4 = h / 6 * by_q, v3 = 2 * v4, v2 = 2 * v4, s;
    record *r = tape + i;
    s = back(r, 3, 2, t + h, k4, found.d), of_q += s, v3 += h * s, of_v += v4, k3 += h * v4;
    s = back(r, 2, 1, t + h / 2, k3, found.d), of_q += s, v2 += h / 2 * s, of_v += v3, k2 += h / 2 * v3;
    s = back(r, 1, 1, t + h / 2, k2, found.d), of_q += s, of_v += h / 2 * s + v2, k1 += h / 2 * v2;
    by_q = of_q + back(r, 0, 0, t, k1, found.d), by_v = of_v;
  }
  return found;
}

void make_tape(double n) { tape = malloc(n * sizeof(record)); }
