/* Real functions of the primitive table that C lacks. Each is the row's Python rule, in doubles. A function that is as accurate for
   floats when computed in floats is written for both: with the marks @real, @f and @d of functions.py. Before each text stand the
   functions that it defines, and those of the C library and of this file that it calls. */

/* functions: vlad_max@f
   calls:
   The larger; nan if either is; of 0 and -0 it is 0. */
static inline @real vlad_max@f(@real x, @real y) {
  if (x > y || x != x) return x;
  return x < y || y != y ? y : x == 0 ? x + y : x;
}

/* functions: vlad_min@f
   calls:
   The smaller; nan if either is; of 0 and -0 it is -0. */
static inline @real vlad_min@f(@real x, @real y) {
  if (x < y || x != x) return x;
  return x > y || y != y ? y : x == 0 ? -(-x - y) : x;
}

/* functions: vlad_unknown_real
   calls:
   x, hidden from constant folding by the C compiler. */
static inline double vlad_unknown_real(double x) {
  double volatile hidden = x;
  return hidden;
}

/* functions: vlad_counted
   calls:
   An integer as a real. gcc 12 makes `0.0 - (double)x`, in one expression, the negative of x, which is -0 where that is 0. */
static inline double vlad_counted(long x) { return (double)x; }

/* functions: vlad_mixed_hash
   calls:
   A whole number below 2^52 that depends on both reals, but not on the sign of a zero, nor on which nan it is. */
static inline double vlad_mixed_hash(double a, double b) {
  union { double real; unsigned long bits; } x = {a == 0 ? 0.0 : a}, y = {b == 0 ? 0.0 : b};
  if (a != a) x.bits = 0x7ff8000000000000UL;
  if (b != b) y.bits = 0x7ff8000000000000UL;
  unsigned long mixed = x.bits * 0xc2b2ae3d27d4eb4fUL + y.bits;
  mixed ^= mixed >> 32;
  mixed *= 0x9e3779b97f4a7c15UL;
  return (double)(long)((mixed ^ mixed >> 29) >> 12); /* it fits, and not every compiler converts the unsigned */
}

/* functions: vlad_sign@f
   calls: copysign@f
   -1, 0 or 1; keeps the sign of zero, and nan. */
static inline @real vlad_sign@f(@real x) { return x == 0 || x != x ? x : copysign@f(1.0@f, x); }

/* functions: vlad_remainder
   calls: fabs fmod
   C's fmod, with zero without a sign. Of whole numbers below 2^53, with a quotient of the processor, it takes a fourth of the time: x / y is rounded to a
   whole number only if it is one, and the product and the difference are exact. */
static inline double vlad_remainder(double x, double y) {
  if (fabs(x) < 0x1p53 && fabs(y) < 0x1p53 && y != 0 && (double)(long)x == x && (double)(long)y == y)
    return x - (double)(long)(x / y) * y + 0.0;
  return fmod(x, y) + 0.0;
}

/* functions: vlad_modulo
   calls: vlad_remainder
   x - y floor(x/y), with the sign of y, as in Python; zero has none. */
static inline double vlad_modulo(double x, double y) {
  if (y == 0 || x - x != 0 || y != y) return 0.0 / 0.0;
  if (y - y != 0) return x == 0 || (x < 0) == (y < 0) ? x + 0.0 : y;
  double r = vlad_remainder(x, y);
  if (r == 0) return r;
  return (r < 0) != (y < 0) ? r + y : r;
}

/* functions: vlad_whole_modulo
   calls:
   The same for integers; 0 for a divisor of 0, as in NumPy. */
static inline long vlad_whole_modulo(long x, long y) {
  if (y == 0 || y == -1) return 0;
  long r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

/* functions: vlad_as_int64
   calls:
   A real without its fraction; the least integer if it is not in range, as on the processors on which NumPy is mostly used. */
static inline long vlad_as_int64(double x) {
  return x >= -0x1p63 && x < 0x1p63 ? (long)x : -0x7fffffffffffffffL - 1;
}

/* functions: vlad_as_int32
   calls:
   The same. */
static inline long vlad_as_int32(double x) { return x > -0x1.00000002p31 && x < 0x1p31 ? (long)x : -0x80000000L; }

/* functions: vlad_quotient
   calls: rint trunc vlad_remainder
   truncate(x/y) of the exact quotient. */
static inline double vlad_quotient(double x, double y) {
  if (x - x == 0 && y - y == 0 && y != 0) return trunc(rint((x - vlad_remainder(x, y)) / y) + 0.0);
  return trunc(x / y);
}

/* functions: vlad_sum_error@f
   calls:
   The rounding error of x + y (Knuth's two-sum). */
static inline @real vlad_sum_error@f(@real x, @real y) {
  @real total = x + y, back = total - x;
  return (x - (total - back)) + (y - back);
}

/* functions: vlad_ratio@f
   calls: fma@f
   x / (total + error), rounded about once. */
static inline @real vlad_ratio@f(@real x, @real total, @real error) {
  @real quotient = x / total;
  return quotient + (fma@f(-quotient, total, x) - quotient * error) / total;
}

/* functions: vlad_root@f
   calls: sqrt@f
   x to the 1/2. In vectors, gcc 12 computes pow(x, 0.5) by a root, which is nan for -inf, and -0 for -0. */
static inline @real vlad_root@f(@real x) { return x == -1.0@f / 0.0@f ? -x : sqrt@f(x + 0.0@f); }

/* functions: vlad_half_over_root@f
   calls: fabs@f sqrt@f
   1 / (2 sqrt x): for -0 as for 0. */
static inline @real vlad_half_over_root@f(@real x) { return 0.5@f * fabs@f(1 / sqrt@f(x)); }

/* functions: vlad_third_over_square_of_root@f
   calls: cbrt@f
   1 / (3 cbrt(x)^2), by x itself where that is possible: with one error of the root. */
static inline @real vlad_third_over_square_of_root@f(@real x) {
  @real root = cbrt@f(x);
  return x != 0 && x - x == 0 ? root / x / 3 : 1 / (3 * root * root);
}

/* functions: vlad_sech_squared@f
   calls: exp@f fabs@f fma@f vlad_ratio@f vlad_sum_error@f
   1 / cosh(x)^2 as 4e / (1 + e)^2 with e = exp -2|x|: nothing overflows. */
static inline @real vlad_sech_squared@f(@real x) {
  @real e = exp@f(-2.0@f * fabs@f(x)), total = 1.0@f + e, rounding = vlad_sum_error@f(1.0@f, e), square = total * total;
  return vlad_ratio@f(4.0@f * e, square, fma@f(total, total, -square) + 2.0@f * total * rounding);
}

/* functions: vlad_sharp_tanh@f
   calls: copysign@f exp@f expm1@f fabs@f fma@f vlad_ratio@f vlad_sum_error@f
   tanh x to the last place. */
static inline @real vlad_sharp_tanh@f(@real x) {
  if (fabs@f(x) < 0.4@f) {
    @real m = expm1@f(2.0@f * fabs@f(x));
    return copysign@f(vlad_ratio@f(m, 2.0@f + m, vlad_sum_error@f(2.0@f, m)), x);
  }
  @real e = exp@f(-fabs@f(x)), square = e * e, error = fma@f(e, e, -square);
  @real total = 1.0@f + square, difference = 1.0@f - square;
  @real quotient = vlad_ratio@f(difference, total, vlad_sum_error@f(1.0@f, square) + error);
  return copysign@f(quotient + (vlad_sum_error@f(1.0@f, -square) - error) / total, x);
}

/* functions: vlad_tanh_second
   calls: vlad_sech_squared vlad_sharp_tanh
   The second derivative of tanh. */
static inline double vlad_tanh_second(double x) { return -2.0 * (vlad_sech_squared(x) * vlad_sharp_tanh(x)); }

/* functions: vlad_tanh_third
   calls: fabs fma vlad_sech_squared vlad_sharp_tanh
   The third derivative of tanh. */
static inline double vlad_tanh_third(double x) {
  double slope = vlad_sech_squared(x), value = vlad_sharp_tanh(x), square = value * value;
  if (fabs(x) < 1.0) return 2.0 * slope * ((3.0 * square - 1.0) + 3.0 * fma(value, value, -square));
  return 2.0 * slope * (2.0 - 3.0 * slope);
}

/* functions: vlad_gaussian@f
   calls: exp@f fma@f
   exp(-x x), corrected for the rounding of x x. */
static inline @real vlad_gaussian@f(@real x) {
  @real square = x * x, result = exp@f(-square);
  return square < 800.0@f ? result - result * fma@f(x, x, -square) : result;
}

/* functions: vlad_gaussian_slope
   calls: copysign vlad_gaussian
   -2 x exp(-x x). */
static inline double vlad_gaussian_slope(double x) {
  double density = vlad_gaussian(x);
  return density != 0 ? -2.0 * (x * density) : copysign(0.0, -x);
}

/* functions: vlad_gaussian_curve
   calls: fma vlad_gaussian
   (4 x x - 2) exp(-x x). */
static inline double vlad_gaussian_curve(double x) {
  double density = vlad_gaussian(x), square = x * x;
  return density == 0 ? 0.0 : ((4.0 * square - 2.0) + 4.0 * fma(x, x, -square)) * density;
}

/* functions: vlad_far
   calls: copysign hypot
   x / hypot(x, y) where the latter is infinite, or so small that it is rounded. */
static inline double vlad_far(double x, double y) {
  if (x - x != 0 && x == x) return y - y != 0 && y == y ? 0.0 / 0.0 : copysign(1.0, x);
  return y - y != 0 && y == y ? copysign(0.0, x) : x * 0.5 / hypot(0.5 * x, 0.5 * y);
}

/* functions: vlad_exponent
   calls:
   The binary exponent of a number, from its bits. */
static inline long vlad_exponent(double x) {
  union { double d; unsigned long i; } word = {x};
  return word.i >> 52 & 2047;
}

/* functions: vlad_binary_scale
   calls: vlad_exponent
   The power of two that scales the larger of |x| and |y| to between 1 and 2, or as near as such a power can; 1 if both are 0. */
static inline double vlad_binary_scale(double x, double y) {
  long a = vlad_exponent(x), b = vlad_exponent(y), opposite = 2046 - (a > b ? a : b);
  union { unsigned long i; double d; } word = {(unsigned long)(opposite < 1 ? 1 : opposite > 2045 ? 2045 : opposite) << 52};
  return x == 0 && y == 0 ? 1.0 : word.d;
}

/* functions: vlad_binary_scalef
   calls: fabs vlad_binary_scale
   The same for floats. */
static inline float vlad_binary_scalef(float x, float y) {
  return vlad_binary_scale(fabs(x) < 0x1p-126 ? x == 0 ? 0 : 0x1p-126 : fabs(x) < 0x1p127 ? x : 0x1p126,
                           fabs(y) < 0x1p-126 ? y == 0 ? 0 : 0x1p-126 : fabs(y) < 0x1p127 ? y : 0x1p126);
}

/* functions: vlad_power_scale
   calls: fabs vlad_binary_scale vlad_exponent
   The power of two that scales |x| to between 1 and 2, if y is below -1 and x to the y may be too small or too large even for a float;
   otherwise 1. */
static inline double vlad_power_scale(double x, double y) {
  if (!(y < -1) || fabs(y * (vlad_exponent(x) - 1023)) <= 40) return 1.0;
  return x == 0 || x - x != 0 ? 1.0 : vlad_binary_scale(x, 0);
}

/* functions: vlad_power_scalef
   calls: vlad_binary_scalef vlad_power_scale
   The same for floats. */
static inline float vlad_power_scalef(float x, float y) {
  return vlad_power_scale(x, y) == 1 ? 1 : vlad_binary_scalef(x, 0);
}

/* functions: vlad_direction
   calls: fma hypot vlad_binary_scale vlad_far vlad_ratio vlad_sum_error
   x / hypot(x, y), corrected for the rounding of hypot; 0 at the origin. */
static inline double vlad_direction(double x, double y) {
  double distance = hypot(x, y);
  if (distance == 0) return x;
  if (distance - distance != 0) return vlad_far(x, y);
  double scale = vlad_binary_scale(distance, 0);
  x *= scale; y *= scale; distance *= scale;
  double xx = x * x, yy = y * y, total = xx + yy, square = distance * distance;
  double error = vlad_sum_error(xx, yy) + (fma(x, x, -xx) + fma(y, y, -yy));
  return vlad_ratio(x, distance, 0.5 * ((total - square) + (error - fma(distance, distance, -square))) / distance);
}

/* functions: vlad_inversion
   calls: fma hypot vlad_binary_scale vlad_far vlad_ratio vlad_sum_error
   x / (x x + y y); nan at the origin. */
static inline double vlad_inversion(double x, double y) {
  if (x == 0 && y == 0) return 0.0 / 0.0;
  if (x - x != 0 || y - y != 0) return vlad_far(x, y) / hypot(x, y);
  double scale = vlad_binary_scale(x, y);
  x *= scale; y *= scale;
  double xx = x * x, yy = y * y;
  double error = vlad_sum_error(xx, yy) + (fma(x, x, -xx) + fma(y, y, -yy));
  return vlad_ratio(x, xx + yy, error) * scale;
}

/* functions: vlad_inversion_slope
   calls: vlad_binary_scale
   (y y - x x) / (x x + y y)^2: the derivative of inversion by x. */
static inline double vlad_inversion_slope(double x, double y) {
  if ((x == 0 && y == 0) || x - x != 0 || y - y != 0) return 0.0 / 0.0;
  double scale = vlad_binary_scale(x, y);
  x *= scale; y *= scale;
  double square = x * x + y * y;
  return y == x || y == -x ? 0.0 : (y - x) / square * ((y + x) / square) * scale * scale;
}

/* functions: vlad_inversion_cross
   calls: vlad_binary_scale
   -2 x y / (x x + y y)^2: the derivative of inversion by y. */
static inline double vlad_inversion_cross(double x, double y) {
  if ((x == 0 && y == 0) || x - x != 0 || y - y != 0) return 0.0 / 0.0;
  if (x == 0 || y == 0) return 0.0;
  double scale = vlad_binary_scale(x, y);
  x *= scale; y *= scale;
  double square = x * x + y * y;
  return -2.0 * (x / square) * (y / square) * scale * scale;
}

/* functions: vlad_inversion_curve
   calls: fma vlad_binary_scale
   2 x (x x - 3 y y) / (x x + y y)^3. */
static inline double vlad_inversion_curve(double x, double y) {
  if ((x == 0 && y == 0) || x - x != 0 || y - y != 0) return 0.0 / 0.0;
  if (x == 0) return 0.0;
  double scale = vlad_binary_scale(x, y);
  x *= scale; y *= scale;
  double xx = x * x, yy = y * y, three = 3.0 * yy, square = xx + yy;
  double difference = (xx - three) + (fma(x, x, -xx) - fma(3.0, yy, -three) - 3.0 * fma(y, y, -yy));
  return difference == 0 ? 0.0 : 2.0 * x * difference / (square * square * square) * scale * scale * scale;
}

/* functions: vlad_whole_power
   calls:
   x to the whole power n >= 0, in few steps. */
static inline double vlad_whole_power(double x, double n) {
  double result = 1.0;
  for (long i = (long)n; i > 0; i >>= 1) {
    if (i & 1) result *= x;
    x *= x;
  }
  return result;
}

/* functions: vlad_conic_root
   calls: fma pow vlad_sum_error
   (c + d x x)^(-k/2), the sum unrounded, for d = 1 or -1; c is 1 or -1, or less if x is scaled down. */
static inline double vlad_conic_root(double c, double d, double k, double x) {
  double square = x * x, total = c + d * square;
  double error = vlad_sum_error(c, d * square) + d * fma(x, x, -square);
  double exact = total + error, result = pow(exact, -0.5 * k);
  if (!(exact > 0) || result - result != 0) return result;
  return result - result * (0.5 * k * ((total - exact) + error) / exact);
}

/* functions: vlad_conic
   calls: copysign fabs fmod pow vlad_conic_root vlad_whole_power
   x^j (c + d x x)^(-k/2) for such c and d, whole j below k. */
static inline double vlad_conic(double c, double d, double j, double k, double x) {
  if (fabs(x) < 1e-10 && fabs(c) == 1) return pow(c, -0.5 * k) * vlad_whole_power(x, j);
  if (!(fabs(x) < 1e10)) return pow(d, -0.5 * k) * copysign(pow(fabs(x), j - k), fmod(j, 2) == 1 ? x : 1.0);
  if (c + d * x * x == 0 && fabs(x) == 1) return copysign(1.0 / 0.0, fmod(j, 2) == 1 ? x : 1.0);
  return vlad_whole_power(x, j) * vlad_conic_root(c, d, k, x);
}

/* functions: vlad_conic_slope
   calls: fabs fma vlad_conic vlad_sum_error
   The derivative of conic by x, for j >= 1. */
static inline double vlad_conic_slope(double c, double d, double j, double k, double x) {
  if (!(fabs(x) < 1e10)) return (j - k) * d * vlad_conic(c, d, j + 1, k + 2, x);
  double square = x * x, factor = (j - k) * d, scaled = factor * square;
  double last = (j * c + scaled) + (vlad_sum_error(j * c, scaled) + fma(factor, square, -scaled) + factor * fma(x, x, -square));
  return vlad_conic(c, d, j - 1, k + 2, x) * last;
}

/* functions: vlad_one_plus_power
   calls: pow vlad_ratio vlad_sum_error
   (u + x)^-k, the sum unrounded. */
static inline double vlad_one_plus_power(double k, double u, double x) {
  double total = u + x, error = vlad_sum_error(u, x);
  if (k == 1 && total != 0 && total - total == 0) return vlad_ratio(1.0, total, error);
  double result = pow(total, -k);
  int correct = total != 0 && result != 0 && result - result == 0 && k - k == 0;
  return correct ? result - result * (k * error / total) : result;
}

/* functions: vlad_plain_power_log
   calls: log pow vlad_sum_error
   x^(y - n) (log x)^m, with the exact difference. */
static inline double vlad_plain_power_log(double x, double y, double n, double m) {
  double exponent = y - n, error = vlad_sum_error(y, -n), result = pow(x, exponent);
  if (!(x > 0 && x - x == 0)) return m == 0 ? result : 0.0 / 0.0;
  if (error != 0 && result > 0 && result - result == 0 && error - error == 0) result += result * (error * log(x));
  return m == 0 ? result : result * pow(log(x), m);
}

/* functions: vlad_power_log
   calls: fabs pow vlad_plain_power_log
   The same times v^-w, where w is whole and v a power of two that scales x to near 1. */
static inline double vlad_power_log(double x, double y, double n, double m, double w, double v) {
  double result = vlad_plain_power_log(x, y, n, m);
  if (v == 1) return result;
  if (w == 0 || x == 0 || x - x != 0) return result;
  if (!(w > 0 && w < 100 && x * v != 0 && x * v - x * v == 0 && v > 0)) return result * pow(v, -w);
  if (!(fabs(result) > 1e-290 && fabs(result) < 1e290)) { /* otherwise division by a power of two is exact */
    result = vlad_plain_power_log(x, y, n - w, m);
    v *= x;
  }
  for (int i = 1; i <= w; i++) result /= v;
  return result;
}

/* functions: vlad_sec_squared
   calls: cos fabs fma tan vlad_sum_error
   1 / cos(x)^2. */
static inline double vlad_sec_squared(double x) {
  double t = tan(x), square = t * t;
  if (fabs(t) < 2.0) return (1.0 + square) + (vlad_sum_error(1.0, square) + fma(t, t, -square));
  double c = cos(x);
  return 1.0 / (c * c);
}

/* functions: vlad_psi
   calls: copysign cosl fabs floor logl powl rint sinl
   The n-th derivative of digamma, as in special.py, in the precision of long double: a sum up to where the series converges; for
   negative x by reflection, where the derivatives of cot are polynomials in cot. */
static inline long double vlad_psi(double n, double x) {
  static const long double bernoulli[] = {1.0L / 6, -1.0L / 30, 1.0L / 42, -1.0L / 30, 5.0L / 66, -691.0L / 2730, 7.0L / 6,
    -3617.0L / 510, 43867.0L / 798, -174611.0L / 330, 854513.0L / 138, -236364091.0L / 2730};
  if (!(n >= 0 && n <= 60 && n == floor(n)) || !(x > -1.0 / 0.0)) return 0.0 / 0.0;
  int order = (int)n;
  if (x <= 0 && x == floor(x)) return order % 2 ? 1.0 / 0.0 : 0.0 / 0.0;
  long double v = x > 0 ? (long double)x : 1 - (long double)x, sum = 0, factorial = 1;
  for (int k = 2; k <= order; k++) factorial *= k;
  for (; v < 24 + order; v += 1) sum += factorial / powl(v, order + 1);
  long double power = 1 / powl(v, order), ratio = factorial * (order + 1) / 2;
  sum += factorial / (2 * v) * power;
  if (order) sum += factorial / order * power;
  for (int k = 1; k <= 12; k++) {
    power = power / v / v;
    sum += bernoulli[k - 1] * ratio * power;
    ratio *= (long double)(2 * k + order + 1) * (2 * k + order) / ((2 * k + 2) * (2 * k + 1));
  }
  long double result = order ? (order % 2 ? sum : -sum) : logl(v) - sum;
  if (x > 0) return result;
  const long double pi = 3.14159265358979323846264338327950288L;
  double part = x - rint(x), rest = 0.5 - fabs(part); /* both exact: near halves, the cosine of a rounded angle would be its rounding error */
  long double sine = fabs(part) > 0.25 ? copysign(1.0, part) * cosl(pi * rest) : sinl(pi * part);
  long double cosine = rest < 0.25 ? sinl(pi * rest) : cosl(pi * part);
  long double c = cosine / sine, slope = 0, scale = pi;
  long double from[64] = {0, 1}, to[64];
  for (int i = 0; i < order; i++) {
    for (int k = 0; k < 64; k++) to[k] = 0;
    for (int k = 1; k <= i + 1; k++) { to[k - 1] -= k * from[k]; to[k + 1] -= k * from[k]; }
    for (int k = 0; k < 64; k++) from[k] = to[k];
    scale *= pi;
  }
  for (int k = order + 1; k >= 0; k--) slope = slope * c + from[k];
  return (order % 2 ? -result : result) - slope * scale;
}

/* functions: vlad_polygamma
   calls: vlad_psi
   The same. */
static inline double vlad_polygamma(double n, double x) { return (double)vlad_psi(n, x); }

/* functions: vlad_gamma_slope
   calls: tgamma vlad_polygamma
   The derivative of gamma. */
static inline double vlad_gamma_slope(double x) { return tgamma(x) * vlad_polygamma(0, x); }

/* functions: vlad_gamma_curve
   calls: tgamma vlad_polygamma
   Gamma (psi^2 + psi'). */
static inline double vlad_gamma_curve(double x) {
  double psi = vlad_polygamma(0, x);
  return tgamma(x) * (psi * psi + vlad_polygamma(1, x));
}

/* functions: vlad_gamma_third
   calls: fabs tgamma vlad_psi
   Gamma (psi^3 + 3 psi psi' + psi''): the sum has zeros. */
static inline double vlad_gamma_third(double x) {
  if (x >= 172.0) return 1.0 / 0.0;
  long double a = vlad_psi(0, x), b = vlad_psi(1, x), c = vlad_psi(2, x);
  return x != 0 && fabs(x) < 1e-20 ? -6.0 / x / x / x / x : tgamma(x) * (double)((a * a * a + 3 * (a * b)) + c);
}

/* functions: vlad_tail_terms
   calls:
   How many parts of Laplace's continued fraction the n-th derivative needs (primitives/erfc_tails.py explains the method). */
static inline long vlad_tail_terms(double n, double x) { return 24 + 8 * (long)n + (long)((180.0 + 40.0 * n) / (x * x)); }

/* functions: vlad_erfcx
   calls: erfc exp fma sqrt vlad_tail_terms
   exp(x x) erfc(x). */
static inline double vlad_erfcx(double x) {
  if (x != x) return x;
  if (x < 2.0) {
    double square = x * x, result = exp(square);
    return (square < 709.0 ? result + result * fma(x, x, -square) : result) * erfc(x);
  }
  long last = vlad_tail_terms(1, x);
  double p = 0.5 * last / (x + sqrt(0.5 * last));
  for (long k = last; k > 0; k--) p = 0.5 * k / (x + p);
  return 0.5641895835477563 / (x + p);
}

/* functions: vlad_erfcx_derivative
   calls: floor sqrt vlad_erfcx vlad_tail_terms
   The n-th derivative of that. */
static inline double vlad_erfcx_derivative(double n, double x) {
  if (x != x || !(n >= 0 && n <= 60 && n == floor(n))) return 0.0 / 0.0;
  double value = vlad_erfcx(x);
  long order = (long)n;
  if (x < 0.5) {
    double before = 0;
    for (long k = 0; k < order; k++) {
      double following = 2.0 * x * value + (k ? 2.0 * k * before : -2.0 * 0.5641895835477563);
      before = value, value = following;
    }
    return value;
  }
  long last = vlad_tail_terms(n, x);
  double p = 0.5 * last / (x + sqrt(0.5 * last)), product = 1.0;
  for (long k = last; k > 0; k--) {
    p = 0.5 * k / (x + p);
    if (k <= order) product *= -2.0 * p;
  }
  return value * product;
}

/* functions: vlad_half_gaussian
   calls: exp fma
   exp(-x x / 2), corrected for the rounding of x x. */
static inline double vlad_half_gaussian(double x) {
  double square = x * x, result = exp(-0.5 * square);
  return square < 1600.0 ? result - result * (0.5 * fma(x, x, -square)) : result;
}

/* functions: vlad_tail
   calls: erfc floor sqrt vlad_tail_terms
   The n-th derivative of log erfc, where density is exp(-x x): below 1/2 from a quotient of series, above from the fraction. */
static inline double vlad_tail(double n, double x, double density) {
  if (x != x || !(n >= 1 && n <= 60 && n == floor(n))) return 0.0 / 0.0;
  double a[60], b[60], c[60], factorial = 1.0;
  long order = (long)n;
  if (x < 0.5) {
    if (density == 0) return -0.0;
    a[0] = density, b[0] = erfc(x);
    for (long k = 1; k < order; k++) {
      a[k] = (-2.0 * x * a[k - 1] - (k > 1 ? 2.0 * a[k - 2] : 0.0)) / k;
      b[k] = -2.0 * 0.5641895835477563 * a[k - 1] / k;
    }
    for (long k = 0; k < order; k++) {
      double total = -2.0 * 0.5641895835477563 * a[k];
      for (long j = 1; j <= k; j++) total -= b[j] * c[k - j];
      c[k] = total / b[0];
    }
  } else {
    long last = vlad_tail_terms(n, x);
    a[0] = 0.5 * last / (x + sqrt(0.5 * last));
    for (long j = 1; j < order; j++) a[j] = 0;
    for (long k = last;; k--) {
      a[0] += x;
      if (order > 1) a[1] += 1.0;
      if (k == 0) break;
      b[0] = 0.5 * k / a[0];
      for (long j = 1; j < order; j++) {
        double total = 0;
        for (long i = 1; i <= j; i++) total += a[i] * b[j - i];
        b[j] = -total / a[0];
      }
      for (long j = 0; j < order; j++) a[j] = b[j];
    }
    c[order - 1] = -2.0 * a[order - 1];
  }
  for (long k = 2; k < order; k++) factorial *= k;
  return factorial * c[order - 1];
}

/* functions: vlad_log_erfc
   calls: erf log log1p vlad_erfcx
   log erfc(x). */
static inline double vlad_log_erfc(double x) {
  if (x < 0.5) return log1p(-erf(x));
  return x - x == 0 ? log(vlad_erfcx(x)) - x * x : -x;
}

/* functions: vlad_log_erfc_derivative
   calls: vlad_gaussian vlad_tail
   The n-th derivative of that. */
static inline double vlad_log_erfc_derivative(double n, double x) { return vlad_tail(n, x, vlad_gaussian(x)); }

/* functions: vlad_log_normal_cdf
   calls: fabs log log1p vlad_erfcx vlad_half_gaussian
   The logarithm of the cumulative normal distribution. */
static inline double vlad_log_normal_cdf(double x) {
  if (x - x != 0) return x > 0 ? 0.0 : x;
  double tail = 0.5 * vlad_erfcx(fabs(x) * 0.7071067811865476);
  return x < 0 ? log(tail) - 0.5 * (x * x) : log1p(-tail * vlad_half_gaussian(x));
}

/* functions: vlad_log_normal_cdf_derivative
   calls: floor ldexp vlad_half_gaussian vlad_tail
   The n-th derivative of that. */
static inline double vlad_log_normal_cdf_derivative(double n, double x) {
  if (!(n >= 1 && n <= 60 && n == floor(n))) return 0.0 / 0.0;
  long order = (long)n;
  double scale = ldexp(order % 2 ? -0.7071067811865476 : 1.0, -(int)(order / 2));
  return scale * vlad_tail(n, -0.7071067811865476 * x, vlad_half_gaussian(x));
}

/* functions: vlad_real_text
   calls: snprintf strtod
   The shortest decimal that is read back as the same number, and its length. A decimal of 15 digits survives the round trip; of
   subnormal numbers, fewer digits do. */
static inline int vlad_real_text(double x, char *out) {
  if (x != x || x - x != 0) {
    const char *name = x != x ? "+nan.0" : x > 0 ? "+inf.0" : "-inf.0";
    for (int i = 0; i < 6; i++) out[i] = name[i];
    return 6;
  }
  char text[40], digits[20];
  if (x > -1e15 && x < 1e15 && x != 0 && x == (long)x) { /* 20 times as fast as what follows */
    int length = 0, begin = x < 0;
    for (long left = x < 0 ? -(long)x : (long)x; left; left /= 10) digits[length++] = '0' + left % 10;
    out[0] = '-';
    for (int i = 0; i < length; i++) out[begin + i] = digits[length - 1 - i];
    return begin + length;
  }
  int count = x < 2.3e-308 && x > -2.3e-308 ? 1 : 15;
  for (;; count++) {
    snprintf(text, 40, "%+.*e", count - 1, x);
    if (strtod(text, 0) == x || count == 17) break;
    char *last = text + count + (count > 1);
    if (*last == '9') continue;
    ++*last; /* above a power of 2 the spacing of reals is larger: the next decimal may be read back, though it is not the nearest */
    if (strtod(text, 0) == x) break;
  }
  int filled = 0, n = 0;
  const char *at = text + 1;
  for (; *at != 'e'; at++)
    if (*at != '.') digits[n++] = *at;
  int power = 0;
  for (const char *p = at + 2; *p; p++) power = 10 * power + *p - '0';
  if (at[1] == '-') power = -power;
  while (n > 1 && digits[n - 1] == '0') n--;
  if (text[0] == '-') out[filled++] = '-';
  if (power < -4 || power > 15) {
    out[filled++] = digits[0];
    if (n > 1) out[filled++] = '.';
    for (int i = 1; i < n; i++) out[filled++] = digits[i];
    filled += snprintf(out + filled, 8, "e%d", power);
  } else if (power < 0) {
    out[filled++] = '0';
    out[filled++] = '.';
    for (int i = -1; i > power; i--) out[filled++] = '0';
    for (int i = 0; i < n; i++) out[filled++] = digits[i];
  } else {
    for (int i = 0; i <= power || i < n; i++) {
      if (i == power + 1) out[filled++] = '.';
      out[filled++] = i < n ? digits[i] : '0';
    }
  }
  return filled;
}

/* functions: vlad_real_character
   calls: vlad_real_text
   A character of this text; -1 after its end. */
static inline double vlad_real_character(double x, double i) {
  char text[40];
  int length = vlad_real_text(x, text);
  return i >= 0 && i < length ? text[(int)i] : -1;
}

/* functions: vlad_decimal_character
   calls: snprintf vlad_real_text
   A character of a number with so many digits, of the kind f, e or g; -1 after its end. */
static inline double vlad_decimal_character(double x, double kind, double digits, double i) {
  char text[512];
  int count = digits >= 0 && digits <= 99 ? (int)digits : 0;
  const char *format = kind == 1 ? "%.*e" : kind == 2 ? "%.*g" : "%.*f";
  int length = x - x == 0 ? snprintf(text, 512, format, count, x) : vlad_real_text(x, text);
  return i >= 0 && i < length ? text[(int)i] : -1;
}

/* functions: vlad_numeral_state
   calls:
   The state after one more character of a numeral: the table is in primitives/numerals.py. */
static inline double vlad_numeral_state(double state, double c) {
  int at = state >= 0 && state < 22 ? (int)state : -1;
  switch (at == state && c >= 0 && c < 128 && c == (int)c ? (int)c : 0) {
  case '0':
    if (at == 13 || at == 18) return at + 1;
    /* fall through */
  case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
    if (at <= 2) return 2;
    if (at <= 4) return 4;
    if (at == 7 || at == 9) return 9;
    if (at >= 20) return 21;
    return at <= 8 ? 8 : -1;
  case '+': return at == 0 ? 1 : at == 5 ? 6 : -1;
  case '-': return at == 0 ? 1 : at == 5 ? 7 : -1;
  case '.': return at <= 1 ? 3 : at == 2 ? 4 : at == 12 || at == 17 ? at + 1 : -1;
  case 'e': case 'E': return at == 2 || at == 4 ? 5 : -1;
  case '/': return at == 2 ? 20 : -1;
  case 'i': case 'I': return at == 1 ? 10 : -1;
  case 'n': case 'N': return at == 1 ? 15 : at == 10 ? 11 : at == 16 ? 17 : -1;
  case 'f': case 'F': return at == 11 ? 12 : -1;
  case 'a': case 'A': return at == 15 ? 16 : -1;
  }
  return -1;
}

/* functions: vlad_is_numeral
   calls:
   May a numeral end here? */
static inline int vlad_is_numeral(double state) {
  return state == 2 || state == 4 || state == 8 || state == 9 || state == 14 || state == 19 || state == 21;
}

/* functions: vlad_numeral_high
   calls:
   The first fifteen digits of a numeral. */
static inline double vlad_numeral_high(double state, double c, double high) {
  return (state == 2 || state == 4 || state == 21) && high < 1e14 && c != '.' ? 10 * high + c - '0' : high;
}

/* functions: vlad_numeral_low
   calls: floor
   The next fifteen, after a 1; and a half, if further digits were dropped. */
static inline double vlad_numeral_low(double state, double c, double high, double low) {
  if ((state != 2 && state != 4 && state != 21) || high < 1e14 || c == '.') return low;
  if (low < 1e15) return 10 * low + c - '0';
  return c != '0' ? floor(low) + 0.5 : low;
}

/* functions: vlad_numeral_places
   calls:
   The power of ten of a numeral's last digit. */
static inline double vlad_numeral_places(double state, double c, double high, double low, double places) {
  if ((state != 2 && state != 4 && state != 21) || c == '.') return places;
  return places + (high >= 1e14 && low >= 1e15) - (state == 4);
}

/* functions: vlad_numeral_power
   calls:
   The power of ten that a numeral writes. */
static inline double vlad_numeral_power(double state, double c, double power) {
  if ((state != 8 && state != 9) || !(c >= '0')) return power;
  power = 10 * power + (state == 8 ? c - '0' : '0' - c);
  return power > 1e9 ? 1e9 : power < -1e9 ? -1e9 : power;
}

/* functions: vlad_numeral_real
   calls: fabs snprintf strtod trunc
   The real nearest to a numeral. */
static inline double vlad_numeral_real(double state, double high, double low, double places, double power) {
  if (state == 14 || state == 19) return state == 14 ? 1e999 : 1e999 - 1e999;
  if (!(high >= 0 && high < 1e15 && low >= 1 && low < 1e16 && fabs(places) <= 1e10 && fabs(power) <= 1e9)) return 1e999 - 1e999;
  char text[80], rest[40];
  int more = low != trunc(low);
  snprintf(rest, 40, "%.0f%s", trunc(low), more ? "1" : "");
  snprintf(text, 80, "%.0f%se%.0f", trunc(high) + (low >= 2e15), rest + 1, trunc(places + power) - more);
  return strtod(text, 0);
}

/* functions: vlad_argument_character
   calls:
   A character of a word of the command line: -1 after its end, -2 if there is no such word. Bytes that are not UTF-8 are surrogates,
   as in Python. */
static int vlad_word_count;
static unsigned char **vlad_words;
/* The position of character vlad_word_j of word vlad_word_i: words are read in order. */
VLAD_STATIC const unsigned char *vlad_word_at;
VLAD_STATIC double vlad_word_i = -1, vlad_word_j;
static inline double vlad_argument_character(double i, double j) {
  if (!(i >= 0 && i < vlad_word_count)) return -2;
  if (i != vlad_word_i || j < vlad_word_j) vlad_word_at = vlad_words[(int)i], vlad_word_j = 0;
  const unsigned char *at = vlad_word_at;
  double from = vlad_word_j;
  vlad_word_i = i;
  for (;; from++) {
    vlad_word_at = at;
    vlad_word_j = from;
    if (!*at) return -1;
    int length = *at < 0x80 ? 1 : *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
    int character = length == 1 ? *at : *at & (0x7f >> length), whole = *at < 0x80 || *at >= 0xc2;
    for (int k = 1; k < length && whole; k++) {
      whole = (at[k] & 0xc0) == 0x80;
      character = character << 6 | (at[k] & 0x3f);
    }
    whole = whole && character < 0x110000 && (character < 0xd800 || character > 0xdfff) &&
            (length < 3 || character >= (length == 3 ? 0x800 : 0x10000));
    if (j <= from) return whole ? character : 0xdc00 + *at;
    at += whole ? length : 1;
  }
}

/* functions: vlad_random_word
   calls:
   Part of word i under a key, by Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011): part 0 is its first 53 bits as a fraction of 1,
   part 1 its upper half, part 2 its lower half. */
static inline double vlad_random_word(double k, double m, double i, double purpose, double part) {
  if (!(k >= 0 && k <= 4294967295.0 && m >= 0 && m <= 4294967295.0 && i >= 0 && i < 9007199254740992.0 && purpose >= 0 && purpose <= 4294967295.0))
    return 0.0 / 0.0;
  /* via signed numbers: every C compiler converts between these and doubles without a library call */
  unsigned long place = (long)i;
  unsigned a = place / 2, b = place / 2 >> 32, c = (long)purpose, d = 0, x = (long)k, y = (long)m;
  for (int round = 0; round < 10; round++, x += 0x9E3779B9u, y += 0xBB67AE85u) {
    unsigned long p = (unsigned long)a * 0xD2511F53u, q = (unsigned long)c * 0xCD9E8D57u;
    a = (unsigned)(q >> 32) ^ b ^ x;
    b = q;
    c = (unsigned)(p >> 32) ^ d ^ y;
    d = p;
  }
  unsigned high = place % 2 ? c : a, low = place % 2 ? d : b;
  if (part == 0.0) return (double)(long)(((unsigned long)high << 32 | low) >> 11) * 0x1p-53;
  return part == 1.0 ? (long)high : (long)low;
}

/* functions: vlad_random_below
   calls:
   A word as a whole number below a count: the upper half of their product. */
static inline double vlad_random_below(double high, double low, double count) {
  if (!(high >= 0 && high <= 4294967295.0 && low >= 0 && low <= 4294967295.0 && count >= 0 && count <= 18014398509481984.0))
    return 0.0 / 0.0;
  unsigned long a = (long)high, b = (long)low, n = (long)count, c = n >> 32, d = n & 0xffffffffu;
  unsigned long upper = a * d + (b * d >> 32), lower = b * c + (upper & 0xffffffffu);
  return (long)(a * c + (upper >> 32) + (lower >> 32));
}

/* functions: vlad_rational
   calls:
   A quotient of polynomials of degree 7, with the coefficients from the lowest power up. */
static inline double vlad_rational(double x, const double (*of)[8]) {
  double above = of[0][7] * x, below = of[1][7] * x;
  for (int i = 6; i > 0; i--) above = (above + of[0][i]) * x, below = (below + of[1][i]) * x;
  return (above + of[0][0]) / (below + of[1][0]);
}

/* functions: vlad_normal_quantile
   calls: fabs log sqrt vlad_rational
   The inverse of the cumulative normal distribution, at a fraction of 1 plus half a step of 2^-53, by PPND16 (Wichura 1988, AS 241). */
static inline double vlad_normal_quantile(double fraction) {
  static const double middle[2][8] = {{3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
      1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4,
      2.5090809287301226727e3}, {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
      2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}},
    tail[2][8] = {{1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
      3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2,
      7.74545014278341407640e-4}, {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
      1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}},
    far[2][8] = {{6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
      2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5,
      2.01033439929228813265e-7}, {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
      1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
      2.04426310338993978564e-15}};
  double q = (fraction * 0x1p53 * 2 - 9007199254740991.0) * 0x1p-54, size = fabs(q);
  if (!(size > 0.425)) return vlad_rational(0.180625 - q * q, middle) * q;
  double radius = size < 0.5 ? sqrt(-log(0.5 - size)) : 0.0 / 0.0;
  double found = radius > 5.0 ? vlad_rational(radius - 5.0, far) : vlad_rational(radius - 1.6, tail);
  return q < 0 ? -found : found;
}

/* functions: vlad_divided@f
   calls: copysign@f fabs@f fma@f
   a / y, to the last bit, where q is 1 / y and neither is far from 1 (compile/loops/divide_once.py). The division is by |y|: then the
   remainder 0 of an exact t does not change the sign of a zero t. (C compilers omit the absolute value of a sum of squares. Selecting t
   by a comparison instead took a tenth longer.) */
static inline @real vlad_divided@f(@real a, @real y, @real q) {
#ifdef VLAD_FAST_MATH
  return a * q;
#endif
  @real b = a * copysign@f(1.0@f, y), size = fabs@f(q), t = b * size;
  return fma@f(fma@f(t, fabs@f(y), -b), -size, t);
}

/* functions: vlad_is_far_divisor@f
   calls: fabs@f
   Is a divisor larger than a limit, smaller than its reciprocal, or nan? Uses only operations that can be vectorized. */
static inline int vlad_is_far_divisor@f(@real y, @real limit) {
#ifdef VLAD_FAST_MATH
  return 0;
#endif
  @real size = fabs@f(y);
  return !(size < limit) | !(size > 1.0@f / limit);
}

/* functions: vlad_is_far@f
   calls: fabs@f
   The same for a dividend, which may be a zero. */
static inline int vlad_is_far@f(@real a, @real limit) {
#ifdef VLAD_FAST_MATH
  return 0;
#endif
  @real size = fabs@f(a);
  return !(size < limit) | (!(size > 1.0@f / limit) & (size != 0));
}

/* functions: vlad_places_in
   calls:
   The positions of n words in increasing order, stable. `room` begins with the words, and is four times as large; returns the index at
   which the positions begin in it. Few words are sorted by insertion; others by radix, eight bits at a time from the lowest, skipping
   bits that all words have in common. If `stop` is set, it returns early, and the positions are arbitrary. */
static inline long vlad_places_in(unsigned long *room, long n, const volatile int *stop) {
  unsigned long *words = room, *sorted = room + n, *before;
  long *places = (long *)(room + 2 * n), *moved = (long *)(room + 3 * n), *unmoved;
  if (n <= 96) {
    for (long i = 0; i < n; i++) {
      unsigned long word = words[i];
      long to = i;
      for (; to > 0 && words[to - 1] > word; to--) words[to] = words[to - 1], places[to] = places[to - 1];
      words[to] = word, places[to] = i;
    }
    return 2 * n;
  }
  long begins[8][256] = {{0}};
  for (long i = 0; i < n; i++) {
    places[i] = i;
    for (int digit = 0; digit < 8; digit++) begins[digit][words[i] >> 8 * digit & 255]++;
  }
  for (int digit = 0; digit < 8 && !*stop; digit++) {
    long *next = begins[digit], begin = 0, count;
    if (next[words[0] >> 8 * digit & 255] == n) continue;
    for (int value = 0; value < 256; value++) count = next[value], next[value] = begin, begin += count;
    for (long i = 0; i < n; i++) {
      long to = next[words[i] >> 8 * digit & 255]++;
      sorted[to] = words[i], moved[to] = places[i];
    }
    before = words, words = sorted, sorted = before;
    unmoved = places, places = moved, moved = unmoved;
  }
  return places - (long *)room;
}

/* functions: vlad_order
   calls: vlad_places_in
   The order of words whose upper halves are in one array, and lower halves in another. */
static inline long vlad_order(
    long n, const double *high, const double *low, long *order, unsigned long *room, const volatile int *stop) {
  for (long i = 0; i < n; i++) /* via signed integers: otherwise tcc emits a library call */
    room[i] = (unsigned long)(long)high[i] << 32 | (unsigned long)(long)low[i];
  long begin = vlad_places_in(room, n, stop);
  for (long i = 0; i < n; i++) order[i] = (long)room[begin + i];
  return n;
}

/* functions: vlad_places
   calls: vlad_places_in
   The positions of numbers, reals or integers, in increasing order; numbers and positions are stored `stride` apart. They are sorted as
   words in the same order: zeros of both signs are the same word, and nan is the largest. */
static inline long vlad_places(
    long n, long stride, int is_real, const void *numbers, long *order, unsigned long *room, const volatile int *stop) {
  const unsigned long sign = 1UL << 63, infinity = 0x7ffUL << 52;
  for (long i = 0; i < n; i++) {
    union { double real; long whole; unsigned long word; } x;
    if (is_real) x.real = ((const double *)numbers)[i * stride];
    else x.whole = ((const long *)numbers)[i * stride];
    unsigned long size = x.word & ~sign;
    if (!is_real) room[i] = x.word ^ sign;
    else if (size > infinity) room[i] = ~0UL;
    else room[i] = size != x.word && size ? ~x.word : size | sign;
  }
  long begin = vlad_places_in(room, n, stop);
  for (long i = 0; i < n; i++) order[i * stride] = (long)room[begin + i];
  return n;
}

/* functions: vlad_wide_at@f
   calls:
   Eight reals that begin at an address (compile/loops/vectorize.py); all of this is as accurate for sixteen floats. */
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#define VLAD_WIDE
typedef @real vlad_wide@f __attribute__((vector_size(64), aligned(sizeof(@real)), may_alias));
static inline vlad_wide@f vlad_wide_at@f(const @real *place) { return *(const vlad_wide@f *)place; }
#endif

/* functions: vlad_wide_moved@f
   calls:
   The last of eight reals, and the first seven of the next eight. */
#ifdef VLAD_WIDE
static inline vlad_wide@f vlad_wide_moved@f(vlad_wide@f before, vlad_wide@f x) {
  vlad_wide@f moved;
  if (sizeof(@real) == 8) __asm__("valignq $7, %1, %2, %0" : "=v"(moved) : "v"(before), "v"(x));
  else __asm__("valignd $15, %1, %2, %0" : "=v"(moved) : "v"(before), "v"(x));
  return moved;
}
#endif

/* functions: vlad_wide_start@f
   calls:
   The number of reals from an address up to the next line of the cache. */
#ifdef VLAD_WIDE
static inline long vlad_wide_start@f(const @real *place) {
  return -((long)place / (long)sizeof *place) & (long)(sizeof(vlad_wide@f) / sizeof *place) - 1;
}
#endif

/* functions: vlad_wide_add@f vlad_wide_less@f vlad_wide_rest@f
   calls:
   Fused products and sums of vectors: x y + z, x y - z, z - x y. */
#ifdef VLAD_WIDE
static inline vlad_wide@f vlad_wide_add@f(vlad_wide@f x, vlad_wide@f y, vlad_wide@f z) {
  __asm__("vfmadd231p@d %2, %1, %0" : "+v"(z) : "v"(x), "v"(y));
  return z;
}
static inline vlad_wide@f vlad_wide_less@f(vlad_wide@f x, vlad_wide@f y, vlad_wide@f z) {
  __asm__("vfmsub231p@d %2, %1, %0" : "+v"(z) : "v"(x), "v"(y));
  return z;
}
static inline vlad_wide@f vlad_wide_rest@f(vlad_wide@f x, vlad_wide@f y, vlad_wide@f z) {
  __asm__("vfnmadd231p@d %2, %1, %0" : "+v"(z) : "v"(x), "v"(y));
  return z;
}
#endif

/* functions: vlad_wide_reciprocal_of_positive@f
   calls: vlad_wide_add@f vlad_wide_rest@f
   1 / y to the last bit, by a division or, for y > 0, in Newton's steps. These do not pay for sixteen floats to a division, nor on AMD's
   processors, which alone have SSE4a (the benchmark element-wise 10^5 takes a twelfth longer with them on Zen 4). */
#ifdef VLAD_WIDE
static inline vlad_wide@f vlad_wide_reciprocal_of_positive@f(vlad_wide@f y, int in_steps) {
  const vlad_wide@f one = 1.0@f - (vlad_wide@f){0};
#ifdef __SSE4A__
  return one / y;
#endif
  if (!in_steps || sizeof(@real) == 4) return one / y;
  vlad_wide@f q;
  __asm__("vrcp14p@d %1, %0" : "=v"(q) : "v"(y));
  q = vlad_wide_add@f(q, vlad_wide_rest@f(y, q, one), q);
  vlad_wide@f rest = vlad_wide_rest@f(y, q, one);
  __asm__("vfmadd213p@d %{ru-sae%}, %0, %1, %0" : "+v"(q) : "v"(rest));
  return vlad_wide_add@f(q, vlad_wide_rest@f(y, q, one), q);
}
#endif

/* functions: vlad_wide_divided_by_positive@f
   calls: vlad_wide_less@f vlad_wide_rest@f
   a / y to the last bit, for y > 0, where q is 1 / y. */
#ifdef VLAD_WIDE
static inline vlad_wide@f vlad_wide_divided_by_positive@f(vlad_wide@f a, vlad_wide@f y, vlad_wide@f q) {
  vlad_wide@f t = a * q;
#ifdef VLAD_FAST_MATH
  return t;
#endif
  return vlad_wide_rest@f(vlad_wide_less@f(t, y, a), q, t);
}
#endif

/* functions: vlad_wide_signed@f
   calls:
   x, negated where y has the sign bit. */
#ifdef VLAD_WIDE
static inline vlad_wide@f vlad_wide_signed@f(vlad_wide@f x, vlad_wide@f y) {
  typedef long bits __attribute__((vector_size(64)));
  const long sign = sizeof(@real) == 8 ? 1L << 63 : 1L << 63 | 1L << 31;
  return (vlad_wide@f)((bits)x ^ (bits)y & sign);
}
#endif

/* functions: vlad_wide_reciprocal@f vlad_wide_divided@f
   calls: vlad_wide_divided_by_positive@f vlad_wide_reciprocal_of_positive@f vlad_wide_signed@f
   The same two functions for divisors of either sign. */
#ifdef VLAD_WIDE
static inline vlad_wide@f vlad_wide_reciprocal@f(vlad_wide@f y, int in_steps) {
  if (!in_steps) return vlad_wide_reciprocal_of_positive@f(y, 0);
  return vlad_wide_signed@f(vlad_wide_reciprocal_of_positive@f(vlad_wide_signed@f(y, y), 1), y);
}
static inline vlad_wide@f vlad_wide_divided@f(vlad_wide@f a, vlad_wide@f y, vlad_wide@f q) {
  return vlad_wide_divided_by_positive@f(vlad_wide_signed@f(a, y), vlad_wide_signed@f(y, y), vlad_wide_signed@f(q, y));
}
#endif

/* functions: vlad_wide_exp
   calls: vlad_wide_add vlad_wide_at vlad_wide_rest
   The exponentials of eight reals: of a million tried, off by at most 0.65 units in the last place, or 0.81 for subnormal results. With
   x = (16 n + j) log 2 / 16 + r, for the nearest n and j: 2^n times 2^(j/16), from a table, times e^r, a polynomial of degree 6 with an
   error of a twentieth of a unit (P. T. P. Tang, Table-driven implementation of the exponential function, 1989). Beyond the range of
   reals the result is infinite, or 0; nan stays nan. A host's functions took half as long again (compile/native/vectors.py; Zen 4). */
#ifdef VLAD_WIDE
static inline vlad_wide vlad_wide_exp(vlad_wide x) {
  static const double roots[32] = {
    0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
    0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
    0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
    0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0,
    /* and their rounding errors */
    0x0.0p+0, 0x1.8a62e4adc610bp-54, -0x1.19041b9d78a76p-55, 0x1.9b07eb6c70573p-54,
    0x1.6f46ad23182e4p-55, 0x1.ada0911f09ebcp-55, 0x1.d4397afec42e2p-56, 0x1.6324c054647adp-54,
    -0x1.bdd3413b26456p-54, -0x1.41577ee04992fp-55, 0x1.6e9f156864b27p-54, 0x1.c7c46b071f2bep-56,
    0x1.7a1cd345dcc81p-54, 0x1.11065895048ddp-55, 0x1.2ed02d75b3707p-55, -0x1.e9c23179c2893p-54,
  };
  const vlad_wide zero = {0}, shift = zero + 0x1.8p52; /* adding it to a number removes the fraction */
  __asm__("vminpd %1, %2, %0" : "=v"(x) : "v"(x), "v"(zero + 710.0));
  __asm__("vmaxpd %1, %2, %0" : "=v"(x) : "v"(x), "v"(zero - 746.0));
  vlad_wide sixteenths = vlad_wide_add(x, zero + 0x1.71547652b82fep+4, shift), k = sixteenths - shift;
  vlad_wide r = vlad_wide_rest(k, zero + 0x1.62e42fefa39efp-5, x);
  r = vlad_wide_rest(k, zero + 0x1.abc9e3b39803fp-60, r);
  vlad_wide root = vlad_wide_at(roots), error = vlad_wide_at(roots + 16), square = r * r;
  __asm__("vpermt2pd %2, %1, %0" : "+v"(root) : "v"(sixteenths), "v"(vlad_wide_at(roots + 8)));
  __asm__("vpermt2pd %2, %1, %0" : "+v"(error) : "v"(sixteenths), "v"(vlad_wide_at(roots + 24)));
  vlad_wide high = vlad_wide_add(r, zero + 0x1.6c1651fff285dp-10, zero + 0x1.11123a01d3083p-7);
  vlad_wide low = vlad_wide_add(r, zero + 0x1.5555555657cebp-5, zero + 0x1.5555555490aabp-3);
  vlad_wide rest = vlad_wide_add(vlad_wide_add(high, square, low), r, zero + 0.5);
  rest = vlad_wide_add(rest, square, r);
  root += vlad_wide_add(root, rest, error);
  __asm__("vscalefpd %2, %1, %0" : "=v"(root) : "v"(root), "v"(k * 0.0625));
  return root;
}
#endif

/* functions: vlad_has_vectors
   calls:
   Has the host found vector functions? In the order of compile/native/vectors.py. */
static void **vlad_vectors;
static inline int vlad_has_vectors(void) { return vlad_vectors != 0; }

/* functions: vlad_wide_log@f vlad_wide_pow@f
   calls:
   Those of them that exist for reals and for floats. */
#ifdef VLAD_WIDE
static inline vlad_wide@f vlad_wide_log@f(vlad_wide@f x) {
  return ((vlad_wide@f (*)(vlad_wide@f))vlad_vectors[sizeof(@real) == 8 ? 0 : 3])(x);
}
static inline vlad_wide@f vlad_wide_pow@f(vlad_wide@f x, vlad_wide@f y) {
  return ((vlad_wide@f (*)(vlad_wide@f, vlad_wide@f))vlad_vectors[sizeof(@real) == 8 ? 1 : 4])(x, y);
}
#endif

/* functions: vlad_wide_expf
   calls:
   The one for floats only. */
#ifdef VLAD_WIDE
static inline vlad_widef vlad_wide_expf(vlad_widef x) { return ((vlad_widef (*)(vlad_widef))vlad_vectors[2])(x); }
#endif

/* functions: vlad_wide_begin vlad_wide_end
   calls:
   The processor's floating-point flags for invalid operations, division by zero, overflow and underflow: they are saved and cleared, and
   later restored, with the result whether any was set in between. Loads and stores are not moved across either. */
#ifdef VLAD_WIDE
static inline unsigned vlad_wide_begin(void) {
  unsigned before;
  __asm__ volatile("stmxcsr %0" : "=m"(before) : : "memory");
  unsigned none = before & ~63u;
  __asm__ volatile("ldmxcsr %0" : : "m"(none) : "memory");
  return before;
}
static inline int vlad_wide_end(unsigned before) {
  unsigned now;
  __asm__ volatile("stmxcsr %0" : "=m"(now) : : "memory");
  before |= now;
  __asm__ volatile("ldmxcsr %0" : : "m"(before) : "memory");
  return (now & 29) != 0;
}
#endif
