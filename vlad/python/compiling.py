"""Compiling on demand, for Python: `vlad.compile`.

In: a procedure of a session, and examples of its arguments.  Out: the same procedure, which runs as machine code or not at all.
compile/calling/policy.py decides what can be compiled, as for all procedures; here nothing falls back.
"""

from __future__ import annotations

from typing import Any, cast

from vlad.compile.calling.policy import operands_of
from vlad.data.errors import WrongOption
from vlad.expand.arity import arguments_in, wrong_number
from vlad.python.convert import P, Procedure
from vlad.python.derivatives import session_procedure


def compile(f: P, *examples: Any, optimize: int | None = None, fast_math: bool | None = None) -> P:
    """Compile a procedure for arguments like the examples: the same structure, arrays of the same shapes and dtypes.

    f          a procedure of a session, a Python function, or a result of `vlad.grad` and the like
    examples   the arguments of one call
    optimize   optimisation level of the C compiler, 0 to 3; by default the session's
    fast_math  whether it may reorder sums and products; by default the session's

    Returns the procedure as one that always runs compiled. For arguments of other types it is compiled on the first call with
    them. Raises VladError ("not-compiled") with the reason, now or on such a call, if that is impossible; WrongOption for an
    invalid option.
    """
    f = cast("P", session_procedure(f, "compiled"))
    tiers = f.session.tiers
    if optimize not in (None, 0, 1, 2, 3):
        raise WrongOption("invalid-argument", f"optimize is one of 0, 1, 2, 3; not {optimize!r}")
    operands = example_operands(f, examples)  # first, as records among the examples may change the procedure
    compiled = f.compiled(
        (
            tiers.optimize if optimize is None else optimize,
            tiers.fast_math if fast_math is None else bool(fast_math),
        )
    )
    compiled.prepare(operands)
    return compiled


def example_operands(f: Procedure, examples: tuple[Any, ...]) -> tuple[Any, ...]:
    """The examples as the operands of a call. Raises VladError if their number is wrong."""
    f.renewed()
    examples = f.completed(examples, {})
    taken, packed = f.taken(), f.packed(examples)
    f.renewed_for(examples)  # a record among them may be of a class that nothing has used before
    operands = operands_of(f.value[0], packed)
    # the last one may be several, packed into a tuple; a list is one, at any position
    given = len(examples) - 1 + arguments_in(f.packed(examples[-1:])) if examples else 0
    are_too_few = given < taken.count
    are_too_many = len(examples) > taken.count and not taken.rest
    if operands is None or are_too_few or are_too_many:
        raise wrong_number(taken, len(examples))
    return operands
