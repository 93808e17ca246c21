/* Functions of benchmarks/peers/python_functions.py in C, and their gradients by hand: in reverse with a tape where a loop has
   many steps, forward where there are two inputs and no more. */
#include "bench.h"
#include <float.h>
#define NOINLINE __attribute__((noipa))
static double tape[1 << 22];
static inline double least(double a, double b) { return b < a ? b : a; }

static double NOINLINE logistic(double x, double r) {
  for (int i = 0; i < 10000; i++) x = r * x * (1 - x);
  return x;
}
static double NOINLINE logistic_gradient(double x, double r) {
  for (int i = 0; i < 10000; i++) { tape[i] = x; x = r * x * (1 - x); }
  double bx = 1, br = 0;
  for (int i = 9999; i >= 0; i--) { x = tape[i]; br += bx * (x * (1 - x)); bx *= r * (1 - 2 * x); }
  return bx + br;
}

static double NOINLINE pendulum(double angle, double damping) {
  double speed = 0, time = 0, step = 0.01;
  while (time < 10) {
    double first = -9.81 * sin(angle) - damping * speed;
    double ahead = angle + step * speed, speed_ahead = speed + step * first;
    double second = -9.81 * sin(ahead) - damping * speed_ahead;
    double error = 0.5 * step * fmax(fabs(speed_ahead - speed), fabs(second - first));
    if (error <= 1e-5) {
      time += step;
      angle += 0.5 * step * (speed + speed_ahead);
      speed += 0.5 * step * (first + second);
    }
    step *= fmin(2, fmax(0.3, 0.9 * sqrt(1e-5 / (error + 1e-12))));
    if (time + step > 10) step = fmax(10 - time, 1e-6);
  }
  return angle;
}
/* In reverse: each turn keeps what it began with, and what is dear to compute again. */
static double NOINLINE pendulum_gradient(double angle, double damping) {
  double speed = 0, time = 0, step = 0.01;
  long turns = 0;
  while (time < 10) {
    double *t = tape + 9 * turns++, sine;
    t[0] = angle; t[1] = speed; t[2] = time; t[3] = step;
    sincos(angle, &sine, &t[6]);
    double first = t[4] = -9.81 * sine - damping * speed;
    double ahead = angle + step * speed, speed_ahead = speed + step * first;
    sincos(ahead, &sine, &t[7]);
    double second = t[5] = -9.81 * sine - damping * speed_ahead;
    double error = 0.5 * step * fmax(fabs(speed_ahead - speed), fabs(second - first));
    if (error <= 1e-5) {
      time += step;
      angle += 0.5 * step * (speed + speed_ahead);
      speed += 0.5 * step * (first + second);
    }
    t[8] = 0.9 * sqrt(1e-5 / (error + 1e-12));
    step *= fmin(2, fmax(0.3, t[8]));
    if (time + step > 10) step = fmax(10 - time, 1e-6);
  }
  double b_angle = 1, b_speed = 0, b_time = 0, b_step = 0, b_damping = 0;
  while (turns--) {
    double *t = tape + 9 * turns;
    speed = t[1]; time = t[2]; step = t[3];
    double first = t[4], second = t[5], cosine = t[6], cosine_ahead = t[7], speed_ahead = speed + step * first;
    double by_speed = fabs(speed_ahead - speed), by_pull = fabs(second - first), most = fmax(by_speed, by_pull);
    double error = 0.5 * step * most, taken = error <= 1e-5;
    double wish = t[8], factor = fmin(2, fmax(0.3, wish));
    double after = time + taken * step, b_factor = 0, b_error = 0;
    double b_first = 0, b_second = 0, b_ahead = 0, b_speed_ahead = 0, b_before = 0;
    if (after + step * factor > 10) { /* the step is what remains */
      if (10 - after > 1e-6) b_time -= b_step;
    } else {
      b_factor = b_step * step;
      b_before = b_step * factor;
      if (wish > 0.3 && wish < 2) b_error = -0.5 * b_factor * wish / (error + 1e-12);
    }
    b_step = b_before;
    if (taken) {
      b_step += b_time + 0.5 * (b_angle * (speed + speed_ahead) + b_speed * (first + second));
      b_first += 0.5 * step * b_speed;
      b_second += 0.5 * step * b_speed;
      b_speed_ahead += 0.5 * step * b_angle;
      b_speed += 0.5 * step * b_angle;
    }
    b_step += 0.5 * b_error * most;
    double b_most = 0.5 * step * b_error;
    if (by_speed >= by_pull) {
      double s = speed_ahead > speed ? b_most : -b_most;
      b_speed_ahead += s; b_speed -= s;
    } else {
      double s = second > first ? b_most : -b_most;
      b_second += s; b_first -= s;
    }
    b_ahead += b_second * -9.81 * cosine_ahead;
    b_damping -= b_second * speed_ahead;
    b_speed_ahead -= b_second * damping;
    b_speed += b_speed_ahead;
    b_step += b_speed_ahead * first + b_ahead * speed;
    b_first += b_speed_ahead * step;
    b_angle += b_ahead;
    b_speed += b_ahead * step;
    b_angle += b_first * -9.81 * cosine;
    b_damping -= b_first * speed;
    b_speed -= b_first * damping;
  }
  return b_angle + b_damping;
}

static double NOINLINE escape(double x, double y) {
  double total = 0;
  for (int row = 0; row < 16; row++)
    for (int column = 0; column < 16; column++) {
      double a = x + 0.01 * (column / 16.0 - 0.5), b = y + 0.01 * (row / 16.0 - 0.5), u = 0, v = 0;
      int turns = 0;
      while (turns < 200 && u * u + v * v < 1e12) {
        double w = u * u - v * v + a;
        v = 2 * u * v + b; u = w;
        turns++;
      }
      total += turns < 200 ? turns + 1 - log(0.5 * log(u * u + v * v)) / log(2) : 200;
    }
  return total / 256;
}
/* Forward by both: z is analytic, so that one complex tangent holds both derivatives. */
static double NOINLINE escape_gradient(double x, double y) {
  double by_x = 0, by_y = 0;
  for (int row = 0; row < 16; row++)
    for (int column = 0; column < 16; column++) {
      double a = x + 0.01 * (column / 16.0 - 0.5), b = y + 0.01 * (row / 16.0 - 0.5), u = 0, v = 0, p = 0, q = 0;
      int turns = 0;
      while (turns < 200 && u * u + v * v < 1e12) {
        double s = 2 * (u * p - v * q) + 1, w = u * u - v * v + a;
        q = 2 * (u * q + v * p); p = s;
        v = 2 * u * v + b; u = w;
        turns++;
      }
      if (turns < 200) {
        double squared = u * u + v * v, factor = -2 / (log(2) * log(squared) * squared);
        by_x += factor * (u * p + v * q);
        by_y += factor * (v * p - u * q);
      }
    }
  return (by_x + by_y) / 256;
}

static double NOINLINE warping(const double *xs, const double *ys, int n) {
  double *row = tape, *next = tape + n + 1;
  row[0] = 0;
  for (int j = 1; j <= n; j++) row[j] = 1e300;
  for (int i = 0; i < n; i++) {
    double left = next[0] = 1e300;
    for (int j = 0; j < n; j++) {
      double d = xs[i] - ys[j];
      next[j + 1] = left = d * d + least(least(row[j], row[j + 1]), left);
    }
    double *other = row; row = next; next = other;
  }
  return row[n];
}
/* The table has all; its gradient is along one path. */
static double NOINLINE warping_gradient(const double *xs, const double *ys, int n, double *bx, double *by) {
  double *row = tape;
  row[0] = 0;
  for (int j = 1; j <= n; j++) row[j] = 1e300;
  for (int i = 0; i < n; i++, row += n + 1) {
    double *next = row + n + 1, left = next[0] = 1e300;
    for (int j = 0; j < n; j++) {
      double d = xs[i] - ys[j];
      next[j + 1] = left = d * d + least(least(row[j], row[j + 1]), left);
    }
  }
  memset(bx, 0, n * sizeof *bx);
  memset(by, 0, n * sizeof *by);
  for (int i = n, j = n; i > 0 && j > 0;) {
    double d = 2 * (xs[i - 1] - ys[j - 1]), *at = tape + i * (n + 1) + j;
    bx[i - 1] += d; by[j - 1] -= d;
    double corner = at[-n - 2], above = at[-n - 1], left = at[-1];
    if (corner <= above && corner <= left) i--, j--;
    else if (above <= left) i--;
    else j--;
  }
  double sum = 0;
  for (int i = 0; i < n; i++) sum += (i + 1) * (bx[i] + by[i]);
  return sum;
}

static double NOINLINE tree(int depth, double x, double shrink) {
  if (depth == 0) return x * x;
  return tree(depth - 1, shrink * x, shrink) + tree(depth - 1, x - shrink, shrink);
}
static void NOINLINE tree_reverse(int depth, double x, double shrink, double *bx, double *b_shrink) {
  if (depth == 0) { *bx += 2 * x; return; }
  double left = 0, right = 0;
  tree_reverse(depth - 1, shrink * x, shrink, &left, b_shrink);
  tree_reverse(depth - 1, x - shrink, shrink, &right, b_shrink);
  *bx += shrink * left + right;
  *b_shrink += x * left - right;
}
static double NOINLINE tree_gradient(int depth, double x, double shrink) {
  double bx = 0, b_shrink = 0;
  tree_reverse(depth, x, shrink, &bx, &b_shrink);
  return bx + b_shrink;
}

static inline double bisected(double a, double b) {
  double low = 0, high = 10;
  while (high - low > 1e-14) {
    double middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    if (middle * middle * middle + a * middle < b) low = middle; else high = middle;
  }
  return low;
}
static double NOINLINE root(double a, double b) {
  double low = bisected(a, b);
  return low - (low * low * low + a * low - b) / (3 * low * low + a);
}
static double NOINLINE root_gradient(double a, double b) {
  double low = bisected(a, b), slope = 3 * low * low + a, above = low * low * low + a * low - b;
  return 1 / slope + above / (slope * slope) - low / slope;
}

static void waves(double *out, int count, double phase) {
  for (int i = 0; i < count; i++) out[i] = sin(0.1 * i + phase) + 0.3 * cos(0.37 * i);
}

int main(void) {
  volatile double r = 0, x = 0.3, rate = 3.5, angle = 1, damping = 0.2, cx = 0.35, cy = 0.6, one = 1, shrink = 0.9, a = 2, b = 5;
  static double xs[200], ys[200], bx[200], by[200];
  waves(xs, 200, 0);
  waves(ys, 200, 0.5);
  BENCH("logistic", PEER, "value", r, r = logistic(x, rate));
  BENCH("logistic", PEER, "gradient", r, r = logistic_gradient(x, rate));
  BENCH("pendulum", PEER, "value", r, r = pendulum(angle, damping));
  BENCH("pendulum", PEER, "gradient", r, r = pendulum_gradient(angle, damping));
  BENCH("escape", PEER, "value", r, r = escape(cx, cy));
  BENCH("escape", PEER, "gradient", r, r = escape_gradient(cx, cy));
  BENCH("warping", PEER, "value", r, r = warping(xs, ys, 200));
  BENCH("warping", PEER, "gradient", r, r = warping_gradient(xs, ys, 200, bx, by));
  BENCH("warping_table", PEER, "value", r, r = warping(xs, ys, 200));
  BENCH("warping_table", PEER, "gradient", r, r = warping_gradient(xs, ys, 200, bx, by));
  BENCH("tree", PEER, "value", r, r = tree(15, one, shrink));
  BENCH("tree", PEER, "gradient", r, r = tree_gradient(15, one, shrink));
  BENCH("root", PEER, "value", r, r = root(a, b));
  BENCH("root", PEER, "gradient", r, r = root_gradient(a, b));
  return 0;
}
