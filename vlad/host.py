"""What Python gives to scripts: its functions as procedures, and as primitives with derivative rules (`vlad.primitive`).

In: Python callables.  Out: procedures of one session. Each applies a row (values.Primitive) that is made here, when the program
runs, and that no table lists; the transforms, the evaluator and the compiler treat it like any other. Called by session.py.

A Python function alone is a row with an effect, whose derivative is refused. A primitive is a row without one. Its rules are
texts of the language, as the table's are, or Python functions or other primitives: of these a text applies the rows, which
only that text knows. For a function of reals every kind of rule is turned into partial derivatives, so both modes follow. A
rule in Python has no derivative itself. What cannot be derived is refused when it is needed.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

from vlad.ad.vector_space import complete
from vlad.compile.expressions import read_expression
from vlad.convert import Apply as ApplyProcedure
from vlad.convert import from_python, parts_of, tensor_of, to_python, tuple_of
from vlad.core.names import make_lambda
from vlad.core.nodes import Apply, Binding, Body, Constant, If, Variable
from vlad.errors import NoCounterpart, VladError
from vlad.primitives.numbers import invalid, real_rule
from vlad.tensors import Tensor, is_array, kind_name, namespace, shape_text
from vlad.values import FALSE, NIL, ZERO, Code, Primitive, String, Value, closure, is_pair, look
from vlad.write import written

Function = Callable[..., Any]
Rule = Any  # a text, a Python function, a HostPrimitive
Point = tuple[Value, ...]

_serial = itertools.count(1)  # a row's name is its own: two functions of one name are two
RESERVED = {"r", "s", "zero"}  # what texts and rules call the result, its sensitivity and the known zero


# Python functions.


class Host:
    """What a session was given by Python, and the procedures made of it: one each, as long as anybody holds it."""

    def __init__(self, machine: Any, apply: ApplyProcedure) -> None:
        self.machine = machine
        self.apply = apply
        self.functions: WeakValueDictionary[int, Code] = WeakValueDictionary()
        self.primitives: dict[HostPrimitive, tuple[int, Primitive, Value]] = {}

    def procedure(self, function: Function) -> Value:
        """A Python function or primitive as a procedure. Raises VladError where a rule of a primitive is wrong."""
        if isinstance(function, HostPrimitive):
            return self.registered(function)[1]
        code = self.functions.get(id(function))
        if code is None:
            made = self.procedure_of(function_row(function, self.apply), name_of(function))
            code = self.functions[id(function)] = made[0]
        return code.closed

    def procedure_of(self, row: Primitive, name: str) -> Value:
        """A procedure that applies a row to its parameters."""
        parameters, result = tuple([Variable(operand) for operand in row.operands]), Variable("r")
        body = Body((Binding(result, Apply(row, parameters)),), result)
        lambda_ = make_lambda(parameters, body, name)
        code = self.machine.make_code(self.machine.family(), len(parameters), lambda: lambda_, name=name)
        code.primitive = row
        return code.closed

    def registered(self, primitive: HostPrimitive) -> tuple[Primitive, Value]:
        """The row and the procedure of a primitive whose rules were checked."""
        known = self.primitives.get(primitive)
        if known is None or known[0] != primitive.version:
            maker = _Maker(self)
            row = maker.row(primitive)
            maker.check()
            for made, its_row in maker.rows.items():
                self.primitives[made] = made.version, its_row, self.procedure_of(its_row, made.__name__)
            return row, self.primitives[primitive][2]
        return known[1:]


def name_of(function: Function) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)


def parameters_of(function: Function) -> tuple[str, ...] | None:
    """The parameters without defaults, which are given by their places; None: as many arguments as there are."""
    if hasattr(function, "nin"):  # a ufunc of NumPy's
        return tuple([f"x{index + 1}" for index in range(function.nin)])
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C, and does not tell
        return None
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return None
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    if any(parameter.kind is parameter.KEYWORD_ONLY for parameter in needed):
        raise VladError(
            "invalid-rule", f"The Python function {name_of(function)} has to be given arguments by name",
            hint="scripts give them by place: wrap it in a function or a `functools.partial`",
        )  # fmt: skip
    return tuple([parameter.name for parameter in needed])


def function_row(function: Function, apply: ApplyProcedure) -> Primitive:
    """The row of a Python function: it may be called, but not differentiated."""
    name, parameters = name_of(function), parameters_of(function)
    call = calling(function, name, apply)
    message = f"The Python function {name} has no derivative"
    hint = "give it a rule, with `vlad.primitive` in Python or `with-derivative` here; `stop-gradient` makes of it a constant"
    return refusing_row(
        f"{name}:{next(_serial)}", len(parameters) if parameters else 1, f"{name} of Python.",
        call if parameters else _of_chain(call, name, parameters), message, hint, effect=True,
        abstract=_left_out(f"the Python function {name} is"),
    )  # fmt: skip


def refusing_row(
    name: str,
    count: int,
    doc: str,
    value: Function,
    message: str,
    hint: str,
    linear: Sequence[int] = (),
    refused: Sequence[int] | None = None,
    **columns: Any,
) -> Primitive:
    """A row of so many operands whose derivative is refused by those in the places `refused`, by default by all. In those in the
    places `linear` it is linear, so forward mode is the row itself."""
    operands = [f"a{index + 1}" for index in range(count)]
    refusal = f"(refuse-derivative {_quoted(message)} {_quoted(hint)} "
    places = range(count) if refused is None else refused
    terms = [f"{refusal}{operands[place]} d{operands[place]})" for place in places]
    if linear:
        given = ["d" + x if place in linear else x for place, x in enumerate(operands)]
        terms.append(f"(itself {' '.join(given)})")
    row = Primitive(
        name, " ".join(operands), doc, value=value, type=f"{' '.join(['any'] * count)} -> any",
        forward=functools.reduce("(accumulate {} {})".format, terms or ["zero"]),
        reverse={operands[place]: f"{refusal}{operands[place]} s)" for place in (*places, *linear)}, **columns,
    )  # fmt: skip
    if linear:
        row.rows = {"itself": row}
    return row


def _quoted(text: str) -> str:
    return written(String(text))


def _left_out(what: str) -> Function:
    return lambda w, *operands: w.left_out(what)


def calling(function: Function, name: str, apply: ApplyProcedure) -> Function:
    """The function on values of the language."""

    def call(*operands: Value) -> Value:
        arguments = [x if type(x) is float else to_python(x, apply) for x in operands]
        result = protected(name, function, arguments)
        return result if type(result) is float else returned(name, result, apply)

    return call


def protected(name: str, function: Function, arguments: Sequence[Any]) -> Any:
    """What Python answers; what it raises is an error of the program."""
    try:
        return function(*arguments)
    except (VladError, MemoryError):
        raise
    except Exception as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise VladError("python-error", f"The Python function {name} failed: {what}") from error


def returned(name: str, result: Any, apply: ApplyProcedure) -> Value:
    try:
        return tensor_of(result) if is_array(result) else from_python(result, apply)
    except NoCounterpart as error:
        message = f"The answer of the Python function {name} cannot be taken over: {error.message}"
        raise VladError("python-error", message, hint=error.hint) from None


def _of_chain(call: Function, name: str, parameters: tuple[str, ...] | None) -> Function:
    """A function of any number of arguments, or of none, on its one operand: (a . (b . c)) is three, a list is one."""

    def of_chain(packed: Value) -> Value:
        seen = look(packed)
        if parameters is not None and seen != NIL:
            raise VladError(
                "not-equivalent", "Argument is not an equivalent value for ()", hint=f"{name} takes no argument",
                irritants=(packed,),
            )  # fmt: skip
        return call(*arguments_of(seen))

    return of_chain


def arguments_of(packed: Value) -> list[Value]:
    parts: list[Value] = []
    rest = packed
    while is_pair(rest):
        part, rest = look(rest)
        parts.append(part)
    rest = look(rest)
    if rest == NIL:
        return [packed] if parts else []
    return [*parts, rest]


# Primitives.


class HostPrimitive:
    """A Python function with derivative rules; made by `primitive`. Calling it calls the function.

    `forward` and `reverse` add a rule, and may be used as decorators.
    """

    def __init__(
        self,
        function: Function,
        name: str | None,
        forward: Rule,
        reverse: Rule,
        partials: Rule,
        c: str | None,
        example: Any,
    ) -> None:
        functools.update_wrapper(self, function)
        self.__name__ = name or name_of(function)
        self.function = function
        self.operands = parameters_of(function) or ()
        self.rules: dict[str, Rule] = {"forward": forward, "reverse": reverse, "partials": partials}
        self.c = c
        self.example = example
        self.version = 0  # of the rules
        self._check_names()

    def _check_names(self) -> None:
        own = set(self.operands)
        wrong = own & (RESERVED | {"d" + operand for operand in own})
        if not own:
            why = (
                "it does not name its parameters"
                if parameters_of(self.function) is None
                else "it has no operands"
            )
            raise wrong_rule(self, why, "wrap it in a function of parameters that are given by place")
        if wrong:
            raise wrong_rule(
                self, f"an operand is named {min(wrong)}",
                "in rules r is the result, s its sensitivity, and dx the tangent of x: give the parameter another name",
            )  # fmt: skip

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)

    def __repr__(self) -> str:
        return f"<vlad primitive {self.__name__}>"

    def forward(self, rule: Rule) -> Rule:
        """State the forward rule: the result's tangent, of parameters by these names: the operands, `r`, and the tangents, `d`
        and the operand."""
        return self._state("forward", rule)

    def reverse(self, rule: Rule) -> Rule:
        """State the reverse rule: the sensitivity of the one operand, or the tuple of those of several, of parameters by these
        names: the operands, `r`, and `s`, the result's sensitivity."""
        return self._state("reverse", rule)

    def _state(self, kind: str, rule: Rule) -> Rule:
        self.rules[kind] = rule
        self.version += 1
        return rule


def primitive(
    name: Any = None,
    *,
    forward: Rule = None,
    reverse: Rule = None,
    partials: Rule = None,
    c: str | None = None,
    example: Any = None,
) -> Any:
    """Decorate a pure Python function of reals or arrays, to be a primitive with derivatives in the sessions that it is given to.

    name      its name there; the function's own by default
    partials  each operand's partial derivative, by its name, or that of the only one. For functions of reals, and of arrays entry
              by entry. "zero" says: constant
    forward   the result's tangent
    reverse   the sensitivity of the only operand, or of several the tuple; or each operand's by its name
    c         a C expression of {operand}s that computes the same, for functions of reals: so that it can be compiled
    example   a tuple of operands to check rules at, or a list of some. Needed where the operands are not all reals

    A rule is a text of the language over the operands, r (the result), s (its sensitivity) and dx (the tangent of x); or a Python
    function whose parameters have such names; or a primitive whose parameters have. Only texts and primitives have
    derivatives of their own. For a function of reals one rule is enough for all modes. When a session is given the
    primitive, each rule is compared with finite differences. Raises VladError there.
    """

    def decorate(function: Function) -> HostPrimitive:
        given = name if isinstance(name, str) else None
        return HostPrimitive(function, given, forward, reverse, partials, c, example)

    return decorate(name) if callable(name) else decorate


def wrong_rule(primitive: HostPrimitive, why: str, hint: str | None = None) -> VladError:
    return VladError(
        "invalid-rule", f"The primitive {primitive.__name__} is not understood: {why}", hint=hint
    )


class _Maker:
    """The rows of a primitive, and of those that are its rules."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.apply = host.apply
        self.rows: dict[HostPrimitive, Primitive] = {}
        self.checks: list[_Check] = []

    def check(self) -> None:
        for check in self.checks:
            check.run()

    def row(self, primitive: HostPrimitive) -> Primitive:
        known = self.host.primitives.get(primitive)
        if known is not None and known[0] == primitive.version:
            return known[1]
        if primitive not in self.rows:
            self._make(primitive)
        return self.rows[primitive]

    def _make(self, primitive: HostPrimitive) -> None:
        points = _Points(primitive, self.apply)
        name = primitive.__name__
        kinds = points.kinds
        value = _real_value(primitive) if points.are_reals else _general_value(primitive, kinds, self.apply)
        rows: dict[str, Primitive] = {}
        row = Primitive(
            f"{name}:{next(_serial)}", " ".join(primitive.operands), f"{name} of Python.", value=value,
            type=f"{' '.join(kinds)} -> number", partials={}, rows=rows,
        )  # fmt: skip
        rows[name] = row
        row.rows = rows
        self.rows[primitive] = row
        if primitive.c is None:
            row.abstract = _left_out(f"the Python function {name} is")
        elif points.are_reals:
            row.c = _c_rule(primitive, points)
        else:
            raise wrong_rule(primitive, "only functions of reals have a rule in C")
        _Statement(self, primitive, row, rows, points).state()


def _c_rule(primitive: HostPrimitive, points: _Points) -> str:
    """The C of a primitive, compared with the function."""
    c, computed = read_expression(primitive.__name__, primitive.c or "", primitive.operands)
    for point, expected in points.values():
        found = computed(*point)
        if not math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12):
            raise VladError(
                "wrong-rule",
                f"The rule of {primitive.__name__} in C is wrong: at {_told(point)} it gives {found}, Python {expected}",
            )
    return c


def _told(point: Sequence[Value]) -> str:
    return f"({' '.join([written(x, 60) for x in point])})"


def _real_value(primitive: HostPrimitive) -> Function:
    """The complete rule of a function of reals."""
    return real_rule(
        primitive.__name__, real_function(primitive.__name__, primitive.function), len(primitive.operands)
    )


def real_function(
    name: str, function: Function, part: int | None = None, count: int | None = None
) -> Function:
    """A Python function of reals that is sure to answer one; `part` of several answers; of the first `count` operands."""

    def rule(*operands: float) -> float:
        result = protected(name, function, operands[:count])
        if part is not None:
            result = _part(name, result, part)
            if result is None:
                return 0.0
        if type(result) is float:
            return result
        try:
            return float(result)
        except (TypeError, ValueError):
            raise VladError(
                "python-error", f"The Python function {name} answers no real: {type(result).__name__}"
            ) from None

    return rule


def _part(name: str, result: Any, part: int) -> Any:
    """One of several answers; None says: nothing."""
    if not isinstance(result, tuple | list) or len(result) <= part:
        raise VladError(
            "python-error",
            f"The Python function {name} does not answer a tuple of a sensitivity for each operand",
        )
    return result[part]


def _general_value(primitive: HostPrimitive, kinds: Sequence[str], apply: ApplyProcedure) -> Function:
    """The complete rule of a function of arrays, reals and what has no tangents."""
    name = primitive.__name__
    call = calling(primitive.function, name, apply)

    def value(*operands: Value) -> Value:
        for operand, kind in zip(operands, kinds, strict=True):
            if kind == "number" and type(operand) not in (float, Tensor) and operand is not ZERO:
                raise invalid(name, "reals and tensors", operand)
        return as_number(name, call(*operands))

    return value


def as_number(name: str, result: Value) -> Value:
    if type(result) not in (float, Tensor):
        raise VladError(
            "python-error",
            f"The Python function {name} answers neither a real nor an array: {written(result, 60)}",
        )
    return result


# What a primitive's rules say, as texts.


class _Statement:
    """States the derivative of one row."""

    def __init__(
        self,
        maker: _Maker,
        primitive: HostPrimitive,
        row: Primitive,
        rows: dict[str, Primitive],
        points: _Points,
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
                self.primitive, "it has no derivative rule",
                "state partials, forward or reverse; a function that is not to be differentiated needs no `vlad.primitive`",
            )  # fmt: skip
        if self.points.are_reals:
            stated = [self._partials_by(kind, rule) for kind, rule in rules.items()]
            for partials in stated[:-1]:  # one is enough, but none may be wrong
                self._add_check(self._alternative(partials))
            self.row.partials = stated[-1]
        elif "partials" in rules:
            if len(rules) > 1:
                raise wrong_rule(
                    self.primitive, "partials are forward and reverse in one", "state either these or those"
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
        self._read_texts(row)
        stated = row.partials if row.partials is not None else row.reverse or {}
        varying = [x for x in self.varying if stated.get(x, "zero") != "zero"]
        self.maker.checks.append(_Check(self.maker.host, self.primitive, row, varying, self.points, modes))

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
        )

    def _read_texts(self, row: Primitive) -> None:
        """Derivative rules are made of primitives and branches, as the table's are."""
        texts = [row.forward, *(row.reverse or {}).values(), *(row.partials or {}).values()]
        for text in filter(None, texts):
            try:
                body = self.maker.host.machine.ad()[1].rule(row, text).body
            except VladError as error:
                raise self._unread(text, error.message) from None
            if not is_plain(body):
                raise self._unread(text, "it calls what is no primitive, or has a lambda in it")

    def _unread(self, text: str, why: str) -> VladError:
        names = " ".join([*self.row.operands, "r", "s", *["d" + x for x in self.row.operands]])
        return wrong_rule(
            self.primitive,
            f"{text}: {why}",
            f"a text is made of {names} and primitives with all their operands",
        )

    # Functions of reals: everything becomes partial derivatives.

    def _partials_by(self, kind: str, rule: Rule) -> dict[str, str]:
        if kind == "forward":
            return {x: f"(let ({self._directions(x)}) {self._text(rule, 'd', None)})" for x in self.varying}
        by_operand = self._by_operand(kind, rule)
        texts = {
            x: self._text(part, "s" if kind == "reverse" else "", index)
            for x, (part, index) in by_operand.items()
        }
        if kind == "reverse":
            texts = {x: f"(let ((s 1)) {text})" for x, text in texts.items()}
        return {x: texts.get(x, "zero") for x in self.row.operands}

    def _directions(self, x: str) -> str:
        return " ".join([f"(d{other} {1 if other == x else 'zero'})" for other in self.varying])

    def _by_operand(self, kind: str, rule: Rule) -> dict[str, tuple[Rule, int | None]]:
        """Each operand's rule; with a number, that is a part of what it answers."""
        if isinstance(rule, Mapping):
            strange = (
                sorted(set(rule) ^ set(self.varying))
                if kind == "partials"
                else sorted(set(rule) - set(self.varying))
            )
            if strange:
                raise wrong_rule(
                    self.primitive, f"{kind} have {'no rule' if strange[0] in self.varying else 'a rule'} for {strange[0]}",
                    f'there is a rule for each of {" ".join(self.varying)}; "zero" says that it is constant',
                )  # fmt: skip
            return {x: (part, None) for x, part in rule.items()}
        if len(self.varying) == 1:
            return {self.varying[0]: (rule, None)}
        if kind == "reverse" and not isinstance(rule, str | HostPrimitive):
            return {x: (rule, index) for index, x in enumerate(self.varying)}
        raise wrong_rule(
            self.primitive,
            f"{kind} is one rule for {len(self.varying)} operands",
            "state a rule for each by its name",
        )

    # Functions of arrays.

    def _forward(self, rule: Rule) -> str:
        if rule is None:
            return self._refusal("forward", "reverse", lambda x: "d" + x)
        return self._text(rule, "d", None)

    def _reverse(self, rule: Rule) -> dict[str, str]:
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
        refusal = f"(refuse-derivative {_quoted(message)} {_quoted(hint)} "
        terms = [f"{refusal}{x} {factor(x)})" for x in of or self.varying]
        return functools.reduce("(accumulate {} {})".format, terms)

    def _transpose(self) -> None:
        """Where the function is linear, so that neither rule names its operand, each rule is the other's derivative."""
        rows = {operands: row for (_, operands), row in self.hidden.items()}
        x = self.varying[0]
        forward, reverse = rows.get(("d" + x, x, "r")), rows.get(("s", "s", "~" + x))
        if forward is not None and reverse is not None:
            forward.rows = {**forward.rows, "transposed": reverse}
            reverse.rows = {**reverse.rows, "transposed": forward}
            forward.reverse = {"a1": "(transposed s s a2)"}
            reverse.reverse = {"a1": "(transposed s s a1)"}

    # A rule as a text.

    def _text(self, rule: Rule, linear: str, part: int | None, operand: str = "") -> str:
        """`linear`: s or d, the names that the rule is linear in; `operand`: whose sensitivity it gives."""
        if isinstance(rule, str):
            return rule
        if not callable(rule):
            raise wrong_rule(
                self.primitive,
                f"a rule is a {type(rule).__name__}",
                "a text, a function or a primitive is expected",
            )
        names = rule.operands if isinstance(rule, HostPrimitive) else self._parameters(rule)
        tangents = ["d" + x for x in self.varying] if linear == "d" else ["s"] if linear == "s" else []
        known = [*self.row.operands, "r", *tangents]
        strange = [name for name in names if name not in known]
        if strange:
            raise wrong_rule(
                self.primitive, f"its rule {name_of(rule)} has a parameter {strange[0]}",
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
            raise wrong_rule(self.primitive, f"its rule {name_of(rule)} does not name its parameters")
        return names

    def _completed(self, name: str, tangents: Sequence[str]) -> str:
        """A primitive has to be given a tangent, though it is known to be zero."""
        is_tangent = name in tangents and name != "s" and not self.points.are_reals
        return f"(complete {name[1:]} {name})" if is_tangent else name

    def _applied(self, row: Primitive, operands: Sequence[str]) -> str:
        key = f"rule-{len(self.rows)}"
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
            f"{self.name}.rule:{next(_serial)}", count, f"A rule of {self.name}.", value, message,
            "state the rule as a text of the language, or as a primitive with a rule", linear, refused, hidden=True,
            abstract=_left_out(f"derivatives of {self.name} that Python computes are"),
        )  # fmt: skip

    def _of_reals(self, rule: Function, names: tuple[str, ...], part: int | None) -> str:
        """A rule on reals goes through tensors entry by entry, as the function does."""
        operands = names or (self.varying[0],)
        function = real_function(f"{self.name}'s rule", rule, part, len(names))
        return self._applied(
            self._hidden(real_rule(self.name, function, len(operands)), len(operands)), operands
        )

    def _of_arrays(
        self, rule: Function, names: tuple[str, ...], tangents: Sequence[str], part: int | None, operand: str
    ) -> str:
        """Behind the rule's own operands stand those that say what shape a tangent has, or an answer."""
        linear = [place for place, name in enumerate(names) if name in tangents]
        refused = [place for place, name in enumerate(names) if name not in tangents]
        likes = [] if tangents == ["s"] else [names[place][1:] for place in linear]
        wanted = [operand] if part is None else self.varying
        shapes = ["s", *["~" + x for x in wanted]] if tangents == ["s"] else ["r"] if tangents else []
        operands = [*names, *likes, *shapes]
        key = (rule, tuple(operands))
        if (
            key not in self.hidden
        ):  # a rule that answers several sensitivities is one row: it is computed once for all
            value = rule_of_arrays(
                f"{self.name}'s rule",
                rule,
                self.maker.apply,
                linear,
                len(names),
                len(likes),
                part is not None,
            )
            scaled = [
                *linear,
                *[place for place in range(len(names), len(operands)) if operands[place] == "s"],
            ]
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
    """The value of a row that is a rule in Python. Its operands: `own` of the rule's, among them those in the places `linear`;
    for each of these, if it is a tangent, its primal; and what says the shape of the answer: the result, or the
    result's sensitivity and, for each answer, an operand, or #f where it is shaped like the result. `many`: the rule answers a
    tuple."""

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
        answers: list[Value] = []
        for place, likeness in enumerate(likenesses):
            part = _part(name, result, place)
            answers.append(ZERO if part is None else fitting(name, returned(name, part, apply), likeness))
        return tuple_of(answers)

    return value


def fitting(name: str, answer: Value, like: Value = None) -> Value:
    """An answer of the shape of something. Raises VladError."""
    number = as_number(name, answer)
    if like is not None and _shape(number) != _shape(like):
        raise VladError(
            "wrong-shape",
            f"The Python function {name} answers what has the shape {shape_text(_shape(number))}, "
            f"where {shape_text(_shape(like))} is expected",
            hint="tangents have the shape of the result, sensitivities those of the operands",
        )
    return number


def _shape(value: Value) -> tuple[int, ...]:
    return value.shape if type(value) is Tensor else ()


def is_plain(body: Body) -> bool:
    """Is it made of primitives and branches?"""
    rhss = [binding.rhs if isinstance(binding, Binding) else None for binding in body.bindings]
    return all(_is_plain_rhs(rhs) for rhs in (*rhss, body.result))


def _is_plain_rhs(rhs: object) -> bool:
    if isinstance(rhs, If):
        return is_plain(rhs.consequent) and is_plain(rhs.alternative)
    return isinstance(rhs, Apply | Variable | Constant)


# Checks of rules.

MOST_POINTS = 6
MOST_DRAWN = 60


class _Points:
    """Where a primitive is tried: what its operands are, and points at which it answers.

    kinds       of the operands: "number" where they may vary, "any" where they have no tangents
    are_reals   it is a function of reals to a real
    given       the examples; `near` them, or drawn where there is none, are points at which it need not be defined
    """

    def __init__(self, primitive: HostPrimitive, apply: ApplyProcedure) -> None:
        self.primitive = primitive
        self.random = random.Random(primitive.__name__)
        self.given = [self._converted(example, apply) for example in self._examples()]
        first = self.given[0] if self.given else (0.0,) * len(primitive.operands)
        self.kinds = [
            "number" if type(x) is float or (type(x) is Tensor and x.is_real) else "any" for x in first
        ]
        if "number" not in self.kinds:
            raise wrong_rule(primitive, "no operand of its example is a real or an array of reals")
        self.are_reals = all(type(x) is float for x in first) and (
            not self.given or self._answers_real(first)
        )

    def _examples(self) -> list[tuple[Any, ...]]:
        example = self.primitive.example
        if example is None:
            return []
        examples = example if isinstance(example, list) else [example]
        return [one if isinstance(one, tuple) else (one,) for one in examples]

    def _converted(self, example: tuple[Any, ...], apply: ApplyProcedure) -> Point:
        operands = self.primitive.operands
        if len(example) != len(operands):
            raise wrong_rule(
                self.primitive, f"its example has {len(example)} operands", f"it takes {' '.join(operands)}"
            )
        return tuple([from_python(x, apply) for x in example])

    def _answers_real(self, point: Point) -> bool:
        answer = protected(self.primitive.__name__, self.primitive.function, point)
        return not getattr(answer, "shape", ())

    def values(self) -> list[tuple[Point, float]]:
        """Points of a function of reals, with its values."""
        function = real_function(self.primitive.__name__, self.primitive.function)
        found = [(point, function(*point)) for point in self.given]
        failure: VladError | None = None
        for point in self.tries():
            if len(found) >= MOST_POINTS:
                break
            try:
                value = function(*point)
            except VladError as error:
                failure = error
                continue
            if math.isfinite(value):
                found.append((point, value))
        if not found:
            why = "" if failure is None else f": {failure.message}"
            raise wrong_rule(self.primitive, f"it answers at no point that was tried{why}", NO_POINTS)
        return found

    def tries(self) -> Iterator[Point]:
        """Points at which the function may be undefined."""
        for index in range(MOST_DRAWN):
            if self.given:
                near = self.given[index % len(self.given)]
                yield tuple([x * self.random.uniform(0.9, 1.1) for x in near])
            else:
                low, high = ((-2.0, 2.0), (0.1, 0.9), (1.1, 3.0))[index % 3 if index > 5 else 0]
                yield tuple([self.random.uniform(low, high) for _ in self.primitive.operands])

    def all(self) -> list[Point]:
        return [point for point, _ in self.values()] if self.are_reals else self.given


NO_POINTS = "`example=` says where: a tuple of operands, or a list of some"


class _Check:
    """Compares the rules of a row with finite differences, by one operand after the other. Those that are said to be constant are
    taken at that word."""

    def __init__(
        self,
        host: Host,
        primitive: HostPrimitive,
        row: Primitive,
        varying: Sequence[str],
        points: _Points,
        modes: Sequence[str],
    ) -> None:
        self.machine = host.machine
        self.primitive = primitive
        self.row = row
        self.varying = varying
        self.points = points
        self.modes = modes
        self.procedure = host.procedure_of(row, primitive.__name__)

    def run(self) -> None:
        points = self.points.all()
        compared = [self._at(point, x) for point in points for x in self.varying]
        if self.varying and not any(compared):
            raise wrong_rule(
                self.primitive, "there was no point at which its derivative could be checked", NO_POINTS
            )

    def _at(self, point: Point, x: str) -> bool:
        """Whether there was something to compare with."""
        place = self.row.operands.index(x)
        weight = self._random_like(self.row.value(*point))
        direction = self._random_like(point[place])
        try:
            expected, error = self._difference(point, place, direction, weight)
        except VladError:
            if point in self.points.given:
                raise
            return False
        if not math.isfinite(expected):
            return False
        for mode in self.modes:
            found = (self._forward if mode == "forward" else self._reverse)(point, place, direction, weight)
            allowed = error + _precision(point[place]) ** 0.4 * max(abs(found), abs(expected))
            if not abs(found - expected) <= allowed:
                raise self._wrong(x, point, found, expected)
        return True

    def _wrong(self, x: str, point: Point, found: float, expected: float) -> VladError:
        along = "" if self.points.are_reals else " (weighted at random)"
        return VladError(
            "wrong-derivative",
            f"A derivative rule of {self.primitive.__name__} is wrong: by {x} at {_told(point)} "
            f"it gives {found:.9g}, finite differences {expected:.9g}{along}",
        )

    def _difference(self, point: Point, place: int, direction: Value, weight: Value) -> tuple[float, float]:
        """The central difference, extrapolated (Richardson), and what it may be wrong by."""

        def at(step: float) -> float:
            moved = [*point]
            moved[place] = point[place] + direction * step
            return dot(weight, self.row.value(*moved))

        def slope(step: float) -> float:
            return (at(step) - at(-step)) / (2 * step)

        precision = _precision(point[place])
        step = precision**0.2 * max(0.1, _largest(point[place]))
        coarse, fine = slope(step), slope(step / 2)
        rounding = 10 * precision * abs(at(0.0)) / step
        return (4 * fine - coarse) / 3, 10 * abs(fine - coarse) + rounding

    def _forward(self, point: Point, place: int, direction: Value, weight: Value) -> float:
        tangents = [direction if index == place else complete(x, ZERO) for index, x in enumerate(point)]
        entry = self.machine.forward_closure(self.procedure)
        both = self.machine.apply(entry, (ZERO, (tuple_of(tangents), tuple_of(list(point)))))
        return dot(weight, look(both)[1])

    def _reverse(self, point: Point, place: int, direction: Value, weight: Value) -> float:
        identity = closure(self.machine.codes["identity"])
        entry = self.machine.tail_closure(self.procedure)
        both = look(self.machine.apply(entry, (identity, tuple_of(list(point)))))
        packed = look(self.machine.apply(both[1], weight))[1]
        return dot(direction, parts_of(packed, len(point))[place])

    def _random_like(self, value: Value) -> Value:
        draw = self.points.random
        if type(value) is not Tensor:
            return 1.0
        xp = namespace(value.like)
        numbers = [draw.gauss(0, 1) for _ in range(math.prod(value.shape))]
        return Tensor(xp.reshape(xp.asarray(numbers, dtype=value.like.dtype), value.shape))


def _precision(value: Value) -> float:
    """What a number of this kind is exact to, relatively."""
    return 2.0**-23 if type(value) is Tensor and kind_name(value.like.dtype) == "float32" else 2.0**-52


def _largest(value: Value) -> float:
    if type(value) is not Tensor:
        return abs(value)
    return float(namespace(value.like).max(abs(value.array))) if 0 not in value.shape else 0.0


def dot(a: Value, b: Value) -> float:
    """The inner product of a tangent and a sensitivity of one thing. Raises VladError where they are not."""
    if a is ZERO or b is ZERO:
        return 0.0
    product = fitting("of the derivative", b, a) * a
    return float(namespace(product.like).sum(product.array)) if type(product) is Tensor else product
