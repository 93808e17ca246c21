"""Core → core: the control transform, continuation-passing style on demand (Danvy & Filinski 1990), twin of reverse.py.

In: a Lambda in A-normal form.  Out: its control entry, a Lambda from (k . x) to (k y), over the same environment.
    k        the continuation: the rest of the evaluation up to the nearest `reset` or `guard`, a procedure of y
Called by evaluate/machine.py on the lambdas of closures that run inside a `reset`; all other code stays as it is. A call becomes
a call of the control entry, so `shift` reaches the continuation through any procedure; primitives stay in place. What a control
entry returns goes to that `reset` or `guard` (primitives/continuations.py). Since the output is core, derivatives of code with
continuations are the other transforms of it.

A body is transformed from its end to its start: what follows a call is the body of its continuation.
"""

from __future__ import annotations

from dataclasses import replace

from vlad.ad.rules import Basis, Builder
from vlad.core.names import make_lambda, sub_bodies
from vlad.core.nodes import Apply, Binding, Body, Call, If, Lambda, Letrec, Result, Rhs, Variable


def control_entry(lambda_: Lambda, environment: tuple[Variable, ...], basis: Basis) -> Lambda:
    """The control entry of a lambda, whose closures hold `environment`."""
    k = Variable("k")
    body = _Control(basis, lambda_.name).body(lambda_.body, k)
    return replace(lambda_, parameters=(k, *lambda_.parameters), body=body, free=environment)


def direct_entry(lambda_: Lambda, environment: tuple[Variable, ...]) -> Lambda:
    """The control entry of a lambda that runs as it is, and whose result goes to the continuation: `shift` inside it has no
    access to that."""
    k, result = Variable("k"), Variable("result")
    bindings = (*lambda_.body.bindings, Binding(result, lambda_.body.result))
    body = Body(bindings, Call(k, (result,), lambda_.span))
    return replace(lambda_, parameters=(k, *lambda_.parameters), body=body, free=environment)


class _Control:
    def __init__(self, basis: Basis, name: str) -> None:
        self.basis = basis
        self.name = name

    def body(self, body: Body, k: Variable) -> Body:
        """A body that gives its value to k."""
        bindings: list[Binding | Letrec] = []  # in reverse
        result = self._result(bindings, body.result, k)
        for binding in reversed(body.bindings):
            if type(binding) is Binding and _calls(binding.rhs):
                rest = Body(tuple(reversed(bindings)), result)
                span = binding.rhs.span if isinstance(binding.rhs, Call | If) else None
                continuation = Variable("k")
                made = make_lambda((binding.variable,), rest, self.name, span)
                bindings = []
                assert isinstance(binding.rhs, Call | If)
                result = self._result(bindings, binding.rhs, continuation)
                bindings.append(Binding(continuation, made))
            else:
                bindings.append(binding)
        return Body(tuple(reversed(bindings)), result)

    def _result(self, bindings: list[Binding | Letrec], result: Result, k: Variable) -> Result:
        if type(result) is If:
            arms = [self.body(arm, k) for arm in sub_bodies(result)]
            return If(result.test, arms[0], arms[1], result.span)
        if type(result) is Call:
            builder = Builder()
            entry = builder.apply("entry", self.basis.control_entry, result.operator, span=result.span)
            bindings += builder.bindings
            return Call(entry, (k, *result.operands), result.span)
        assert not isinstance(result, If | Call | Apply)
        return Call(k, (result,))


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
