"""W1: particle, FF and RR; one call = one argmin (84 simulations, 29651 Euler steps)."""

from common import bench, jax64, main, torch64
from descent import argmin, argmin_jax

DT = 1e-1


def run_jax(inner, outer, bound, case, w):
    jax = jax64()
    jnp = jax.numpy
    lax = jax.lax
    op = dict(F=jax.jacfwd, R=jax.grad)[inner]

    def euler(w):
        charges = jnp.array([[10.0, 0.0], [10.0, 0.0]]).at[0, 1].set(10 - w)
        p = lambda x: jnp.sum(1 / jnp.sqrt(jnp.sum((charges - x) ** 2, axis=1)))
        g = op(p)

        def body(s):
            x, v = s
            return x + DT * v, v - DT * g(x)

        flying = lambda s: s[0][1] + DT * s[1][1] > 0
        s = (jnp.array([0.0, 8.0]), jnp.array([0.75, 0.0]))
        if bound is None:
            x, v = lax.while_loop(flying, body, s)
        else:

            def masked(s, _):  # where, not cond: half the time
                on = flying(s)
                return jax.tree.map(lambda a, b: jnp.where(on, a, b), body(s), s), None

            x, v = lax.scan(masked, s, None, length=bound, unroll=4)[0]
        return (x[0] - x[1] / v[1] * v[0]) ** 2

    fg = (lambda w: jax.jvp(euler, (w,), (1.0,))) if outer == "F" else jax.value_and_grad(euler)
    f = jax.jit(lambda w: argmin_jax(fg, w))
    bench(w, "jax", case, lambda: f(0.0).block_until_ready())


def peer_jax():
    run_jax("F", "F", None, "FF while_loop", "W1-FF")
    run_jax("R", "F", None, "FR while_loop", "W1-FF")
    run_jax("R", "R", 400, "RR masked scan, bound 400", "W1-RR")


def eager(euler, grad, norm, w, peer, case, x0, check=float):
    bench(w, peer, case, lambda: argmin(euler, grad, x0, norm), check=check)


def peer_autograd():
    import autograd.numpy as np
    from autograd import grad

    def euler(w):
        c = np.array([[10.0, 10.0 - w], [10.0, 0.0]])
        p = lambda x: np.sum(1 / np.sqrt(np.sum((c - x) ** 2, axis=1)))
        g = grad(p)
        x, v = np.array([0.0, 8.0]), np.array([0.75, 0.0])
        while True:
            a = -g(x)
            n = x + DT * v
            if not n[1] > 0:
                return (x[0] - x[1] / v[1] * v[0]) ** 2
            x, v = n, v + DT * a

    eager(euler, grad(euler), abs, "W1-RR", "autograd", "RR", 0.0)


def peer_torch():
    torch = torch64()

    def simulate(w, create):
        c = torch.stack([torch.stack([torch.tensor(10.0), 10.0 - w]), torch.tensor([10.0, 0.0])])
        x, v = torch.tensor([0.0, 8.0]), torch.tensor([0.75, 0.0])
        while True:
            with torch.enable_grad():
                z = x if x.requires_grad else x.detach().requires_grad_()
                (a,) = torch.autograd.grad((1 / (c - z).square().sum(1).sqrt()).sum(), z, create_graph=create)
            n = x + DT * v
            if not n[1] > 0:
                return (x[0] - x[1] / v[1] * v[0]) ** 2
            x, v = n, v - DT * a

    def grad(w):
        w = w.detach().requires_grad_()
        return torch.autograd.grad(simulate(w, True), w)[0]

    eager(lambda w: simulate(w, False), grad, abs, "W1-RR", "torch", "RR eager", torch.tensor(0.0))


if __name__ == "__main__":
    main(globals())
