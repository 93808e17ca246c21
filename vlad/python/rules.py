"""A primitive's derivative rules, as the texts of a row.

In: a HostPrimitive, the points at which it is checked, and the rows of other primitives.  Out: the columns of its row, and the
checks that this row must pass. Called by host.py.

A user's text is used as it is. For a Python function or another primitive, a text applies its row, which only that text
refers to. For a function of reals every kind of rule is converted to partial derivatives, so both modes follow. A missing
derivative is an error when it is needed.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from vlad.ad.vector_space import complete
from vlad.core.nodes import Apply, Binding, Body, Constant, If, Variable
from vlad.data.errors import VladError
from vlad.data.values import FALSE, ZERO, Primitive, Value
from vlad.primitives.numbers import real_rule
from vlad.python.callables import (
    IN_TEXT,
    SERIAL,
    Function,
    fitting,
    left_out,
    name_of,
    parameters_of,
    part_of,
    protected,
    quoted,
    real_function,
    refusing_row,
    returned,
)
from vlad.python.convert import Apply as ApplyProcedure
from vlad.python.convert import to_python
from vlad.python.differences import Check, Points, wrong_rule
from vlad.python.stating import HostPrimitive
from vlad.python.structures import tuple_of

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine


class Maker(Protocol):
    """Makes rows (host.py)."""

    machine: Machine
    apply: ApplyProcedure
    checks: list[Check]

    def row(self, primitive: HostPrimitive[..., Any]) -> Primitive: ...


class Statement:
    """States the derivative of one row."""

    def __init__(
        self,
        maker: Maker,
        primitive: HostPrimitive[..., Any],
        row: Primitive,
        rows: dict[str, Primitive],
        points: Points,
    ) -> None:
        self.maker = maker
        self.primitive = primitive
        self.row = row
        self.rows = rows
        self.points = points
        self.name = primitive.__name__
        self.varying = [x for x, kind in zip(row.operands, points.kinds, strict=True) if kind == "number"]
        self.hidden: dict[Any, Primitive] = {}

    def state(self) -> None:
        rules = {kind: rule for kind, rule in self.primitive.rules.items() if rule is not None}
        if not rules:
            raise wrong_rule(
                self.name, "it has no derivative rule",
                "state partials, forward or reverse; a function that is not to be differentiated needs no `vlad.primitive`",
            )  # fmt: skip
        if self.points.are_reals:
            stated = [self._partials_by(kind, rule) for kind, rule in rules.items()]
            for partials in stated[:-1]:  # one suffices, but all must be correct
                self._add_check(self._alternative(partials))
            self.row.partials = stated[-1]
        elif "partials" in rules:
            if len(rules) > 1:
                raise wrong_rule(
                    self.name, "partials are forward and reverse in one", "state either these or those"
                )
            self.row.partials = self._partials_by("partials", rules["partials"])
        else:
            self.row.partials = None
            self.row.forward = self._forward(rules.get("forward"))
            self.row.reverse = self._reverse(rules.get("reverse"))
            self._transpose()
        self._add_check(
            self.row,
            [kind for kind in ("forward", "reverse") if kind in rules or self.row.partials is not None],
        )

    def _add_check(self, row: Primitive, modes: Sequence[str] = ("forward", "reverse")) -> None:
        stated = row.partials if row.partials is not None else row.reverse or {}
        varying = [x for x in self.varying if stated.get(x, "zero") != "zero"]
        self.maker.checks.append(Check(self.maker.machine, self.name, row, varying, self.points, modes))

    def _alternative(self, partials: dict[str, str]) -> Primitive:
        row = self.row
        return Primitive(
            row.name + "'",
            " ".join(row.operands),
            row.doc,
            value=row.value,
            type=row.type,
            partials=partials,
            rows=self.rows,
            display_name=row.display_name,
        )

    def _read(self, text: str) -> str:
        """Check a user's text: it may use primitives and branches, like the table's."""
        try:
            body = self.maker.machine.ad()[1].rule(self.row, text).body
        except VladError as error:
            raise self._unread(text, error.message) from None
        if not is_plain(body):
            raise self._unread(text, "it calls what is no primitive, or has a lambda in it")
        return text

    def _unread(self, text: str, why: str) -> VladError:
        names = " ".join([*self.row.operands, "r", "s", *["d" + x for x in self.row.operands]])
        return wrong_rule(
            self.name,
            f"{text}: {why}",
            f"a text is made of {names} and primitives with all their operands",
        )

    # Functions of reals: all rules become partial derivatives.

    def _partials_by(self, kind: str, rule: Any) -> dict[str, str]:
        if kind == "forward":
            return {x: f"(let ({self._directions(x)}) {self._text(rule, 'd', None)}\n)" for x in self.varying}
        by_operand = self._by_operand(kind, rule)
        texts = {
            x: self._text(part, "s" if kind == "reverse" else "", index)
            for x, (part, index) in by_operand.items()
        }
        if kind == "reverse":
            texts = {x: f"(let ((s 1)) {text}\n)" for x, text in texts.items()}
        return {x: texts.get(x, "zero") for x in self.row.operands}

    def _directions(self, x: str) -> str:
        return " ".join([f"(d{other} {1 if other == x else 'zero'})" for other in self.varying])

    def _by_operand(self, kind: str, rule: Any) -> dict[str, tuple[Any, int | None]]:
        """The rule of each operand; with a number, that part of its result."""
        if isinstance(rule, Mapping):
            strange = (
                sorted(set(rule) ^ set(self.varying))
                if kind == "partials"
                else sorted(set(rule) - set(self.varying))
            )
            if strange:
                raise wrong_rule(
                    self.name, f"{kind} have {'no rule' if strange[0] in self.varying else 'a rule'} for {strange[0]}",
                    f'there is a rule for each of {" ".join(self.varying)}; "zero" marks it as constant',
                )  # fmt: skip
            return {x: (part, None) for x, part in rule.items()}
        if len(self.varying) == 1:
            return {self.varying[0]: (rule, None)}
        if kind == "reverse" and not isinstance(rule, str | HostPrimitive):
            return {x: (rule, index) for index, x in enumerate(self.varying)}
        raise wrong_rule(
            self.name,
            f"{kind} is one rule for {len(self.varying)} operands",
            "state a rule for each by its name",
        )

    # Functions of arrays.

    def _forward(self, rule: Any) -> str:
        if rule is None:
            return self._refusal("forward", "reverse", lambda x: "d" + x)
        return self._text(rule, "d", None)

    def _reverse(self, rule: Any) -> dict[str, str]:
        if rule is None:
            return {x: self._refusal("reverse", "forward", lambda x: "s", [x]) for x in self.varying}
        return {
            x: self._text(part, "s", index, x)
            for x, (part, index) in self._by_operand("reverse", rule).items()
        }

    def _refusal(
        self, missing: str, given: str, factor: Callable[[str], str], of: Sequence[str] | None = None
    ) -> str:
        message = f"{self.name} has no {missing} rule, and none can be derived of its {given} rule"
        hint = f"state it (`@{self.name}.{missing}`), or use {given} mode"
        refusal = f"(refuse-derivative {quoted(message)} {quoted(hint)} "
        terms = [f"{refusal}{x} {factor(x)})" for x in of or self.varying]
        return functools.reduce("(accumulate {} {})".format, terms)

    def _transpose(self) -> None:
        """If the function is linear and no rule uses its operand, each rule is the derivative of the other."""
        rows = {operands: row for (_, operands), row in self.hidden.items()}
        x = self.varying[0]
        forward, reverse = rows.get(("d" + x, x, "r")), rows.get(("s", "s", "~" + x))
        if forward is not None and reverse is not None:
            forward.rows = {**forward.rows, "transposed": reverse}
            reverse.rows = {**reverse.rows, "transposed": forward}
            forward.reverse = {"a1": "(transposed s s a2)"}
            reverse.reverse = {"a1": "(transposed s s a1)"}

    # A rule as a text.

    def _text(self, rule: Any, linear: str, part: int | None, operand: str = "") -> str:
        """`linear`: s or d, the names in which the rule is linear; `operand`: the one whose sensitivity it gives."""
        if isinstance(rule, str):
            return self._read(rule)
        if not callable(rule):
            raise wrong_rule(
                self.name,
                f"a rule is a {type(rule).__name__}",
                "a text, a function or a primitive is expected",
            )
        names = rule.operands if isinstance(rule, HostPrimitive) else self._parameters(rule)
        tangents = ["d" + x for x in self.varying] if linear == "d" else ["s"] if linear == "s" else []
        known = [*self.row.operands, "r", *tangents]
        strange = [name for name in names if name not in known]
        if strange:
            raise wrong_rule(
                self.name, f"its rule {name_of(rule)} has a parameter {strange[0]}",
                f"the parameters of a rule have names among {' '.join(known)}",
            )  # fmt: skip
        if isinstance(rule, HostPrimitive):
            return self._applied(self.maker.row(rule), [self._completed(name, tangents) for name in names])
        if self.points.are_reals:
            return self._of_reals(rule, names, part)
        return self._of_arrays(rule, names, tangents, part, operand)

    def _parameters(self, rule: Function) -> tuple[str, ...]:
        names = parameters_of(rule)
        if names is None:
            raise wrong_rule(self.name, f"its rule {name_of(rule)} does not name its parameters")
        return names

    def _completed(self, name: str, tangents: Sequence[str]) -> str:
        """A primitive needs a complete tangent even if it is known to be zero."""
        is_tangent = name in tangents and name != "s" and not self.points.are_reals
        return f"(complete {name[1:]} {name})" if is_tangent else name

    def _applied(self, row: Primitive, operands: Sequence[str]) -> str:
        key = next(key for key in map("rule-{}".format, itertools.count(1)) if key not in self.rows)
        self.rows[key] = row
        return f"({key} {' '.join(operands)})"

    def _hidden(
        self, value: Function, count: int, linear: Sequence[int] = (), refused: Sequence[int] | None = None
    ) -> Primitive:
        """The row of a rule in Python."""
        message = (
            f"There is no second derivative of {self.name}: its rule is Python's and has no rule of its own"
        )
        return refusing_row(
            f"{self.name}.rule:{next(SERIAL)}", count, f"A rule of {self.name}.", value, message,
            "state the rule as a text of the language, or as a primitive with a rule", linear, refused, hidden=True,
            abstract=left_out(f"derivatives of {self.name} that Python computes are", IN_TEXT), display_name=f"{self.name}.rule",
        )  # fmt: skip

    def _of_reals(self, rule: Function, names: tuple[str, ...], part: int | None) -> str:
        """A rule on reals is applied to tensors entry by entry, like the function."""
        operands = names or (self.varying[0],)
        function = real_function(f"{self.name}'s rule", rule, part, len(names))
        return self._applied(
            self._hidden(real_rule(self.name, function, len(operands)), len(operands)), operands
        )

    def _of_arrays(
        self, rule: Function, names: tuple[str, ...], tangents: Sequence[str], part: int | None, operand: str
    ) -> str:
        """The rule's own operands are followed by those that determine the shape of a tangent, or of a result."""
        linear = [place for place, name in enumerate(names) if name in tangents]
        refused = [place for place, name in enumerate(names) if name not in tangents]
        likes = [] if tangents == ["s"] else [names[place][1:] for place in linear]
        wanted = [operand] if part is None else self.varying
        shapes = ["s", *["~" + x for x in wanted]] if tangents == ["s"] else ["r"] if tangents else []
        operands = [*names, *likes, *shapes]
        key = (id(rule), tuple(operands))
        # a rule that returns several sensitivities is one row, for all: then it is computed once
        if key not in self.hidden:
            value = rule_of_arrays(
                f"{self.name}'s rule",
                rule,
                self.maker.apply,
                linear,
                len(names),
                len(likes),
                part is not None,
            )
            shaping = range(len(names), len(operands))
            scaled = [*linear, *[place for place in shaping if operands[place] == "s"]]
            self.hidden[key] = self._hidden(value, len(operands), scaled, refused)
        text = self._applied(self.hidden[key], operands)
        if part is None:
            return text
        for _ in range(part):
            text = f"(cdr {text})"
        return text if part == len(self.varying) - 1 else f"(car {text})"


def rule_of_arrays(
    name: str, rule: Function, apply: ApplyProcedure, linear: Sequence[int], own: int, likes: int, many: bool
) -> Function:
    """The value of a row that is a rule in Python. Its operands: `own` of the rule's, among them those at the positions `linear`;
    for each of these, if it is a tangent, its primal; and those that determine the shape of the result: the result, or the
    result's sensitivity and, for each sensitivity returned, an operand, or #f if it is shaped like the result. `many`: the rule
    returns a tuple.
    """

    def value(*operands: Value) -> Value:
        shapes = operands[own + likes :]
        factors = [operands[place] for place in linear] or list(shapes[:1] if len(shapes) > 1 else ())
        if factors and all(factor is ZERO for factor in factors):
            return ZERO
        given = list(operands[:own])
        for place, like in zip(linear, operands[own : own + likes], strict=False):
            given[place] = complete(like, given[place])
        result = protected(name, rule, [to_python(x, apply) for x in given])
        if len(shapes) < 2:
            return fitting(name, returned(name, result, apply), *shapes)
        first, *others = shapes
        likenesses = [first if other is FALSE else other for other in others]
        if not many:
            return fitting(name, returned(name, result, apply), *likenesses)
        results: list[Value] = []
        for place, likeness in enumerate(likenesses):
            part = part_of(name, result, place)
            results.append(ZERO if part is None else fitting(name, returned(name, part, apply), likeness))
        return tuple_of(results)

    return value


def is_plain(body: Body) -> bool:
    """Whether it consists of primitives and branches."""
    rhss = [binding.rhs if isinstance(binding, Binding) else None for binding in body.bindings]
    return all(_is_plain_rhs(rhs) for rhs in (*rhss, body.result))


def _is_plain_rhs(rhs: object) -> bool:
    if isinstance(rhs, If):
        return is_plain(rhs.consequent) and is_plain(rhs.alternative)
    return isinstance(rhs, Apply | Variable | Constant)
