"""STALINGRAD's line search (argmin by gradient descent, the step doubling after ten
successes and halving after a failure) for eager peers and for JAX."""


def argmin(f, g, x, norm):
    fx, gx, eta, i = f(x), g(x), 1e-5, 0
    while True:
        if norm(gx) <= 1e-5:
            return x
        if i == 10:
            eta, i = 2 * eta, 0
            continue
        y = x - eta * gx
        if norm(y - x) <= 1e-5:
            return x
        fy = f(y)
        if fy < fx:
            x, fx, gx, i = y, fy, g(y), i + 1
        else:
            eta, i = eta / 2, 0


def argmin_jax(fg, x, bound=None):
    """fg gives (value, gradient).  bound=None: while_loop (forward mode only);
    an integer: a scan of that many masked steps, which reverse mode can cross."""
    import jax.numpy as jnp
    from jax import lax

    norm = lambda v: jnp.sqrt(jnp.sum(jnp.where(v == 0, 1e-300, v * v)))

    def step(s):
        x, fx, gx, eta, i, done = s
        eta, i = jnp.where(i == 10, 2 * eta, eta), jnp.where(i == 10, 0, i)
        y = x - eta * gx
        done = (norm(gx) <= 1e-5) | (norm(y - x) <= 1e-5)
        fy, gy = fg(y)
        ok = fy < fx
        pick = lambda a, b: jnp.where(done, b, jnp.where(ok, a, b))
        return (
            pick(y, x),
            pick(fy, fx),
            pick(gy, gx),
            jnp.where(ok, eta, eta / 2),
            jnp.where(ok, i + 1, 0),
            done,
        )

    s = (x, *fg(x), jnp.asarray(1e-5), jnp.asarray(0), jnp.asarray(False))
    if bound is None:
        return lax.while_loop(lambda s: ~s[5], step, s)[0]
    masked = lambda s, _: (lax.cond(s[5], lambda s: s, step, s), None)
    return lax.scan(masked, s, None, length=bound)[0][0]
