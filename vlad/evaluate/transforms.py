"""The transforms of codes: what each of ad/ needs of a machine. Made with the first transform, as many programs have none.

In: a code, its lambda, and the name of a transform.  Out: the lambda of the transform. Called by machine.py, which makes a code
of it.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from vlad.ad.control import control_entry, direct_entry
from vlad.ad.forward import forward_entry
from vlad.ad.reverse import tail_entry
from vlad.ad.rules import Basis, Rules
from vlad.ad.stepping import ENDLESS, Counting, acts, one_step, stepping_entry
from vlad.core.nodes import Lambda
from vlad.data.values import CONTROL, STEPPING, Code, Value, closure, is_procedure, look
from vlad.evaluate.code_machine import CodeMachine


class Transforms:
    """Those of one machine."""

    def __init__(self, machine: CodeMachine) -> None:
        self.machine = machine
        self.basis = Basis(machine.table, lambda name: closure(machine.codes[name]))
        self.rules = Rules(self.basis)
        self._calls: WeakKeyDictionary[Code, int] = WeakKeyDictionary()

    def applied(self, code: Code, word: str, source: Lambda, level: int | None, rules: Rules) -> Lambda:
        """The output of a transform, "reverse", "forward", "control" or "stepping"; `level` is that of the code."""
        if word == CONTROL:
            is_direct = code.primitive is not None or self.machine.codes.get(code.name) is code
            if is_direct:
                return direct_entry(source, code.environment)
            return control_entry(source, code.environment, rules.basis)
        if word == STEPPING:
            row = code.primitive
            if row is None or acts(row):
                return stepping_entry(source, code.environment, rules.basis, self.calls_of)
            return one_step(source, code.environment)
        transform = tail_entry if word == "reverse" else forward_entry
        owner = self.machine.core_of(code.base)
        return transform(source, code.environment, code.group, owner, rules.basis, rules, level)

    def calls_of(self, f: Value) -> int:
        """How many calls one of a procedure leads to, at the most; more than stepping.MOST_CALLS if that is not known."""
        f = look(f) if f is not None else None
        if not is_procedure(f):
            return ENDLESS
        code = f[0]
        if code.primitive is not None:
            return ENDLESS if acts(code.primitive) else 0
        found = self._calls.get(code)
        if found is None:
            self._calls[code] = ENDLESS  # where it calls itself
            body = self.machine.core_of(code).body
            found = self._calls[code] = Counting(body, self.calls_of).of_body(body)
        return found
