"""The workloads of benchmarks/tensors.py in NumPy by hand, JAX and PyTorch: `tensors.py numpy|jax|torch|torch-compile`."""

import sys

import numpy as onp
from common import jax64, torch64
from tensor_data import serve


class Functions:
    """The functions that are differentiated, on arrays of `np`: jax.numpy or torch."""

    def __init__(self, np, softplus, relu, log_softmax, logsumexp, stack, solve_triangular):
        self.np = np
        self.solve_triangular = solve_triangular  # of a lower triangular matrix and a vector
        self.softplus, self.relu, self.log_softmax, self.logsumexp = softplus, relu, log_softmax, logsumexp
        self.stack = stack

    def total(self, x):
        return self.np.sum(x)

    def ratios(self, x, y):
        return self.np.sum(x * y / (1 + x * x + y * y))

    def log_sum(self, x):
        return self.logsumexp(x)

    def logistic(self, w, x, y):
        return self.np.mean(self.softplus(-(y * (x @ w))))

    def network(self, weights, x, classes):
        a, b, c, d = weights
        scores = self.relu(x @ a + b) @ c + d
        return -self.np.mean(self.np.sum(classes * self.log_softmax(scores), 1))

    def solve(self, a, b):
        return self.np.sum(self.np.linalg.solve(a, b) ** 2)

    def process(self, logs, xs, ys):
        length, height, noise = self.np.exp(2 * logs)
        alike = height * self.np.exp((xs[:, None] - xs) ** 2 / (-2 * length))
        l = self.np.linalg.cholesky(alike + noise * self.np.eye(len(xs)))  # noqa: E741
        fit = self.solve_triangular(l, ys)
        return 0.5 * self.np.sum(fit**2) + self.np.sum(self.np.log(self.np.diagonal(l)))

    def chained(self, x):
        before, after = x[:-1], x[1:]
        return self.np.sum(100 * (after - before * before) ** 2 + (1 - before) ** 2)

    def rotations(self, angles, m):
        """Each rotation is a constant plus cos and sin of its angle times constants."""
        c, s = self.np.cos(angles), self.np.sin(angles)
        one, zero = self.np.ones_like(c[0]), self.np.zeros_like(c[0])
        product = None
        for i in range(10):
            entries = {
                0: [one, zero, zero, zero, c[i], -s[i], zero, s[i], c[i]],
                1: [c[i], zero, s[i], zero, one, zero, -s[i], zero, c[i]],
                2: [c[i], -s[i], zero, s[i], c[i], zero, zero, zero, one],
            }[i % 3]
            rotation = self.stack(entries).reshape(3, 3)
            product = rotation if product is None else product @ rotation
        return self.np.sum(m * product)


def callables(functions, gradient, jvp):
    """By procedure: what is to be compiled, on the operands. `gradient` is by the first operand."""

    def over(f):
        return lambda *operands: gradient(f)(*operands)

    return {
        "total": functions.total,
        "rotations": functions.rotations,
        "rotations-gradient": over(functions.rotations),
        "log-sum": functions.log_sum,
        "log-sum-gradient": over(functions.log_sum),
        "ratios-gradient": over(functions.ratios),
        "logistic-gradient": over(functions.logistic),
        "network-gradient": lambda a, b, c, d, x, t: gradient(functions.network)((a, b, c, d), x, t),
        "solve-gradient": over(functions.solve),
        "process-gradient": over(functions.process),
        "hessian-times": lambda x, v: jvp(gradient(functions.chained), (x,), (v,))[1],
    }


def peer_jax():
    jax = jax64()
    np, nn = jax.numpy, jax.nn
    functions = Functions(
        np,
        nn.softplus,
        nn.relu,
        nn.log_softmax,
        nn.logsumexp,
        np.stack,
        lambda l, b: jax.scipy.linalg.solve_triangular(l, b, lower=True),
    )
    made = {name: jax.jit(f) for name, f in callables(functions, jax.grad, jax.jvp).items()}

    def make(procedure, arrays):
        f, operands = made[procedure], [jax.numpy.asarray(array) for array in arrays]
        return lambda: jax.block_until_ready(f(*operands))

    serve(make)


def torch_functions():
    torch = torch64()
    of = torch.nn.functional
    return torch, Functions(
        torch,
        of.softplus,
        torch.relu,
        lambda x: torch.log_softmax(x, 1),
        lambda x: torch.logsumexp(x, 0),
        torch.stack,
        lambda l, b: torch.linalg.solve_triangular(l, b[:, None], upper=False)[:, 0],
    )


def peer_torch():
    """The tape of torch.autograd, which costs less than torch.func."""
    torch, functions = torch_functions()
    losses = {
        "rotations": functions.rotations,
        "log-sum": functions.log_sum,
        "ratios": functions.ratios,
        "logistic": functions.logistic,
        "network": lambda a, b, c, d, x, t: functions.network((a, b, c, d), x, t),
        "solve": functions.solve,
        "process": functions.process,
    }

    def hessian_times(x, v):
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(functions.chained(x), x, create_graph=True)
        return torch.autograd.grad(slope, x, v)[0]

    def make(procedure, arrays):
        operands = [torch.tensor(array) for array in arrays]
        if procedure == "hessian-times":
            return lambda: hessian_times(*operands)
        if not procedure.endswith("-gradient"):
            value = losses.get(procedure, functions.total)
            return lambda: value(*operands)
        loss = losses[procedure.removesuffix("-gradient")]
        by = operands[:4] if procedure.startswith("network") else operands[:1]
        for operand in by:
            operand.requires_grad_()
        return lambda: torch.autograd.grad(loss(*operands), by)

    serve(make, lambda value: [part.numpy() for part in value] if isinstance(value, tuple) else value.numpy())


def peer_torch_compile():
    torch, functions = torch_functions()
    made = callables(functions, torch.func.grad, torch.func.jvp)

    def make(procedure, arrays):
        torch._dynamo.reset()
        f = torch.compile(made[procedure], fullgraph=True, dynamic=False)
        operands = [torch.tensor(array) for array in arrays]
        return lambda: f(*operands)

    serve(make, lambda value: [part.numpy() for part in value] if isinstance(value, tuple) else value.numpy())


def peer_numpy():
    """Gradients by hand."""

    def log_sum(x):
        most = x.max()
        return most + onp.log(onp.exp(x - most).sum())

    def log_sum_gradient(x):
        e = onp.exp(x - x.max())
        return e / e.sum()

    def ratios_gradient(x, y):
        below = 1 + x * x + y * y
        return (y - 2 * x * (x * y) / below) / below

    def logistic_gradient(w, x, y):
        return (-y / (1 + onp.exp(y * (x @ w)))) @ x / len(y)

    def network_gradient(a, b, c, d, x, classes):
        h = onp.maximum(x @ a + b, 0)
        z = h @ c + d
        e = onp.exp(z - z.max(1, keepdims=True))
        dz = (e / e.sum(1, keepdims=True) - classes) / len(x)
        dh = (dz @ c.T) * (h > 0)
        return x.T @ dh, dh.sum(0), h.T @ dz, dz.sum(0)

    def hessian_times(x, v):
        before, after, dv = x[:-1], x[1:], v[:-1]
        bend = -2 * before * dv + v[1:]
        found = onp.zeros_like(x)
        found[1:] = 200 * bend
        found[:-1] += -400 * (bend * before + (after - before * before) * dv) + 2 * dv
        return found

    def solve_gradient(a, b):
        x = onp.linalg.solve(a, b)
        return -onp.outer(onp.linalg.solve(a.T, 2 * x), x)

    def process_gradient(logs, xs, ys):
        length, height, noise = onp.exp(2 * logs)
        apart, unit = (xs[:, None] - xs) ** 2, onp.eye(len(xs))
        alike = height * onp.exp(apart / (-2 * length))
        inverse = onp.linalg.inv(alike + noise * unit)
        weights = inverse @ ys
        slope = inverse - onp.outer(weights, weights)  # of twice the loss
        return onp.array(
            [(slope * alike * apart).sum() / (2 * length), (slope * alike).sum(), noise * onp.trace(slope)]
        )

    made = {
        "total": onp.sum,
        "solve-gradient": solve_gradient,
        "process-gradient": process_gradient,
        "log-sum": log_sum,
        "log-sum-gradient": log_sum_gradient,
        "ratios-gradient": ratios_gradient,
        "logistic-gradient": logistic_gradient,
        "network-gradient": network_gradient,
        "hessian-times": hessian_times,
    }

    def make(procedure, arrays):
        f = made.get(procedure)
        return f and (lambda: f(*arrays))

    serve(make)


if __name__ == "__main__":
    {"numpy": peer_numpy, "jax": peer_jax, "torch": peer_torch, "torch-compile": peer_torch_compile}[
        sys.argv[1]
    ]()
