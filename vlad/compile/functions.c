/* Real functions of the primitive table that C has not. Each is the row's Python rule, in doubles. */

/* The larger; nan if either is; of 0 and -0 it is 0. */
static inline double vlad_max(double x, double y) {
  if (x > y || x != x) return x;
  return x < y || y != y ? y : x == 0 ? x + y : x;
}

/* The smaller; nan if either is; of 0 and -0 it is -0. */
static inline double vlad_min(double x, double y) {
  if (x < y || x != x) return x;
  return x > y || y != y ? y : x == 0 ? -(-x - y) : x;
}

/* -1, 0 or 1; keeps the sign of zero, and nan. */
static inline double vlad_sign(double x) { return x == 0 || x != x ? x : copysign(1.0, x); }

/* x - y floor(x/y), with the sign of y, as Python has it. */
static inline double vlad_modulo(double x, double y) {
  if (y == 0 || x - x != 0 || y != y) return 0.0 / 0.0;
  if (y - y != 0) return x == 0 || (x < 0) == (y < 0) ? x : y;
  double r = fmod(x, y);
  if (r == 0) return copysign(0.0, y);
  return (r < 0) != (y < 0) ? r + y : r;
}

/* truncate(x/y) of the exact quotient. */
static inline double vlad_quotient(double x, double y) {
  if (x - x == 0 && y - y == 0 && y != 0) return trunc(rint((x - fmod(x, y)) / y));
  return trunc(x / y);
}
