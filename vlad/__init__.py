"""vlad: a Scheme-like, pure, higher-order language in which differentiation is a first-class operator.

The public names. Each is imported on first use, so that `import vlad` costs next to nothing.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in `typing`, whose import takes 8 ms
if TYPE_CHECKING:
    from typing import Any

    from vlad.bridges.jax import to_jax
    from vlad.bridges.modules import install_importer
    from vlad.bridges.torch import to_torch
    from vlad.compile.calling.notices import NotCompiledWarning
    from vlad.data.errors import Exited, Incomplete, LimitExceeded, VladError
    from vlad.data.values import Opaque
    from vlad.debugging.debugger import Debugger
    from vlad.evaluate.limits import Limits
    from vlad.python.batches import vmap
    from vlad.python.compiling import compile
    from vlad.python.convert import Procedure
    from vlad.python.derivatives import grad, hessian, hvp, jacobian, jvp, vjp
    from vlad.python.dump import dumps
    from vlad.python.handles import Record, Table
    from vlad.python.load import loads
    from vlad.python.stating import primitive
    from vlad.python.train_log import TrainLog
    from vlad.session import random
    from vlad.session.building import build
    from vlad.session.checking import Checked, CheckedLine, check
    from vlad.session.default import function
    from vlad.session.differentiating import value_and_grad
    from vlad.session.model_export import to_onnx
    from vlad.session.models import from_onnx
    from vlad.session.own_derivatives import checkpointed, custom_derivative, stop_gradient
    from vlad.session.parallel import map
    from vlad.session.session import Session

__version__ = "0.1.0"
__all__ = [
    "Checked", "CheckedLine", "Debugger", "Exited", "Incomplete", "LimitExceeded", "Limits", "NotCompiledWarning", "Opaque",
    "Procedure", "Record", "Session", "Table", "TrainLog", "VladError", "__version__", "build", "check", "checkpointed",
    "compile", "custom_derivative", "dumps", "from_onnx", "function", "grad", "hessian", "hvp", "install_importer", "jacobian",
    "jvp", "loads", "map", "primitive", "random", "stop_gradient", "to_jax", "to_onnx", "to_torch", "value_and_grad", "vjp",
    "vmap",
]  # fmt: skip

_MODULES = {"random": "vlad.session.random"}
_HOMES = {
    "Session": "vlad.session.session",
    "Limits": "vlad.evaluate.limits",
    "VladError": "vlad.data.errors",
    "Exited": "vlad.data.errors",
    "LimitExceeded": "vlad.data.errors",
    "Incomplete": "vlad.data.errors",
    "NotCompiledWarning": "vlad.compile.calling.notices",
    "function": "vlad.session.default",
    "dumps": "vlad.python.dump",
    "loads": "vlad.python.load",
    "Opaque": "vlad.data.values",
    "Debugger": "vlad.debugging.debugger",
    "Procedure": "vlad.python.convert",
    "Record": "vlad.python.handles",
    "Table": "vlad.python.handles",
    "TrainLog": "vlad.python.train_log",
    "install_importer": "vlad.bridges.modules",
    "load_ipython_extension": "vlad.bridges.magic",  # called by `%load_ext vlad`; no public name
    "to_jax": "vlad.bridges.jax",
    "to_torch": "vlad.bridges.torch",
    "primitive": "vlad.python.stating",
    "compile": "vlad.session.differentiating",
    "build": "vlad.session.building",
    "from_onnx": "vlad.session.models",
    "to_onnx": "vlad.session.model_export",
    "map": "vlad.session.parallel",
    **dict.fromkeys(("Checked", "CheckedLine", "check"), "vlad.session.checking"),
    **dict.fromkeys(("checkpointed", "custom_derivative", "stop_gradient"), "vlad.session.own_derivatives"),
    **dict.fromkeys(
        ("grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp", "vmap"),
        "vlad.session.differentiating",
    ),
}

# Hints for names of other libraries, or of the language.
_ELSEWHERE = {
    "derivative": "vlad.grad", "gradient": "vlad.grad", "hess": "vlad.hessian", "jit": "vlad.compile", "jac": "vlad.jacobian",
    "custom_jvp": "vlad.custom_derivative", "custom_vjp": "vlad.custom_derivative", "checkpoint": "vlad.checkpointed",
    "remat": "vlad.checkpointed", "eval": "vlad.Session().eval", "load": "vlad.Session().load", "run": "vlad.Session().run",
    "jacfwd": "vlad.jacobian", "jacrev": "vlad.jacobian", "linearize": "vlad.jvp", "pmap": "vlad.map", "njit": "vlad.compile",
    "detach": "vlad.stop_gradient", "no_grad": "vlad.stop_gradient", "backward": "vlad.grad", "autograd": "vlad.grad",
    "make_jaxpr": "vlad.check", "eval_shape": "vlad.check", "custom_gradient": "vlad.custom_derivative",
}  # fmt: skip
_WAYS = {
    "loops and branches are Python's own, `for`, `while` and `if`": "lax scan fori_loop while_loop cond switch",
    "arrays and their functions are NumPy's, `import numpy as np`": "numpy np jnp array asarray arange zeros ones sin exp log",
    "a NumPy array is a tensor, whose gradient `vlad.grad(f)(x)` returns": "tensor Tensor Variable requires_grad",
    "lists, tuples and dicts are arguments and gradients as they are": "tree tree_map tree_util",
    "results are NumPy arrays, ready when a call returns": "block_until_ready device_put device_get",
    "docs/training.md has networks, optimizers and data": "nn optim optimizers",
}


def _find_neighbours() -> None:
    """In a checkout that is not installed, make the sibling folders `vlad.stdlib` and `vlad.repl`."""
    here = __path__[0]
    root = os.path.dirname(here)
    installed = os.path.isdir(os.path.join(here, "stdlib"))
    if not installed and all(os.path.isdir(os.path.join(root, name)) for name in ("stdlib", "repl")):
        __path__.append(root)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        value = globals()[name] = import_module(_MODULES[name])
        return value
    if name not in _HOMES:
        ways = [f"; {way}" for way, names in _WAYS.items() if name in names.split()]
        meant = f"; there is `{_ELSEWHERE[name]}`" if name in _ELSEWHERE else "".join(ways)
        raise AttributeError(
            f"module 'vlad' has no attribute {name!r}{meant}", name=name, obj=sys.modules[__name__]
        )
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    """The public names only: what a package imports for itself is no part of it."""
    return sorted(__all__)


def _hide_room() -> None:
    """`vlad.compile` is a function. Python binds that name to the compiler's package when it is first imported: so it is
    imported here, empty, and the name removed. `from vlad.compile.calling import …` still works.
    """
    __import__("vlad.compile")
    globals().pop("compile", None)  # it exists already if this module is imported again


_find_neighbours()
_hide_room()
