"""Core → core: the control transform, continuation-passing style on demand (Danvy & Filinski 1990), twin of reverse.py.

In: a Lambda in A-normal form.  Out: its control entry, a Lambda from (k . x) to (k y), over the same environment.
    k        the continuation: the rest of the evaluation up to the nearest `reset` or `guard`, a procedure of y
Called by evaluate/machine.py on the lambdas of closures that run inside a `reset`; all other code stays as it is. A call becomes
a call of the control entry, so `shift` reaches the continuation through any procedure; primitives stay in place. What a control
entry returns goes to that `reset` or `guard` (primitives/continuations.py). Since the output is core, derivatives of code with
continuations are the other transforms of it.

A body is transformed from its end to its start: what follows a call is the body of its continuation. Nested calls use no
stack but a chain of continuations, whose length `note-depth` limits.
"""

from __future__ import annotations

from dataclasses import replace

from vlad.ad.rules import Basis, Builder
from vlad.core.names import make_lambda, sub_bodies
from vlad.core.nodes import Apply, Binding, Body, Call, If, Lambda, Letrec, Result, Rhs, Variable
from vlad.data.values import Primitive


def control_entry(lambda_: Lambda, environment: tuple[Variable, ...], basis: Basis) -> Lambda:
    """The control entry of a lambda, whose closures hold `environment`."""
    k = Variable("k")
    body = ContinuationPassing(basis, basis.control_entry, lambda_.name).body(lambda_.body, k)
    return replace(lambda_, parameters=(k, *lambda_.parameters), body=body, free=environment)


def direct_entry(lambda_: Lambda, environment: tuple[Variable, ...]) -> Lambda:
    """The control entry of a lambda that runs as it is, and whose result goes to the continuation: `shift` inside it has no
    access to that."""
    k, result = Variable("k"), Variable("result")
    bindings = (*lambda_.body.bindings, Binding(result, lambda_.body.result))
    body = Body(bindings, Call(k, (result,), lambda_.span))
    return replace(lambda_, parameters=(k, *lambda_.parameters), body=body, free=environment)


class ContinuationPassing:
    """Continuation-passing style by control entries. stepping.py has a subclass with entries of its own, which pass more along:
    `passed` are the variables of that, between two calls.
    """

    def __init__(self, basis: Basis, entry: Primitive, name: str) -> None:
        self.basis = basis
        self.entry = entry
        self.name = name

    def body(self, body: Body, k: Variable, passed: tuple[Variable, ...] = ()) -> Body:
        """A body that gives its value to k."""
        count = sum([self.cuts(binding) for binding in body.bindings])
        between = [passed, *[self.passed() for _ in range(count)]]
        bindings: list[Binding | Letrec] = []  # in reverse
        result = self._result(bindings, body.result, k, between[-1])
        for binding in reversed(body.bindings):
            if self.cuts(binding):
                assert type(binding) is Binding and isinstance(binding.rhs, Call | If)
                rest = Body(tuple(reversed(bindings)), result)
                continuation = Variable("k")
                parameters = (*between.pop(), binding.variable)
                written = make_lambda(parameters, rest, self.name, binding.rhs.span)
                made = replace(written, is_continuation=True)
                bindings = []
                result = self._result(bindings, binding.rhs, continuation, between[-1])
                noted = Apply(self.basis.note_depth, (continuation,), binding.rhs.span)
                bindings += [Binding(Variable("depth"), noted), Binding(continuation, made)]
            else:
                bindings += reversed(self.kept(binding, between[-1]))
        return Body(tuple(reversed(bindings)), result)

    def passed(self) -> tuple[Variable, ...]:
        return ()

    def cuts(self, binding: Binding | Letrec) -> bool:
        """Is what follows the binding the body of a continuation?"""
        return type(binding) is Binding and _calls(binding.rhs)

    def kept(self, binding: Binding | Letrec, passed: tuple[Variable, ...]) -> list[Binding | Letrec]:
        """What a binding becomes that calls nothing."""
        return [binding]

    def _result(
        self, bindings: list[Binding | Letrec], result: Result, k: Variable, passed: tuple[Variable, ...]
    ) -> Result:
        """The result of a body that gives its value to k. `bindings` are those of the body from its end; what this adds comes
        before them.
        """
        if self.is_kept(result):
            value = Variable("result")
            made = self._result(bindings, value, k, passed)
            bindings.append(Binding(value, result))
            return made
        if type(result) is If:
            arms = [self.body(arm, k, passed) for arm in sub_bodies(result)]
            return If(result.test, arms[0], arms[1], result.span)
        builder = Builder()
        if type(result) is Call:
            entry = builder.apply("entry", self.entry, result.operator, span=result.span)
            made = self.call(builder, Call(entry, (k, *passed, *result.operands), result.span), passed)
        else:
            assert not isinstance(result, If | Call | Apply)
            made = self.call(builder, Call(k, (*passed, result)), passed)
        bindings += reversed(builder.bindings)
        return made

    def is_kept(self, result: Result) -> bool:
        """Is the value of such a result computed as it is, and then given to the continuation?"""
        return False

    def call(self, builder: Builder, call: Call, passed: tuple[Variable, ...]) -> Result:
        """The result of a body that ends with the call of an entry or of a continuation."""
        return call


def continuation_of(lambda_: Lambda) -> Variable | None:
    """The variable of a continuation, as it is made above, that holds the continuation with which it ends; None of others."""
    body, made = lambda_.body, dict[Variable, Lambda]()
    while True:
        for binding in body.bindings:
            if type(binding) is Binding and type(binding.rhs) is Lambda:
                made[binding.variable] = binding.rhs
        result = body.result
        if type(result) is If:
            body = result.consequent
            continue
        if type(result) is not Call:
            return None
        for atom in (result.operator, *result.operands[:1]):
            if atom in lambda_.free:
                assert type(atom) is Variable
                return atom
            if atom in made:
                body = made[atom].body
                break
        else:
            return None


def _calls(rhs: Rhs) -> bool:
    """Does it call a procedure?"""
    work: list[Rhs] = [rhs]
    while work:
        one = work.pop()
        if isinstance(one, Call):
            return True
        for body in sub_bodies(one):
            work += [binding.rhs for binding in body.bindings if type(binding) is Binding]
            work.append(body.result)
    return False
