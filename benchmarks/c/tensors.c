/* The workloads of benchmarks/tensors.py by hand: gradients and products derived on paper, in as few passes over
   the arrays as that takes. A library that cffi calls with the arrays' addresses; `dgemm` is NumPy's own cblas_dgemm.
   Sums may be taken in any order (omp simd reduction), which is all the freedom that vlad takes as well. */
#include <math.h>
#include <stdlib.h>

typedef void (*gemm)(int, int, int, long, long, long, double, const double *, long, const double *, long, double, double *, long);
static gemm dgemm;
void use_dgemm(void *address) { dgemm = (gemm)address; }

/* c = a b, either transposed; m x n, sums of k terms; all in rows without gaps. */
static void product(int ta, int tb, long m, long n, long k, const double *a, const double *b, double *c) {
  dgemm(101, ta ? 112 : 111, tb ? 112 : 111, m, n, k, 1.0, a, ta ? m : k, b, tb ? k : n, 0.0, c, n);
}

double total(const double *x, long n) {
  double s = 0;
#pragma omp simd reduction(+ : s)
  for (long i = 0; i < n; i++) s += x[i];
  return s;
}

static double largest(const double *x, long n) {
  double most = -INFINITY;
#pragma omp simd reduction(max : most)
  for (long i = 0; i < n; i++) most = x[i] > most ? x[i] : most;
  return most;
}

double log_sum(const double *x, long n) {
  double most = largest(x, n), s = 0;
#pragma omp simd reduction(+ : s)
  for (long i = 0; i < n; i++) s += exp(x[i] - most);
  return most + log(s);
}

void log_sum_gradient(const double *restrict x, long n, double *restrict g) {
  double most = largest(x, n), s = 0;
#pragma omp simd reduction(+ : s)
  for (long i = 0; i < n; i++) s += g[i] = exp(x[i] - most);
  s = 1 / s;
#pragma omp simd
  for (long i = 0; i < n; i++) g[i] *= s;
}

void ratios_gradient(const double *restrict x, const double *restrict y, long n, double *restrict g) {
#pragma omp simd
  for (long i = 0; i < n; i++) {
    double r = 1 / (1 + x[i] * x[i] + y[i] * y[i]);
    g[i] = (y[i] - 2 * x[i] * (x[i] * y[i]) * r) * r;
  }
}

void logistic_gradient(const double *restrict w, const double *restrict x, const double *restrict y, long rows, long columns,
                       double *restrict g) {
  double *t = malloc(8 * rows);
  for (long i = 0; i < rows; i++) {
    double z = 0;
#pragma omp simd reduction(+ : z)
    for (long j = 0; j < columns; j++) z += x[i * columns + j] * w[j];
    t[i] = z;
  }
#pragma omp simd
  for (long i = 0; i < rows; i++) t[i] = -y[i] / ((1 + exp(y[i] * t[i])) * rows);
  for (long j = 0; j < columns; j++) g[j] = 0;
  for (long i = 0; i < rows; i++)
#pragma omp simd
    for (long j = 0; j < columns; j++) g[j] += t[i] * x[i * columns + j];
  free(t);
}

void network_gradient(const double *a, const double *b, const double *c, const double *d, const double *x, const double *classes,
                      long inputs, long hidden, long outputs, long batch, double *ga, double *gb, double *gc, double *gd) {
  double *h = malloc(8 * batch * hidden), *dh = malloc(8 * batch * hidden), *z = malloc(8 * batch * outputs);
  product(0, 0, batch, hidden, inputs, x, a, h);
  for (long i = 0; i < batch; i++)
#pragma omp simd
    for (long j = 0; j < hidden; j++) {
      double t = h[i * hidden + j] + b[j];
      h[i * hidden + j] = t > 0 ? t : 0;
    }
  product(0, 0, batch, outputs, hidden, h, c, z);
  for (long j = 0; j < outputs; j++) gd[j] = 0;
  for (long i = 0; i < batch; i++) {
    double *row = z + i * outputs, s = 0;
    for (long j = 0; j < outputs; j++) row[j] += d[j];
    double most = largest(row, outputs);
#pragma omp simd reduction(+ : s)
    for (long j = 0; j < outputs; j++) s += row[j] = exp(row[j] - most);
    s = 1 / s;
    for (long j = 0; j < outputs; j++) {
      row[j] = (row[j] * s - classes[i * outputs + j]) / batch;
      gd[j] += row[j];
    }
  }
  product(1, 0, hidden, outputs, batch, h, z, gc);
  product(0, 1, batch, hidden, outputs, z, c, dh);
  for (long j = 0; j < hidden; j++) gb[j] = 0;
  for (long i = 0; i < batch; i++)
#pragma omp simd
    for (long j = 0; j < hidden; j++) {
      double t = h[i * hidden + j] > 0 ? dh[i * hidden + j] : 0;
      dh[i * hidden + j] = t;
      gb[j] += t;
    }
  product(1, 0, inputs, hidden, batch, x, dh, ga);
  free(h);
  free(dh);
  free(z);
}

void hessian_times(const double *restrict x, const double *restrict v, long n, double *restrict h) {
  h[0] = (1200 * x[0] * x[0] - 400 * x[1] + 2) * v[0] - 400 * x[0] * v[1];
#pragma omp simd
  for (long i = 1; i < n - 1; i++)
    h[i] = (1200 * x[i] * x[i] - 400 * x[i + 1] + 202) * v[i] - 400 * (x[i] * v[i + 1] + x[i - 1] * v[i - 1]);
  h[n - 1] = 200 * v[n - 1] - 400 * x[n - 2] * v[n - 2];
}

/* The rotation about axis i % 3, and its derivative by the angle. */
static void rotation(int i, double angle, double r[9], double dr[9]) {
  double c = cos(angle), s = sin(angle);
  int u = (i + 1) % 3, v = (i + 2) % 3;
  i %= 3;
  for (int k = 0; k < 9; k++) r[k] = dr[k] = 0;
  r[3 * i + i] = 1;
  r[3 * u + u] = r[3 * v + v] = c, dr[3 * u + u] = dr[3 * v + v] = -s;
  r[3 * v + u] = s, dr[3 * v + u] = c;
  r[3 * u + v] = -s, dr[3 * u + v] = -c;
}

static void times(const double *restrict a, const double *restrict b, double *restrict c) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

double rotations(const double *angles, const double *m) {
  double p[2][9], r[9], dr[9], s = 0;
  rotation(0, angles[0], p[0], dr);
  for (int i = 1; i < 10; i++) rotation(i, angles[i], r, dr), times(p[(i - 1) & 1], r, p[i & 1]);
  for (int k = 0; k < 9; k++) s += m[k] * p[1][k];
  return s;
}

/* The products from the left are kept; the sensitivity of the product so far is carried back. */
void rotations_gradient(const double *angles, const double *m, double *g) {
  double p[10][9], r[10][9], dr[10][9], b[9], t[9], u[9];
  for (int i = 0; i < 10; i++) {
    rotation(i, angles[i], r[i], dr[i]);
    if (i) times(p[i - 1], r[i], p[i]);
    else
      for (int k = 0; k < 9; k++) p[0][k] = r[0][k];
  }
  for (int k = 0; k < 9; k++) b[k] = m[k];
  for (int i = 9; i >= 0; i--) {
    const double *d = dr[i];
    if (i) times(p[i - 1], dr[i], u), d = u;
    double s = 0;
    for (int k = 0; k < 9; k++) s += b[k] * d[k];
    g[i] = s;
    for (int k = 0; k < 3; k++)
      for (int l = 0; l < 3; l++)
        t[3 * k + l] = b[3 * k] * r[i][3 * l] + b[3 * k + 1] * r[i][3 * l + 1] + b[3 * k + 2] * r[i][3 * l + 2];
    for (int k = 0; k < 9; k++) b[k] = t[k];
  }
}
