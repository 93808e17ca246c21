"""Many at once in other systems: `python batch.py [PEER [ROW ...]]`, the rows of batch_data.py.

JAX: `vmap` and `jit` of the function of one row. PyTorch: `torch.func.vmap`, eager, which takes no loop whose length depends on
data, so these are done for all rows until the last one ends. NumPy and Numba have no derivatives: Numba gets the formulas of
c/batch.c, NumPy those that are operations on arrays.
"""

import math
import sys

import numpy as np
from batch_data import NAMES, operands
from batch_functions import STEPS, of_jax, of_torch
from common import bench, jax64, torch64


def checksum(results):
    return sum(float(np.abs(np.asarray(one)).sum()) for one in results)


def run(peer, functions, ready, back):
    for name in sys.argv[2:] or NAMES:
        if name not in functions:
            continue
        arguments = [ready(one) for one in operands(name)]
        try:
            bench(name, peer, "batch", lambda f=functions[name], a=arguments: [back(one) for one in f(*a)], checksum, budget=1.0, once=20)
        except Exception as error:
            print(f"{name} {peer}: {type(error).__name__}: {str(error)[:300]}")


def peer_jax():
    jax = jax64()
    run("jax", of_jax(jax), jax.numpy.asarray, np.asarray)


def peer_torch():
    torch = torch64()
    run("torch", of_torch(torch), torch.asarray, lambda one: one.numpy())


def peer_numba():
    import numba

    @numba.njit
    def rosenbrock(x):
        g = np.zeros_like(x)
        for row in range(x.shape[0]):
            for i in range(x.shape[1] - 1):
                a, b = x[row, i + 1] - x[row, i] * x[row, i], 1 - x[row, i]
                g[row, i + 1] += 200 * a
                g[row, i] += -400 * a * x[row, i] - 2 * b
        return (g,)

    @numba.njit
    def options(s, v, k, t):
        n = len(s)
        price, ss, vs, vv = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
        for i in range(n):
            root = math.sqrt(t[i])
            w = v[i] * root
            d = (math.log(s[i] / k[i]) + 0.5 * w * w) / w
            e = d - w
            density = math.exp(-0.5 * d * d) * 0.3989422804014327
            price[i] = s[i] * 0.5 * math.erfc(-d / math.sqrt(2.0)) - k[i] * 0.5 * math.erfc(-e / math.sqrt(2.0))
            ss[i], vs[i], vv[i] = density / (s[i] * w), -density * e / v[i], s[i] * density * root * d * e / v[i]
        return price, ss, vs, vv

    @numba.njit
    def roots(m, e):
        x, dx = np.empty_like(m), np.empty_like(m)
        for i in range(len(m)):
            at = m[i]
            while True:
                step = (at - e[i] * math.sin(at) - m[i]) / (1 - e[i] * math.cos(at))
                if abs(step) < 1e-10:
                    break
                at -= step
            x[i], dx[i] = at, 1 / (1 - e[i] * math.cos(at))
        return x, dx

    @numba.njit
    def pendulums(k, d, start, target):
        dk, dd = np.empty_like(k), np.empty_like(k)
        angles, speeds = np.empty(STEPS), np.empty(STEPS)
        for row in range(len(k)):
            angle, speed, ks, ds = start[row], 0.0, 0.0, 0.0
            for i in range(STEPS):
                angles[i], speeds[i] = angle, speed
                speed += 0.01 * (-k[row] * math.sin(angle) - d[row] * speed)
                angle += 0.01 * speed
            angle_s, speed_s = 2 * (angle - target[row]), 0.0
            for i in range(STEPS - 1, -1, -1):
                speed_s += 0.01 * angle_s
                force_s = 0.01 * speed_s
                ks -= force_s * math.sin(angles[i])
                ds -= force_s * speeds[i]
                angle_s -= force_s * k[row] * math.cos(angles[i])
                speed_s -= force_s * d[row]
            dk[row], dd[row] = ks, ds
        return dk, dd

    @numba.njit
    def inner(x, y, squares):
        return 0 - (squares - (x * x + y * y)), 2 * x, 2 * y

    @numba.njit
    def best(start, squares):
        x, y, eta, i = start, start, 1e-5, 0
        f, u, v = inner(x, y, squares)
        while math.sqrt(u * u + v * v) > 1e-5:
            if i == 10:
                eta, i = 2 * eta, 0
                continue
            p, q = x - eta * u, y - eta * v
            if math.sqrt((p - x) ** 2 + (q - y) ** 2) <= 1e-5:
                break
            new, a, b = inner(p, q, squares)
            if new < f:
                x, y, f, u, v, i = p, q, new, a, b, i + 1
            else:
                eta, i = eta / 2, 0
        return x, y

    @numba.njit
    def outer(x, y, start):
        squares = x * x + y * y
        p, q = best(start, squares)
        return squares - (p * p + q * q), 2 * x, 2 * y

    @numba.njit
    def saddles(starts):
        result = np.empty_like(starts)
        for row in range(len(starts)):
            start = starts[row]
            x, y, eta, i = start, start, 1e-5, 0
            f, u, v = outer(x, y, start)
            while math.sqrt(u * u + v * v) > 1e-5:
                if i == 10:
                    eta, i = 2 * eta, 0
                    continue
                p, q = x - eta * u, y - eta * v
                if math.sqrt((p - x) ** 2 + (q - y) ** 2) <= 1e-5:
                    break
                new, a, b = outer(p, q, start)
                if new < f:
                    x, y, f, u, v, i = p, q, new, a, b, i + 1
                else:
                    eta, i = eta / 2, 0
            p, q = best(start, x * x + y * y)
            result[row] = x + 3 * y + 5 * p + 7 * q
        return (result,)

    functions = {"rosenbrock": rosenbrock, "options": options, "roots": roots, "pendulums": pendulums, "saddles": saddles}
    run("numba", functions, np.asarray, np.asarray)


def peer_numpy():
    def rosenbrock(x):
        a, b = x[:, 1:] - x[:, :-1] ** 2, 1 - x[:, :-1]
        g = np.zeros_like(x)
        g[:, 1:] += 200 * a
        g[:, :-1] += -400 * a * x[:, :-1] - 2 * b
        return (g,)

    def roots(m, e):
        x = m
        while True:
            step = (x - e * np.sin(x) - m) / (1 - e * np.cos(x))
            going = np.abs(step) >= 1e-10
            if not going.any():
                return x, 1 / (1 - e * np.cos(x))
            x = np.where(going, x - step, x)

    def pendulums(k, d, start, target):
        angles, speeds = np.empty((STEPS, len(k))), np.empty((STEPS, len(k)))
        angle, speed = start.copy(), np.zeros_like(start)
        for i in range(STEPS):
            angles[i], speeds[i] = angle, speed
            speed = speed + 0.01 * (-k * np.sin(angle) - d * speed)
            angle = angle + 0.01 * speed
        angle_s, speed_s = 2 * (angle - target), np.zeros_like(start)
        ks, ds = np.zeros_like(start), np.zeros_like(start)
        for i in range(STEPS - 1, -1, -1):
            speed_s = speed_s + 0.01 * angle_s
            force_s = 0.01 * speed_s
            ks -= force_s * np.sin(angles[i])
            ds -= force_s * speeds[i]
            angle_s = angle_s - force_s * k * np.cos(angles[i])
            speed_s = speed_s - force_s * d
        return ks, ds

    def network(w1, b1, w2, b2, xs, labels):
        hidden = np.tanh(xs @ w1.T + b1)
        out = hidden @ w2.T + b2
        out = np.exp(out - out.max(1, keepdims=True))
        out = out / out.sum(1, keepdims=True)
        out[np.arange(len(out)), labels.astype(int)] -= 1
        inner = (out @ w2) * (1 - hidden**2)
        return inner[:, :, None] * xs[:, None, :], inner, out[:, :, None] * hidden[:, None, :], out

    run("numpy", {"rosenbrock": rosenbrock, "roots": roots, "pendulums": pendulums, "network": network}, np.asarray, np.asarray)


if __name__ == "__main__":
    for peer in sys.argv[1:2] or ("jax", "torch", "numba", "numpy"):
        globals()[f"peer_{peer}"]()
