"""What docs/compared.md says of JAX and PyTorch: `PYTHON benchmarks/peers/claims.py`, where PYTHON has them.

Each claim is a function. Its line is the name, the system, and the result or the error's kind and first words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import torch

jax.config.update("jax_platforms", "cpu")


def loop_in_jax() -> Any:
    """Newton's method until it has converged, in reverse mode."""

    def root(a: Any) -> Any:
        return jax.lax.while_loop(lambda x: jnp.abs(x * x - a) > 1e-5, lambda x: 0.5 * (x + a / x), a)

    return jax.grad(root)(2.0)


def branch_in_jax() -> Any:
    """A branch on a number, in compiled code."""
    return jax.jit(lambda x: x if x > 0 else -x)(3.0)


def recursion_in_jax() -> Any:
    """Recursion whose depth depends on a number, in compiled code."""

    def power(x: Any, n: Any) -> Any:
        return 1.0 if n == 0 else x * power(x, n - 1)

    return jax.jit(jax.grad(power))(2.0, 3)


def whole_in_jax() -> Any:
    """The derivative at a whole number."""
    return jax.grad(lambda x: x * x * x)(2)


def digits_in_jax() -> Any:
    """How many digits there are, as it is installed."""
    return jnp.sin(1.0).dtype


def assigned_in_jax() -> Any:
    """An entry is assigned."""
    x = jnp.zeros(3)
    x[0] = 1.0
    return x


def nested_in_jax() -> Any:
    """A derivative inside another one, over variables of both."""
    return jax.grad(lambda x: x * jax.grad(lambda y: x + y)(1.0))(1.0)


def nested_in_torch() -> Any:
    x, y = (torch.tensor(1.0, requires_grad=True) for _ in range(2))
    (inner,) = torch.autograd.grad(x + y, y, create_graph=True)
    return torch.autograd.grad(x * inner, x)[0].item()


def loop_in_torch() -> Any:
    a = torch.tensor(2.0, requires_grad=True)
    x = a
    while abs(x * x - a) > 1e-5:
        x = 0.5 * (x + a / x)
    x.backward()
    return a.grad.item()


def twice_in_torch() -> Any:
    """The same tape is run back twice."""
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward()
    y.backward()
    return x.grad


def assigned_in_torch() -> Any:
    """An entry is assigned after it was used."""
    x = torch.ones(2, requires_grad=True)
    y = x * 1.0
    z = (y * y).sum()
    y[0] = 5.0
    z.backward()
    return x.grad


def reported(claim: Callable[[], Any]) -> str:
    try:
        return str(claim())
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:100]}"


if __name__ == "__main__":
    print(f"jax {jax.__version__}, torch {torch.__version__}")
    for name, claim in list(globals().items()):
        if name.endswith(("_in_jax", "_in_torch")):
            print(f"{name.replace('_', ' ')}: {reported(claim)}")
