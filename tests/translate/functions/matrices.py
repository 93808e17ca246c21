"""Matrices as lists of lists, and linear algebra with NumPy."""

from __future__ import annotations

import math

import numpy as np

Matrix = list[list[float]]


def _matmul(a: Matrix, b: Matrix) -> Matrix:
    return [[sum(x * y for x, y in zip(row, col)) for col in zip(*b)] for row in a]


def _transpose(m: Matrix) -> Matrix:
    return [list(row) for row in zip(*m)]


def _identity(n: int) -> Matrix:
    return [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]


def products(x: float = 0.5) -> float:
    a = [[x, 1.0], [2.0, x * x], [0.0, 1.0]]
    b = _matmul(_transpose(a), a)
    return sum(map(sum, b)) + b[0][1]


def power(x: float = 0.5, n: int = 5) -> float:
    result, base = _identity(2), [[x, 1.0], [1.0, 0.0]]
    while n > 0:
        if n % 2 == 1:
            result = _matmul(result, base)
        base = _matmul(base, base)
        n //= 2
    return result[0][0]


def transposed(x: float = 0.5) -> list[tuple[float, ...]]:
    return list(zip(*[(1.0, x), (2.0, x * x), (3.0, 4.0)]))


def determinant(x: float = 0.5) -> float:
    def det(m: Matrix) -> float:
        if len(m) == 1:
            return m[0][0]
        total = 0.0
        for c in range(len(m)):
            minor = [row[:c] + row[c + 1 :] for row in m[1:]]
            total += (-1) ** c * m[0][c] * det(minor)
        return total

    return det([[x, 2.0, 1.0], [1.0, x, 0.0], [3.0, 1.0, 2.0 * x]])


def elimination(x: float = 0.5) -> float:
    a = [[x, 2.0, 1.0], [4.0, 1.0, x], [1.0, 1.0, 3.0]]
    b = [1.0, x, 2.0]
    n = len(b)
    for k in range(n):
        pivot = max(range(k, n), key=lambda r: abs(a[r][k]))
        a[k], a[pivot] = a[pivot], a[k]
        b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, n):
            factor = a[i][k] / a[k][k]
            for j in range(k, n):
                a[i][j] -= factor * a[k][j]
            b[i] -= factor * b[k]
    y = [0.0] * n
    for i in range(n - 1, -1, -1):
        y[i] = (b[i] - sum(a[i][j] * y[j] for j in range(i + 1, n))) / a[i][i]
    return y[0] + 2 * y[1] + 3 * y[2]


def cholesky(x: float = 0.5) -> float:
    a = [[4.0, x, 1.0], [x, 3.0, 0.5], [1.0, 0.5, 2.0]]
    n = len(a)
    L = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            s = sum(L[i][k] * L[j][k] for k in range(j))
            L[i][j] = math.sqrt(a[i][i] - s) if i == j else (a[i][j] - s) / L[j][j]
    return 2 * sum(math.log(L[i][i]) for i in range(n))


def lu(x: float = 0.5) -> tuple[Matrix, Matrix]:
    a = [[4.0, x, 1.0], [x, 3.0, 0.5], [1.0, 0.5, 2.0]]
    n = len(a)
    lower = [[float(i == j) for j in range(n)] for i in range(n)]
    upper = [row.copy() for row in a]
    for i in range(n):
        for j in range(i + 1, n):
            lower[j][i] = upper[j][i] / upper[i][i]
            upper[j] = [u - lower[j][i] * v for u, v in zip(upper[j], upper[i])]
    return lower, upper


def gram_schmidt(x: float = 0.5) -> float:
    vectors = [[1.0, x, 0.0], [1.0, 0.0, x], [0.0, 1.0, 1.0]]
    basis: Matrix = []
    for v in vectors:
        w = v
        for b in basis:
            proj = sum(p * q for p, q in zip(v, b))
            w = [wi - proj * bi for wi, bi in zip(w, b)]
        norm = math.sqrt(sum(wi**2 for wi in w))
        if norm > 1e-10:
            basis.append([wi / norm for wi in w])
    return basis[2][0] + basis[1][1]


def tridiagonal(x: float = 0.5) -> float:
    a, b, c, d = [0.0, 1.0, 1.0, 1.0], [4.0, 4.0 + x, 4.0, 4.0], [1.0, 1.0, 1.0, 0.0], [1.0, 2.0, x, 4.0]
    n = len(d)
    cp, dp = [0.0] * n, [0.0] * n
    cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    result = dp[:]
    for i in range(n - 2, -1, -1):
        result[i] = dp[i] - cp[i] * result[i + 1]
    return sum(result)


def jacobi(x: float = 0.5) -> float:
    a = [[4.0, x, 1.0], [x, 5.0, 1.0], [1.0, 1.0, 3.0]]
    b, sol = [1.0, 2.0, x], [0.0, 0.0, 0.0]
    for _ in range(4):
        sol = [(b[i] - sum(a[i][j] * sol[j] for j in range(3) if j != i)) / a[i][i] for i in range(3)]
    return sum(sol)


def gauss_seidel(x: float = 0.5) -> float:
    a = [[4.0, x, 1.0], [x, 5.0, 1.0], [1.0, 1.0, 3.0]]
    b, sol = [1.0, 2.0, x], [0.0] * 3
    for _ in range(2):
        for i, row in enumerate(a):
            sol[i] = (b[i] - sum(aij * sol[j] for j, aij in enumerate(row) if j != i)) / row[i]
    return max(sol)


def power_iteration(x: float = 0.5) -> float:
    a = [[2.0, x], [x, 3.0]]
    v = [1.0, 1.0]
    for _ in range(8):
        v = [sum(aij * vj for aij, vj in zip(row, v)) for row in a]
        norm = sum(c * c for c in v) ** 0.5
        v = [c / norm for c in v]
    return sum(v[i] * a[i][j] * v[j] for i in range(2) for j in range(2))


def conjugate_gradient(x: float = 0.5) -> float:
    A = np.array([[4.0, x], [x, 3.0]])
    b = np.array([1.0, 2.0])
    sol = np.zeros_like(b)
    r = b - A @ sol
    p = r
    rs_old = r @ r
    for _ in range(2):
        Ap = A @ p
        alpha = rs_old / (p @ Ap)
        sol = sol + alpha * p
        r = r - alpha * Ap
        rs_new = r @ r
        if np.sqrt(rs_new) < 1e-10:
            break
        p = r + (rs_new / rs_old) * p
        rs_old = rs_new
    return sol[0] + sol.sum()


def spiral(x: float = 0.5) -> list[float]:
    m = [[1.0, 2.0, 3.0], [8.0, x, 4.0], [7.0, 6.0, 5.0]]
    out = []
    while m:
        out += m[0]
        m = list(zip(*m[1:]))[::-1]
    return out


def rotated(x: float = 0.5) -> Matrix:
    m = [[x, 2.0], [3.0, 4.0]]
    return [list(r) for r in zip(*m[::-1])]


def diagonals(x: float = 0.5) -> float:
    m = [[x, 2.0, 3.0], [4.0, x * x, 6.0], [7.0, 8.0, 9.0]]
    n = len(m)
    return sum(m[i][i] for i in range(n)) - sum(m[i][~i] for i in range(n)) + sum(m[i][n - 1 - i] for i in range(n))


def flattened(x: float = 0.5) -> list[float]:
    m = [[x, 2.0], [3.0, 4.0]]
    return [v for row in m for v in row if v > 1]


def game_of_life(x: float = 0.5) -> float:
    cells = [[0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    rows, cols = len(cells), len(cells[0])

    def neighbours(r: int, c: int) -> int:
        return sum(
            cells[(r + dr) % rows][(c + dc) % cols] for dr in (-1, 0, 1) for dc in (-1, 0, 1) if (dr, dc) != (0, 0)
        )

    alive = [[1 if neighbours(r, c) == 3 or (cells[r][c] and neighbours(r, c) == 2) else 0 for c in range(cols)] for r in range(rows)]
    return x * sum(sum(row) for row in alive) + x ** alive[1][0]


def mirrored(x: float = 0.5) -> bool:
    m = [[1.0, x], [x, 2.0]]
    return all(m[i][j] == m[j][i] for i in range(2) for j in range(i)) and m == [list(c) for c in zip(*m)]


def least_squares(x: float = 0.5) -> float:
    A = np.column_stack([np.ones(4), np.arange(4.0)])
    y = np.array([1.0, x, 3.0, 4.0])
    beta, *_ = np.linalg.lstsq(A, y, rcond=None)
    residuals = y - A @ beta
    return float(residuals @ residuals + beta[1])


def inverse_and_determinant(x: float = 0.5) -> float:
    A = np.array([[2.0, x], [x, 3.0]])
    assert A.shape == (2, 2)
    return np.trace(np.linalg.inv(A)) * np.linalg.det(A) + (A**2).sum() + A.T[0, 1]


def quadratic_form(x: float = 0.5) -> float:
    v = np.array([x, 1.0, -x])
    Q = np.diag([1.0, 2.0, 3.0]) + 0.1 * np.ones((3, 3))
    return 0.5 * v @ Q @ v - v.dot([1.0, 1.0, 1.0])


def block_matrix(x: float = 0.5) -> float:
    A = np.array([[x, 1.0], [0.0, 2.0]])
    Z = np.zeros((2, 2))
    M = np.block([[A, Z], [Z, A.T]])
    return np.linalg.slogdet(M + np.eye(4))[1]


def rotation(theta: float = 0.5) -> float:
    c, s = np.cos(theta), np.sin(theta)
    R = np.array([[c, -s], [s, c]])
    p = R @ np.array([1.0, 2.0])
    return p[0] * 3 + p[1]


def spectral(x: float = 0.5) -> float:
    A = np.array([[2.0, x, 0.0], [x, 3.0, 0.1], [0.0, 0.1, 1.0]])
    w, V = np.linalg.eigh(A)
    return float(w[-1] + np.sum((V @ np.diag(w) @ V.T - A) ** 2))


def in_arrays(x: float = 3.0) -> list[bool]:
    a, b = np.array([[1.0, 2.0], [x, 4.5]]), np.array([3.0, 4.5])
    return [a in a, b in a, x in a, 7.0 in a, a[0] in a, a + 1 in a, b not in a]


def steps(n: float = 7.0) -> float:
    return sum(np.arange(n, step=2)) + np.sum(np.arange(n, step=-1.0)) + 10 * np.sum(np.arange(1, n, step=3))


def along_no_axis(x: float = 3.0) -> list[Any]:
    a = np.array([[1.0, 2.0], [x, 4.5]])
    return [np.sum(a, axis=()).tolist(), np.max(a, axis=()).tolist(), a.prod(axis=()).tolist(), np.ascontiguousarray(x).tolist()]
