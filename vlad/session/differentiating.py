"""The public functions of derivatives, `vlad.vmap` and `vlad.compile`, which take plain Python functions, too.

In: procedures, or Python functions.  Out: python/derivatives.py, python/batches.py and python/compiling.py do the work. A
function that is written in Python is translated as `vlad.function` does it, once.
"""

from __future__ import annotations

from vlad.python import derivatives
from vlad.python.batches import vmap
from vlad.python.compiling import compile
from vlad.python.derivatives import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp
from vlad.session.default import function

__all__ = ["compile", "grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp", "vmap"]

derivatives.translated = function
