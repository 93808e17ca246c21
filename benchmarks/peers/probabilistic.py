"""W4: gradient ascent (1000 steps) through an evaluator for a probabilistic lambda
calculus; the evaluator below is generic in the number type, so JAX traces it away
while autograd and torch run it at every step.  A distribution is a list of
(probability, environment, value)."""

from common import bench, jax64, main, torch64


def merge(e1, e2):
    out = dict(e2)
    for k, v in e1.items():
        if out.setdefault(k, v) != v:
            return None
    return out


def bind(f, dist):
    out = []
    for p, e, v in dist:
        for q, e2, u in f(v):
            m = merge(e, e2)
            if m is not None:
                out.append((p * q, m, u))
    total = sum(p for p, _, _ in out)
    return [(p / total, e, v) for p, e, v in out]


def unit(v):
    return [(1.0, {}, v)]


def evaluate(x, env):
    kind, *rest = x
    if kind == "const":
        return unit(rest[0])
    if kind == "var":
        return env[rest[0]]
    if kind == "lambda":
        return unit(lambda d: evaluate(rest[1], {**env, rest[0]: d}))
    arg = evaluate(rest[1], env)
    return bind(lambda v: v(arg), evaluate(rest[0], env))


def cond(a, b, c):
    thunk = lambda t: ("lambda", "_", t)
    return ("app", ("app", ("app", ("var", "if"), a), thunk(b)), thunk(c))


IF = unit(
    lambda x: unit(
        lambda y: unit(
            lambda z: bind(lambda a: bind(lambda b: bind(lambda c: (b if a else c)(unit(False)), z), y), x)
        )
    )
)


def likelihood(p, q):
    flip = lambda p, name: [(1 - p, {name: False}, False), (p, {name: True}, True)]
    d = evaluate(
        cond(("var", "x0"), ("const", 0), cond(("var", "x1"), ("const", 1), ("const", 2))),
        {"x0": flip(p, "x0"), "x1": flip(q, "x1"), "if": IF},
    )
    r = 1.0
    for o in (0, 1, 2, 2):
        r = r * sum(p for p, _, v in d if v == o and v is not False)
    return r


N = 1000


def peer_jax():
    jax = jax64()
    jnp = jax.numpy
    g = jax.grad(lambda w: likelihood(w[0], w[1]))
    f = jax.jit(lambda w: jax.lax.fori_loop(0, N, lambda _, w: w + 0.1 * g(w), w))
    w0 = jnp.array([0.5, 0.5])
    bench(
        "W4",
        "jax",
        "traced away, fori_loop",
        lambda: f(w0).block_until_ready(),
        check=lambda r: r[0] + 2 * r[1],
    )


def ascend(g, w0, n, zero=None):
    w = w0
    for _ in range(n):
        w = w + 0.1 * g(w)
    return w


def peer_autograd():
    import autograd.numpy as np
    from autograd import grad

    g, n = grad(lambda w: likelihood(w[0], w[1])), 20
    bench(
        "W4",
        "autograd",
        "20 steps, scaled",
        lambda: ascend(g, np.array([0.5, 0.5]), n),
        scale=N / n,
        check=lambda r: r[0] + 2 * r[1],
    )


def peer_torch():
    torch = torch64()
    n = 20

    def g(w):
        w = w.detach().requires_grad_()
        return torch.autograd.grad(likelihood(w[0], w[1]), w)[0]

    bench(
        "W4",
        "torch",
        "20 steps, scaled",
        lambda: ascend(g, torch.tensor([0.5, 0.5]), n),
        scale=N / n,
        check=lambda r: r[0] + 2 * r[1],
    )


def peer_casadi():
    import casadi as ca

    w = ca.SX.sym("w", 2)
    step = ca.Function("step", [w], [w + 0.1 * ca.gradient(likelihood(w[0], w[1]), w)])
    many = step.fold(N)
    bench(
        "W4", "casadi", "SX virtual machine, fold", lambda: many([0.5, 0.5]), check=lambda r: r[0] + 2 * r[1]
    )


if __name__ == "__main__":
    main(globals())
