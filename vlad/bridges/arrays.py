"""Shared by the bridges to PyTorch and JAX: a procedure on arrays, and its backpropagator as another such procedure.

In: a session's procedure.  Out: functions from arrays to tuples of arrays. The pullback of a procedure is a procedure of the
language, too, so it has a pullback itself: derivatives through a bridge are of any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from vlad.data.errors import MissingPackage
from vlad.python.convert import Procedure, from_python, to_python
from vlad.python.structures import parts_of, tuple_of


def missing(library: str, package: str, what: str) -> MissingPackage:
    """The error that a required library is missing."""
    return MissingPackage(
        "missing-package", f"{what} needs {library}, which is not installed", hint=f"pip install {package}"
    )


class Bridged:
    """A procedure that returns a tuple of `outputs` reals and tensors."""

    def __init__(self, procedure: Procedure, outputs: int = 1) -> None:
        self.procedure = procedure
        self.outputs = outputs

    def __call__(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Map NumPy arrays to NumPy arrays; reals are arrays of rank 0."""
        arguments = [float(array) if array.ndim == 0 else array for array in map(numpy.asarray, arrays)]
        apply = self.procedure._apply
        result = apply(self.procedure.value, tuple_of([from_python(argument) for argument in arguments]))
        return tuple([numpy.asarray(to_python(part, apply)) for part in parts_of(result, self.outputs)])

    def pullback(self, inputs: int) -> Bridged:
        """A procedure from the sensitivities of the outputs, followed by `inputs` inputs, to the sensitivities of the inputs."""
        s = [f"s{index}" for index in range(self.outputs)]
        x = [f"x{index}" for index in range(inputs)]
        text = f"(lambda (f) (lambda ({' '.join([*s, *x])}) ((cdr (vjp f {_tuple(x)})) {_tuple(s)})))"
        return Bridged(self.procedure.session.eval(text)(self.procedure), inputs)


def _tuple(names: list[str]) -> str:
    text = names[-1]
    for name in reversed(names[:-1]):
        text = f"(cons {name} {text})"
    return text
