"""W2: minimax saddle, FF and RR; one call = one saddle point."""

from common import bench, jax64, main, torch64
from descent import argmin, argmin_jax

CHECK = lambda r: float(r[0][0] + 3 * r[0][1] + 5 * r[1][0] + 7 * r[1][1])


def run_jax(outer, bound, w, case):
    jax = jax64()
    jnp = jax.numpy
    start = jnp.array([1.0, 1.0])
    f = lambda a, b: jnp.sum(a * a) - jnp.sum(b * b)
    fwd = lambda h: lambda x: (h(x), jax.jacfwd(h)(x))
    vg = fwd if outer == "F" else jax.value_and_grad

    def best_b(a, bound):
        return argmin_jax(vg(lambda b: 0 - f(a, b)), start, bound)

    def run():
        a = argmin_jax(vg(lambda a: f(a, best_b(a, bound))), start)
        return a, best_b(a, None)

    g = jax.jit(run)
    bench(w, "jax", case, lambda: jax.block_until_ready(g()), check=CHECK)


def peer_jax():
    run_jax("F", None, "W2-FF", "FF while_loop")
    run_jax("R", 256, "W2-RR", "RR scan, bound 256")


def peer_autograd():
    import autograd.numpy as np
    from autograd import grad

    start = np.array([1.0, 1.0])
    norm = lambda v: np.sqrt(np.sum(v * v))
    f = lambda a, b: np.sum(a * a) - np.sum(b * b)

    def best_b(a):
        h = lambda b: 0 - f(a, b)
        return argmin(h, grad(h), start, norm)

    def run():
        h = lambda a: f(a, best_b(a))
        a = argmin(h, grad(h), start, norm)
        return a, best_b(a)

    bench("W2-RR", "autograd", "RR", run, check=CHECK)


def peer_torch():
    torch = torch64()
    start = torch.tensor([1.0, 1.0])
    norm = lambda v: v.detach().norm()
    f = lambda a, b: a.square().sum() - b.square().sum()

    def best_b(a, create):
        h = lambda b: 0 - f(a, b)

        def g(b):
            b = b if b.requires_grad else b.detach().requires_grad_()
            return torch.autograd.grad(h(b), b, create_graph=create)[0]

        return argmin(h, g, start, norm)

    def run():
        h = lambda a: f(a, best_b(a.detach(), False)).detach()

        def g(a):
            a = a.detach().requires_grad_()
            return torch.autograd.grad(f(a, best_b(a, True)), a)[0]

        a = argmin(h, g, start, norm)
        return a, best_b(a.detach(), False)

    bench("W2-RR", "torch", "RR eager", run, check=CHECK)


if __name__ == "__main__":
    main(globals())
