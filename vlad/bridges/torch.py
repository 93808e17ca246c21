"""A procedure of a session as a function of PyTorch: `vlad.to_torch`.

In: a procedure on tensors of reals.  Out: a function on tensors of PyTorch that supports its automatic differentiation, in
reverse mode, to any order. It runs on the CPU; arguments are passed without a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vlad.bridges.arrays import Bridged, missing
from vlad.python.convert import Procedure
from vlad.python.derivatives import session_procedure


def to_torch(f: Procedure) -> Callable[..., Any]:
    """Convert a procedure to a function of tensors that returns one: of shape () if `f` returns a real. The result has the first
    argument's dtype and device. Raises VladError if `f` is no procedure of a session, and MissingPackage, which is an
    ImportError, if PyTorch is missing.
    """
    session_procedure(f, "made a function of PyTorch")
    try:
        import torch
    except ImportError as error:
        raise missing("PyTorch", "torch", "vlad.to_torch") from error

    def applied(bridged: Bridged, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
        class Applied(torch.autograd.Function):
            @staticmethod
            def forward(context: Any, *inputs: Any) -> Any:
                context.save_for_backward(*inputs)
                results = bridged([one.detach().cpu().numpy() for one in inputs])
                kind = {"dtype": inputs[0].dtype, "device": inputs[0].device}
                return tuple([torch.tensor(result, **kind) for result in results])

            @staticmethod
            def backward(context: Any, *sensitivities: Any) -> Any:
                inputs = context.saved_tensors
                return applied(bridged.pullback(len(inputs)), (*sensitivities, *inputs))

        results: tuple[Any, ...] = Applied.apply(*tensors)
        return results

    return lambda *tensors: applied(Bridged(f), tensors)[0]
