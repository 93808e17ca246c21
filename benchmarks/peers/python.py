"""The functions of python_functions.py in other systems. Numba, PyTorch and autograd get the text itself: for the last two, `math` and
`np` in it are their own namespaces. JAX, which traces no loop whose number of turns depends on data, gets another text.

A result is checked by one number: the value, or the sum of the gradient's entries, each times its position for lists and arrays.
"""

import math
import sys
from types import FunctionType, SimpleNamespace

import numpy as np
from common import bench, jax64, main, torch64
from python_functions import WORKLOADS, summed


EAGER = ("torch", "autograd")


def rebound(f, math, np):
    """A function with other namespaces."""
    return FunctionType(f.__code__, {**f.__globals__, f.__name__: f, "math": math, "np": np}, f.__name__, f.__defaults__)


def both(w, peer, value, gradient):
    """One line for the value and one for the gradient; a peer that cannot have one prints none."""
    for case, call in (("value", value), ("gradient", gradient)):
        if call is None:
            continue
        try:
            bench(w.f.__name__, peer, case, call, check=summed, budget=0.4, once=2 if peer in EAGER else 1e9)
        except Exception as error:
            print(f"{w.f.__name__} {peer} {case}: {type(error).__name__}: {str(error)[:300]}")


def peer_numba():
    import warnings

    import numba

    warnings.simplefilter("ignore")
    for w in WORKLOADS:
        of_numba = rebound(w.f, math, np)
        f = numba.njit(of_numba)
        of_numba.__globals__[w.f.__name__] = f  # which it calls itself
        arguments = [np.array(one) if isinstance(one, list) else one for one in w.arguments]
        both(w, "numba", lambda f=f, a=arguments: float(f(*a)), None)


def peer_torch():
    torch = torch64()

    def array(values):
        return torch.tensor(values) if not isinstance(values[0][0], torch.Tensor) else torch.stack(values)

    def lifted(name):
        here, there = getattr(math, name), getattr(torch, name)
        return lambda x: there(x) if isinstance(x, torch.Tensor) else here(x)

    of_math = SimpleNamespace(**{name: lifted(name) for name in ("sin", "sqrt", "log")})
    of_numpy = SimpleNamespace(
        array=array, eye=torch.eye, zeros=torch.zeros, ones=torch.ones, mean=torch.mean, tanh=torch.tanh,
        linalg=torch.linalg,
    )  # fmt: skip

    def tensor(value, wanted):
        if isinstance(value, list):
            return [tensor(one, wanted) if isinstance(one, float) else one for one in value]
        return torch.tensor(value, requires_grad=wanted) if isinstance(value, float | np.ndarray) else value

    for w in WORKLOADS:
        f = rebound(w.f, of_math, of_numpy)
        if f.__name__ == "tree":
            f.__globals__["tree"] = f

        def gradient(w=w, f=f):
            given = [tensor(one, i in w.by) for i, one in enumerate(w.arguments)]
            leaves = [leaf for i in w.by for leaf in (given[i] if isinstance(given[i], list) else [given[i]])]
            # `us[i] -= …` changes a tensor in place, so the leaves are not given themselves
            given = [[one * 1.0 if torch.is_tensor(one) else one for one in g] if isinstance(g, list) else g for g in given]
            found = iter(torch.autograd.grad(f(*given), leaves, allow_unused=True))
            return tuple([[_of(next(found)) for _ in given[i]] if isinstance(given[i], list) else _of(next(found)) for i in w.by])

        def value(w=w, f=f):
            with torch.no_grad():
                given = [tensor(one, False) for one in w.arguments]
                return float(f(*[[o * 1.0 if torch.is_tensor(o) else o for o in g] if isinstance(g, list) else g for g in given]))

        both(w, "torch", value, gradient)


def _of(tensor):
    return 0.0 if tensor is None else tensor.numpy()


def peer_autograd():
    import autograd.numpy as anp
    from autograd import grad

    def lifted(name):
        here, there = getattr(math, name), getattr(anp, name)
        return lambda x: here(x) if isinstance(x, float) else there(x)

    of_math = SimpleNamespace(**{name: lifted(name) for name in ("sin", "sqrt", "log")})
    for w in WORKLOADS:
        f = rebound(w.f, of_math, anp)
        if f.__name__ == "tree":
            f.__globals__["tree"] = f

        def of_arrays(*given, w=w, f=f):
            """Lists are given as arrays, whose entries are taken out one after the other."""
            return f(*[[g[k] for k in range(len(a))] if isinstance(a, list) and isinstance(a[0], float) else g
                       for g, a in zip(given, w.arguments, strict=True)])  # fmt: skip

        arguments = [np.array(a) if isinstance(a, list) and isinstance(a[0], float) else a for a in w.arguments]
        slope = grad(of_arrays, tuple(w.by))
        both(w, "autograd", lambda f=of_arrays, a=arguments: float(f(*a)), lambda g=slope, a=arguments: tuple(g(*a)))


def peer_jax():
    jax = jax64()
    jnp, lax = jax.numpy, jax.lax

    def logistic(x, rate):
        return lax.scan(lambda x, _: (rate * x * (1.0 - x), None), x, None, length=10_000)[0]

    def pendulum(angle, damping, tolerance=1e-5):
        def turn(state):
            angle, speed, time, step = state
            first = -9.81 * jnp.sin(angle) - damping * speed
            ahead, speed_ahead = angle + step * speed, speed + step * first
            second = -9.81 * jnp.sin(ahead) - damping * speed_ahead
            error = 0.5 * step * jnp.maximum(abs(speed_ahead - speed), abs(second - first))
            taken = error <= tolerance
            time = jnp.where(taken, time + step, time)
            angle = jnp.where(taken, angle + 0.5 * step * (speed + speed_ahead), angle)
            speed = jnp.where(taken, speed + 0.5 * step * (first + second), speed)
            step = step * jnp.minimum(2.0, jnp.maximum(0.3, 0.9 * jnp.sqrt(tolerance / (error + 1e-12))))
            return angle, speed, time, jnp.where(time + step > 10.0, jnp.maximum(10.0 - time, 1e-6), step)

        return lax.while_loop(lambda state: state[2] < 10.0, turn, (angle, 0.0, 0.0, 0.01))[0]

    def escape(x, y, width=0.01, across=16, most=200):
        def one(a, b):
            def turn(state):
                u, v, turns = state
                return u * u - v * v + a, 2.0 * u * v + b, turns + 1

            def inside(state):
                return (state[2] < most) & (state[0] ** 2 + state[1] ** 2 < 1e12)

            u, v, turns = lax.while_loop(inside, turn, (0.0 * a, 0.0 * b, 0))
            squared = jnp.where(turns < most, u * u + v * v, 1e12)
            return jnp.where(turns < most, turns + 1.0 - jnp.log(0.5 * jnp.log(squared)) / math.log(2.0), most)

        offsets = width * (jnp.arange(across) / across - 0.5)
        return jnp.mean(jax.vmap(jax.vmap(one, (0, None)), (None, 0))(x + offsets, y + offsets))

    def kalman(drift, noise, seen):
        step = jnp.array([[1.0, 0, 0.1, 0], [0, 1.0, 0, 0.1], [0, 0, 1.0, 0], [0, 0, 0, 1.0]])
        look = jnp.eye(4)[:2]

        def turn(state, place):
            state, spread, total = state
            state, spread = step @ state, step @ spread @ step.T + drift * jnp.eye(4)
            surprise = place - look @ state
            expected = look @ spread @ look.T + noise * jnp.eye(2)
            inverse = jnp.linalg.inv(expected)
            gain = spread @ look.T @ inverse
            total = total - 0.5 * (surprise @ (inverse @ surprise) + jnp.log(jnp.linalg.det(expected)))
            return (state + gain @ surprise, (jnp.eye(4) - gain @ look) @ spread, total), None

        return lax.scan(turn, (jnp.zeros(4), jnp.eye(4), 0.0), seen)[0][2]

    def forward(moves, symbols, seen):
        def turn(state, symbol):
            probabilities, total = state
            probabilities = (probabilities @ moves) * symbols[symbol]
            scale = probabilities.sum()
            return (probabilities / scale, total + jnp.log(scale)), None

        return lax.scan(turn, (jnp.ones(20) / 20.0, 0.0), seen)[0][1]

    def warping(xs, ys):
        def line(row, x):
            def cell(left, at):
                y, corner, above = at
                left = (x - y) ** 2 + jnp.minimum(jnp.minimum(corner, above), left)
                return left, left

            start = jnp.asarray(1e300)
            return jnp.concatenate([start[None], lax.scan(cell, start, (ys, row[:-1], row[1:]))[1]]), None

        return lax.scan(line, jnp.full(len(ys) + 1, 1e300).at[0].set(0.0), xs)[0][-1]

    def tree(x, shrink):
        level = jnp.array([x])  # a level at a time: to trace the recursion takes minutes
        for _ in range(15):
            level = jnp.concatenate([shrink * level, level - shrink])
        return jnp.sum(level * level)

    def root(a, b):
        def turn(bounds):
            low, high = bounds
            middle = 0.5 * (low + high)
            below = middle**3 + a * middle < b
            return jnp.where(below, middle, low), jnp.where(below, high, middle)

        def inside(bounds):
            middle = 0.5 * (bounds[0] + bounds[1])
            return (bounds[1] - bounds[0] > 1e-14) & (middle != bounds[0]) & (middle != bounds[1])

        low = lax.stop_gradient(lax.while_loop(inside, turn, (0.0, 10.0))[0])
        return low - (low**3 + a * low - b) / (3.0 * low**2 + a)

    def network(w, c, v, inputs, targets):
        return jnp.mean((jnp.tanh(inputs @ w + c) @ v - targets) ** 2)

    def bodies(xs, ys, zs, us, vs, ws, masses):
        places, speeds = jnp.stack([xs, ys, zs], 1), jnp.stack([us, vs, ws], 1)
        other = 1.0 - jnp.eye(5)

        def distances(places):
            apart = places[:, None] - places[None]
            return apart, jnp.sum(apart * apart, 2) + jnp.eye(5)

        def turn(state, _):
            places, speeds = state
            apart, squared = distances(places)
            speeds = speeds - jnp.sum(apart * (0.01 * other * masses / (squared * jnp.sqrt(squared)))[..., None], 1)
            return (places + 0.01 * speeds, speeds), None

        (places, speeds), _ = lax.scan(turn, (places, speeds), None, length=1000)
        _, squared = distances(places)
        pairs = 0.5 * jnp.sum(other * masses[:, None] * masses / jnp.sqrt(squared))
        return 0.5 * jnp.sum(masses * jnp.sum(speeds * speeds, 1)) - pairs

    warping_table = warping  # noqa: F841 - by its name, as JAX has no change in place
    texts = locals()
    for w in WORKLOADS:
        name, f = w.f.__name__, texts[w.f.__name__]
        first = 1 if name == "tree" else 0  # the depth is a part of the text
        arguments = [jnp.asarray(np.array(one)) for one in w.arguments[first:]]
        forward_only = name in ("pendulum", "escape", "root")  # of while_loop
        made = (jax.jacfwd if forward_only else jax.grad)(f, tuple([i - first for i in w.by]))
        value, slope = jax.jit(f), jax.jit(made)
        both(w, "jax", lambda f=value, a=arguments: f(*a).block_until_ready(),
             lambda g=slope, a=arguments: jax.block_until_ready(g(*a)))  # fmt: skip


if __name__ == "__main__":
    wanted = [one for one in sys.argv[1:] if not one.startswith("-") and f"peer_{one}" not in globals()]
    WORKLOADS = [w for w in WORKLOADS if not wanted or w.f.__name__ in wanted]
    main(globals())
