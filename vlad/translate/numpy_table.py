"""NumPy's functions and methods that have a counterpart, and what there is instead of the others: the one table of them.

Out: for each function, the library's procedure and the parameters, as text that known.py reads. A row is a name, a procedure
(`=`: of the same name), and parameters in NumPy's order:

    a             an array or a number; lists and tuples of numbers become arrays
    .shape        as it is
    ddof=0        may be left out
    axis:axis     may be left out; an argument by name of the procedure
    a_min|min     has two names
    -dtype        takes float64, which is what there is
    ~dtype        what the result is converted to
    !out          has a place, and is refused unless it is None

The procedures %py-np-… are in stdlib/python-arrays.vlad.
"""

from __future__ import annotations

# Results that are numbers, or arrays of numbers.
NUMBERS = """
sin sin x
cos cos x
tan tan x
exp exp x
log log x
sqrt sqrt x
tanh tanh x
sinh sinh x
cosh cosh x
log1p log1p x
expm1 expm1 x
floor floor x
sign sign x
square square x
arcsin asin x
arccos acos x
arctan %py-np-atan x
arcsinh asinh x
arccosh acosh x
arctanh atanh x
asin asin x
acos acos x
atan %py-np-atan x
asinh asinh x
acosh acosh x
atanh atanh x
abs abs x
absolute abs x
fabs abs x
ceil ceiling x
trunc truncate x
fix truncate x
rint round x
round %py-np-round a decimals=0 !out
around %py-np-round a decimals=0 !out
negative - x
positive + x
reciprocal / x
cbrt cbrt x
exp2 exp2 x
log2 log2 x
log10 log10 x
deg2rad %py-radians x
radians %py-radians x
rad2deg %py-degrees x
degrees %py-degrees x
sinc %py-np-sinc x
nan_to_num %py-np-nan-to-num x copy=True nan=0 posinf=None neginf=None
real %py-np-same val
real_if_close %py-np-same a
conj %py-np-same x
conjugate %py-np-same x
add %py-add x1 x2
subtract - x1 x2
multiply * x1 x2
divide / x1 x2
true_divide / x1 x2
floor_divide %py-np-floor-divide x1 x2
mod modulo x1 x2
remainder modulo x1 x2
fmod remainder x1 x2
power expt x1 x2
pow expt x1 x2
float_power expt x1 x2
arctan2 atan x1 x2
atan2 atan x1 x2
hypot hypot x1 x2
copysign %py-np-copysign x1 x2
ldexp %py-np-ldexp x1 x2
maximum max x1 x2
minimum min x1 x2
fmax %py-np-fmax x1 x2
fmin %py-np-fmin x1 x2
logaddexp %py-np-logaddexp x1 x2
logaddexp2 %py-np-logaddexp2 x1 x2
heaviside %py-np-heaviside x1 x2
clip %py-np-clip a a_min|min=None a_max|max=None !out
sum sum a axis:axis -dtype !out keepdims:keep
mean mean a axis:axis -dtype !out keepdims:keep
prod %py-np-prod a axis=None -dtype !out keepdims=False
max maximum a axis:axis !out keepdims:keep
min minimum a axis:axis !out keepdims:keep
amax maximum a axis:axis !out keepdims:keep
amin minimum a axis:axis !out keepdims:keep
var %py-np-var a axis=None -dtype !out ddof|correction=0 keepdims=False
std %py-np-std a axis=None -dtype !out ddof|correction=0 keepdims=False
ptp %py-np-ptp a axis=None !out keepdims=False
median %py-np-median a axis=None !out !overwrite_input keepdims=False
quantile %py-np-quantile a q axis=None !out !overwrite_input !method keepdims=False
percentile %py-np-percentile a q axis=None !out !overwrite_input !method keepdims=False
average %py-np-average a axis=None weights=None
count_nonzero %py-np-count a axis=None keepdims=False
nansum %py-np-nansum a axis=None -dtype !out keepdims=False
nanprod %py-np-nanprod a axis=None -dtype !out keepdims=False
nanmean %py-np-nanmean a axis=None -dtype !out keepdims=False
nanmax %py-np-nanmax a axis=None !out keepdims=False
nanmin %py-np-nanmin a axis=None !out keepdims=False
nanvar %py-np-nanvar a axis=None -dtype !out ddof=0 keepdims=False
nanstd %py-np-nanstd a axis=None -dtype !out ddof=0 keepdims=False
argmax %py-np-argmax a axis=None
argmin %py-np-argmin a axis=None
flatnonzero %py-np-flatnonzero a
argwhere %py-np-argwhere a
compress %py-np-compress .condition a axis=None !out
extract %py-np-extract .condition arr
unique unique ar
argsort %py-np-argsort a axis=-1
sort %py-np-sort a axis=-1
cumsum %py-np-cumsum a axis=None -dtype !out
cumulative_sum %py-np-cumsum x axis=None
cumprod %py-np-cumprod a axis=None -dtype !out
cumulative_prod %py-np-cumprod x axis=None
trapezoid %py-np-trapezoid y x=None dx=1 axis=-1
trapz %py-np-trapezoid y x=None dx=1 axis=-1
gradient %py-np-gradient f .spacing=1 axis=None
convolve %py-np-convolve a v .mode='full'
correlate %py-np-correlate a v .mode='valid'
searchsorted %py-np-searchsorted a v .side='left'
interp %py-np-interp x xp fp left=None right=None
polyval %py-np-polyval p x
polyder %py-np-polyder p
polyint %py-np-polyint p
polymul %py-np-convolve a1 a2 .mode='full'
polyadd %py-np-polyadd a1 a2
polysub %py-np-polysub a1 a2
vander %py-np-vander x .N=None .increasing=False
cov %py-np-cov m y=None .rowvar=True .bias=False ddof=None
corrcoef %py-np-corrcoef x y=None .rowvar=True
dot %py-np-dot a b !out
matmul matmul x1 x2
inner %py-np-inner a b
outer %py-np-outer a b
vdot %py-np-vdot a b
vecdot %py-np-vecdot x1 x2 axis=-1
matvec %py-np-matvec x1 x2
vecmat %py-np-vecmat x1 x2
tensordot %py-np-tensordot a b .axes=2
kron %py-np-kron a b
cross %py-np-cross a b
trace %py-np-trace a .offset=0 .axis1=0 .axis2=1
diagonal %py-np-diagonal a .offset=0 .axis1=0 .axis2=1
diag %py-np-diag v .k=0
diagflat %py-np-diagflat v .k=0
tril %py-np-tril m .k=0
triu %py-np-triu m .k=0
tri %py-np-tri .N .M=None .k=0 ~dtype
transpose %py-np-transpose a .axes=None
permute_dims %py-np-transpose a .axes=None
matrix_transpose %py-np-swap x
swapaxes %py-np-swapaxes a .axis1 .axis2
moveaxis %py-np-moveaxis a .source .destination
reshape %py-reshape a .shape|newshape
ravel %py-flat a
squeeze %py-np-squeeze a .axis=None
expand_dims %py-np-expand-dims a .axis
atleast_1d %py-np-atleast-1d a
atleast_2d %py-np-atleast-2d a
atleast_3d %py-np-atleast-3d a
broadcast_to %py-np-broadcast-to array .shape
concatenate %py-np-concatenate .arrays axis=0 !out
concat %py-np-concatenate .arrays axis=0 !out
append %py-np-append arr values axis=None
stack %py-np-stack .arrays axis=0 !out
vstack %py-np-vstack .tup
row_stack %py-np-vstack .tup
hstack %py-np-hstack .tup
dstack %py-np-dstack .tup
column_stack %py-np-column-stack .tup
block %py-np-block .arrays
tile %py-np-tile A .reps
repeat %py-np-repeat a .repeats axis=None
flip %py-np-flip m .axis=None
fliplr %py-np-fliplr m
flipud %py-np-flipud m
roll %py-np-roll a .shift .axis=None
rot90 %py-np-rot90 m .k=1
pad %py-np-pad array .pad_width .mode='constant' .constant_values=0
take %py-np-take a .indices axis=None
take_along_axis %py-np-take-along arr indices axis=-1
select %py-np-select .condlist .choicelist default=0
where %py-np-where .condition x y
array %py-array .object ~dtype
asarray %py-array .a ~dtype
asanyarray %py-array .a ~dtype
ascontiguousarray %py-np-contiguous .a ~dtype
asfortranarray %py-np-contiguous .a ~dtype
copy %py-array .a
zeros %py-zeros .shape ~dtype
ones %py-ones .shape ~dtype
empty %py-zeros .shape ~dtype
ndarray %py-zeros .shape ~dtype
full %py-full .shape .fill_value ~dtype
zeros_like %py-zeros-like a ~dtype
ones_like %py-ones-like a ~dtype
empty_like %py-zeros-like a ~dtype
full_like %py-np-full-like a .fill_value ~dtype
eye %py-np-eye .N .M=None .k=0 ~dtype
identity eye .n ~dtype
arange %py-np-arange .start .stop=None .step=1 ~dtype
linspace %py-np-linspace start stop .num=50 .endpoint=True !retstep ~dtype
logspace %py-np-logspace start stop .num=50 .endpoint=True base=10
geomspace %py-np-geomspace start stop .num=50 .endpoint=True
ndim %py-np-ndim a
size %py-np-size a
linalg.norm %py-np-norm x .ord=None .axis=None .keepdims=False
linalg.vector_norm %py-np-vector-norm x .axis=None .keepdims=False .ord=2
linalg.matrix_norm %py-np-matrix-norm x .keepdims=False .ord='fro'
linalg.solve solve a b
linalg.inv inverse a
linalg.det det a
linalg.cholesky %py-np-cholesky a .upper=False
linalg.eigvalsh %py-np-eigvalsh a .UPLO='L'
linalg.svdvals %py-np-svdvals x
linalg.pinv pinv a
linalg.matrix_power %py-np-matrix-power a .n
linalg.matrix_rank %py-np-matrix-rank A
linalg.cond %py-np-cond x
linalg.multi_dot %py-np-multi-dot .arrays
linalg.cross %py-np-cross x1 x2
linalg.matmul matmul x1 x2
linalg.outer %py-np-outer x1 x2
linalg.tensordot %py-np-tensordot x1 x2 .axes=2
linalg.trace %py-np-trace-of-last x .offset=0
linalg.diagonal %py-np-diagonal-of-last x .offset=0
linalg.vecdot %py-np-vecdot x1 x2 axis=-1
linalg.matrix_transpose %py-np-swap x
float64 %py-np-float x
double %py-np-float x
int64 %py-np-int x
int32 %py-np-int x
int_ %py-np-int x
intp %py-np-int x
"""

# Results of other types: booleans, and arrays of them; tuples and lists.
OTHERS = """
isnan %py-np-nan? x
isinf %py-np-infinite? x
isfinite %py-np-finite? x
isposinf %py-np-positive-infinite? x
isneginf %py-np-negative-infinite? x
signbit %py-np-signbit x
equal %py-equal x1 x2
not_equal %py-unequal x1 x2
less < x1 x2
less_equal <= x1 x2
greater > x1 x2
greater_equal >= x1 x2
logical_and %py-np-and .x1 .x2
logical_or %py-np-or .x1 .x2
logical_xor %py-np-xor .x1 .x2
logical_not %py-np-not .x
any %py-np-any .a axis=None !out keepdims=False
all %py-np-all .a axis=None !out keepdims=False
isclose %py-np-isclose a b rtol=1e-05 atol=1e-08 .equal_nan=False
allclose %py-np-allclose a b rtol=1e-05 atol=1e-08 .equal_nan=False
array_equal %py-np-array-equal a1 a2
nonzero %py-np-nonzero a
histogram %py-np-histogram a .bins=10 .range=None !density !weights
shape %py-np-shape a
divmod %py-np-divmod x1 x2
modf %py-np-modf x
split %py-np-split ary .indices_or_sections .axis=0
array_split %py-np-array-split ary .indices_or_sections .axis=0
hsplit %py-np-hsplit ary .indices_or_sections
vsplit %py-np-vsplit ary .indices_or_sections
dsplit %py-np-dsplit ary .indices_or_sections
unstack %py-np-unstack x .axis=0
linalg.eigh %py-np-eigh a .UPLO='L'
linalg.svd %py-np-svd a .full_matrices=True .compute_uv=True
linalg.qr %py-np-qr a .mode='reduced'
linalg.slogdet %py-np-slogdet a
linalg.lstsq %py-np-lstsq a b .rcond=None
bool_ %py-true? .x
bool %py-true? .x
"""

# Functions whose results may share the entries of an argument in Python, or be that argument: a change of one would be
# seen in the other.
VIEWS = """
real real_if_close diagonal diag transpose permute_dims matrix_transpose swapaxes moveaxis reshape ravel squeeze
expand_dims atleast_1d atleast_2d atleast_3d broadcast_to flip fliplr flipud rot90 asarray asanyarray ascontiguousarray
asfortranarray split array_split hsplit vsplit dsplit unstack linalg.diagonal linalg.matrix_transpose
conj conjugate linalg.matrix_power polyder polyint float64 double int64 int32 int_ intp
"""

# Methods of arrays: those that are functions whose first argument is the array.
METHODS_AS_FUNCTIONS = """
all any argmax argmin argsort clip conj conjugate cumprod cumsum diagonal dot max mean min nonzero prod ptp ravel
repeat round searchsorted squeeze std sum swapaxes take trace var
"""
# Methods of arrays with rows of their own; the first parameter is the array.
METHODS = """
copy %py-copy .a
flatten %py-flat .a !order
tolist %py-np-tolist .a
compress %py-np-compress-of a .condition axis=None !out
item %py-np-item .a .index=None
astype %py-np-as-type .a ~dtype .copy=True
"""
# Methods that change their array, and others: what to write.
METHODS_REFUSED = {
    "sort": "`np.sort(x)` is the sorted array",
    "fill": "`np.full_like(x, value)` is the filled array",
    "partition": "`np.sort(x)` is the sorted array",
    "put": "assign to its entries: `x[i] = …`",
    "resize": "`np.reshape(x, shape)`",
    "itemset": "assign to its entries: `x[i] = …`",
    "argpartition": "`np.argsort`",
    "choose": "`np.select`, `np.where`",
    "view": "an array has one type and one shape: `astype`, `reshape`",
    "tobytes": "convert the result in Python",
    "tofile": "write the result in Python",
    "dump": "write the result in Python",
    "dumps": "write the result in Python",
    "byteswap": "numbers are doubles",
    "getfield": "numbers are doubles",
    "setfield": "numbers are doubles",
    "setflags": "arrays are values",
    "to_device": "`vlad.Session(device=…)` chooses the device",
}  # fmt: skip
# Attributes of arrays: the procedure.
ATTRIBUTES = {
    "T": "transpose", "mT": "%py-np-swap", "shape": "%py-shape", "ndim": "rank", "size": "size", "real": "%py-np-same",
}  # fmt: skip

# The other public names, by what there is instead: a line that ends in two colons, and the names below it.
REFUSED = """
the shape of the result would depend on values: `np.where(mask, x, 0)` keeps it::
  unique_all unique_counts unique_inverse unique_values
  trim_zeros intersect1d setdiff1d setxor1d union1d delete insert resize ediff1d isin in1d
numbers are real::
  angle imag iscomplex iscomplexobj isreal isrealobj sort_complex linalg.eig linalg.eigvals unwrap
  complex128 complex64 complex256 cdouble csingle clongdouble complexfloating complex192
numbers are real: `session.fft(x)` of a session returns the real and the imaginary part::
  fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn
  fft.rfftn fft.irfftn
numbers are doubles: `//`, `%` and `**` with powers of 2::
  bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_invert invert bitwise_count bitwise_left_shift
  bitwise_right_shift left_shift right_shift packbits unpackbits binary_repr base_repr frexp nextafter
  spacing
read and write files outside of the function::
  load save savez savez_compressed savetxt loadtxt genfromtxt fromfile fromregex fromstring frombuffer
  from_dlpack memmap
format the result in Python::
  array2string array_repr array_str format_float_positional format_float_scientific typename info str_
  bytes_
what there is, is float64::
  can_cast common_type min_scalar_type mintypecode promote_types result_type isdtype issubdtype isscalar
  iterable isfortran require astype byte short intc long longlong ubyte ushort uintc uint uintp ulong
  ulonglong uint8 uint16 uint32 uint64 int8 int16 half single float16 float32 longdouble float128 float96
  dtype finfo iinfo number generic integer inexact floating signedinteger unsignedinteger flexible character
  void object_ record recarray asarray_chkfinite
arrays are values: assign to entries, `x[i] = …`, or make the changed array::
  copyto place put putmask put_along_axis fill_diagonal
`np.polyval`, and `np.linalg.lstsq(np.vander(x, n), y)`::
  poly polydiv polyfit roots poly1d
write its formula with `np.arange` and `np.cos`::
  bartlett blackman hamming hanning kaiser i0
dates are converted outside of the function::
  busday_count busday_offset is_busday busdaycalendar datetime_as_string datetime_data datetime64
  timedelta64 isnat
index with `np.arange`, or make a mask by comparing `np.arange(n)[:, None]` with `np.arange(n)`::
  diag_indices diag_indices_from tril_indices tril_indices_from triu_indices triu_indices_from mask_indices
  indices ix_ ravel_multi_index unravel_index broadcast_shapes
settings of NumPy are none of a translated function: it raises errors for numbers and gives nan for arrays::
  errstate geterr seterr geterrcall seterrcall getbufsize setbufsize get_printoptions set_printoptions
  printoptions get_include show_config show_runtime test linalg.test may_share_memory shares_memory
write a loop, or a comprehension in `np.array`::
  apply_along_axis apply_over_axes piecewise choose vectorize frompyfunc fromfunction fromiter nested_iters
  nditer ndenumerate ndindex flatiter broadcast ufunc
compare by `np.allclose`, or write the operation with `np.where`::
  array_equiv
`np.arange` and comparisons count: `np.sum(x[:, None] == np.arange(n), axis=0)`::
  bincount histogram2d histogramdd histogram_bin_edges
`np.searchsorted`::
  digitize
`np.sort`, `np.argsort`::
  partition argpartition lexsort
`np.moveaxis`::
  rollaxis
`np.broadcast_to`::
  broadcast_arrays
`np.where(np.isnan(x), 0, x)` before::
  nanargmax nanargmin nancumprod nancumsum nanmedian nanpercentile nanquantile
`math.gcd` of two numbers::
  gcd lcm
`np.einsum`, which chooses an order itself::
  einsum_path
`np.linalg.solve` and `np.reshape`::
  linalg.tensorinv linalg.tensorsolve
`np.array`::
  matrix asmatrix bmat ndarray
`vlad.VladError` is raised::
  linalg.LinAlgError
"""
# Names with syntax of their own, in numpy_calls.py.
SYNTAX = ("einsum", "diff", "meshgrid")
