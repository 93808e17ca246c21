"""Core → core: the stepping transform, continuation-passing style with a count of steps, so that a program can pause.

In: a Lambda in A-normal form.  Out: its stepping entry, a Lambda from (k n . x) to the outcome, over the same environment.
    k        the continuation: the rest of the evaluation, a procedure of (n y)
    n        the number of steps until it pauses. Each call, and each return to a continuation, is a step
The outcome is what k returns, or `(make-paused resume)`: (resume n) makes the step that was to come, and goes on. Its closure
holds the values that the rest of the evaluation reads: a snapshot of the running program.
A call that leads to few others, none of them repeated, is part of a step, and stays as it is: `MOST_CALLS`.
What a program writes, it writes in the run that begins with MOST_STEPS. Others repeat parts of it, and skip that.
Called by evaluate/machine.py on the codes that a checkpointed procedure reaches (primitives/checkpointing.py). The output is
core: reverse mode of a part of a run is the reverse transform of this form (Siskind & Pearlmutter 2018, section 4, where an
interpreter counts and interrupts).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from vlad.ad.control import ContinuationPassing
from vlad.ad.rules import Basis, Builder
from vlad.core.names import make_lambda, sub_bodies
from vlad.core.nodes import (
    Apply,
    Atom,
    Binding,
    Body,
    Call,
    Constant,
    GlobalReference,
    If,
    Lambda,
    Letrec,
    Result,
    Rhs,
    Variable,
)
from vlad.data.values import FALSE, TRUE, UNSPECIFIED, Primitive, Value

NONE = Constant(0.0)
ONE = Constant(1.0)
MOST_STEPS = 2**53
MOST_CALLS = 100  # within a step
ENDLESS = 2 * MOST_CALLS
Calls = Callable[
    [Value], int
]  # of a procedure: how many calls one of it leads to; more than MOST_CALLS if that is not known
REPEATED = Constant(float(MOST_STEPS // 2))  # a run that begins with fewer steps is a repetition


def stepping_entry(lambda_: Lambda, environment: tuple[Variable, ...], basis: Basis, calls: Calls) -> Lambda:
    """The stepping entry of a lambda, whose closures hold `environment`."""
    k, n = Variable("k"), Variable("n")
    steps = _Stepping(basis, basis.stepping_entry, lambda_.name)
    steps.counting = Counting(lambda_.body, calls)
    body = steps.body(lambda_.body, k, (n,))
    return replace(lambda_, parameters=(k, n, *lambda_.parameters), body=body, free=environment)


def one_step(lambda_: Lambda, environment: tuple[Variable, ...]) -> Lambda:
    """The stepping entry of a lambda that runs as it is."""
    k, n, result = Variable("k"), Variable("n"), Variable("result")
    bindings = (*lambda_.body.bindings, Binding(result, lambda_.body.result))
    body = Body(bindings, Call(k, (n, result), lambda_.span))
    return replace(lambda_, parameters=(k, n, *lambda_.parameters), body=body, free=environment)


def acts(row: Primitive) -> bool:
    """May an application of the row not be repeated, as steps are?"""
    return row.state or bool(row.io)


class Counting:
    """How many calls the parts of a body lead to, at the most. Lambdas count where they are called."""

    def __init__(self, body: Body, calls: Calls) -> None:
        self.calls = calls
        self.local: dict[Variable, Lambda] = {}
        work = [body]
        while work:
            for binding in work.pop().bindings:
                if type(binding) is Binding and isinstance(binding.rhs, Lambda):
                    self.local[binding.variable] = binding.rhs
                elif type(binding) is Binding:
                    work += sub_bodies(binding.rhs)

    def of_body(self, body: Body) -> int:
        count = 0
        for binding in body.bindings:
            if type(binding) is Binding:
                count += self.of(binding.rhs)
            if count > MOST_CALLS:
                return ENDLESS
        return count + self.of(body.result)

    def of(self, rhs: Rhs) -> int:
        if isinstance(rhs, Apply):
            return ENDLESS if acts(rhs.primitive) else 0
        if isinstance(rhs, If):
            return sum([self.of_body(arm) for arm in sub_bodies(rhs)])
        return 1 + self._of_procedure(rhs.operator) if isinstance(rhs, Call) else 0

    def _of_procedure(self, operator: Atom) -> int:
        if isinstance(operator, Constant):
            return self.calls(operator.value)
        if isinstance(operator, GlobalReference):
            return self.calls(getattr(operator.cell, "value", None))
        called = self.local.pop(operator, None)  # not to be found inside itself
        if called is None:
            return ENDLESS
        count = Counting(called.body, self.calls).of_body(called.body)
        self.local[operator] = called
        return count


class _Stepping(ContinuationPassing):
    counting: Counting

    def passed(self) -> tuple[Variable, ...]:
        return (Variable("n"),)

    def cuts(self, binding: Binding | Letrec) -> bool:
        if type(binding) is not Binding or not isinstance(binding.rhs, Call | If):
            return False
        return self.counting.of(binding.rhs) > MOST_CALLS

    def kept(self, binding: Binding | Letrec, passed: tuple[Variable, ...]) -> list[Binding | Letrec]:
        if (
            type(binding) is not Binding
            or not isinstance(binding.rhs, Apply)
            or not acts(binding.rhs.primitive)
        ):
            return [binding]
        (n,) = passed
        row, builder = binding.rhs.primitive, Builder()
        if row.state or row.io == "in":
            is_of_cell = Constant(TRUE if row.state else FALSE)
            builder.apply("refused", self.basis.refuse_step, is_of_cell, span=binding.rhs.span)
            return [*builder.bindings, binding]
        is_repeated = builder.apply("repeated?", self.basis.less, n, REPEATED)
        written = Variable(binding.variable.name)
        done = Body((Binding(written, binding.rhs),), written)
        value = Constant(UNSPECIFIED) if row.type.result == "unspecified" else binding.rhs.operands[0]
        chosen = If(is_repeated, Body((), value), done, binding.rhs.span)
        return [*builder.bindings, Binding(binding.variable, chosen)]

    def is_kept(self, result: Result) -> bool:
        return isinstance(result, Call | If) and self.counting.of(result) <= MOST_CALLS

    def call(self, builder: Builder, call: Call, passed: tuple[Variable, ...]) -> Result:
        (n,) = passed
        is_end = builder.apply("end?", self.basis.equals, n, NONE)
        pause, later = Builder(), Variable("n")
        resume = pause.bind(make_lambda((later,), self._step(call, n, later), self.name, call.span), "resume")
        paused = pause.apply("paused", self.basis.make_paused, resume)
        return If(is_end, Body(tuple(pause.bindings), paused), self._step(call, n, n), call.span)

    def _step(self, call: Call, n: Variable, left: Variable) -> Body:
        """The call, with n replaced by one less than the steps that are left."""
        builder = Builder()
        less = builder.apply("n", self.basis.minus, left, ONE)
        operands = tuple([less if one is n else one for one in call.operands])
        return Body(tuple(builder.bindings), Call(call.operator, operands, call.span))
