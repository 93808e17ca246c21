"""A procedure of a session as a function of JAX: `vlad.to_jax`.

In: a procedure on tensors of reals, and the shape of its result.  Out: a function on JAX's arrays, for `jit`, `grad` and so on:
JAX calls back (`jax.pure_callback`) and takes derivatives by the procedure's pullback (`jax.custom_vjp`), in reverse mode, to
any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from vlad.bridges.arrays import Bridged, missing
from vlad.python.convert import Procedure
from vlad.python.derivatives import session_procedure


def to_jax(f: Procedure, shape: tuple[int, ...] = ()) -> Callable[..., Any]:
    """Convert a procedure to a function of arrays that returns one array of shape `shape`; () for a real. The result has the
    first argument's dtype. Raises VladError if `f` is no procedure of a session, and MissingPackage, which is an ImportError, if
    JAX is missing.
    """
    session_procedure(f, "made a function of JAX")
    try:
        import jax
    except ImportError as error:
        raise missing("JAX", "jax", "vlad.to_jax") from error

    def function(*arrays: Any) -> Any:
        return _function(Bridged(f), lambda _: [shape])(*map(jax.numpy.asarray, arrays))[0]

    return function


def _function(
    bridged: Bridged, shapes: Callable[[tuple[Any, ...]], list[tuple[int, ...]]]
) -> Callable[..., Any]:
    """A bridged procedure; `shapes` computes the shapes of the results from the arguments."""
    import jax

    def applied(*arrays: Any) -> Any:
        kind = arrays[0].dtype
        results = [jax.ShapeDtypeStruct(shape, kind) for shape in shapes(arrays)]

        def call(*given: Any) -> Any:
            results = bridged([numpy.asarray(one) for one in given])
            return tuple([result.astype(kind) for result in results])

        return jax.pure_callback(call, tuple(results), *arrays, vmap_method="sequential")

    function = jax.custom_vjp(applied)

    def forward(*arrays: Any) -> Any:
        return function(*arrays), arrays

    def backward(arrays: tuple[Any, ...], sensitivities: tuple[Any, ...]) -> Any:
        pullback = _function(
            bridged.pullback(len(arrays)), lambda given: [one.shape for one in given[bridged.outputs :]]
        )
        return tuple(pullback(*sensitivities, *arrays))

    function.defvjp(forward, backward)
    result: Callable[..., Any] = function
    return result
