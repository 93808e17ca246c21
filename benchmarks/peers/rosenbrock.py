"""W10: Hessian-vector product of the chained Rosenbrock function, n = 100, 10^4, 10^5."""

import numpy as onp
from common import bench, jax64, main, torch64

SIZES = (100, 10000, 100000)


def rosen(np, x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def data(n):
    return onp.sin(onp.arange(n, dtype=float)), onp.cos(onp.arange(n, dtype=float))


def peer_jax():
    jax = jax64()
    jnp = jax.numpy
    f = lambda x: rosen(jnp, x)
    for n in SIZES:
        x, v = map(jnp.asarray, data(n))
        fr = jax.jit(lambda x, v: jax.jvp(jax.grad(f), (x,), (v,))[1])
        rr = jax.jit(lambda x, v: jax.grad(lambda x: jnp.vdot(jax.grad(f)(x), v))(x))
        bench(
            f"W10-{n}",
            "jax",
            "forward over reverse",
            lambda: fr(x, v).block_until_ready(),
            check=lambda r: r[1],
        )
        bench(
            f"W10-{n}",
            "jax",
            "reverse over reverse",
            lambda: rr(x, v).block_until_ready(),
            check=lambda r: r[1],
        )


def peer_torch():
    torch = torch64()
    from torch.func import grad, jvp

    for n in SIZES:
        x, v = (torch.tensor(a) for a in data(n))

        def rr():
            y = x.detach().requires_grad_()
            (g,) = torch.autograd.grad(rosen(torch, y), y, create_graph=True)
            return torch.autograd.grad(g, y, v)[0]

        bench(f"W10-{n}", "torch", "reverse over reverse", rr, check=lambda r: r[1])
        bench(
            f"W10-{n}",
            "torch",
            "torch.func forward over reverse",
            lambda: jvp(grad(lambda x: rosen(torch, x)), (x,), (v,))[1],
            check=lambda r: r[1],
        )


def peer_torch_compile():
    torch = torch64()
    from torch.func import grad, jvp

    for n in SIZES:
        x, v = (torch.tensor(a) for a in data(n))
        f = torch.compile(lambda x, v: jvp(grad(lambda x: rosen(torch, x)), (x,), (v,))[1])
        bench(f"W10-{n}", "torch", "torch.compile of torch.func", lambda: f(x, v), check=lambda r: r[1])


def peer_autograd():
    import autograd.numpy as np
    from autograd import hessian_vector_product

    h = hessian_vector_product(lambda x: rosen(np, x))
    for n in SIZES:
        x, v = data(n)
        bench(f"W10-{n}", "autograd", "hessian_vector_product", lambda: h(x, v), check=lambda r: r[1])


def peer_casadi():
    import casadi as ca

    for n in SIZES:
        made, (x, v) = [], data(n)

        def hvp():  # the first call also builds the graph
            if not made:
                X, V = ca.SX.sym("x", n), ca.SX.sym("v", n)
                f = ca.sum1(100 * (X[1:] - X[:-1] ** 2) ** 2 + (1 - X[:-1]) ** 2)
                made.append(ca.Function("hvp", [X, V], [ca.jtimes(ca.gradient(f, X), X, V)]))
            return made[0](x, v)

        bench(f"W10-{n}", "casadi", "SX virtual machine", hvp, check=lambda r: r[1])


if __name__ == "__main__":
    main(globals())
