"""The functions of benchmarks/batch.py in JAX and PyTorch, for peers/batch.py, and on a GPU for gpu.py: by row, from arrays of all
rows of the batch to a sequence of arrays. PyTorch has no saddle points: a search in a search, all rows at once by `jvp`, did not end
within 15 minutes.
"""

import math

from descent import argmin_jax

STEPS = 1000


def of_jax(jax):
    jnp = jax.numpy
    from jax import grad, jit, lax, vmap

    def rosenbrock(x):
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def price(s, v, k, t):
        w = v * jnp.sqrt(t)
        d = (jnp.log(s / k) + 0.5 * w * w) / w
        return s * 0.5 * jax.scipy.special.erfc(-d / math.sqrt(2)) - k * 0.5 * jax.scipy.special.erfc((w - d) / math.sqrt(2))

    def option(s, v, k, t):
        return price(s, v, k, t), grad(grad(price))(s, v, k, t), grad(grad(price), 1)(s, v, k, t), grad(grad(price, 1), 1)(s, v, k, t)

    def root(m, e):
        def step(x):
            return (x - e * jnp.sin(x) - m) / (1 - e * jnp.cos(x))

        x = lax.while_loop(lambda x: jnp.abs(step(x)) >= 1e-10, lambda x: x - step(x), m)
        f = lambda x, m: x - e * jnp.sin(x) - m  # noqa: E731
        return x, -grad(f, 1)(x, m) / grad(f)(x, m)

    def misfit(k, d, start, target):
        def step(i, state):
            angle, speed = state
            speed = speed + 0.01 * (-(k * jnp.sin(angle)) - d * speed)
            return angle + 0.01 * speed, speed

        return (lax.fori_loop(0, STEPS, step, (start, 0.0))[0] - target) ** 2

    def loss(w1, b1, w2, b2, x, label):
        out = b2 + w2 @ jnp.tanh(b1 + w1 @ x)
        return jax.scipy.special.logsumexp(out) - out[label.astype(int)]

    def saddle(start):  # forward mode: JAX has no reverse mode of loops whose length depends on data
        start = jnp.stack([start, start])
        payoff = lambda a, b: jnp.sum(a * a) - jnp.sum(b * b)  # noqa: E731
        forward = lambda h: lambda x: (h(x), jax.jacfwd(h)(x))  # noqa: E731
        best = lambda a: argmin_jax(forward(lambda b: 0 - payoff(a, b)), start)  # noqa: E731
        a = argmin_jax(forward(lambda a: payoff(a, best(a))), start)
        b = best(a)
        return (a[0] + 3 * a[1] + 5 * b[0] + 7 * b[1],)

    samples = vmap(grad(loss, (0, 1, 2, 3)), (None, None, None, None, 0, 0))
    functions = {
        "rosenbrock": jit(lambda x: (vmap(grad(rosenbrock))(x),)), "options": jit(vmap(option)), "roots": jit(vmap(root)),
        "pendulums": jit(vmap(grad(misfit, (0, 1)))), "network": jit(samples), "saddles": jit(vmap(saddle)),
    }  # fmt: skip
    return functions


def of_torch(torch):
    from torch.func import grad, vmap

    def rosenbrock(x):
        return torch.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def price(s, v, k, t):
        w = v * torch.sqrt(t)
        d = (torch.log(s / k) + 0.5 * w * w) / w
        return s * 0.5 * torch.erfc(-d / math.sqrt(2)) - k * 0.5 * torch.erfc((w - d) / math.sqrt(2))

    def option(s, v, k, t):
        return price(s, v, k, t), grad(grad(price))(s, v, k, t), grad(grad(price), 1)(s, v, k, t), grad(grad(price, 1), 1)(s, v, k, t)

    def roots(m, e):
        x = m
        while True:
            step = (x - e * torch.sin(x) - m) / (1 - e * torch.cos(x))
            if not bool((step.abs() >= 1e-10).any()):
                return x, 1 / (1 - e * torch.cos(x))
            x = torch.where(step.abs() >= 1e-10, x - step, x)

    def misfit(k, d, start, target):
        angle, speed = start, torch.zeros_like(start)
        for _ in range(STEPS):
            speed = speed + 0.01 * (-(k * torch.sin(angle)) - d * speed)
            angle = angle + 0.01 * speed
        return (angle - target) ** 2

    def loss(w1, b1, w2, b2, x, label):
        out = b2 + w2 @ torch.tanh(b1 + w1 @ x)
        return torch.logsumexp(out, 0) - (out * (torch.arange(10) == label)).sum()

    samples = vmap(grad(loss, (0, 1, 2, 3)), (None, None, None, None, 0, 0))
    functions = {
        "rosenbrock": lambda x: (vmap(grad(rosenbrock))(x),), "options": vmap(option), "roots": roots,
        "pendulums": vmap(grad(misfit, (0, 1))), "network": samples,
    }  # fmt: skip
    return functions
