"""W5: d/dx sin(cos x), called from Python: this is also the call overhead of a peer.
W6: x^n by a loop.  W11: gradient of a 10^6-step logistic-growth loop in (x0, a)."""

from common import bench, jax64, main, torch64

H, STEPS = 1e-6, 1000000


def power(x, n):
    r = 1.0
    for _ in range(n):
        r = r * x
    return r


def grow(x, a, n):
    for _ in range(n):
        x = x + H * a * x * (1 - x)
    return x


def peer_jax():
    jax = jax64()
    jnp = jax.numpy
    lax = jax.lax
    g = jax.jit(jax.grad(lambda x: jnp.sin(jnp.cos(x))))
    x = jnp.asarray(0.8)
    bench("W5", "jax", "jit, device array in", lambda: g(x).block_until_ready())
    bench("W5", "jax", "jit, float in, float out", lambda: float(g(0.8)))
    bench("W5", "jax", "eager grad", lambda: jax.grad(lambda x: jnp.sin(jnp.cos(x)))(0.8))
    for n in (10, 1000):
        g = jax.jit(jax.grad(lambda x: lax.fori_loop(0, n, lambda _, r: r * x, 1.0)))
        bench(f"W6-{n}", "jax", "reverse of fori_loop", lambda: g(1.0001).block_until_ready())
        f = jax.jit(
            lambda x: jax.jvp(lambda x: lax.fori_loop(0, n, lambda _, r: r * x, 1.0), (x,), (1.0,))[1]
        )
        bench(f"W6-{n}", "jax", "forward of fori_loop", lambda: f(1.0001).block_until_ready())
    for n in (10, 300):
        g = jax.jit(jax.grad(lambda x: power(x, n)))
        bench(f"W6-{n}", "jax", "python loop, unrolled by tracing", lambda: g(1.0001).block_until_ready())
    half = lambda x, y: 0.5 * (y + x / y)

    def newton(x):
        start = (jnp.ones_like(x), half(x, jnp.ones_like(x)))
        turn = lambda yz: (yz[1], half(x, yz[1]))
        return lax.while_loop(lambda yz: jnp.abs(yz[1] - yz[0]) >= 1e-15, turn, start)[1]

    order = newton
    for n in range(5):
        g = jax.jit(order)
        bench(f"newton-{n}", "jax", "forward of while_loop", lambda: g(2.0).block_until_ready())
        order = jax.jacfwd(order)
    step = lambda a: lambda x, _: (x + H * a * x * (1 - x), None)
    f = lambda x, a: lax.scan(step(a), x, None, length=STEPS)[0]
    g = jax.jit(jax.grad(f, (0, 1)))
    bench("W11", "jax", "scan", lambda: jax.block_until_ready(g(0.1, 2.0)), check=lambda r: r[1])
    inner = lambda a: jax.checkpoint(lambda x, _: (lax.scan(step(a), x, None, length=1000)[0], None))
    f2 = lambda x, a: lax.scan(inner(a), x, None, length=STEPS // 1000)[0]
    g2 = jax.jit(jax.grad(f2, (0, 1)))
    bench(
        "W11",
        "jax",
        "scan of checkpointed scans",
        lambda: jax.block_until_ready(g2(0.1, 2.0)),
        check=lambda r: r[1],
    )


def peer_torch():
    torch = torch64()

    def grad(f, *xs):
        xs = [torch.tensor(x, requires_grad=True) for x in xs]
        return torch.autograd.grad(f(*xs), xs)

    bench("W5", "torch", "eager", lambda: float(grad(lambda x: x.cos().sin(), 0.8)[0]))
    for n in (10, 1000):
        bench(f"W6-{n}", "torch", "eager", lambda: grad(lambda x: power(x, n), 1.0001)[0])
    for n in (10000, 100000):
        bench(
            "W11",
            "torch",
            f"eager, {n} steps scaled",
            lambda: grad(lambda x, a: grow(x, a, n), 0.1, 2.0)[1],
            scale=STEPS / n,
            least=2,
        )


def peer_torch_compile():
    torch = torch64()
    f = torch.compile(lambda x: x.cos().sin())

    def g():
        x = torch.tensor(0.8, requires_grad=True)
        return torch.autograd.grad(f(x), x)[0]

    bench("W5", "torch", "torch.compile", g)


def peer_autograd():
    import autograd.numpy as np
    from autograd import grad

    g = grad(lambda x: np.sin(np.cos(x)))
    bench("W5", "autograd", "grad", lambda: g(0.8))
    for n in (10, 1000):
        g = grad(lambda x: power(x, n))
        bench(f"W6-{n}", "autograd", "grad", lambda: g(1.0001))
    for n in (10000, 100000):
        g = grad(lambda a: grow(0.1, a, n))
        bench("W11", "autograd", f"{n} steps scaled", lambda: g(2.0), scale=STEPS / n, least=2)


def peer_casadi():
    import casadi as ca

    x, a = ca.SX.sym("x"), ca.SX.sym("a")
    g = ca.Function("g", [x], [ca.gradient(ca.sin(ca.cos(x)), x)])
    bench("W5", "casadi", "SX function called", lambda: float(g(0.8)))
    for n in (10, 1000):
        g = ca.Function("g", [x], [ca.gradient(power(x, n), x)])
        bench(f"W6-{n}", "casadi", "SX, unrolled", lambda: float(g(1.0001)))
    step = ca.Function("s", [x, a], [x + H * a * x * (1 - x)])
    acc = step.fold(STEPS)
    X, Am = ca.MX.sym("x"), ca.MX.sym("a")
    many = acc(X, ca.repmat(Am, 1, STEPS))
    g = ca.Function("g", [X, Am], [ca.gradient(many, X), ca.gradient(many, Am)])
    bench("W11", "casadi", "fold of an SX step", lambda: g(0.1, 2.0), check=lambda r: r[1], least=2)


if __name__ == "__main__":
    main(globals())
