/* The run-time of compiled programs. emit/c_unit.py selects the sections that a program needs; no header is included, since reading
   headers costs more than compiling a small program. What @own declares is the state of a thread (sections.py). */

/* section: fail
   An error, an exhausted limit or an interrupt ends the call with a status; tier 0 or the host interprets it. */
int volatile vlad_stop;
@own long vlad_escape[64];
typedef int vlad_body(void const *, void *); /* returns 0 */
#if __GNUC__ >= 8 && defined(__x86_64__) && defined(__LP64__) && defined(__linux__) && !defined(__TINYC__) && !defined(__CET__) \
    && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* The registers that a call preserves. To save them here costs a call 1 ns; the jump of the C library and gcc's own cost 3, since with
   either one the compiler keeps nothing in registers across the jump. */
__attribute__((naked, noinline)) static int vlad_begin_try(void const *one, void *other, vlad_body *body, long *escape) {
  __asm__("movq %rsp, (%rcx)\n\tmovq %rbx, 8(%rcx)\n\tmovq %rbp, 16(%rcx)\n\tmovq %r12, 24(%rcx)\n\t"
          "movq %r13, 32(%rcx)\n\tmovq %r14, 40(%rcx)\n\tmovq %r15, 48(%rcx)\n\tjmp *%rdx");
}
__attribute__((naked, noinline, noreturn)) static void vlad_end_try(int status, long *escape) {
  __asm__("movl %edi, %eax\n\tmovq (%rsi), %rsp\n\tmovq 8(%rsi), %rbx\n\tmovq 16(%rsi), %rbp\n\tmovq 24(%rsi), %r12\n\t"
          "movq 32(%rsi), %r13\n\tmovq 40(%rsi), %r14\n\tmovq 48(%rsi), %r15\n\tret");
}
static inline int vlad_try(void const *one, void *other, vlad_body *body) { return vlad_begin_try(one, other, body, vlad_escape); }
__attribute__((noreturn, cold, noinline)) static void vlad_fail(int status) { vlad_end_try(status, vlad_escape); }
#else
int _setjmp(long *) __attribute__((returns_twice));
void longjmp(long *, int) __attribute__((noreturn));
static int vlad_try(void const *one, void *other, vlad_body *body) {
  int status = _setjmp(vlad_escape);
  return status ? status : body(one, other);
}
__attribute__((noreturn, cold, noinline)) static void vlad_fail(int status) { longjmp(vlad_escape, status); }
#endif

/* section: reserve
   Areas of memory, mapped when touched, that all libraries of a process share: a call takes one and returns it. So their number is that
   of concurrent calls, not of libraries. Slots hold them, and are exchanged atomically, without a lock: a process may be forked at any
   time. The size of an area is stored where it is touched anyway, at its beginning, or for a stack at its end. */
#ifdef __APPLE__
#define VLAD_MAP 0x1042
#else
#define VLAD_MAP 0x4022
#endif
#define VLAD_SLOTS 16
#define VLAD_HEAD 65536 /* bytes of an area before its usable part */
void *mmap(void *, unsigned long, int, int, int, long);
int munmap(void *, unsigned long);
int madvise(void *, unsigned long, int);
struct vlad_reserve {
  unsigned long arena, stack, left; /* the largest size of an area of each kind in bytes, and the address space that is left */
  void *areas[VLAD_SLOTS], *stacks[VLAD_SLOTS];
};
#if defined(__TINYC__) && defined(__x86_64__)
#define VLAD_LOAD(place) (*(place))
static inline void *vlad_put_slot(void **place, void *value) {
  __asm__ volatile("xchgq %0, (%1)" : "+r"(value) : "r"(place) : "memory");
  return value;
}
static inline void vlad_use(unsigned long *left, long size) { __asm__ volatile("lock; subq %0, (%1)" : : "r"(size), "r"(left) : "memory"); }
#else
#define VLAD_LOAD(place) __atomic_load_n(place, __ATOMIC_RELAXED)
static inline void *vlad_put_slot(void **place, void *value) { return __atomic_exchange_n(place, value, __ATOMIC_ACQ_REL); }
static inline void vlad_use(unsigned long *left, long size) { __atomic_fetch_sub(left, size, __ATOMIC_RELAXED); }
#endif
static struct vlad_reserve vlad_own = {VLAD_ARENA_SIZE, VLAD_STACK_SIZE, ~0UL >> 1};
#ifdef VLAD_ALONE
int getrlimit(int, unsigned long *);
#ifdef __APPLE__
#define VLAD_ADDRESSES 5
#else
#define VLAD_ADDRESSES 9
#endif
static struct vlad_reserve *const vlad_reserve = &vlad_own;
__attribute__((constructor)) static void vlad_open_reserve(void) { /* half of the address space of the process */
  unsigned long limits[2];
  if (!getrlimit(VLAD_ADDRESSES, limits) && limits[0] < ~0UL >> 1) vlad_own.left = limits[0] / 2;
}
#else
struct vlad_reserve *vlad_reserve = &vlad_own; /* a host with several libraries sets this to its own */
#endif
static void *vlad_take(void **slots, unsigned long most, int is_stack) { /* the position of the size of an area; 0: there is no area */
  for (int i = 0; i < VLAD_SLOTS; i++) {
    void *area = VLAD_LOAD(slots + i) ? vlad_put_slot(slots + i, 0) : 0;
    if (area) return area;
  }
  unsigned long left = VLAD_LOAD(&vlad_reserve->left);
  for (unsigned long size = most < left / 2 ? most : left / 2; size >= 1UL << 20; size >>= 1) {
    size &= -65536UL;
    char *area = mmap(0, size, 3, VLAD_MAP, -1, 0);
    if (area == (char *)-1) continue;
    vlad_use(&vlad_reserve->left, size);
    unsigned long *head = (unsigned long *)(is_stack ? area + size - 64 : area);
    *head = size;
    return head;
  }
  return 0;
}
static void vlad_unmap(void *area, int is_stack) {
  unsigned long size = *(unsigned long *)area;
  munmap(is_stack ? (char *)area + 64 - size : area, size);
}
#if !defined(VLAD_ALONE) || defined(VLAD_SPREADS)
static void vlad_give(void **slots, void *area, int is_stack) {
  for (int i = 0; i < VLAD_SLOTS; i++)
    if (!VLAD_LOAD(slots + i) && !(area = vlad_put_slot(slots + i, area))) return;
  vlad_use(&vlad_reserve->left, -*(long *)area);
  vlad_unmap(area, is_stack);
}
#endif

/* section: arena
   Boxes are allocated by incrementing a pointer. Values are immutable and acyclic, so an older box never points to a younger one: the
   allocations of a procedure are free when it returns without a pointer, and the turns of a loop are collected by copying
   what its parameters reach. Pages are kept between calls, since fresh ones cost several times as much as writing them. The library
   keeps the area until the host has read the result. */
/* Memory below the floor is kept between calls. The end is that of the pages which are kept, until a call needs more: then it is the limit,
   and tells that there are pages to unmap, wherever the top is by then. */
@own char *vlad_base, *vlad_floor, *vlad_top, *vlad_end, *vlad_limit;
#ifndef VLAD_ALONE
long vlad_most = ~0UL >> 1; /* bytes of it that a call may use */
#endif
static void vlad_begin_at_floor(void) {
  vlad_top = vlad_floor;
  vlad_end = vlad_limit - vlad_floor > VLAD_KEPT ? vlad_floor + VLAD_KEPT : vlad_limit;
}
__attribute__((cold, noinline)) static void vlad_open_arena(void) {
  char *area = vlad_take(vlad_reserve->areas, vlad_reserve->arena, 0);
  if (!area) vlad_fail(VLAD_OUT_OF_MEMORY);
  vlad_limit = area + *(unsigned long *)area - 4096;
  vlad_base = vlad_floor = area + VLAD_HEAD;
#ifndef VLAD_ALONE
  if (vlad_most < vlad_limit - vlad_base) vlad_limit = vlad_base + (vlad_most & -65536L);
#endif
  vlad_begin_at_floor();
}
static inline void vlad_extend(void) { /* no call that returns: the compiler would keep what is needed after it in memory */
  if (vlad_end == vlad_limit) vlad_fail(VLAD_OUT_OF_MEMORY);
  vlad_end = vlad_limit;
}
static inline void *vlad_allocate(unsigned long size) {
  char *box = vlad_top;
  if (__builtin_expect(box >= vlad_end, 0)) vlad_extend();
  vlad_top = box + size;
  return box;
}
__attribute__((cold, noinline)) static void vlad_unmap_most(void) {
  char *kept = vlad_floor + VLAD_KEPT; /* of whole pages: a floor may be anywhere */
  kept -= (kept - vlad_base) % 65536;
  if (vlad_limit > kept) madvise(kept, vlad_limit - kept, 4);
  vlad_begin_at_floor();
}
static inline void vlad_trim_arena(void) { /* frees everything above the floor, and unmaps most of the memory of a large call */
  vlad_top = vlad_floor;
  if (__builtin_expect(vlad_end == vlad_limit, 0)) vlad_unmap_most();
}
__attribute__((destructor)) static void vlad_close_arena(void) { /* the host's reserve may not exist any more */
  if (vlad_base) vlad_unmap(vlad_base - VLAD_HEAD, 0);
}
#ifndef VLAD_ALONE
static void vlad_empty_arena(void) { /* nothing is kept: a limit of memory counts all mapped pages */
  if (!vlad_base) return;
  madvise(vlad_base, vlad_limit - vlad_base, 4);
  vlad_top = vlad_base;
}
#endif
#if !defined(VLAD_ALONE) || defined(VLAD_SPREADS)
static void vlad_rest_arena(void) {
  if (!vlad_base) return;
  vlad_trim_arena();
  char *area = vlad_base - VLAD_HEAD;
  vlad_base = 0;
  vlad_give(vlad_reserve->areas, area, 0);
}
#endif

/* section: arrays
   The entries of tensors are allocated in the same area. Large ones begin in the middle of a page: the host's arrays mostly begin near
   its start, and a load stalls on an earlier store with the same offset in another page. */
static inline void *vlad_array(long count) {
  char *array = vlad_top;
  if (count >= 4096) array += 2048 - (long)array & 4095;
  while (__builtin_expect(vlad_end - array < 8 * count, 0)) vlad_extend();
  vlad_top = array + 8 * count;
  return array;
}

/* section: products
   c = a b of row-major matrices, either of which may be transposed: m rows, n columns, sums of k terms. Computed by the BLAS library
   whose cblas_dgemm and cblas_sgemm the host has found, if any. */
static void *vlad_gemm, *vlad_gemmf;
static long vlad_gemm_is_wide;
/* Its threads wait for each other in loops: a small product is slower by several, by far where the machine has other work. Functions set
   their number, for all products of the process, and return it; without the second, the first does both, for this thread. */
#define VLAD_MANY_MULTIPLICATIONS 0x1p22
static void *vlad_gemm_set, *vlad_gemm_get;
static int vlad_use_one(void) { /* and return the number before; 0 if it is one */
  if (!vlad_gemm_set) return 0;
  if (!vlad_gemm_get) return ((int (*)(int))vlad_gemm_set)(1) + 1;
  int count = ((int (*)(void))vlad_gemm_get)();
  if (count < 2) return 0;
  ((void (*)(int))vlad_gemm_set)(1);
  return count;
}
static void vlad_use_several(int count) {
  if (count && vlad_gemm_get) ((void (*)(int))vlad_gemm_set)(count);
  else if (count) ((int (*)(int))vlad_gemm_set)(count - 1);
}

/* section: product */
static void vlad_product_by@f(int ta, int tb, long m, long n, long k, const @real *a, long lda, const @real *b, long ldb,
                            @real kept, @real *c, long ldc) { /* kept: 0, or 1 to add the product to c */
  if (vlad_gemm@f && vlad_gemm_is_wide) {
    ((void (*)(int, int, int, long, long, long, @real, const @real *, long, const @real *, long, @real, @real *, long))vlad_gemm@f)(
        101, ta ? 112 : 111, tb ? 112 : 111, m, n, k, 1.0@f, a, lda, b, ldb, kept, c, ldc);
    return;
  }
  if (vlad_gemm@f) {
    ((void (*)(int, int, int, int, int, int, @real, const @real *, int, const @real *, int, @real, @real *, int))vlad_gemm@f)(
        101, ta ? 112 : 111, tb ? 112 : 111, m, n, k, 1.0@f, a, lda, b, ldb, kept, c, ldc);
    return;
  }
  for (long i = 0; i < m; i++) {
    for (long j = 0; j < n && kept == 0; j++) c[i * ldc + j] = 0.0@f;
    for (long l = 0; l < k; l++) {
      @real x = ta ? a[l * lda + i] : a[i * lda + l];
      for (long j = 0; j < n; j++) c[i * ldc + j] += x * (tb ? b[j * ldb + l] : b[l * ldb + j]);
    }
  }
}
static void vlad_product@f(int ta, int tb, long m, long n, long k, const @real *a, long lda, const @real *b, long ldb, @real *c,
                           long ldc) {
  int several = (double)m * n * k < VLAD_MANY_MULTIPLICATIONS ? vlad_use_one() : 0;
  vlad_product_by@f(ta, tb, m, n, k, a, lda, b, ldb, 0.0@f, c, ldc);
  vlad_use_several(several);
}

/* section: matrices
   Decompositions of square matrices of n rows: by the LAPACK library whose dgetrf, dgetrs, dpotrf, dgesdd, dtrtrs, dsyevd,
   dgeqrf and dorgqr the host has found, if any. LAPACK's matrices are column-major, tensors row-major; matrices are copied to the other
   order, rather than solved as their transposes, so that rounding, and with it which matrices are singular, is as in NumPy. */
static void **vlad_lapack;
static long vlad_lapack_is_wide = 1;

static void vlad_transpose(long rows, long columns, const double *a, double *b) {
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < columns; j++) b[j * rows + i] = a[i * columns + j];
}

static void vlad_turn(long n, double *a) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < i; j++) {
      double x = a[i * n + j];
      a[i * n + j] = a[j * n + i], a[j * n + i] = x;
    }
}

/* Partial pivoting, column by column (Golub and Van Loan, algorithm 3.4.1). */
static long vlad_own_factor(long n, double *a, long *rows) {
  long status = 0;
  for (long k = 0; k < n; k++) {
    long best = k;
    for (long i = k + 1; i < n; i++)
      if (fabs(a[k * n + i]) > fabs(a[k * n + best])) best = i;
    rows[k] = best + 1;
    if (a[k * n + best] == 0.0) {
      status = 1;
      continue;
    }
    for (long j = 0; j < n; j++) {
      double x = a[j * n + k];
      a[j * n + k] = a[j * n + best], a[j * n + best] = x;
    }
    for (long i = k + 1; i < n; i++) a[k * n + i] /= a[k * n + k];
    for (long j = k + 1; j < n; j++)
      for (long i = k + 1; i < n; i++) a[j * n + i] -= a[k * n + i] * a[j * n + k];
  }
  return status;
}

#define VLAD_FACTOR(integer)                                                                                              \
  {                                                                                                                       \
    integer size = n, info = 0;                                                                                           \
    ((void (*)(integer *, integer *, double *, integer *, void *, integer *))vlad_lapack[0])(&size, &size, found, &size,  \
                                                                                             found + n * n, &info);       \
    status += info != 0;                                                                                                  \
  }
/* For each of `count` matrices: L and U in columns, then the rows that were exchanged, a word each at most. */
static double vlad_factor(long count, long n, const double *a, double *found) {
  double status = 0.0;
  for (; count > 0; count--, a += n * n, found += n * n + n) {
    vlad_transpose(n, n, a, found);
    if (!vlad_lapack) status += vlad_own_factor(n, found, (long *)(found + n * n));
    else if (vlad_lapack_is_wide) VLAD_FACTOR(long)
    else VLAD_FACTOR(int)
  }
  return status;
}

static long vlad_exchanged(const double *rows, long k) {
  return vlad_lapack_is_wide ? ((const long *)rows)[k] : ((const int *)rows)[k];
}

static void vlad_own_exchange(const double *rows, long k, double *x) {
  long other = vlad_exchanged(rows, k) - 1;
  double y = x[k];
  x[k] = x[other], x[other] = y;
}

static void vlad_own_solve(int transposed, long n, long m, const double *a, double *x) {
  for (; m > 0; m--, x += n) {
    if (transposed) {
      for (long k = 0; k < n; k++) {
        for (long i = 0; i < k; i++) x[k] -= a[k * n + i] * x[i];
        x[k] /= a[k * n + k];
      }
      for (long k = n - 1; k >= 0; k--)
        for (long i = k + 1; i < n; i++) x[k] -= a[k * n + i] * x[i];
      for (long k = n - 1; k >= 0; k--) vlad_own_exchange(a + n * n, k, x);
      continue;
    }
    for (long k = 0; k < n; k++) vlad_own_exchange(a + n * n, k, x);
    for (long k = 0; k < n; k++)
      for (long i = k + 1; i < n; i++) x[i] -= a[k * n + i] * x[k];
    for (long k = n - 1; k >= 0; k--) {
      x[k] /= a[k * n + k];
      for (long i = 0; i < k; i++) x[i] -= a[k * n + i] * x[k];
    }
  }
}

#define VLAD_SOLVE(integer)                                                                                                \
  {                                                                                                                        \
    integer size = n, columns = m, info = 0;                                                                               \
    ((void (*)(const char *, integer *, integer *, const double *, integer *, const double *, double *, integer *,         \
               integer *, unsigned long))vlad_lapack[1])(turned, &size, &columns, factors, &size, factors + n * n, columned,  \
                                                         &size, &info, 1);                                                 \
  }
/* Solves A x = b with m columns, given the factors of A; or Aᵀ x = b. */
static void vlad_solve(int transposed, long n, long m, const double *factors, const double *b, double *x) {
  char *mark = vlad_top;
  const char *turned = transposed ? "T" : "N";
  double *columned = m == 1 ? x : vlad_array(n * m);
  vlad_transpose(n, m, b, columned);
  if (!vlad_lapack) vlad_own_solve(transposed, n, m, factors, columned);
  else if (vlad_lapack_is_wide) VLAD_SOLVE(long)
  else VLAD_SOLVE(int)
  if (m != 1) vlad_transpose(m, n, columned, x);
  vlad_top = mark;
}

static void vlad_own_solve_triangle(int transposed, long n, long m, const double *l, double *x) {
  for (; m > 0; m--, x += n)
    if (transposed)
      for (long k = n - 1; k >= 0; k--) {
        x[k] /= l[k * n + k];
        for (long i = 0; i < k; i++) x[i] -= l[k * n + i] * x[k];
      }
    else
      for (long k = 0; k < n; k++) {
        for (long i = 0; i < k; i++) x[k] -= l[k * n + i] * x[i];
        x[k] /= l[k * n + k];
      }
}

#define VLAD_SOLVE_TRIANGLE(integer)                                                                                     \
  {                                                                                                                      \
    integer size = n, columns = m, info = 0;                                                                             \
    ((void (*)(const char *, const char *, const char *, integer *, integer *, const double *, integer *, double *,      \
               integer *, integer *, unsigned long, unsigned long, unsigned long))vlad_lapack[4])(                       \
        "U", turned, "N", &size, &columns, l, &size, columned, &size, &info, 1, 1, 1);                                   \
  }
/* Solves L x = b with m columns, L a row-major lower triangle, which to the library is a column-major upper one; or Lᵀ x = b. */
static void vlad_solve_triangle(int transposed, long n, long m, const double *l, const double *b, double *x) {
  char *mark = vlad_top;
  const char *turned = transposed ? "N" : "T";
  double *columned = m == 1 ? x : vlad_array(n * m);
  vlad_transpose(n, m, b, columned);
  if (!vlad_lapack) vlad_own_solve_triangle(transposed, n, m, l, columned);
  else if (vlad_lapack_is_wide) VLAD_SOLVE_TRIANGLE(long)
  else VLAD_SOLVE_TRIANGLE(int)
  if (m != 1) vlad_transpose(m, n, columned, x);
  vlad_top = mark;
}

/* As in NumPy: intermediate results that are too large or small for a double do not affect the result. */
static double vlad_determinant(long n, const double *factors) {
  double sign = 1.0, size = 0.0;
  for (long k = 0; k < n; k++) {
    double x = factors[k * n + k];
    if (x == 0.0) return 0.0;
    if ((vlad_exchanged(factors + n * n, k) != k + 1) != (x < 0.0)) sign = -sign;
    size += log(fabs(x));
  }
  return sign * exp(size);
}

static void vlad_own_triangle(long n, double *a) {
  for (long k = 0; k < n; k++) {
    double *column = a + k * n;
    for (long j = 0; j < k; j++)
      for (long i = k; i < n; i++) column[i] -= a[j * n + i] * a[j * n + k];
    column[k] = sqrt(column[k]);
    for (long i = k + 1; i < n; i++) column[i] /= column[k];
  }
}

#define VLAD_TRIANGLE(integer)                                                                                         \
  {                                                                                                                    \
    integer size = n, info = 0;                                                                                        \
    ((void (*)(const char *, integer *, double *, integer *, integer *, unsigned long))vlad_lapack[2])("L", &size, l,  \
                                                                                                       &size, &info, 1); \
    status += info != 0;                                                                                               \
  }
/* For each of `count` symmetric matrices the triangle L with L Lᵀ = A. */
static double vlad_triangle(long count, long n, const double *a, double *l) {
  double status = 0.0;
  for (; count > 0; count--, a += n * n, l += n * n) {
    vlad_transpose(n, n, a, l);
    if (!vlad_lapack) vlad_own_triangle(n, l);
    else if (vlad_lapack_is_wide) VLAD_TRIANGLE(long)
    else VLAD_TRIANGLE(int)
    for (long i = 0; i < n; i++) {
      status += !(l[i * n + i] > 0.0);
      for (long j = 0; j < i; j++) l[i * n + j] = l[j * n + i], l[j * n + i] = 0.0;
    }
  }
  return status;
}

static double vlad_inner(long n, const double *a, const double *b) {
  double sum = 0.0;
  for (long i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static long vlad_are_finite(long n, const double *a) {
  for (long i = 0; i < n; i++)
    if (!(fabs(a[i]) <= 1.7976931348623157e308)) return 0;
  return 1;
}

/* Is the largest entry of a column negative? Among equally large ones, the first (primitives/decompositions.py: ALIKE). */
static long vlad_points_down(long rows, long columns, const double *x) {
  double top = 0.0;
  for (long i = 0; i < rows * columns; i += columns)
    if (fabs(x[i]) > top) top = fabs(x[i]);
  for (long i = 0; i < rows * columns; i += columns)
    if (fabs(x[i]) >= 0.999 * top) return x[i] < 0.0;
  return 0;
}

static void vlad_negate(long n, double *x, long step) {
  for (long i = 0; i < n * step; i += step) x[i] = -x[i];
}

static void vlad_copy(long n, const double *a, double *b) {
  for (long i = 0; i < n; i++) b[i] = a[i];
}

static void vlad_unknown(long n, double *x) {
  for (long i = 0; i < n; i++) x[i] = 0.0 / 0.0;
}

/* A power of two that scales entries so that their squares neither overflow nor underflow; the code without LAPACK sums squares. */
static double vlad_power(long n, const double *a) {
  double top = 0.0;
  for (long i = 0; i < n; i++)
    if (fabs(a[i]) > top) top = fabs(a[i]);
  return top > 1e140 ? 0x1p-600 : top > 0.0 && top < 1e-140 ? 0x1p600 : 1.0;
}

static void vlad_scale(long n, double by, double *x) {
  for (long i = 0; i < n; i++) x[i] *= by;
}

static void vlad_exchange(long n, double *a, double *b) {
  for (long i = 0; i < n; i++) {
    double x = a[i];
    a[i] = b[i], b[i] = x;
  }
}

static void vlad_rotate(long n, double c, double d, double *a, double *b, long step) {
  for (long i = 0; i < n * step; i += step) {
    double x = a[i], y = b[i];
    a[i] = c * x - d * y, b[i] = d * x + c * y;
  }
}

/* Makes column k of u a unit vector that is orthogonal to those before it: the rest of a unit vector with a large component outside
   their span. */
static void vlad_complete(long m, double *u, long k) {
  double *column = u + k * m;
  for (long axis = 0; axis < m; axis++) {
    for (long i = 0; i < m; i++) column[i] = i == axis;
    for (int again = 0; again < 2; again++)
      for (long j = 0; j < k; j++) {
        double part = vlad_inner(m, u + j * m, column);
        for (long i = 0; i < m; i++) column[i] -= part * u[j * m + i];
      }
    double size = vlad_inner(m, column, column);
    if (size * 2.0 * m < 1.0) continue;
    for (long i = 0; i < m; i++) column[i] /= sqrt(size);
    return;
  }
}

/* One-sided Jacobi (Hestenes 1958): the columns of A are rotated until they are orthogonal. u is initially A, which has at least as many
   rows as columns, v is arbitrary; all are column-major. */
static void vlad_own_singular(long m, long n, double *u, double *s, double *v) {
  for (long i = 0; i < n * n; i++) v[i] = i % (n + 1) == 0;
  for (int sweep = 0, rotated = 1; rotated && sweep < 60; sweep++) {
    rotated = 0;
    for (long p = 0; p < n; p++)
      for (long q = p + 1; q < n; q++) {
        double *a = u + p * m, *b = u + q * m, x = vlad_inner(m, a, a), y = vlad_inner(m, b, b), z = vlad_inner(m, a, b);
        if (!(fabs(z) > 1e-15 * sqrt(x) * sqrt(y))) continue;
        double half = (y - x) / (2.0 * z), t = (half < 0.0 ? -1.0 : 1.0) / (fabs(half) + sqrt(1.0 + half * half));
        double c = 1.0 / sqrt(1.0 + t * t), d = c * t;
        rotated = 1;
        vlad_rotate(m, c, d, a, b, 1);
        vlad_rotate(n, c, d, v + p * n, v + q * n, 1);
      }
  }
  for (long k = 0; k < n; k++) s[k] = sqrt(vlad_inner(m, u + k * m, u + k * m));
  for (long k = 0; k < n; k++) {
    long best = k;
    for (long j = k + 1; j < n; j++)
      if (s[j] > s[best]) best = j;
    double x = s[k];
    s[k] = s[best], s[best] = x;
    vlad_exchange(m, u + k * m, u + best * m);
    vlad_exchange(n, v + k * n, v + best * n);
    if (s[k] <= 2.3e-16 * n * s[0]) vlad_complete(m, u, k);
    else
      for (long i = 0; i < m; i++) u[k * m + i] /= s[k];
  }
}

#define VLAD_SINGULAR(integer)                                                                                            \
  {                                                                                                                       \
    integer rows = m, columns = n, least = k, room = -1, info = 0, *more = (integer *)vlad_array(8 * k);                  \
    double wanted, *work = &wanted, *left = vlad_array(m * k), *right = vlad_array(k * n);                                \
    for (int again = 0; again < 2; again++) {                                                                             \
      ((void (*)(const char *, integer *, integer *, double *, integer *, double *, double *, integer *, double *,        \
                 integer *, double *, integer *, integer *, integer *, unsigned long))vlad_lapack[3])(                    \
          "S", &rows, &columns, copy, &rows, s, left, &rows, right, &least, work, &room, more, &info, 1);                 \
      if (!again) room = (integer)wanted, work = vlad_array(room);                                                        \
    }                                                                                                                     \
    vlad_transpose(k, m, left, u), vlad_transpose(n, k, right, v);                                                        \
    failed = info != 0;                                                                                                   \
  }
/* U, the singular values and Vᵀ of each of `count` matrices of m rows and n columns; nan where the iteration does not converge. */
static void vlad_singular(long count, long m, long n, const double *a, double *u, double *s, double *v) {
  long k = m < n ? m : n;
  for (; count > 0; count--, a += m * n, u += m * k, s += k, v += k * n) {
    char *mark = vlad_top;
    double *copy = vlad_array(m * n), by = vlad_lapack ? 1.0 : vlad_power(m * n, a);
    long failed = !vlad_are_finite(m * n, a);
    if (!failed && !vlad_lapack && m < n) { /* Aᵀ = V S Uᵀ, whose columns are the rows of A */
      vlad_copy(m * n, a, v), vlad_scale(m * n, by, v);
      vlad_own_singular(n, m, v, s, u);
      vlad_turn(m, u);
    } else if (!failed) {
      vlad_transpose(m, n, a, copy);
      if (!vlad_lapack) {
        vlad_scale(m * n, by, copy);
        vlad_own_singular(m, n, copy, s, v);
        vlad_transpose(n, m, copy, u);
      } else if (vlad_lapack_is_wide) VLAD_SINGULAR(long)
      else VLAD_SINGULAR(int)
    }
    if (by != 1.0) vlad_scale(k, 1.0 / by, s);
    for (long j = 0; j < k; j++)
      if (!failed && vlad_points_down(m, k, u + j)) vlad_negate(m, u + j, k), vlad_negate(n, v + j * n, 1);
    if (failed) vlad_unknown(m * k, u), vlad_unknown(k, s), vlad_unknown(k * n, v);
    vlad_top = mark;
  }
}

/* Reflections (Householder 1958; Golub and Van Loan, algorithm 5.2.1), stored as in LAPACK: the part of each vector below the diagonal,
   and its factor in `by`. A is column-major. */
static void vlad_reflect(long m, double by, const double *vector, double *x) {
  double part = x[0] + vlad_inner(m - 1, vector + 1, x + 1);
  x[0] -= by * part;
  for (long i = 1; i < m; i++) x[i] -= by * part * vector[i];
}

static void vlad_own_reflections(long m, long n, double *a, double *by) {
  for (long k = 0; k < m && k < n; k++) {
    double *x = a + k * m + k, size = sqrt(vlad_inner(m - k, x, x)), end = x[0] > 0.0 ? -size : size, from = x[0] - end;
    by[k] = size == 0.0 ? 0.0 : -from / end;
    for (long i = 1; size != 0.0 && i < m - k; i++) x[i] /= from;
    x[0] = end;
    for (long j = k + 1; j < n; j++) vlad_reflect(m - k, by[k], x, a + j * m + k);
  }
}

/* The first k columns of their product, which replace them. */
static void vlad_own_reflected(long m, long k, double *a, const double *by) {
  for (long l = k - 1; l >= 0; l--) {
    double *x = a + l * m + l;
    for (long j = l + 1; j < k; j++) vlad_reflect(m - l, by[l], x, a + j * m + l);
    x[0] = 1.0 - by[l];
    for (long i = 1; i < m - l; i++) x[i] *= -by[l];
    for (long i = 0; i < l; i++) a[l * m + i] = 0.0;
  }
}

#define VLAD_ORTHOGONAL(integer, routine, columns, ...)                                                                  \
  {                                                                                                                      \
    integer rows = m, width = columns, least = k, room = -1, info = 0;                                                   \
    double wanted, *work = &wanted;                                                                                      \
    for (int again = 0; again < 2; again++) {                                                                            \
      routine(&rows, &width, __VA_ARGS__ copy, &rows, by, work, &room, &info);                                           \
      if (!again) room = (integer)wanted, work = vlad_array(room);                                                       \
    }                                                                                                                    \
  }
#define VLAD_REFLECTIONS(integer)                                                                                        \
  ((void (*)(integer *, integer *, double *, integer *, double *, double *, integer *, integer *))vlad_lapack[6])
#define VLAD_REFLECTED(integer)                                                                                          \
  ((void (*)(integer *, integer *, integer *, double *, integer *, double *, double *, integer *, integer *))vlad_lapack[7])
/* Q and R of each of `count` matrices of m rows and n columns. */
static void vlad_orthogonal(long count, long m, long n, const double *a, double *q, double *r) {
  long k = m < n ? m : n;
  for (; count > 0; count--, a += m * n, q += m * k, r += k * n) {
    char *mark = vlad_top;
    double *copy = vlad_array(m * n), *by = vlad_array(k), power = vlad_lapack ? 1.0 : vlad_power(m * n, a);
    vlad_transpose(m, n, a, copy);
    if (!vlad_lapack) vlad_scale(m * n, power, copy), vlad_own_reflections(m, n, copy, by);
    else if (vlad_lapack_is_wide) VLAD_ORTHOGONAL(long, VLAD_REFLECTIONS(long), n)
    else VLAD_ORTHOGONAL(int, VLAD_REFLECTIONS(int), n)
    for (long i = 0; i < k; i++)
      for (long j = 0; j < n; j++) r[i * n + j] = j < i ? 0.0 : copy[j * m + i];
    if (power != 1.0) vlad_scale(k * n, 1.0 / power, r);
    if (!vlad_lapack) vlad_own_reflected(m, k, copy, by);
    else if (vlad_lapack_is_wide) VLAD_ORTHOGONAL(long, VLAD_REFLECTED(long), k, &least,)
    else VLAD_ORTHOGONAL(int, VLAD_REFLECTED(int), k, &least,)
    vlad_transpose(k, m, copy, q);
    for (long i = 0; i < k; i++)
      if (r[i * n + i] < 0.0) vlad_negate(n - i, r + i * n + i, 1), vlad_negate(m, q + i, k);
    if (!vlad_are_finite(m * n, a)) vlad_unknown(m * k, q), vlad_unknown(k * n, r);
    vlad_top = mark;
  }
}

/* Cyclic Jacobi (Golub and Van Loan, section 8.5): a is rotated until it is diagonal, and the columns of v with it. */
static void vlad_own_spectrum(long n, double *a, double *s, double *v) {
  double least = 1e-17 * sqrt(vlad_inner(n * n, a, a));
  for (long i = 0; i < n * n; i++) v[i] = i % (n + 1) == 0;
  for (int sweep = 0, rotated = 1; rotated && sweep < 60; sweep++) {
    rotated = 0;
    for (long p = 0; p < n; p++)
      for (long q = p + 1; q < n; q++) {
        double z = a[p * n + q];
        if (!(fabs(z) > least)) continue;
        double half = (a[q * n + q] - a[p * n + p]) / (2.0 * z);
        double t = (half < 0.0 ? -1.0 : 1.0) / (fabs(half) + sqrt(1.0 + half * half));
        double c = 1.0 / sqrt(1.0 + t * t), d = c * t;
        rotated = 1;
        vlad_rotate(n, c, d, a + p * n, a + q * n, 1);
        vlad_rotate(n, c, d, a + p, a + q, n);
        vlad_rotate(n, c, d, v + p * n, v + q * n, 1);
      }
  }
  for (long k = 0; k < n; k++) s[k] = a[k * n + k];
  for (long k = 0; k < n; k++) {
    long best = k;
    for (long j = k + 1; j < n; j++)
      if (s[j] < s[best]) best = j;
    double x = s[k];
    s[k] = s[best], s[best] = x;
    vlad_exchange(n, v + k * n, v + best * n);
  }
}

#define VLAD_SPECTRUM(integer)                                                                                          \
  {                                                                                                                     \
    integer size = n, room = -1, rooms = -1, info = 0, wanteds, *more = &wanteds;                                       \
    double wanted, *work = &wanted;                                                                                     \
    for (int again = 0; again < 2; again++) {                                                                           \
      ((void (*)(const char *, const char *, integer *, double *, integer *, double *, double *, integer *, integer *,  \
                 integer *, integer *, unsigned long, unsigned long))vlad_lapack[5])(                                   \
          "V", "L", &size, v, &size, s, work, &room, more, &rooms, &info, 1, 1);                                        \
      if (!again) room = (integer)wanted, rooms = wanteds, work = vlad_array(room), more = (integer *)vlad_array(rooms); \
    }                                                                                                                   \
    failed = info != 0;                                                                                                 \
  }
/* The eigenvalues of each of `count` symmetric matrices, and the eigenvectors as columns. */
static void vlad_spectrum(long count, long n, const double *a, double *s, double *v) {
  for (; count > 0; count--, a += n * n, s += n, v += n * n) {
    char *mark = vlad_top;
    long failed = !vlad_are_finite(n * n, a);
    if (!failed) {
      vlad_transpose(n, n, a, v);
      if (!vlad_lapack) {
        double *copy = vlad_array(n * n), by = vlad_power(n * n, a);
        vlad_copy(n * n, a, copy), vlad_scale(n * n, by, copy);
        vlad_own_spectrum(n, copy, s, v);
        vlad_scale(n, 1.0 / by, s);
      } else if (vlad_lapack_is_wide) VLAD_SPECTRUM(long)
      else VLAD_SPECTRUM(int)
      vlad_turn(n, v);
      for (long k = 0; k < n; k++)
        if (vlad_points_down(n, n, v + k)) vlad_negate(n, v + k, n);
    }
    if (failed) vlad_unknown(n, s), vlad_unknown(n * n, v);
    vlad_top = mark;
  }
}

/* section: collect
   Copies the boxes above `mark` that `roots` reach, and frees the rest (Cheney 1970, within the part of the area that a loop filled).
   Sharing is preserved: a box that was copied holds its new address instead, and has a bit in `moved`. The copies, and the bits, are in the
   area above what is in use, as its pages are kept between calls, or elsewhere if that is beyond what is kept. Returns how much may be
   allocated before the next collection, so that the total work is at most a constant times the allocations.
   Large arrays are not copied twice: they slide down in the order of their addresses, below the boxes, and one with nothing free below it
   stays. Until their places are known, -1, -2 ... stand for their addresses. */
struct vlad_member { long size; short pointers; short at[VLAD_MOST_POINTERS], cell[VLAD_MOST_POINTERS]; };
struct vlad_cell { short first, boxed; };
static VLAD_FIXED struct vlad_member vlad_members[];
static const struct vlad_cell vlad_cells[];
void *malloc(unsigned long);
void *realloc(void *, unsigned long);
void free(void *);
void *memcpy(void *, const void *, unsigned long);
void *memset(void *, int, unsigned long);
@own struct { char *mark, *to; unsigned long filled; unsigned char *moved; short *kinds; unsigned long count, room; } vlad_move;
__attribute__((destructor)) static void vlad_close_move(void) { free(vlad_move.kinds); }
#ifdef VLAD_SLIDES
void *memmove(void *, const void *, unsigned long);
void qsort(void *, unsigned long, unsigned long, int (*)(const void *, const void *));
struct vlad_large { char *from, *to; long first, number; unsigned long size; }; /* `first`: its first word, as -1 - number is there */
@own struct { struct vlad_large *all; unsigned long count, room; } vlad_slide;
__attribute__((destructor)) static void vlad_close_slide(void) { free(vlad_slide.all); }
static void *vlad_add_large(char *from, unsigned long size) {
  if (vlad_slide.count == vlad_slide.room) {
    vlad_slide.room = vlad_slide.room ? 2 * vlad_slide.room : 64;
    struct vlad_large *all = realloc(vlad_slide.all, vlad_slide.room * sizeof *all);
    if (!all) vlad_fail(VLAD_OUT_OF_MEMORY);
    vlad_slide.all = all;
  }
  long number = vlad_slide.count++;
  vlad_slide.all[number] = (struct vlad_large){from, 0, *(long *)from, number, size};
  return *(void **)from = (void *)(-1 - number);
}
static int vlad_by_address(const void *a, const void *b) {
  char *x = ((const struct vlad_large *)a)->from, *y = ((const struct vlad_large *)b)->from;
  return (x > y) - (x < y);
}
static int vlad_by_number(const void *a, const void *b) {
  long x = ((const struct vlad_large *)a)->number, y = ((const struct vlad_large *)b)->number;
  return (x > y) - (x < y);
}
/* The address of an array that slid, or of a box that was copied above such arrays. */
static void *vlad_placed(void *pointer, unsigned long shift) {
  if ((long)pointer < 0) return vlad_slide.all[-1 - (long)pointer].to;
  char *box = pointer;
  return box >= vlad_move.mark && box < vlad_move.mark + vlad_move.filled ? box + shift : box;
}
/* Moves all, and returns their size. */
static unsigned long vlad_slide_down(int count, void **roots) {
  char *to = vlad_move.mark;
  qsort(vlad_slide.all, vlad_slide.count, sizeof *vlad_slide.all, vlad_by_address);
  for (unsigned long i = 0; i < vlad_slide.count; i++) {
    struct vlad_large *one = vlad_slide.all + i;
    one->to = to;
    if (to != one->from) memmove(to, one->from, one->size);
    *(long *)to = one->first;
    to += one->size;
  }
  unsigned long shift = to - vlad_move.mark, at = 0;
  qsort(vlad_slide.all, vlad_slide.count, sizeof *vlad_slide.all, vlad_by_number);
  for (int i = 0; i < count; i++) roots[i] = vlad_placed(roots[i], shift);
  for (unsigned long i = 0; i < vlad_move.count; i++) {
    const struct vlad_member *member = &vlad_members[vlad_move.kinds[i]];
    for (int j = 0; j < member->pointers; j++) {
      void **field = (void **)(vlad_move.to + at + member->at[j]);
      *field = vlad_placed(*field, shift);
    }
    at += member->size;
  }
  return shift;
}
#endif
static void *vlad_moved(void *pointer, int cell) {
  char *box = pointer;
  if (box < vlad_move.mark || box >= vlad_top) return box;
  unsigned long at = (box - vlad_move.mark) >> 3;
  unsigned char bit = 1 << (at & 7);
  if (vlad_move.moved[at >> 3] & bit) return *(void **)box;
  int member = vlad_cells[cell].first + (vlad_cells[cell].boxed > 1 ? *(long *)box : 0);
  unsigned long size = vlad_members[member].size;
  if (!size) return vlad_base; /* an array without entries shares its address with the next box */
#ifdef VLAD_SLIDES
  if (size >= VLAD_SLIDES) {
    vlad_move.moved[at >> 3] |= bit;
    return vlad_add_large(box, size);
  }
#endif
  if (vlad_move.count == vlad_move.room) {
    vlad_move.room = vlad_move.room ? 2 * vlad_move.room : 4096;
    short *kinds = realloc(vlad_move.kinds, vlad_move.room * sizeof(short));
    if (!kinds) vlad_fail(VLAD_OUT_OF_MEMORY);
    vlad_move.kinds = kinds;
  }
  vlad_move.kinds[vlad_move.count++] = member;
  memcpy(vlad_move.to + vlad_move.filled, box, size);
  char *now = vlad_move.mark + vlad_move.filled;
  vlad_move.filled += size;
  vlad_move.moved[at >> 3] |= bit;
  return *(void **)box = now;
}
static long vlad_collect(char *mark, int count, void **roots, const short *cells) {
  unsigned long used = vlad_top - mark, bits = (used >> 6) + 1, room = used + bits, slid = 0;
  int is_above = vlad_top + room <= vlad_floor + VLAD_KEPT && vlad_top + room <= vlad_limit;
  vlad_move.mark = mark;
  vlad_move.to = is_above ? vlad_top : malloc(room);
  if (!vlad_move.to) vlad_fail(VLAD_OUT_OF_MEMORY);
  vlad_move.moved = (unsigned char *)vlad_move.to + used;
  memset(vlad_move.moved, 0, bits);
  vlad_move.filled = vlad_move.count = 0;
#ifdef VLAD_SLIDES
  vlad_slide.count = 0;
#endif
  for (int i = 0; i < count; i++) roots[i] = vlad_moved(roots[i], cells[i]);
  unsigned long at = 0;
  for (unsigned long i = 0; i < vlad_move.count; i++) {
    const struct vlad_member *member = &vlad_members[vlad_move.kinds[i]];
    for (int j = 0; j < member->pointers; j++) {
      void **field = (void **)(vlad_move.to + at + member->at[j]);
      *field = vlad_moved(*field, member->cell[j]);
    }
    at += member->size;
  }
#ifdef VLAD_SLIDES
  if (vlad_slide.count) slid = vlad_slide_down(count, roots);
#endif
  memcpy(mark + slid, vlad_move.to, vlad_move.filled);
  vlad_move.filled += slid;
  vlad_top = mark + vlad_move.filled;
  if (!is_above) free(vlad_move.to);
  long next = 2 * (long)vlad_move.filled;
  return next > VLAD_NURSERY ? next : VLAD_NURSERY;
}

/* section: entering
   A recursion whose calls hand on all pointers that they hold (emit/facts.py) is collected when it calls itself, as a loop is in its next
   turn. `mark`: the top before the first of the calls in progress; `limit`: what may be allocated before the next collection. */
struct vlad_first { char *mark; long limit; };

/* section: pack
   A procedure that dropped what it allocated, as one that runs a tape back, or a loop, frees that when it returns, if it is more than
   `least` bytes. What was packed before is left alone until as much has been allocated since, so that the total work is at most a
   constant times the allocations. */
@own char *vlad_packed, *vlad_packed_end;
static inline int vlad_is_sparse(char *mark, long least) {
  long packed = vlad_packed >= mark && vlad_packed_end <= vlad_top ? vlad_packed_end - vlad_packed : 0;
  return vlad_top - mark - packed > (packed > least ? packed : least);
}
static void vlad_pack(char *mark, int count, void **roots, const short *cells) {
  vlad_collect(mark, count, roots, cells);
  vlad_packed = mark, vlad_packed_end = vlad_top;
}

/* section: nested
   Loops that recursions run collect early, as each of their calls has so much. If a collection frees little, the loop keeps what it makes,
   as one that writes a tape does: the next one, in the same call from outside, waits until about VLAD_SOON bytes can be freed. */
@own long vlad_later[VLAD_NESTED];
static inline long vlad_first_limit(int loop) { return VLAD_SOON + vlad_later[loop]; }
static long vlad_collect_nested(int loop, char *mark, int count, void **roots, const short *cells) {
  unsigned long used = vlad_top - mark, most = VLAD_NURSERY / VLAD_SOON;
  vlad_pack(mark, count, roots, cells);
  unsigned long freed = used - vlad_move.filled;
  vlad_later[loop] = ((freed > used / most ? used / freed : most) - 1) * VLAD_SOON;
  long first = vlad_first_limit(loop), next = 2 * (long)vlad_move.filled;
  return next > first ? next : first;
}

/* section: sharing
   What zero, plus and the like have visited, by the number of the function and the addresses of one or two parts, so that a part to
   which there are many paths is visited once. Most structures are trees: an operation first only marks what it visits, beside the
   arena, and begins again when it meets a part for the second time. Then it keeps its results in a hash table with linear probing, which
   also has the marks of what is not in the arena. Marks and entries of earlier operations count as none. */
struct vlad_visit { void *a, *b; unsigned long what; void *result; };
@own struct { struct vlad_visit *table; unsigned long places, count, time; } vlad_visited;
/* of so many bytes of the arena; at most */
@own struct { unsigned short *at, time; long bytes, room; } vlad_marks;
/* must it begin again; has it done so? */
@own int vlad_again, vlad_shares;
/* the top of the arena when it began */
@own char *vlad_before;
void *calloc(unsigned long, unsigned long);
void *memset(void *, int, unsigned long);
void free(void *);
__attribute__((destructor)) static void vlad_forget(void) {
  free(vlad_visited.table);
  free(vlad_marks.at);
  vlad_visited.table = 0, vlad_marks.at = 0;
  vlad_visited.places = vlad_visited.count = vlad_marks.bytes = vlad_marks.room = 0;
}
static struct vlad_visit *vlad_place(unsigned long what, void *a, void *b) { /* of a visit: its own, or an empty one */
  unsigned long hash = ((unsigned long)a >> 3) + ((unsigned long)b >> 3) * 31 + what;
  hash *= 0x9e3779b97f4a7c15UL;
  hash ^= hash >> 32;
  for (;; hash++) {
    struct vlad_visit *visit = vlad_visited.table + (hash & (vlad_visited.places - 1));
    if (visit->what >> 16 != vlad_visited.time || (visit->a == a && visit->b == b && visit->what == what)) return visit;
  }
}
static void vlad_grow(void) {
  struct vlad_visit *old = vlad_visited.table, *table;
  unsigned long places = vlad_visited.places;
  if (!(table = calloc(places ? 2 * places : 1024, sizeof *old))) vlad_fail(VLAD_OUT_OF_MEMORY);
  vlad_visited.table = table;
  vlad_visited.places = places ? 2 * places : 1024;
  for (unsigned long i = 0; i < places; i++)
    if (old[i].what >> 16 == vlad_visited.time) *vlad_place(old[i].what, old[i].a, old[i].b) = old[i];
  free(old);
}
static void *vlad_look_up(unsigned long number, void *a, void *b) {
  struct vlad_visit *visit = vlad_visited.count ? vlad_place(vlad_visited.time << 16 | number, a, b) : 0;
  return visit && visit->what >> 16 == vlad_visited.time ? visit->result : 0;
}
static void *vlad_enter_visit(unsigned long number, void *a, void *b, void *result) {
  if (4 * vlad_visited.count >= 3 * vlad_visited.places) vlad_grow();
  vlad_visited.count++;
  *vlad_place(vlad_visited.time << 16 | number, a, b) = (struct vlad_visit){a, b, vlad_visited.time << 16 | number, result};
  return result;
}
static __attribute__((noinline)) void vlad_more_marks(void) {
  free(vlad_marks.at);
  unsigned long room = vlad_marks.room = 2 * (vlad_top - vlad_base) + 65536;
  vlad_marks.at = calloc(room / 8 * VLAD_OPERATIONS, sizeof *vlad_marks.at);
  if (!vlad_marks.at) vlad_marks.room = 0; /* everything is in the table then */
  vlad_marks.time = 1;
}
static inline void vlad_begin_visits(void) {
  vlad_visited.time++, vlad_visited.count = 0;
  vlad_again = vlad_shares = 0;
  vlad_before = vlad_top;
  if (__builtin_expect(!++vlad_marks.time || vlad_top - vlad_base > vlad_marks.room, 0)) vlad_more_marks();
  vlad_marks.bytes = vlad_marks.room;
}
static __attribute__((noinline)) void vlad_begin_again(void) {
  vlad_top = vlad_before;
  vlad_visited.time++, vlad_visited.count = 0;
  vlad_marks.bytes = vlad_again = 0;
  vlad_shares = 1;
}
#define VLAD_AGAIN ((void *)-1L)
static __attribute__((noinline)) void *vlad_recall_far(unsigned long number, void *a, void *b) {
  if (vlad_shares) return vlad_look_up(number, a, b);
  if ((unsigned long)a < 4096) return 0;
  if (vlad_look_up(number, a, 0)) return vlad_again = 1, VLAD_AGAIN;
  vlad_enter_visit(number, a, 0, a);
  return 0;
}
/* What a function returned for these parts before in this operation; 0: it has not visited them; or that it must begin again. */
static inline void *vlad_recall(unsigned long number, void *a, void *b) {
  unsigned long at = (char *)a - vlad_base;
  if (__builtin_expect(at >= (unsigned long)vlad_marks.bytes, 0)) return vlad_recall_far(number, a, b);
  unsigned short *mark = vlad_marks.at + (at / 8 * VLAD_OPERATIONS + number);
  if (__builtin_expect(*mark == vlad_marks.time, 0)) return vlad_again = 1, VLAD_AGAIN;
  *mark = vlad_marks.time;
  return 0;
}
static inline void *vlad_remember(unsigned long number, void *a, void *b, void *result) {
  return !__builtin_expect(vlad_shares, 0) ? result : vlad_enter_visit(number, a, b, result);
}
static inline int vlad_was_visited(unsigned long number, void *a, void *b) {
  if (vlad_recall(number, a, b)) return 1;
  vlad_remember(number, a, b, a);
  return 0;
}

/* section: deep
   Recursion outside tail position runs on a separate stack, mapped when touched, with a checked end. */
@own char *vlad_stack, *vlad_stack_end, *vlad_stack_floor;
long vlad_deepest = VLAD_STACK_SIZE; /* bytes of it that a call may use */
#define VLAD_ENTER() do { if ((char *)__builtin_frame_address(0) < vlad_stack_end) vlad_fail(VLAD_TOO_DEEP); } while (0)
static void vlad_open_stack(void) {
  vlad_stack = vlad_take(vlad_reserve->stacks, vlad_reserve->stack, 1);
  if (!vlad_stack) vlad_fail(VLAD_OUT_OF_MEMORY);
  vlad_stack_floor = vlad_stack + 64 - *(unsigned long *)vlad_stack;
}
#ifdef __SANITIZE_ADDRESS__ /* a jump out of procedures leaves their variables poisoned */
void __asan_unpoison_memory_region(void const volatile *, unsigned long);
#else
#define __asan_unpoison_memory_region(area, size) (void)0
#endif
static void vlad_trim_stack(void) {
  if (!vlad_stack) return;
  madvise(vlad_stack_floor, vlad_stack - vlad_stack_floor - 65536 & -65536L, 4);
  __asan_unpoison_memory_region(vlad_stack_floor, vlad_stack - vlad_stack_floor);
}
__attribute__((destructor)) static void vlad_close_stack(void) {
  if (vlad_stack) vlad_unmap(vlad_stack, 1);
}
#if !defined(VLAD_ALONE) || defined(VLAD_SPREADS)
static void vlad_rest_stack(void) {
  if (!vlad_stack) return;
  char *stack = vlad_stack;
  vlad_stack = 0;
  vlad_give(vlad_reserve->stacks, stack, 1);
}
#endif
static __attribute__((noinline)) void vlad_on_stack(void (*procedure)(void)) {
  char *end = vlad_stack_floor + 65536;
  vlad_stack_end = vlad_stack - end > vlad_deepest ? vlad_stack - vlad_deepest : end;
#if defined(__x86_64__) && defined(__GNUC__)
  __asm__ volatile("movq %%rsp, %%rbx\n\tmovq %0, %%rsp\n\tcall *%1\n\tmovq %%rbx, %%rsp"
                   : : "r"(vlad_stack), "r"(procedure)
                   : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc",
                     "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                     "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#elif defined(__x86_64__) && defined(__TINYC__) /* keeps no value in a register across statements */
  void *stack = vlad_stack;
  __asm__ volatile("pushq %%rbx\n\tmovq %%rsp, %%rbx\n\tmovq %0, %%rsp\n\tcall *%1\n\tmovq %%rbx, %%rsp\n\tpopq %%rbx"
                   : : "r"(stack), "r"(procedure) : "memory");
#elif defined(__aarch64__) && defined(__GNUC__)
  __asm__ volatile("mov x19, sp\n\tmov sp, %0\n\tblr %1\n\tmov sp, x19"
                   : : "r"(vlad_stack), "r"(procedure)
                   : "x19", "x30", "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
                     "x13", "x14", "x15", "x16", "x17", "memory", "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
                     "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
                     "v30", "v31");
#else
  vlad_stack_end = (char *)__builtin_frame_address(0) - 4 * 1024 * 1024;
  procedure();
#endif
}

/* section: fuel
   Each entry of a procedure and each turn of a loop takes one unit; those of straight-line code are taken together. */
@own long vlad_fuel;
static inline void vlad_step(long count) { if (__builtin_expect((vlad_fuel -= count) < 0, 0)) vlad_fail(VLAD_OUT_OF_FUEL); }

/* section: threads
   The rows of a loop such as that of vmap are independent (ir/row_loops.py). They are divided into parts, whose number depends on
   that of the rows only, so that C compilers which may reorder arithmetic do so alike for any number of threads. The caller begins with the
   first parts; if the others take longer than to start threads, these take parts, too. A thread has a state of its own, with an
   area, a stack and steps. All happens as if in the order of the rows: the first part that fails ends the loop, after those before it, whose
   steps count. What needs more than its share of the memory is done again by the caller, at the end. */
#define VLAD_PARTS 256
#define VLAD_MOST_THREADS 64
#define VLAD_NEVER (-2) /* the status of a part that has not ended, and of one that is to be done again */
#define VLAD_LATER (-1)
#ifdef VLAD_ALONE
static long vlad_threads;
#else
long vlad_threads = 1; /* that a call may use; the host sets it */
#endif
void *memcpy(void *, const void *, unsigned long);
struct vlad_spread {
  void (*rows)(void *, double, double); /* runs some rows; its operands */
  void *given;
  double first, last;
  long each, parts, next, failed; /* rows of a part; parts; the next one; the first that failed */
  long room, depth, fuel; /* bytes for each thread; of the stack that the caller has used; steps that are left */
  int status[VLAD_PARTS];
  long used[VLAD_PARTS]; /* steps */
};
@own int vlad_is_helping;
@own struct vlad_spread *vlad_helped;
static void vlad_rows_of(struct vlad_spread *spread, long part) {
  double from = spread->first + (double)(part * spread->each), to = from + (double)spread->each;
  spread->rows(spread->given, from, to < spread->last ? to : spread->last);
}
#ifndef __TINYC__
int pthread_create(unsigned long *, const void *, void *(*)(void *), void *);
int pthread_join(unsigned long, void **);
int pthread_sigmask(int, const void *, void *);
#ifdef __APPLE__
#define VLAD_MASK 3
#else
#define VLAD_MASK 2
#endif
#define VLAD_SEE(place) __atomic_load_n(&(place), __ATOMIC_SEQ_CST)
#define VLAD_TELL(place, value) __atomic_store_n(&(place), value, __ATOMIC_SEQ_CST)
/* Time, in units of which VLAD_WORTH are some 50 us: what a thread must have to do. */
#ifdef __x86_64__
#define VLAD_WORTH 150000.0
static double vlad_clock(void) { return (double)__builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
#define VLAD_WORTH 50.0
static double vlad_clock(void) {
  unsigned long time, each;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(time));
  __asm__("mrs %0, cntfrq_el0" : "=r"(each));
  return (double)time * 1e6 / (double)each;
}
#else
#define VLAD_WORTH 50.0
int clock_gettime(int, long *);
static double vlad_clock(void) {
  long time[2];
  clock_gettime(1, time);
  return time[0] * 1e6 + time[1] * 1e-3;
}
#endif
#ifdef VLAD_ALONE
char *getenv(const char *);
long strtol(const char *, char **, int);
long sysconf(int);
#ifdef __linux__
int sched_getaffinity(int, unsigned long, void *);
#endif
static long vlad_processors(void) {
#ifdef __linux__
  unsigned long mask[128] = {0};
  long count = 0;
  if (!sched_getaffinity(0, sizeof mask, mask)) /* gcc's function that counts bits is in a library which libraries are not linked with */
    for (int i = 0; i < 128 * 64; i++) count += mask[i / 64] >> i % 64 & 1;
  return count ? count : 1;
#else
  long count = sysconf(58);
  return count > 0 ? count : 1;
#endif
}
static void vlad_count_threads(void) {
  const char *named = getenv("VLAD_THREADS");
  long count = named ? strtol(named, 0, 10) : 0;
  vlad_threads = count > 0 ? count : vlad_processors();
}
#if defined(VLAD_ALLOCATES) || defined(VLAD_RECURSES)
__attribute__((destructor)) static void vlad_close_reserve(void) {
  for (int i = 0; i < VLAD_SLOTS; i++) {
    if (vlad_own.areas[i]) vlad_unmap(vlad_own.areas[i], 0);
    if (vlad_own.stacks[i]) vlad_unmap(vlad_own.stacks[i], 1);
  }
}
#endif
#endif
static int vlad_do_part(void const *part, void *spread) {
  vlad_rows_of(spread, *(long const *)part);
  return 0;
}
static int vlad_try_part(struct vlad_spread *spread, long part) {
#ifdef VLAD_ALLOCATES
  char *const mark = vlad_top;
#endif
  int status = vlad_try(&part, spread, vlad_do_part);
#ifdef VLAD_ALLOCATES
  vlad_top = mark;
#endif
  return status;
}
static long vlad_left(struct vlad_spread *spread, long part) { /* steps after the parts before this one, as far as they have ended */
  long left = spread->fuel;
  for (long i = 0; i < part; i++) left -= VLAD_SEE(spread->used[i]);
  return left;
}
/* What comes after a failure is of no interest, and may be endless: it is stopped as soon as all before that has ended. */
static void vlad_stop_others(struct vlad_spread *spread) {
  long failed = VLAD_SEE(spread->failed);
  if (failed == spread->parts) return;
  for (long i = 0; i < failed; i++)
    if (VLAD_SEE(spread->status[i]) == VLAD_NEVER) return;
  VLAD_TELL(vlad_stop, 1); /* two threads may come to it at once */
}
static void vlad_take_parts(struct vlad_spread *spread) {
  for (;;) {
    long part = __atomic_fetch_add(&spread->next, 1, __ATOMIC_SEQ_CST), failed = VLAD_SEE(spread->failed);
    if (part >= spread->parts || part > failed) return;
#ifdef VLAD_COUNTS
    long left = vlad_fuel = vlad_left(spread, part);
#endif
    int status = vlad_try_part(spread, part);
    if (status == VLAD_OUT_OF_MEMORY) status = VLAD_LATER;
#ifdef VLAD_COUNTS
    if (status != VLAD_LATER) VLAD_TELL(spread->used[part], left - vlad_fuel);
#endif
    VLAD_TELL(spread->status[part], status);
    while (status > 0 && part < failed && !__atomic_compare_exchange_n(&spread->failed, &failed, part, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      ;
    vlad_stop_others(spread);
  }
}
#ifdef VLAD_RECURSES
static void vlad_take_parts_there(void) { /* on the stack of a thread, as deep as the caller could go */
  char *end = vlad_stack_end + vlad_helped->depth;
  vlad_stack_end = end < vlad_stack ? end : vlad_stack;
  vlad_take_parts(vlad_helped);
}
#endif
static int vlad_begin_helping(void const *one, void *other) {
#ifdef VLAD_ALLOCATES
  vlad_open_arena();
  if (vlad_helped->room < vlad_limit - vlad_top) vlad_limit = vlad_top + vlad_helped->room;
  vlad_begin_at_floor();
#endif
#ifdef VLAD_RECURSES
  vlad_open_stack();
  vlad_on_stack(vlad_take_parts_there);
#else
  vlad_take_parts(vlad_helped);
#endif
  return 0;
}
static void *vlad_help(void *given) {
  struct vlad_state own = {0};
  vlad_self = &own;
  vlad_helped = given;
  vlad_is_helping = 1;
#ifdef VLAD_MANY_MULTIPLICATIONS
  if (!vlad_gemm_get) vlad_use_one(); /* of this thread */
#endif
  vlad_try(0, 0, vlad_begin_helping); /* without an area it does nothing */
#ifdef VLAD_ALLOCATES
#ifndef VLAD_ALONE
  if (vlad_most != ~0UL >> 1) vlad_empty_arena();
#endif
  vlad_rest_arena();
#endif
#ifdef VLAD_RECURSES
  vlad_trim_stack();
  vlad_rest_stack();
#endif
#ifdef VLAD_OPERATIONS
  vlad_forget();
#endif
#ifdef VLAD_FIXED
  vlad_close_move();
#endif
  vlad_self = &vlad_first;
  return 0;
}
static __attribute__((noinline)) void vlad_spread_parts(struct vlad_spread *spread, long helpers) {
  unsigned long threads[VLAD_MOST_THREADS], all[16], before[16];
  long escape[64], count = 0;
  memcpy(escape, vlad_escape, sizeof escape);
#ifdef VLAD_COUNTS
  spread->fuel = vlad_fuel;
#endif
#ifdef VLAD_ALLOCATES
  char *const end = vlad_end, *const limit = vlad_limit;
  long room = limit - vlad_top;
#ifndef VLAD_ALONE
  if (vlad_most != ~0UL >> 1) room -= room / 4; /* the host sees all that the process has */
#endif
  spread->room = room / (helpers + 1) & -65536L;
  char *const share = vlad_limit = vlad_top + spread->room;
  if (share < end) vlad_end = share;
#endif
#ifdef VLAD_RECURSES
  spread->depth = vlad_stack - (char *)__builtin_frame_address(0);
#endif
#ifdef VLAD_MANY_MULTIPLICATIONS
  int several = vlad_use_one();
#endif
  vlad_is_helping = 1;
  for (int i = 0; i < 16; i++) all[i] = ~0UL;
  pthread_sigmask(VLAD_MASK, all, before); /* signals are for the host's threads */
  for (; count < helpers; count++)
    if (pthread_create(threads + count, 0, vlad_help, spread)) break;
  pthread_sigmask(VLAD_MASK, before, 0);
  vlad_take_parts(spread);
  for (long i = 0; i < count; i++) pthread_join(threads[i], 0);
  vlad_is_helping = 0;
#ifdef VLAD_MANY_MULTIPLICATIONS
  vlad_use_several(several);
#endif
  memcpy(vlad_escape, escape, sizeof escape);
#ifdef VLAD_ALLOCATES
  vlad_limit = limit;
  vlad_end = share > end && vlad_end == share ? limit : end;
#endif
  if (spread->failed < spread->parts) vlad_stop = 0;
  for (long part = 0; part < spread->failed; part++) {
    if (spread->status[part] != VLAD_LATER) continue;
#ifdef VLAD_COUNTS
    long left = vlad_fuel = vlad_left(spread, part);
#endif
    vlad_rows_of(spread, part);
#ifdef VLAD_COUNTS
    spread->used[part] = left - vlad_fuel;
#endif
  }
#ifdef VLAD_COUNTS
  vlad_fuel = vlad_left(spread, spread->failed < spread->parts ? spread->failed + 1 : spread->parts);
  if (vlad_fuel < 0) vlad_fail(VLAD_OUT_OF_FUEL);
#endif
  if (spread->failed < spread->parts) vlad_fail(spread->status[spread->failed]);
}
#endif
/* Runs all rows from the first to before the last. */
static void vlad_spread(void (*rows)(void *, double, double), void *given, double first, double last) {
  double count = last - first;
  if (!(1.0 <= count && count <= 0x1p50 && first == (double)(long)first && count == (double)(long)count)) {
    rows(given, first, last);
    return;
  }
  long each = ((long)count + VLAD_PARTS - 1) / VLAD_PARTS, parts = ((long)count + each - 1) / each, part = 0;
  struct vlad_spread spread; /* its tables only matter to threads */
  spread.rows = rows, spread.given = given, spread.first = first, spread.last = last, spread.each = each, spread.parts = parts;
#ifdef __TINYC__
  for (; part < parts; part++) vlad_rows_of(&spread, part);
#else
#ifdef VLAD_ALONE
  if (!vlad_threads) vlad_count_threads();
#endif
  double begun = vlad_clock();
  for (; part < parts; part++) {
    if (part && vlad_threads > 1 && !vlad_is_helping) {
      double helpers = (vlad_clock() - begun) / part * (parts - part) / VLAD_WORTH;
      if (helpers >= 1.0) {
        long most = parts - part - 1 < VLAD_MOST_THREADS ? parts - part - 1 : VLAD_MOST_THREADS;
        if (most > vlad_threads - 1) most = vlad_threads - 1;
        if (most < 1) most = 1;
        spread.next = part, spread.failed = parts;
        for (long i = 0; i < parts; i++) spread.status[i] = i < part ? 0 : VLAD_NEVER, spread.used[i] = 0;
        vlad_spread_parts(&spread, helpers < most ? (long)helpers : most);
        return;
      }
    }
    vlad_rows_of(&spread, part);
  }
#endif
}

/* section: parts
   The indices of a part of a loop over arrays, if each has so many steps (loops/parts.py). */
static inline long vlad_rows_of_part(long rows, long steps, long least) {
  long each = (VLAD_STEPS_OF_A_PART + steps - 1) / steps, fewest = (rows + VLAD_MOST_PARTS - 1) / VLAD_MOST_PARTS;
  if (each < fewest) each = fewest;
  return each < least ? least : each;
}

/* section: contractions
   Sums of products over any number of axes as products of matrices (ir/matrix_products.py), block by block. Axes are in four groups: those of
   the rows are in the left operand and in the result, those of the columns in the right one and the result, those of the terms in the operands
   only, and those of the batch in all three. A block of an operand that is no matrix in memory is packed into one; a block of the result that
   is none is computed beside it, and stored or added. */
enum { VLAD_LEFT, VLAD_RIGHT, VLAD_RESULT };
enum { VLAD_BATCH, VLAD_ROWS, VLAD_COLUMNS, VLAD_TERMS };
struct vlad_axis { long length, strides[3]; };
/* Outer axes first; blocks may divide those before `whole`, as others write to the same places. A block has `each` indices of the axis
   that is cut, all those of the axes inside of it, and there are `blocks`. */
struct vlad_axes { long count, whole; const struct vlad_axis *of; long cut, each, inside, blocks; };
struct vlad_block { long length, size, first[3]; }; /* indices of the axis that is cut; of all; the first entries */
struct vlad_contraction {
  struct vlad_axes groups[4];
  const void *left, *right;
  void *result;
  long size; /* of the result */
  int adds, clears; /* several products are added in one place; the result is zero before */
  int are_matrices[3];
};
static const int vlad_groups[3][2] = {{VLAD_ROWS, VLAD_TERMS}, {VLAD_TERMS, VLAD_COLUMNS}, {VLAD_ROWS, VLAD_COLUMNS}};
#define VLAD_FEW_INDICES 48 /* a matrix with fewer rows or columns is packed with others */
#define VLAD_MOST_TERMS 1024
#define VLAD_BLOCK_BYTES (1 << 20) /* of what is packed, and of the results beside it */
#define VLAD_FEWEST_OF_BLOCK 64
#define VLAD_BLOCKS_WANTED 8 /* of products of VLAD_MANY_MULTIPLICATIONS, so that threads can share them */
static long vlad_indices(const struct vlad_axes *group, long from) {
  long count = 1;
  for (long axis = from; axis < group->count; axis++) count *= group->of[axis].length;
  return count;
}
static long vlad_stride(const struct vlad_axes *group, int array) { return group->of[group->count - 1].strides[array]; }
static long vlad_as_one_from(const struct vlad_axes *group, int array) { /* axes from here on are as one in the array */
  long axis = group->count - 1;
  for (; axis > 0; axis--) {
    const struct vlad_axis *inner = group->of + axis;
    if (inner[-1].strides[array] != inner->strides[array] * inner->length) break;
  }
  return axis;
}
static int vlad_is_better(const struct vlad_axes *one, const struct vlad_axes *other, int array) { /* to be copied along */
  long distance = vlad_stride(other, array) - vlad_stride(one, array);
  return distance > 0 || (!distance && one->of[one->count - 1].length > other->of[other->count - 1].length);
}
static int vlad_is_matrix(struct vlad_contraction *by, int array) {
  long sizes[2], strides[2];
  for (int i = 0; i < 2; i++) {
    const struct vlad_axes *group = by->groups + vlad_groups[array][i];
    long from = vlad_as_one_from(group, array);
    sizes[i] = vlad_indices(group, from), strides[i] = vlad_stride(group, array);
    if (from > group->whole || (from && sizes[i] < VLAD_FEW_INDICES)) return 0;
  }
  if (strides[1] == 1 && strides[0] >= sizes[1]) return 1;
  return array != VLAD_RESULT && strides[0] == 1 && strides[1] >= sizes[0];
}
static void vlad_cut(struct vlad_axes *group, long from, long most) {
  long axis = group->count - 1, inside = 1, length;
  while (axis > from && (axis >= group->whole || inside * group->of[axis].length <= most)) inside *= group->of[axis--].length;
  length = group->of[axis].length;
  long each = axis >= group->whole ? length : most / inside, parts;
  if (each > length) each = length;
  if (each < 1) each = 1;
  parts = (length + each - 1) / each;
  if (parts) each = (length + parts - 1) / parts;
  group->cut = axis, group->each = each, group->inside = inside, group->blocks = parts;
  while (axis--) group->blocks *= group->of[axis].length;
}
static long vlad_longer(long one, long other) { return one > other ? one : other; }
static void vlad_cut_all(struct vlad_contraction *by, long bytes) {
  long from[4] = {0, 0, 0, 0}, most = VLAD_BLOCK_BYTES / bytes, all = ~0UL >> 2;
  struct vlad_axes *rows = by->groups + VLAD_ROWS, *columns = by->groups + VLAD_COLUMNS, *terms = by->groups + VLAD_TERMS;
  for (int array = 0; array < 3; array++) {
    int is_matrix = by->are_matrices[array] = !(array == VLAD_RESULT && by->adds) && vlad_is_matrix(by, array);
    for (int i = 0; i < 2 && is_matrix; i++) {
      const struct vlad_axes *group = by->groups + vlad_groups[array][i];
      from[vlad_groups[array][i]] = vlad_longer(from[vlad_groups[array][i]], vlad_as_one_from(group, array));
    }
  }
  vlad_cut(by->groups + VLAD_BATCH, 0, 1);
  vlad_cut(terms, from[VLAD_TERMS], VLAD_MOST_TERMS);
  long each = terms->each * terms->inside, beside = !by->are_matrices[VLAD_RESULT];
  long few = by->are_matrices[VLAD_LEFT] ? all : vlad_longer(most / vlad_longer(each, 1), VLAD_FEWEST_OF_BLOCK);
  long of_columns = by->are_matrices[VLAD_RIGHT] && !beside ? all : vlad_longer(most / vlad_longer(each, 1), VLAD_FEWEST_OF_BLOCK);
  vlad_cut(columns, from[VLAD_COLUMNS], of_columns);
  long wide = columns->each * columns->inside;
  if (beside && few > most / vlad_longer(wide, 1)) few = vlad_longer(most / vlad_longer(wide, 1), 1);
  vlad_cut(rows, from[VLAD_ROWS], few);
  if ((double)vlad_indices(rows, 0) * vlad_indices(columns, 0) * vlad_indices(terms, 0) < VLAD_MANY_MULTIPLICATIONS) return;
  long blocks = by->groups[VLAD_BATCH].blocks * columns->blocks * rows->blocks;
  long wanted = blocks ? (VLAD_BLOCKS_WANTED + blocks - 1) / blocks : 1;
  if (wanted < 2) return;
  struct vlad_axes *longer = wide > rows->each * rows->inside ? columns : rows;
  long count = longer->each * longer->inside / wanted;
  vlad_cut(longer, from[longer - by->groups], vlad_longer(count, VLAD_FEWEST_OF_BLOCK));
}
static struct vlad_block vlad_block_of(const struct vlad_axes *group, long number) {
  const struct vlad_axis *cut = group->of + group->cut;
  long parts = (cut->length + group->each - 1) / group->each, start = number % parts * group->each;
  struct vlad_block block = {cut->length - start < group->each ? cut->length - start : group->each};
  block.size = block.length * group->inside;
  for (int array = 0; array < 3; array++) block.first[array] = start * cut->strides[array];
  number /= parts;
  for (const struct vlad_axis *axis = cut; axis-- > group->of; number /= axis->length)
    for (int array = 0; array < 3; array++) block.first[array] += number % axis->length * axis->strides[array];
  return block;
}
/* The lengths and strides of the loops over two blocks, outer ones first: at least two, as few as possible. */
#define VLAD_MOST_AXES 32
struct vlad_walk { long count, lengths[VLAD_MOST_AXES], strides[VLAD_MOST_AXES]; };
static void vlad_walk_over(struct vlad_walk *walk, const struct vlad_axes *group, const struct vlad_block *block, int array) {
  for (long axis = group->cut; axis < group->count; axis++) {
    long length = axis == group->cut ? block->length : group->of[axis].length, stride = group->of[axis].strides[array];
    if (length == 1) continue;
    long before = walk->count - 1;
    if (before > 0 && walk->strides[before] == stride * length) {
      walk->lengths[before] *= length, walk->strides[before] = stride;
      continue;
    }
    walk->lengths[walk->count] = length, walk->strides[walk->count++] = stride;
  }
}
static struct vlad_walk vlad_walk_of(struct vlad_contraction *by, int array, int outer, const struct vlad_block *blocks, int inner) {
  struct vlad_walk walk;
  walk.count = 1, walk.lengths[0] = 1, walk.strides[0] = 0;
  vlad_walk_over(&walk, by->groups + outer, blocks + outer, array);
  vlad_walk_over(&walk, by->groups + inner, blocks + inner, array);
  if (walk.count == 1) walk.lengths[1] = 1, walk.strides[1] = 1, walk.count = 2;
  return walk;
}
/* Moves to the next indices of all loops but the two innermost ones; returns whether there are any. */
static int vlad_next(const struct vlad_walk *walk, long *indices, long *position) {
  for (long axis = walk->count - 3; axis >= 0; axis--) {
    *position += walk->strides[axis];
    if (++indices[axis] < walk->lengths[axis]) return 1;
    *position -= walk->lengths[axis] * walk->strides[axis];
    indices[axis] = 0;
  }
  return 0;
}

/* section: contraction */
static void vlad_pack@f(const struct vlad_walk *walk, const @real *from, @real *restrict to) {
  long indices[VLAD_MOST_AXES] = {0}, position = 0, last = walk->count - 1;
  long rows = walk->lengths[last - 1], length = walk->lengths[last], down = walk->strides[last - 1], along = walk->strides[last];
  do {
    const @real *row = from + position;
    for (long i = 0; i < rows; i++, row += down, to += length) {
      if (along == 1) {
#pragma omp simd
        for (long j = 0; j < length; j++) to[j] = row[j];
      } else {
        for (long j = 0; j < length; j++) to[j] = row[j * along];
      }
    }
  } while (vlad_next(walk, indices, &position));
}
static void vlad_unpack@f(const struct vlad_walk *walk, const @real *restrict from, @real *to, int adds) {
  long indices[VLAD_MOST_AXES] = {0}, position = 0, last = walk->count - 1;
  long rows = walk->lengths[last - 1], length = walk->lengths[last], down = walk->strides[last - 1], along = walk->strides[last];
  do {
    @real *restrict row = to + position;
    for (long i = 0; i < rows; i++, row += down, from += length) {
      if (along == 1 && adds) {
#pragma omp simd
        for (long j = 0; j < length; j++) row[j] += from[j];
      } else if (adds) {
        for (long j = 0; j < length; j++) row[j * along] += from[j];
      } else if (along == 1) {
#pragma omp simd
        for (long j = 0; j < length; j++) row[j] = from[j];
      } else {
        for (long j = 0; j < length; j++) row[j * along] = from[j];
      }
    }
  } while (vlad_next(walk, indices, &position));
}
static @real *vlad_room@f(const struct vlad_axes *group, const struct vlad_axes *other) {
  long size = group->each * group->inside * other->each * other->inside;
  return vlad_array((size * (long)sizeof(@real) + 7) / 8);
}
/* A block of an operand as a matrix: its place, whether it is transposed, and the distance of its rows. */
static const @real *vlad_matrix@f(struct vlad_contraction *by, int array, const struct vlad_block *blocks, @real *room, int packs,
                                  int *transposed, long *distance) {
  int outer = vlad_groups[array][0], inner = vlad_groups[array][1];
  const struct vlad_axes *down = by->groups + outer, *along = by->groups + inner;
  const @real *from = array == VLAD_LEFT ? by->left : by->right;
  from += blocks[VLAD_BATCH].first[array] + blocks[outer].first[array] + blocks[inner].first[array];
  if (by->are_matrices[array]) {
    *transposed = !(vlad_stride(along, array) == 1 && vlad_stride(down, array) >= blocks[inner].size);
    *distance = vlad_stride(*transposed ? along : down, array);
    return from;
  }
  *transposed = vlad_is_better(down, along, array);
  *distance = blocks[*transposed ? outer : inner].size;
  if (packs) {
    struct vlad_walk walk = vlad_walk_of(by, array, *transposed ? inner : outer, blocks, *transposed ? outer : inner);
    vlad_pack@f(&walk, from, room);
  }
  return room;
}
static void vlad_contract_blocks@f(void *given, double from, double to) {
  struct vlad_contraction *by = given;
  struct vlad_axes *groups = by->groups, *rows = groups + VLAD_ROWS, *columns = groups + VLAD_COLUMNS, *terms = groups + VLAD_TERMS;
  char *const mark = vlad_top;
  @real *left = by->are_matrices[VLAD_LEFT] ? 0 : vlad_room@f(rows, terms);
  @real *right = by->are_matrices[VLAD_RIGHT] ? 0 : vlad_room@f(terms, columns);
  @real *beside = by->are_matrices[VLAD_RESULT] ? 0 : vlad_room@f(rows, columns);
  long packed = -1;
  for (long number = from; number < to; number++) {
    struct vlad_block blocks[4];
    long of_right = number / rows->blocks;
    blocks[VLAD_ROWS] = vlad_block_of(rows, number % rows->blocks);
    blocks[VLAD_COLUMNS] = vlad_block_of(columns, of_right % columns->blocks);
    blocks[VLAD_BATCH] = vlad_block_of(groups + VLAD_BATCH, of_right / columns->blocks);
    long place = 0;
    for (int i = 0; i < 3; i++) place += blocks[i].first[VLAD_RESULT];
    @real *result = (@real *)by->result + place, *target = beside ? beside : result;
    long distance = beside ? blocks[VLAD_COLUMNS].size : vlad_stride(rows, VLAD_RESULT);
    for (long term = 0; term < terms->blocks; term++) {
      int ta, tb;
      long lda, ldb;
      if (__builtin_expect(vlad_stop, 0)) vlad_fail(VLAD_STOPPED);
      blocks[VLAD_TERMS] = vlad_block_of(terms, term);
      const @real *a = vlad_matrix@f(by, VLAD_LEFT, blocks, left, 1, &ta, &lda);
      const @real *b = vlad_matrix@f(by, VLAD_RIGHT, blocks, right, packed != of_right || terms->blocks > 1, &tb, &ldb);
      packed = of_right;
      int several = vlad_use_one();
      vlad_product_by@f(ta, tb, blocks[VLAD_ROWS].size, blocks[VLAD_COLUMNS].size, blocks[VLAD_TERMS].size, a, lda, b, ldb,
                        term ? 1.0@f : 0.0@f, target, distance);
      vlad_use_several(several);
    }
    if (beside) {
      struct vlad_walk walk = vlad_walk_of(by, VLAD_RESULT, VLAD_ROWS, blocks, VLAD_COLUMNS);
      vlad_unpack@f(&walk, beside, result, by->adds);
    }
  }
  vlad_top = mark;
}
static void vlad_contract@f(struct vlad_contraction *by) {
  vlad_cut_all(by, sizeof(@real));
  long terms = vlad_indices(by->groups + VLAD_TERMS, 0);
  if (by->clears || !terms) {
#pragma omp simd
    for (long i = 0; i < by->size; i++) ((@real *)by->result)[i] = 0.0@f;
  }
  if (!terms) return;
  double blocks = (double)by->groups[VLAD_BATCH].blocks * by->groups[VLAD_COLUMNS].blocks * by->groups[VLAD_ROWS].blocks;
#ifdef VLAD_SPREADS
  vlad_spread(vlad_contract_blocks@f, by, 0.0, blocks);
#else
  vlad_contract_blocks@f(by, 0.0, blocks);
#endif
}

/* section: output
   Text is collected in a buffer, and written line by line. */
void *realloc(void *, unsigned long);
void *memcpy(void *, const void *, unsigned long);
void free(void *);
static char *vlad_line;
static long vlad_filled, vlad_room;
__attribute__((destructor)) static void vlad_close_line(void) { free(vlad_line); }
static void vlad_empty_line(void) {
  free(vlad_line);
  vlad_line = 0;
  vlad_filled = vlad_room = 0;
}
static int vlad_may_fill(long); /* may a line have this length? */
static void vlad_put(const char *text, long length) {
  if (vlad_filled + length > vlad_room) {
    long room = 2 * vlad_room + length + 256;
    if (!vlad_may_fill(vlad_filled + length)) vlad_fail(VLAD_OUTSIDE);
    char *line = realloc(vlad_line, room);
    if (!line) vlad_fail(VLAD_OUT_OF_MEMORY);
    vlad_line = line;
    vlad_room = room;
  }
  memcpy(vlad_line + vlad_filled, text, length);
  vlad_filled += length;
}
static void vlad_put_real(double x) {
  char text[40];
  vlad_put(text, vlad_real_text(x, text));
}
static void vlad_put_character(double x) {
  unsigned c = x;
  char text[4];
  int length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (int i = length - 1; i > 0; i--, c >>= 6) text[i] = 0x80 | (c & 0x3f);
  text[0] = length == 1 ? c : (0xf00 >> length) | c;
  vlad_put(text, length);
}
static const unsigned vlad_printing[] = {@printing@};
static void vlad_put_quoted(double x) { /* escaped, as within quotes */
  unsigned c = x;
  char text[16];
  const char *names = "a\ab\bt\tn\nr\r\"\"\\\\";
  for (int i = 0; names[i]; i += 2) {
    if (names[i + 1] == c) {
      vlad_put("\\", 1);
      vlad_put(names + i, 1);
      return;
    }
  }
  int low = 0, high = sizeof vlad_printing / sizeof *vlad_printing; /* the boundaries of ranges of printable characters: begin, end, begin, … */
  while (low < high) {
    int middle = (low + high) / 2;
    if (vlad_printing[middle] <= c) low = middle + 1;
    else high = middle;
  }
  if (low % 2 == 0) vlad_put(text, snprintf(text, 16, "\\x%x;", c));
  else vlad_put_character(x);
}
static void vlad_put_boolean(int b) { vlad_put(b ? "#t" : "#f", 2); }

/* section: tensors
   Writes the entries of a tensor, axis by axis; long axes are cut in the middle. Kinds are numbered as in core/loop_nests.SIZES. */
static void vlad_put_tensor(const char *entries, const long *shape, long rank, int kind) {
  if (rank == 0) {
    if (kind == 4) vlad_put_boolean(*entries);
    else vlad_put_real(kind == 0 ? *(const double *)entries : kind == 1 ? *(const float *)entries :
                       kind == 2 ? *(const long *)entries : *(const int *)entries);
    return;
  }
  static const long sizes[] = {@sizes@};
  long size = sizes[kind];
  for (long axis = 1; axis < rank; axis++) size *= shape[axis];
  vlad_put("[", 1);
  for (long i = 0; i < shape[0]; i++) {
    if (i) vlad_put(" ", 1);
    if (i == 3 && shape[0] > @longest@) {
      vlad_put("\342\200\246 ", 4);
      i = shape[0] - 3;
    }
    vlad_put_tensor(entries + i * size, shape + 1, rank - 1, kind);
  }
  vlad_put("]", 1);
}

/* section: host
   Output and input are functions of a Python program, which return 0 for success. */
int (*vlad_host_write)(const char *, long);
int (*vlad_host_read)(double *);
static int vlad_may_fill(long length) { return !vlad_host_write(0, length); }
static void vlad_out_line(void) {
  long length = vlad_filled;
  vlad_filled = 0;
  if (vlad_host_write(vlad_line, length)) vlad_fail(VLAD_OUTSIDE);
}
static double vlad_read(void) {
  double x;
  if (vlad_host_read(&x)) vlad_fail(VLAD_OUTSIDE);
  return x;
}
/* Hands on three numbers as a text of length -1. A host that is content returns minus the number of steps to skip after it. */
static long vlad_unshown;
static void vlad_put_progress(double step, double total, double value) {
  if (step > 1 && vlad_unshown > 0) {
    vlad_unshown--;
    return;
  }
  double numbers[3] = {step, total, value};
  int reply = vlad_host_write((const char *)numbers, -1);
  if (reply > 0) vlad_fail(VLAD_OUTSIDE);
  vlad_unshown = -reply;
}

/* section: alone
   Output and input are system calls. Lines are written when the buffer is large, if the output is a terminal, and before input. */
long write(int, const void *, unsigned long);
long read(int, void *, unsigned long);
int isatty(int);
__attribute__((noreturn)) void _exit(int);
static char vlad_written[1 << 16], vlad_input[1 << 12];
static long vlad_waiting, vlad_taken, vlad_given;
static int vlad_write_text(int file, const char *text, long length) {
  while (length > 0) {
    long n = write(file, text, length);
    if (n <= 0) return 1;
    text += n;
    length -= n;
  }
  return 0;
}
static void vlad_flush(void) {
  if (vlad_write_text(1, vlad_written, vlad_waiting)) {
    vlad_write_text(2, "cannot write the output\n", 24);
    _exit(1);
  }
  vlad_waiting = 0;
}
static int vlad_may_fill(long length) { return 1; }
static void vlad_put_progress(double step, double total, double value) {}
static void vlad_out_line(void) {
  static int watched = -1;
  if (watched < 0) watched = isatty(1);
  for (long at = 0; at < vlad_filled;) {
    long n = vlad_filled - at, room = sizeof vlad_written - vlad_waiting;
    if (n > room) n = room;
    memcpy(vlad_written + vlad_waiting, vlad_line + at, n);
    vlad_waiting += n;
    at += n;
    if (vlad_waiting == sizeof vlad_written) vlad_flush();
  }
  vlad_filled = 0;
  if (watched) vlad_flush();
}
static int vlad_character(void) {
  if (vlad_taken == vlad_given) {
    vlad_flush();
    vlad_given = read(0, vlad_input, sizeof vlad_input);
    vlad_taken = 0;
    if (vlad_given <= 0) return vlad_given = 0, -1;
  }
  return (unsigned char)vlad_input[vlad_taken++];
}
static double vlad_read(int status, int ended) {
  char word[400], *end;
  int c, n = 0;
  do c = vlad_character();
  while (c == ' ' || (c >= 9 && c <= 13));
  for (; c >= 0 && c != ' ' && !(c >= 9 && c <= 13); c = vlad_character())
    if (n < 399) word[n++] = c;
  word[n] = 0;
  if (n == 0) vlad_fail(ended);
  if (n == 6 && (word[0] == '+' || word[0] == '-') && word[4] == '.' && word[5] == '0') {
    if (word[1] == 'i' && word[2] == 'n' && word[3] == 'f') return word[0] == '+' ? 1.0 / 0.0 : -1.0 / 0.0;
    if (word[1] == 'n' && word[2] == 'a' && word[3] == 'n') return 0.0 / 0.0;
  }
  for (int i = 0; i < n; i++) {
    char c = word[i];
    if (!((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E')) vlad_fail(status);
  }
  double x = strtod(word, &end);
  if (n == 399 || *end) vlad_fail(status);
  return x;
}

/* section: messages
   The message of a status; character 1 in it stands for the text of the program's own error, which is in the buffer. */
#define VLAD_MESSAGE 8192
static long vlad_message(int status, char *out) {
  static const char *const limits[] = {"", "Error: Recursion is too deep", "Error: The evaluation needs more memory than there is",
                                       "Error: The evaluation never ends"};
  const char *text = status >= VLAD_EXITED ? "Error: The program ended itself, by `exit`" :
                     status < VLAD_FIRST_FAILURE ? limits[status] : vlad_messages[status - VLAD_FIRST_FAILURE];
  long n = 0;
  for (; *text && n < VLAD_MESSAGE - 2; text++) {
    if (*text != '\1') {
      out[n++] = *text;
      continue;
    }
    for (long i = 0; i < vlad_filled && n < VLAD_MESSAGE / 2; i++) out[n++] = vlad_line[i];
  }
  out[n++] = '\n';
  out[n] = 0;
  return n;
}
