"""The public functions of derivatives, `vlad.vmap` and `vlad.compile`, which take plain Python functions, too.

In: procedures, or Python functions.  Out: python/derivatives.py, python/batches.py and python/compiling.py do the work. A
function that is written in Python is translated as `vlad.function` does it, once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vlad.data.errors import WrongOption
from vlad.python import derivatives
from vlad.python.batches import vmap
from vlad.python.compiling import compile
from vlad.python.convert import Procedure
from vlad.python.derivatives import Which, grad, hessian, hvp, jacobian, jvp, session_procedure, vjp
from vlad.session.default import function

__all__ = ["compile", "grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp", "vmap"]

derivatives.translated = function


def value_and_grad(
    f: Procedure,
    argnums: Which = None,
    *,
    has_aux: bool = False,
    data: Any = None,
    reduce: str | None = None,
    executor: Any = None,
    chunks: int = 32,
    progress: Callable[[int, int], object] | None = None,
) -> Any:
    """As `grad`, but returns the pair of the value and the gradient, at the cost of the gradient.

    With `data` f is a loss of parameters and of rows of the data: an array or list, or a tuple of equally long ones, which become
    its last arguments. The result is a function of the parameters: it splits the data into `chunks` parts, calls f for
    each, and adds up values and gradients: `reduce="sum"` if f is a sum over the rows, `reduce="mean"` if it is their
    mean. An `executor`, as in `vlad.map`, computes the parts elsewhere; they are added in the same order, so that value and
    gradient have the same bits for any number of workers. The gradient is by the parameters, or those that `argnums` selects.
    `progress` is called with the number of parts that are ready, and of all. Raises VladError as `grad`, and if the data do not
    fit. With `has_aux`, which is not for `data`, f returns a pair of a real and of anything else: that pair is the value.
    """
    if data is None:
        return derivatives.value_and_grad(f, argnums, has_aux)
    if has_aux:
        hint = "call it once more on the data for the rest"
        raise WrongOption(
            "invalid-argument", "A sum over data is of losses alone, without has_aux", hint=hint
        )
    from vlad.session.parallel import OverData  # pools of processes take 20 ms to import

    return OverData(session_procedure(f), argnums, data, reduce, executor, chunks, progress)
