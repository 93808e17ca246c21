"""W3: XOR 2-2-1 network, 10^5 plain gradient steps per call (seconds per 10^5)."""

from common import bench, jax64, main, torch64

W0 = [0, -0.284227, 1.16054, 0, 0.617194, 1.30467, 0, -0.084395, 0.648461]
A, B, T = [0.0, 0, 1, 1], [0.0, 1, 0, 1], [0.0, 1, 1, 0]
STEPS = 100000


def error(np, w, a, b, t):
    """Batched over the four patterns; np is any array namespace with exp."""
    sig = lambda x: 1 / (1 + np.exp(-x))
    h, i = sig(w[0] + w[1] * a + w[2] * b), sig(w[3] + w[4] * a + w[5] * b)
    return 0.5 * ((sig(w[6] + w[7] * h + w[8] * i) - t) ** 2).sum()


def peer_jax():
    jax = jax64()
    jnp = jax.numpy
    a, b, t, w0 = map(jnp.array, (A, B, T, W0))
    e = lambda w: error(jnp, w, a, b, t)
    f = jax.jit(lambda w: e(jax.lax.fori_loop(0, STEPS, lambda _, w: w - 0.3 * jax.grad(e)(w), w)))
    bench("W3", "jax", "fori_loop in jit", lambda: f(w0).block_until_ready())


def peer_jax_loop():
    jax = jax64()
    jnp = jax.numpy
    a, b, t, w0 = map(jnp.array, (A, B, T, W0))
    e = lambda w: error(jnp, w, a, b, t)
    step, ej, n = jax.jit(lambda w: w - 0.3 * jax.grad(e)(w)), jax.jit(e), 1000

    def run():
        w = w0
        for _ in range(n):
            w = step(w)
        return ej(w).block_until_ready()

    bench("W3", "jax", "jitted step, python loop (1000, scaled)", run, scale=STEPS / n)


def peer_autograd():
    import autograd.numpy as np
    from autograd import grad

    a, b, t, w0 = map(np.array, (A, B, T, W0))
    e = lambda w: error(np, w, a, b, t)
    g, n = grad(e), 300

    def run():
        w = w0
        for _ in range(n):
            w = w - 0.3 * g(w)
        return e(w)

    bench("W3", "autograd", "300 steps, scaled", run, scale=STEPS / n)


def peer_torch(compiled=False):
    torch = torch64()
    a, b, t = map(torch.tensor, (A, B, T))

    def e(w):
        return error(torch, w, a, b, t)

    n = 300
    name = "300 steps, scaled"
    if compiled:
        e, name = torch.compile(e), "torch.compile, 300 steps, scaled"

    def run():
        w = torch.tensor(W0)
        for _ in range(n):
            w = w.detach().requires_grad_()
            w = w - 0.3 * torch.autograd.grad(e(w), w)[0]
        return e(w.detach())

    bench("W3", "torch", name, run, scale=STEPS / n)


def peer_torch_compile():
    peer_torch(True)


def peer_casadi():
    import casadi as ca

    w = ca.SX.sym("w", 9)
    sig = lambda x: 1 / (1 + ca.exp(-x))
    e = 0
    for a, b, t in zip(A, B, T):
        h, i = sig(w[0] + w[1] * a + w[2] * b), sig(w[3] + w[4] * a + w[5] * b)
        e += 0.5 * (sig(w[6] + w[7] * h + w[8] * i) - t) ** 2
    val = ca.Function("val", [w], [e])
    opts = dict(jit=True, compiler="shell", jit_options=dict(flags="-O3 -march=native", verbose=False))
    for name, o in (("SX virtual machine, fold", {}), ("SX to C by gcc, fold", opts)):
        step = ca.Function("step", [w], [w - 0.3 * ca.gradient(e, w)], o)
        many = step.fold(STEPS)
        bench("W3", "casadi", name, lambda: val(many(W0)))


if __name__ == "__main__":
    main(globals())
