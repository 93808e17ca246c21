"""Compiling on demand, for Python: `vlad.compile`.

In: a procedure of a session, and examples of its arguments.  Out: the same procedure, which runs as machine code or not at all.
What can be compiled is decided by compile/calling/policy.py, as for all procedures; here nothing falls back.
"""

from __future__ import annotations

from typing import Any

from vlad.compile.calling.policy import operands_of
from vlad.data.errors import WrongOption
from vlad.expand.arity import arguments_in, wrong_number
from vlad.python.convert import P, Procedure
from vlad.python.derivatives import session_procedure


def compile(f: P, *examples: Any, optimize: int | None = None, fast_math: bool | None = None) -> P:
    """Compile a procedure for arguments like the examples: the same structure, arrays of the same shapes and kinds of number.

    f          a procedure of a session, or what `vlad.grad` or another of its kin made of one
    examples   the arguments of one call
    optimize   how hard the C compiler tries, 0 to 3; the session's own choice by default
    fast_math  may it reorder sums and products? The session's own choice by default

    Answers the procedure as one that always runs compiled. For arguments of other types it is compiled when it is called with
    them. Raises VladError ("not-compiled") with the reason, here or there, where it cannot be; WrongOption for an option that
    there is not.
    """
    session_procedure(f, "compiled")
    tiers = f.session.tiers
    if optimize not in (None, 0, 1, 2, 3):
        raise WrongOption("invalid-argument", f"optimize is one of 0, 1, 2, 3; not {optimize!r}")
    compiled = f.compiled(
        (
            tiers.optimize if optimize is None else optimize,
            tiers.fast_math if fast_math is None else bool(fast_math),
        )
    )
    compiled.prepare(_operands(compiled, examples))
    return compiled


def _operands(f: Procedure, examples: tuple[Any, ...]) -> tuple[Any, ...]:
    """The examples as the operands of a call. Raises VladError where they are too few or too many."""
    taken, packed = f.taken(), f.packed(examples)
    operands = operands_of(f.value[0], packed)
    # the last one may be several, packed into a tuple; a list is one, wherever it stands
    given = len(examples) - 1 + arguments_in(f.packed(examples[-1:])) if examples else 0
    are_too_few = given < taken.count
    are_too_many = len(examples) > taken.count and not taken.rest
    if operands is None or are_too_few or are_too_many:
        raise wrong_number(taken, len(examples))
    return operands
