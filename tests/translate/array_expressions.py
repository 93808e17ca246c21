"""Expressions of NumPy: of a matrix A, a vector x and `norm`. A few users' idioms are at the end."""

from __future__ import annotations

EXPRESSIONS = r"""
A@x
np.sum(A,axis=0)
np.dot(x,x)
np.linalg.solve(A,x)
A.T[0]
A[1,0]*x[-1]
np.where(x>0,x,-x)
np.maximum(x,0.0)
np.mean(A,axis=1,keepdims=True)
[r.sum() for r in A]
norm(x)+np.linalg.det(A)
np.array([x[0],2.0])
np.zeros((2,3))
x[1:]
np.exp(x)*2-1
A.shape
len(A)
np.concatenate([x,x])
np.stack((x,x))
np.clip(x,-1,1)
x**2
np.reshape(A,(4,))
np.outer(x,x)
np.sqrt(np.abs(x))
x[::-1]
np.linspace(0,1,5)
max(x)
sum(x)
A.sum()
x/0.5
-x
A[0]
np.cumsum(x)
np.linalg.inv(A)
2*A+1
np.arctan2(x, 2.0)
np.hypot(x, x)
np.power(np.abs(x), 1.5)
np.var(A, axis=0)
np.prod(x)
np.max(A, axis=1)
np.amin(x)
np.argmax(x)
np.cumsum(A, axis=0)
np.trace(A)
np.tril(A)
np.full((2,), 3.0)
np.arange(3)
np.zeros_like(A)
np.ones_like(x)
np.ravel(A)
np.divide(x, 2.0)
np.sign(x)
np.transpose(A)
np.ones(2)
np.diagonal(A)
[a * b for a, b in zip(x, A[0])]
x.mean()
np.log1p(np.square(x))
np.dot(A, x)
np.arcsin(x / 2)
np.floor(x)
np.asarray([[1.0, 2.0]])
np.min(A, keepdims=True)
x if x[0] > x[1] else A
np.eye(3)
np.eye(2, 3, k=1)
np.round(x * 1.2345, 2)
np.around(x * 123.0, -1)
np.rint(x)
np.reciprocal(x)
np.cbrt(x)
np.exp2(x)
np.log2(np.array([8.0, 5.0]))
np.log10(np.array([1000.0, 5.0]))
np.deg2rad(x)
np.rad2deg(x)
np.sinc(np.array([0.0, 0.3]))
np.nan_to_num(np.array([np.nan, np.inf, -np.inf, 1.0]), nan=2.0)
np.real(x) + np.conj(x)
np.floor_divide(x, 0.4)
np.mod(x, 0.4)
np.remainder(x, 0.4)
np.fmod(x, 0.4)
np.float_power(np.abs(x), 1.5)
np.copysign(2.0, x)
np.ldexp(x, 3)
np.fmax(x, np.nan)
np.fmin(np.nan, x)
np.logaddexp(x, 0.5)
np.logaddexp(-np.inf, -np.inf)
np.logaddexp2(x, 0.5)
np.heaviside(x, 0.5)
np.clip(x, None, 0.0)
np.clip(x, a_min=-1.0, a_max=0.2)
np.sum(A, axis=(0, 1))
np.sum([1.0, 2.0])
np.sum(x > 0)
np.mean(x > 0)
np.mean([[1.0, 2.0], [3.0, 4.0]], axis=0)
np.std(A)
np.std(A, axis=1, ddof=1)
np.std(A, 0, keepdims=True)
np.var(x, ddof=1)
np.ptp(A, axis=0)
np.ptp(x)
np.median(A)
np.median(np.array([3.0, 1.0, 2.0]))
np.median(A, axis=1)
np.median(A, axis=0, keepdims=True)
np.quantile(A, 0.3)
np.quantile(A, [0.3, 0.8], axis=1)
np.percentile(x, 40)
np.average(A, weights=[1.0, 3.0], axis=0)
np.average(A, weights=A)
np.average(x)
np.count_nonzero(x > 0)
np.nansum(np.array([1.0, np.nan]))
np.nanmean(np.array([1.0, np.nan, 4.0]))
np.nanmax(np.array([1.0, np.nan]))
np.nanmin(np.array([[1.0, np.nan], [2.0, 3.0]]), axis=0)
np.nanvar(np.array([1.0, np.nan, 4.0]))
np.nanstd(np.array([1.0, np.nan, 4.0]), ddof=1)
np.nanprod(np.array([1.0, np.nan, 4.0]))
np.argmin(x)
np.argmin(A, axis=1)
np.argsort(x)
np.argsort(A, axis=0)
np.sort(A, axis=0)
np.sort(A, axis=None)
np.cumprod(x)
np.cumprod(A, axis=1)
np.cumsum(A)
np.diff(x)
np.diff(A, axis=0)
np.diff(np.array([1.0, 4.0, 9.0, 16.0]), n=2)
np.trapezoid(x)
np.trapezoid(x, dx=0.5)
np.trapezoid(A, x=[0.0, 2.0], axis=0)
np.r_[x, 1.0, 0:3, x[::-1]]
np.r_[A, A * 2.0]
np.r_[0:1:5j, 2.0]
np.c_[x, x * 2.0]
np.c_[A, x]
np.c_[1.0, 2.0]
np.gradient(np.array([1.0, 4.0, 9.0, 16.0]), 0.5)
np.gradient(np.array([1.0, 4.0, 9.0, 16.0]), np.array([0.0, 1.0, 3.0, 3.5]))
np.gradient(np.array([[1.0, 4.0], [9.0, 16.0], [2.0, 7.0]]), axis=0)
np.gradient(np.array([[1.0, 4.0, 8.0], [9.0, 16.0, 2.0]]), [0.0, 1.0, 3.0], axis=-1)
np.convolve(np.array([1.0, 2.0, 3.0]), x)
np.convolve(x, np.array([1.0, 2.0, 3.0]), mode="same")
np.convolve(np.array([1.0, 2.0, 3.0]), x, "valid")
np.correlate(np.array([1.0, 2.0, 3.0]), x)
np.correlate(np.array([1.0, 2.0, 3.0]), x, "full")
np.searchsorted(np.array([1.0, 2.0, 3.0]), 2.0)
np.searchsorted(np.array([1.0, 2.0, 3.0]), x, side="right")
np.interp(x, [-1.0, 0.0, 1.0], [2.0, 0.0, 5.0])
np.interp(0.3, np.array([0.0, 1.0]), x)
np.interp(x, [0.0, 1.0], [2.0, 5.0], left=-1.0)
np.polyval([1.0, 2.0, 3.0], x)
np.polyval(x, 2.0)
np.polyder(np.array([1.0, 2.0, 3.0]))
np.polyint([1.0, 2.0])
np.polymul(x, x)
np.polyadd(x, [1.0, 2.0, 3.0])
np.polysub([1.0, 2.0, 3.0], x)
np.vander(x)
np.vander(x, 3, increasing=True)
np.cov(A)
np.cov(x)
np.cov(x, np.array([1.0, 2.0]))
np.cov(A, rowvar=False, bias=True)
np.corrcoef(np.array([[1.0, 2.0, 4.0], [3.0, 1.0, 0.0]]))
np.dot(2.0, x)
np.dot(x, A)
np.dot(np.ones((2, 3, 2)), np.ones((4, 2, 5)))
np.inner(A, x)
np.inner(x, x)
np.outer(A, x)
np.vdot(A, A)
np.vecdot(A, x)
np.matvec(A, x)
np.vecmat(x, A)
np.tensordot(A, A)
np.tensordot(A, A, axes=1)
np.tensordot(A, x, axes=([0], [0]))
np.tensordot(A, A, axes=(1, 0))
np.kron(A, x)
np.kron(A, A)
np.cross([1.0, 2.0, 3.0], np.array([0.5, 1.0, -1.0]))
np.trace(A, offset=1)
np.trace(np.arange(12.0).reshape(2, 2, 3))
np.diagonal(np.arange(12.0).reshape(2, 3, 2), 0, 1, 2)
np.diag(x)
np.diag(x, k=1)
np.diag(x, -2)
np.diag(A)
np.diag(A, 1)
np.diagflat(A)
np.tril(A, -1)
np.triu(A, 1)
np.triu(A)
np.tri(3)
np.tri(2, 3, 1)
np.transpose(A, (1, 0))
np.permute_dims(np.ones((2, 3, 4)), (2, 0, 1))
np.matrix_transpose(np.ones((2, 3, 4)))
np.swapaxes(np.ones((2, 3, 4)), 0, -1)
np.moveaxis(np.ones((2, 3, 4)), 0, -1)
np.moveaxis(np.ones((2, 3, 4)), [0, 1], [-1, 0])
np.reshape(A, -1)
np.reshape(A, shape=(4, 1))
np.squeeze(np.ones((1, 2, 1)))
np.squeeze(np.ones((1, 2, 1)), axis=0)
np.squeeze(np.ones((1, 1)))
np.expand_dims(x, 0)
np.expand_dims(x, axis=(0, 2))
np.atleast_1d(2.0)
np.atleast_2d(x)
np.atleast_3d(A)
np.broadcast_to(x, (3, 2))
np.concatenate([A, A], axis=1)
np.concatenate((A, A), axis=None)
np.concat([x, x])
np.append(x, 3.0)
np.append(A, A, axis=0)
np.stack([x, x], axis=1)
np.stack([x, x], -1)
np.vstack([x, x])
np.vstack([A, x])
np.hstack([x, x])
np.hstack([A, A])
np.dstack([A, A])
np.column_stack([x, x])
np.block([[A, A], [A, A]])
np.tile(x, 2)
np.tile(A, (2, 1))
np.tile(x, (2, 2))
np.repeat(x, 2)
np.repeat(A, 2, axis=1)
np.flip(A)
np.flip(A, 1)
np.flip(A, (0, 1))
np.fliplr(A)
np.flipud(A)
np.roll(x, 1)
np.roll(A, 1)
np.roll(A, -1, axis=1)
np.rot90(A)
np.rot90(A, 2)
np.rot90(A, -1)
np.pad(x, 1)
np.pad(x, (1, 2), mode="edge")
np.pad(A, ((1, 0), (0, 1)), constant_values=3.0)
np.pad(np.arange(4.0), 2, mode="reflect")
np.pad(np.arange(4.0), 2, mode="wrap")
np.pad(np.arange(4.0), 2, "symmetric")
np.take(x, [1, 0, 1])
np.take(A, 1, axis=1)
np.take(A, 3)
np.take_along_axis(A, np.argsort(A, axis=1), axis=1)
np.take_along_axis(A, np.argsort(A, axis=0), 0)
np.select([x > 0, x < -1], [x, -x], default=7.0)
np.where(A > 1, A, 0.0)
np.where((A > 1) & (A < 2.5), A, 0.0)
np.where(~(A > 1) | (A < 1.5), A, 0.0)
np.where(np.logical_and(x > -2, x < 0), 1.0, x)
np.array([1, 2, 3]) * 1.5
np.array([x, x])
np.array([[x[0], 1.0], [2.0, x[1]]])
np.array(x)
np.copy(x)
np.zeros(3)
np.zeros((2,), dtype=float)
np.ones((2, 2), dtype=np.float64)
np.empty((0,))
np.full(3, 2.0)
np.full_like(A, 2.0)
np.zeros_like([1.0, 2.0])
np.identity(2)
np.arange(1, 4)
np.arange(1.0, 2.0, 0.25)
np.arange(5, 0, -2)
np.linspace(0, 1)
np.linspace(0, 1, num=5, endpoint=False)
np.logspace(0, 2, 3)
np.geomspace(1.0, 8.0, 4)
np.ndim(A) + np.size(A) + np.ndim(2.0)
norm(A)
norm(x, 1)
norm(x, ord=np.inf)
norm(x, -np.inf)
norm(x, 3)
norm(A, axis=1)
norm(A, axis=1, keepdims=True)
norm(A, 'fro')
norm(A, 1)
norm(A, np.inf)
norm(A, 2)
norm(A, 'nuc')
norm(A, axis=(0, 1))
norm(A, keepdims=True)
np.linalg.vector_norm(A)
np.linalg.vector_norm(A, axis=0, ord=1)
np.linalg.matrix_norm(A)
np.linalg.solve(A, A)
np.linalg.cholesky(A)
np.linalg.cholesky(A, upper=True)
np.linalg.eigvalsh(A)
np.linalg.eigvalsh(A, UPLO='U')
np.linalg.svdvals(A)
np.linalg.pinv(A)
np.linalg.pinv(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]))
np.linalg.pinv(np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 1.0]]))
np.linalg.pinv(np.stack([A[:, :1], x.reshape(2, 1)]))
np.linalg.pinv(np.stack([A[:1], x.reshape(1, 2)]))
np.linalg.matrix_power(A, 3)
np.linalg.matrix_power(A, 0)
np.linalg.matrix_power(A, -2)
np.linalg.matrix_rank(A)
np.linalg.cond(A)
np.linalg.multi_dot([A, A, x])
np.linalg.eigh(A)[0]
np.linalg.svd(A)[1]
np.linalg.svd(A, compute_uv=False)
np.linalg.slogdet(A)[1]
np.linalg.slogdet(-A)[0] * np.linalg.slogdet(np.array([[0.0, 1.0], [1.0, 0.0]]))[0]
np.linalg.lstsq(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), np.array([1.0, 2.0, 4.0]), rcond=None)[0]
np.linalg.lstsq(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), np.array([1.0, 2.0, 4.0]))[1]
np.linalg.lstsq(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), np.array([1.0, 2.0, 4.0]))[3]
np.linalg.trace(A)
np.linalg.diagonal(A, offset=1)
np.linalg.matrix_transpose(A)
np.linalg.outer(x, x)
np.float64(x[0]) + np.double(2)
np.isnan(x)
np.isnan(x[0])
np.isinf(np.array([np.inf, 1.0]))
np.isfinite(np.array([np.inf, np.nan, 1.0]))
np.isposinf(x) | np.isneginf(x)
np.signbit(x)
np.equal(x, 0.5)
np.not_equal(x, 0.5)
np.less(x, 0.5)
np.greater_equal(x, 0.5)
np.logical_or(x > 0, x < -1)
np.logical_xor(x > 0, x > -2)
np.logical_not(x > 0)
np.any(x > 0)
np.all(x > 0)
np.all(A > 0, axis=0)
np.any([False, True])
(x > 0).any()
(x > 0).all()
(A > 1).sum(axis=0)
np.isclose(x, x + 1e-9)
np.allclose(x, x + 1e-9)
np.allclose(x, 0.0)
np.array_equal(A, A.T)
np.array_equal(A, x)
np.shape(A)
np.divmod(x, 0.4)
np.modf(x)
np.split(np.arange(6.0), 3)
np.split(np.arange(6.0), [1, 4])
np.array_split(np.arange(7.0), 3)
np.hsplit(A, 2)
np.vsplit(A, 2)
np.unstack(A)
np.meshgrid(x, np.arange(3.0))
np.meshgrid(x, [1.0, 2.0, 3.0], indexing="ij")[0]
np.einsum("ij,jk->ik", A, A)
np.einsum("ij,j", A, x)
np.einsum("ii", A)
np.einsum("ij->ji", A)
np.einsum("i,i->", x, x, optimize=True)
np.einsum("ii->i", A)
np.einsum("ij,jk,k->i", A, A, x)
np.pi * np.e + np.euler_gamma
np.finfo(float).eps
x.sum(axis=0, keepdims=True)
A.sum(1)
A.reshape(2, -1)
A.reshape((4, 1))
A.reshape(-1)
A.transpose(1, 0)
A.transpose()
x.copy()
x.astype(float)
x.astype(int)
(x > 0).astype(float)
x.astype(A.dtype)
x.dot(x)
A.dot(x)
A.ravel()
A.flatten()
A.tolist()
x.sum().item()
A.mean(0)
A.std(axis=0, ddof=1)
A.var()
x.max()
A.min(axis=1)
x.argmax()
x.clip(-1, 1)
x.cumsum()
x.prod()
A.trace()
A.diagonal()
A.swapaxes(0, 1)
A.squeeze()
A.take([0, 3])
A.repeat(2)
x.round(1)
A.argsort(axis=0)
x.all()
A.mT
x.size + x.ndim
A[:, 0]
A[..., 1]
A[0, 1:]
A[::2]
A[:, ::-1]
A[-1, :]
A[:, None]
A[None]
x[:, np.newaxis] * x
A[None, :, 0]
A[..., None]
A[..., None, 0]
A[1:, :1]
A[-1:, -2:]
A[[0, 1, 0]]
A[:, [1, 0]]
A[np.arange(2), [1, 0]]
A[[0, 1], [1, 0]]
A[np.argmax(x), :]
np.arange(24.0).reshape(2, 3, 4)[1, ..., 2]
np.arange(24.0).reshape(2, 3, 4)[:, 1, ::2]
np.arange(24.0).reshape(2, 3, 4)[..., 1:, ::-2]
np.arange(24.0).reshape(2, 3, 4)[:, [0, 2], 1:]
np.arange(24.0).reshape(2, 3, 4)[0, [0, 2]]
np.arange(24.0).reshape(2, 3, 4)[..., [0, 2], [1, 3]]
np.arange(24.0).reshape(2, 3, 4)[:, 0, None]
np.arange(24.0).reshape(2, 3, 4)[..., 0, None, :]
A[...]
x[...]
A[np.array([[0, 1], [1, 0]])]
A[(0, 1)]
x[-1:0:-1]
x[5:]
list(map(np.sum, A))
[np.sqrt(v) for v in A[0]]
A[0][1]
len(A[:, 0])
sum(A[:, 0])
np.array([row.sum() for row in A])
np.array([[1.0, 2.0]]).T @ x[None, :]
np.zeros(3, dtype=int)
np.min(A, axis=None)
np.max([x[0], x[1], 3.0])
np.maximum(x, [0.0, 1.0])
np.add(x, [0.0, 1.0])
np.exp([0.0, 1.0])
np.linalg.norm([3.0, 4.0])
np.dot([1.0, 2.0], [3.0, 4.0])
np.mean((1.0, 2.0))
np.abs(-3.0)
np.sqrt(2.0)
np.sum(3.0)
np.where(x[0] > 0, 1.0, 2.0)
np.maximum(x[0], 2.0)
[np.float64(v) for v in x]
x.conj() + x.conjugate()
A.cumprod(axis=0)
A.argmin(axis=1)
A.any(axis=1)
A.max(axis=(0, 1))
x.searchsorted(0.7)
A.copy().T
x.item(1)
np.where(x > 0, x, 0.0).sum()
np.sum(x[:, None] == np.arange(3.0), axis=0)
np.exp(-0.5 * ((x[:, None] - x[None, :]) / 0.3) ** 2)
np.sum((A[:, None, :] - A[None, :, :]) ** 2, axis=-1)
np.linalg.norm(A - x, axis=-1)
np.mean((A @ x - x) ** 2)
(x - x.mean()) / (x.std() + 1e-8)
np.stack([np.cos(x), np.sin(x)], axis=-1).reshape(-1)
np.concatenate([x[:1], np.diff(x)])
np.linalg.solve(A + 1e-3 * np.eye(len(A)), x)
np.einsum("bi,ij,bj->b", A, A, A)
np.dot(A.T, np.dot(A, x))
np.prod(A.shape) * 1.0
np.zeros_like(x, dtype=float) + 1
np.ones((len(x), 2)) * x[:, np.newaxis]
np.array([np.sum(A * k) for k in range(3)])
np.sum(np.triu(A, k=1))
np.abs(x[0] - x[1:]).max()
1 / (1 + np.exp(-x))
np.exp(x) / np.exp(x).sum()
np.sqrt(np.mean(np.square(A), axis=0))
np.clip(A, 1.0, 2.0).ravel()[::-1]
np.log(np.clip(x, 1e-9, None))
np.arange(10)[2:8:3] * x[0]
np.sum(A, axis=0, out=None)
np.sum(A, axis=None, keepdims=True)
np.max(A, 0)
np.mean(a=A, axis=1)
np.clip(x, min=-1, max=1)
np.stack(arrays=[x, x], axis=0)
np.where(x > 0, 1, 0)
np.zeros(shape=(2, 2))
np.full(shape=2, fill_value=3.0)
np.linspace(start=0, stop=1, num=3)
np.concatenate(([1.0], x, [2.0]))
np.concatenate([x, [2.0]])
np.append([], x)
np.array([])
np.array([[]]).shape
np.array([[1.0, 2.0], x])
np.array((x[0], x[1]))
np.array([A, A]).shape
np.stack([A, A.T], axis=2)
np.sum(np.array([x, x]), 0)
np.dot(A, A)[0, 0]
(A @ A.T)[1]
A[0] @ A[1]
A[0, :] * A[:, 0]
A[:, 0:1] * A[0:1, :]
A[1][::-1]
A.T[:, 0]
x[-1] if x[0] < 0 else x[0]
A.sum(axis=1)[0]
A.max() - A.min()
np.sqrt(np.sum(x ** 2))
np.sqrt(x @ x)
np.sum(np.where(x > 0, x, 0))
np.sum(x * (x > 0))
np.exp(x) if np.any(x > 5) else np.sin(x)
np.log(np.linalg.det(A))
np.linalg.slogdet(A)[1] + np.trace(np.linalg.inv(A))
np.linalg.solve(A.T @ A + 0.1 * np.eye(A.shape[1]), A.T @ x)
np.linalg.inv(A) @ x - np.linalg.solve(A, x)
np.einsum("ij,ij->", A, A)
np.einsum("i,ij,j->", x, A, x)
np.einsum("ij,kj->ik", A, A)
np.einsum("i->", x)
np.einsum("Ij,jK->IK", A, A)
np.meshgrid(x, x)[0] + np.meshgrid(x, x)[1]
np.cumsum(x)[-1]
np.cumsum(x[::-1])[::-1]
np.maximum(np.minimum(x, 1), -1)
np.abs(np.subtract(x, 1)).max()
np.prod(x) ** 2
np.tanh(np.dot(A, x) + 1).dot(x)
np.sum(x[:-1] * x[1:])
np.mean(np.abs(x - np.median(x)))
np.argmax(A @ x)
A[np.argmax(x)]
A[:, np.argmin(x)]
np.arange(len(x)) * x
np.arange(A.shape[0])[:, None] + np.arange(A.shape[1])
np.tril(A) @ np.triu(A)
np.linalg.norm(x - A, axis=1).argmin()
np.sign(x) * np.sqrt(np.abs(x))
np.power(np.abs(x), [1, 2])
np.ones_like(x) / len(x)
np.block([x, x])
np.roll(np.eye(2), 1, axis=0) @ x
A.copy().sum() + A.flatten()[2] + A.ravel()[1]
[A[i, j] for i in range(2) for j in range(i, 2)]
[[float(v) for v in row] for row in A]
sum([A[i, i] for i in range(len(A))])
np.isclose(A, A.T).all()
np.allclose(A, A.T, rtol=1e-3, atol=0)
np.max(np.abs(A - A.T)) < 1e-9
bool(np.isfinite(x).all())
np.sum(A, axis=(1,))
np.sum(A, axis=[0][0])
np.std(x) ** 2 - np.var(x)
np.hstack([1.0, x])
np.hstack((A, x[:, None]))
np.vstack((x, x)).T
np.vstack([1.0, 2.0])
np.column_stack((np.ones(2), x, x ** 2))
np.floor_divide(7, 2)
np.bool_(True)
np.repeat([1.0, 2.0], 2)
np.tile([1.0, 2.0], 2)
np.flip([1.0, 2.0])
np.split(x, [1])[0]
np.take(x, 0)
np.take(A, [0], axis=0)
np.swapaxes(A, 0, 1)
np.interp(0.5, [0, 1], [1, 3])
""".strip().split("\n")

# Of other arguments: I, whole numbers; M, a mask; T, with three axes; V, with nan and an infinity; E, empty; s, a number;
# L, a list; ax, 1.
OF_OTHERS = r"""
I / 2
I // 2
I % 2
I ** 2
I * 1.5
np.sum(I)
I.mean()
T[0, I - 1]
T[:, I - 1, 0]
I[::-1]
np.where(M, I, 0)
np.where(M, 1.0, L)
np.sum(M)
M.sum() / len(M)
np.mean(M)
~M
M & ~M
np.logical_not(M).sum()
I[M]
T[0][T[0] > 3]
T[T[:, :, 0] > 3]
T[M[:2]]
T[0, M]
T[M[:2], 1:, ::2]
T[..., 1][T[..., 1] > 100].sum()
[np.flatnonzero(M), *np.nonzero(T[0] > 3), np.argwhere(T > 20), np.where(M)[0], M.nonzero()[0]]
[np.compress(M, I), np.compress(M[:2], T, axis=0), I.compress(M), np.extract(M, I), np.unique(L), np.unique(V)]
[*np.mgrid[0:3, ax:3], *np.ogrid[0:2, 0:1:3j, 2:4], np.mgrid[0:4:2], np.mgrid[:2, :3].shape]
[*np.histogram(L, 2), *np.histogram(T, bins=4, range=(0, 30)), *np.histogram(L, bins=[-1, 0, 2])]
np.any(M) and s > 1
1.0 if M.any() else 2.0
1.0 if np.all(M) else 2.0
T.sum(axis=ax)
np.sum(T, axis=ax, keepdims=ax > 0)
np.sum(T, axis=(ax, 0))
np.max(T, axis=-1)
np.max(T, axis=(0, -1), keepdims=True)
T.mean(axis=(1, 2))
T.std(axis=(0, 2), keepdims=True)
np.prod(T, axis=1)
np.median(T, axis=1)
np.quantile(T, 0.25, axis=-1, keepdims=True)
np.cumsum(T, axis=ax)
np.argmax(T, axis=ax)
np.argmin(T)
np.argsort(V)
np.sort(V)
np.max(V)
np.nanmax(V)
np.maximum(V, 0)
np.fmax(V, 0)
np.clip(V, -1, 1)
np.isnan(V)
np.where(np.isnan(V), 0.0, V)
np.nan_to_num(V)
np.median(V)
np.sum(E, axis=0)
np.sum(E)
np.prod(E)
E.shape
np.concatenate([E, T[0, :, :3]])
np.any(E)
np.all(E > 0)
len(E)
T[ax]
T[ax, ax:]
T[-1, :, ax]
T[:, ::2, ::-1]
T[..., ::-1][0]
T[1, 2, 3]
T[0][1][2]
T[0, 1][2]
T[0, ax - 1, 1:]
T[:, :, None].shape
T[[0, 1], [1, 2]]
T[[0, 1], [1, 2], 0]
T[0, [1, 2], [0, 3]]
T[:, [1, 2], [0, 3]]
T[[[0], [1]], [1, 2]]
T[np.array([0, 1])[:, None], np.array([1, 2])]
T[..., np.array([0, 3])]
T[1:1]
T[5:]
T[:, 1:1].shape
T[:, -1:]
T[0:2:2]
T[:, ::-2]
T[-3:-1]
np.squeeze(T[:1])
np.stack([T[0], T[1]], axis=ax).shape
np.concatenate(list(T), axis=1).shape
np.concatenate(T).shape
np.vstack(T).shape
np.hstack(T).shape
np.array(list(T)).shape
np.array([[s, 1.0], L[:2]])
np.array([s])
np.array(s) + 1
np.array(L).reshape(-1, 1)
np.array([L, L]).T
np.asarray(L) * s
np.dot(L, L)
np.dot(s, 2.0)
np.outer(L, [1.0, 2.0])
np.linalg.norm(L)
np.linalg.norm(s)
np.abs(L)
np.exp(s)
np.exp(-np.array(L))
np.floor(s)
np.sign(-s)
np.mod(s, 2)
np.power(s, 2)
np.power(2.0, L)
np.hypot(s, s)
np.log(0.0)
np.sqrt(-1.0)
np.divide(1.0, 0.0)
np.log(-np.ones(2))
1 / np.zeros(2)
np.array([0.0, 1.0]) / 0.0
np.array([1.0, -1.0]) // 0.0
np.zeros(2) ** -1.0
np.round(s)
np.round(-0.5)
round(float(np.mean(L)), 2)
float(np.sum(L))
int(np.argmax(L))
bool(np.any(M))
np.float64(3)
np.int64(2.7)
np.shape(L)
np.shape(s)
np.size(T)
np.ndim(L)
T.shape[0] * T.size
T.ndim
T.reshape(2, 3 * 4).shape
T.reshape(T.shape[0], -1).shape
T.reshape(-1, 2).shape
np.reshape(T, (3, -1)).shape
T.ravel()[5]
T.flatten().shape
T.transpose(0, 2, 1).shape
T.transpose((2, 0, 1)).shape
T.swapaxes(0, 1).shape
T.T.shape
np.moveaxis(T, -1, 0).shape
np.broadcast_to(s, (2, 2))
np.broadcast_to(L, (2, 3))
np.tile(L, (2, 1))
np.tile(s, 3)
np.repeat(T, 2, axis=0).shape
np.repeat(s, 3)
np.flip(T, axis=(0, 2))
np.roll(T, 2)
np.roll(T, 1, axis=1)
np.pad(T, ((0, 0), (1, 1), (0, 2))).shape
np.expand_dims(T, (0, -1)).shape
np.diff(T, axis=1)
np.diff(T, n=2)
np.trapezoid(T, axis=0)
np.einsum("ijk->jk", T)
np.einsum("ijk,ijl->kl", T, T)
np.einsum("ijk,jk->i", T, T[0])
np.einsum("i,j", L, L)
np.tensordot(T, T, axes=([0, 1], [0, 1]))
np.tensordot(T, T, axes=3)
np.matmul(T, np.swapaxes(T, 1, 2))
T @ np.ones(4)
np.dot(T, np.ones(4))
np.inner(T, T).shape
np.kron(np.eye(2), np.ones((2, 3)))
np.cross(np.ones((2, 3)), [1.0, 2.0, 3.0])
np.trace(T, axis1=1, axis2=2)
np.diagonal(T, axis1=1, axis2=2)
np.tril(T)
np.linalg.inv(np.stack([np.eye(2), 2 * np.eye(2)]))
np.linalg.det(np.stack([np.eye(2), 2 * np.eye(2)]))
np.linalg.solve(np.stack([np.eye(2), 2 * np.eye(2)]), np.ones((2, 2, 1)))
np.linalg.slogdet(np.stack([np.eye(2), -2 * np.eye(2)]))[0]
np.linalg.norm(T, axis=(1, 2))
np.linalg.norm(T, axis=-1)
np.linalg.norm(T)
np.interp(T, [0.0, 1.0, 3.0], L).shape
np.searchsorted(np.sort(L), [0.0, 2.0, 9.0])
np.polyval(L, T).shape
np.polyval(L, s)
np.arange(0, 1, 0.3)
np.linspace(0, s, 4)
np.linspace(0, 1, len(L))
np.zeros((2, len(L)))
np.ones(T.shape)
np.ones_like(T).shape
np.full(T.shape[:2], s)
np.full((2,), L[1])
np.eye(len(L))
np.identity(2) * s
np.meshgrid(L, [1.0, 2.0])[1]
np.select([M, ~M], [1.0, 2.0])
np.average(L, weights=I)
np.cov(np.array([L, I]))
np.corrcoef(L, I)
np.convolve(L, [1.0, 2.0], "same")
np.cumprod(I)
np.ptp(L)
np.var(L, ddof=1)
np.allclose(T, T + 1e-12)
np.array_equal(T, T)
[v * 2 for v in np.array(L)]
[row.sum() for row in T[0]]
[float(v) for v in T[0, 0]]
sum(np.array(L))
max(np.array(L))
min(L) + np.min(L)
sorted(np.array(L))
list(np.array(L))
tuple(np.array(L))
list(zip(np.array(L), I))
[i * v for i, v in enumerate(np.array(L))]
len(np.array(L))
np.array(L)[I - 1]
np.array(L)[1:] - np.array(L)[:-1]
2 ** np.array(L)
-np.array(L)
abs(-np.array(L))
np.array(L) > 1.5
(np.array(L) > 1.5) * 2.0
(np.array(L) == 2.0).sum()
np.array(L) != 2.0
sum(v > 1.5 for v in L)
np.array(L, dtype=int) // 2
np.array([1.7, -1.7]).astype(int)
np.array(L).astype(np.float32).astype(float)
(np.array(L) > 1).astype(int)
np.zeros(2, dtype=int) + I[:2]
np.zeros(2, dtype=bool)
np.array(L).tolist()
T.item(3)
np.array([2.5]).item()
T.max() - T.min()
T.argmax()
T.clip(0, 1).sum()
T.dot(np.ones(4)).shape
T.all()
T.cumsum()
T.repeat(2).shape
T.squeeze().shape
T.diagonal().shape
np.sum([np.ones(2), np.zeros(2)], axis=0)
np.max([T[0], T[1]])
np.mean([s, 2.0])
np.std(L)
np.sum((1.0, s))
np.stack([np.array(L), np.array(L) * 2]).sum(axis=0)
np.array([np.array(L).sum(), s])
L + [s]
np.atleast_1d(s) * 2
np.isfinite(s)
np.isnan(s) or s > 2
not np.isnan(s)
np.heaviside(-s, 0.5)
np.sinc(0.0)
np.isclose(s, 2.5)
np.log2(8.0)
np.log10(1000.0)
np.cbrt(27.0)
np.exp2(3.0)
isinstance(T, np.ndarray) and not isinstance(s, (list, np.ndarray))
np.logaddexp(s, -np.inf)
M + M
(T > 1) + (T < 0.5)
np.add(M, ~M)
np.where((T > 1) * (T < 2), T, 0)
""".strip().split("\n")
