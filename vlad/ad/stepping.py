"""Core → core: the stepping transform, continuation-passing style with a count of steps, so that a program can pause.

In: a Lambda in A-normal form.  Out: its stepping entry, a Lambda from (k n . x) to the outcome, over the same environment.
    k        the continuation: the rest of the evaluation, a procedure of (n y)
    n        the number of steps until it pauses. Each call, and each return to a continuation, is a step
The outcome is what k returns, or `(make-paused resume)`: (resume n) makes the step that was to come, and goes on. Its closure
holds the values that the rest of the evaluation reads: a snapshot of the running program.
What a program writes, it writes in the run that begins with MOST_STEPS. Others repeat parts of it, and skip that.
Called by evaluate/machine.py on the codes that a checkpointed procedure reaches (primitives/checkpointing.py). The output is
core: reverse mode of a part of a run is the reverse transform of this form (Siskind & Pearlmutter 2018, section 4, where an
interpreter counts and interrupts).
"""

from __future__ import annotations

from dataclasses import replace

from vlad.ad.control import ContinuationPassing
from vlad.ad.rules import Basis, Builder
from vlad.core.names import make_lambda, sub_bodies
from vlad.core.nodes import (
    Apply,
    Binding,
    Body,
    Call,
    Constant,
    If,
    Lambda,
    Letrec,
    Result,
    Rhs,
    Variable,
)
from vlad.data.values import UNSPECIFIED, Primitive, String

NONE = Constant(0.0)
ONE = Constant(1.0)
MOST_STEPS = 2**53
REPEATED = Constant(float(MOST_STEPS // 2))  # a run that begins with fewer steps is a repetition


def stepping_entry(lambda_: Lambda, environment: tuple[Variable, ...], basis: Basis) -> Lambda:
    """The stepping entry of a lambda, whose closures hold `environment`."""
    k, n = Variable("k"), Variable("n")
    body = _Stepping(basis, basis.stepping_entry, lambda_.name).body(lambda_.body, k, (n,))
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


def _acts(rhs: Rhs) -> bool:
    work: list[Rhs] = [rhs]
    while work:
        one = work.pop()
        if isinstance(one, Apply) and acts(one.primitive):
            return True
        for body in sub_bodies(one):
            work += [binding.rhs for binding in body.bindings if type(binding) is Binding]
            work.append(body.result)
    return False


class _Stepping(ContinuationPassing):
    def passed(self) -> tuple[Variable, ...]:
        return (Variable("n"),)

    def cuts(self, binding: Binding | Letrec) -> bool:
        if type(binding) is not Binding:
            return False
        return super().cuts(binding) or (type(binding.rhs) is If and _acts(binding.rhs))

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
            what = "has cells that stay cells" if row.state else "reads its input"
            builder.apply("refused", self.basis.refuse_step, Constant(String(what)), span=binding.rhs.span)
            return [*builder.bindings, binding]
        is_repeated = builder.apply("repeated?", self.basis.less, n, REPEATED)
        written = Variable(binding.variable.name)
        done = Body((Binding(written, binding.rhs),), written)
        value = Constant(UNSPECIFIED) if row.type.result == "unspecified" else binding.rhs.operands[0]
        chosen = If(is_repeated, Body((), value), done, binding.rhs.span)
        return [*builder.bindings, Binding(binding.variable, chosen)]

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
