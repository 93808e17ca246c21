"""Derivatives of a session's procedures, for Python: `vlad.grad` and the like.

In: procedures of a session.  Out: procedures of the same session; the language's own operators compute their results
(stdlib/calculus.vlad), so derivatives nest in Python, too. Arguments may be any structure of numbers and arrays: lists,
tuples, named tuples, dataclasses, dictionaries, closures. Sensitivities and tangents have the structure of their
primals.

Results of an operator are cached (Calls.derived): so `vlad.grad(f)` is the same procedure each time, and
its compiled code is found again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from vlad.compile.calling.variants import Options
from vlad.data.errors import VladError, leaving
from vlad.data.records import DICT, HEADS_OF_SETS, TUPLE
from vlad.data.source import Span, in_stdlib
from vlad.data.tensors import Tensor, is_array
from vlad.data.values import NIL, Value, is_pair, look
from vlad.expand.arity import Signature
from vlad.messages.hints import attribute_to
from vlad.python.convert import (
    LIKE_ARGUMENTS,
    RESTRUCTURES,
    VALUE_LIKE_ARGUMENTS,
    Leaf,
    Procedure,
    from_python,
    key_of,
    like,
    to_python,
)
from vlad.python.structures import head_of, headed, none_of_sets, parts_held, parts_of, tuple_of

Which = int | str | Sequence[int | str] | None
Chosen = int | Sequence[int] | None  # the same by number

MOST_KEPT = 512  # procedures made from others, in a session

# Texts for operators of the library that take more operands than the procedure, or return less than is
# needed here.
WITH_OPERANDS = {
    "jvp": "(lambda (operator f) (lambda (x v) (operator f x v)))",
    "hvp": "(lambda (operator f) (lambda (x v) (operator f x v)))",
    "vjp": "(lambda (operator f) (lambda (x) (operator f x)))",
    "jacobian": "(lambda (operator f) (lambda (x) (cons (f x) ((operator f) x))))",
}
# By `vjp`: the value of a procedure that returns a pair, and the gradient of its first part.
WITH_AUX = """(lambda (operator f)
  (lambda (x)
    (let* ((both (operator f x)) (value (car both)))
      (if (not (pair? value))
          (error "With has_aux a function returns a pair, of a real and of the rest, not" value)
          (begin
            (%expect-real (car value))
            (cons value ((cdr both) (cons 1 (zero (cdr value))))))))))"""


class Derived(Procedure):
    """The result of an operator on a procedure. It is called like that procedure."""

    __slots__ = ("_made_of", "noun", "of", "recipe")

    def __init__(self, value: Value, of: Procedure, noun: str, options: Options | None = None) -> None:
        super().__init__(value, of._apply, options)
        self.of = of
        self.places = of.places
        self.noun = noun
        # the operator and the text that made it of `of`, and the value that this had
        self.recipe: tuple[str, str] | None = None
        self._made_of: Value = None
        self._apply.quicken(self)

    def made_by(self: D, operator: str, text: str) -> D:
        """Remember how it was made: it is made again if a Python function is translated again, or found in another process."""
        self.recipe, self._made_of = (operator, text), self.of.value
        return self

    def refusal(self) -> VladError | None:
        return self.of.refusal()

    def renewed(self) -> Value:
        of = self.of.renewed()
        if self.recipe is not None and of is not self._made_of:
            self.value, self._made_of = _made(self.of, *self.recipe), of
            self.quicks = ()
        self.guards = self._apply.guards
        return self.value

    @property
    def __name__(self) -> str:
        return f"{self.noun} of {self.of.__name__}"

    def _summary(self) -> str:
        return f"{self.noun} of {self.of._summary()}"

    def _documented(self) -> str:
        return f"The {self._summary()}."

    @property
    def takes_places(self) -> bool:
        return self.of.takes_places

    def completed(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        return self.of.completed(arguments, named)

    def _by_place(self, arguments: tuple[Any, ...]) -> Any:
        return self._renewed_call(self.completed(arguments, {}))

    def _renewed_call(self, arguments: tuple[Any, ...]) -> Any:
        if self.guards:
            self.renewed_for(arguments)
        return super()._by_place(arguments)

    def _with_names(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        completed = self.completed(arguments, named)
        if completed is arguments:  # it is no translated function's
            return super()._with_names(arguments, named)
        return self._renewed_call(completed)

    def taken(self) -> Signature:
        return self.of.taken()

    def counters(self) -> Mapping[str, Span]:
        return self.of.counters()

    def place(self) -> Span | None:
        return self.of.place()

    def _same(self, options: Options | None) -> Derived:
        return type(self)(self.value, self.of, self.noun, options)

    def compiled(self, options: Options) -> Any:
        return self._same(options)

    def is_found_by_name(self) -> bool:
        return self.recipe is not None and self.of.is_found_by_name()

    def __reduce__(self) -> Any:
        made = self.recipe if self.is_found_by_name() else Procedure(self.value, self._apply)
        return _again, (type(self), made, self.of, self.noun, self.options)


def _again(kind: type[Derived], made: Procedure | tuple[str, str], of: Procedure, *more: Any) -> Derived:
    """Restore a pickled one: from its text, or made again of a function that is found in this process, in its session."""
    if isinstance(made, Procedure):
        return kind(made.value, of, *more)
    return kind(_made(of, *made), of, *more).made_by(*made)


D = TypeVar("D", bound=Derived)
G = TypeVar("G", bound="Gradient")


class Gradient(Derived):
    """The gradient of a procedure, by all its arguments or some, with the structure of these."""

    __slots__ = ("by",)

    reshapes = LIKE_ARGUMENTS

    def __init__(
        self, value: Value, of: Procedure, noun: str, options: Options | None = None, by: Chosen = None
    ) -> None:
        self.by = by
        super().__init__(value, of, noun, options)

    def _same(self, options: Options | None) -> Gradient:
        return type(self)(self.value, self.of, self.noun, options, self.by)

    def __reduce__(self) -> Any:
        again, facts = super().__reduce__()
        return again, (*facts, self.by)

    def _call(self, arguments: tuple[Any, ...]) -> Any:
        return self._like_arguments(self.run(self.packed(arguments)), arguments)

    def renewed(self) -> Value:
        if self.by is None:
            _expect_no_counters(self.of)
        return super().renewed()

    def _like_arguments(self, value: Value, arguments: tuple[Any, ...]) -> Any:
        """A result of the language in the structure of the arguments."""
        return self._sensitivities(arguments, value)

    def _restructured(self, value: Value, arguments: tuple[Any, ...]) -> Any:
        return self._like_arguments(value, arguments)

    def _sensitivities(self, arguments: tuple[Any, ...], value: Value, leaf: Leaf | None = None) -> Any:
        return Gradient._shaped(self, _like_each(self._chosen(arguments), value, self, leaf))

    def _chosen(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.by is None:
            _expect_weights(arguments)
            return arguments
        given = _for_parameters(arguments, look(self.value)[0].arity)
        return tuple([given[number] for number in ((self.by,) if isinstance(self.by, int) else self.by)])

    def _shaped(self, leaves: tuple[Any, ...]) -> Any:
        """If one parameter was given several arguments, there are several leaves, which do not determine the structure."""
        if type(self.by) is tuple:
            return leaves if len(leaves) == len(self.by) else NotImplemented
        if len(leaves) == 1:
            return leaves[0]
        return leaves if self.by is None else NotImplemented


class ValueAndGradient(Gradient):
    """The pair of value and gradient."""

    __slots__ = ()

    reshapes = VALUE_LIKE_ARGUMENTS

    def _like_arguments(self, value: Value, arguments: tuple[Any, ...]) -> Any:
        value, gradient = parts_of(value, 2)
        return to_python(value, self._apply), self._sensitivities(arguments, gradient)

    def _shaped(self, leaves: tuple[Any, ...]) -> Any:
        gradient = Gradient._shaped(self, leaves[1:])
        return gradient if gradient is NotImplemented else (leaves[0], gradient)


class ValueAndGradientWith(ValueAndGradient):
    """The same of a procedure that returns the pair of its value and of something else, which is returned with the value."""

    __slots__ = ()

    reshapes = RESTRUCTURES

    def _shaped(self, leaves: tuple[Any, ...]) -> Any:
        return NotImplemented


class GradientWith(ValueAndGradientWith):
    """The gradient with that something else."""

    __slots__ = ()

    def _like_arguments(self, value: Value, arguments: tuple[Any, ...]) -> Any:
        value, gradient = parts_of(value, 2)
        _, *rest = to_python(value, self._apply)
        return self._sensitivities(arguments, gradient), rest[0] if len(rest) == 1 else tuple(rest)


class Along(Derived):
    """A procedure's directional derivative: of a point and a direction."""

    __slots__ = ()

    def __init__(self, value: Value, of: Procedure, noun: str, options: Options | None = None) -> None:
        super().__init__(value, of, noun, options)
        self.places = None  # its arguments are not those of the procedure

    def taken(self) -> Signature:
        return Signature(self.__name__, "(x v)", ("x", "v"), False)

    def completed(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        return arguments  # they are not those of the procedure

    def _argument(self, number: int) -> str:
        return self.of._argument(number)

    def at(self, points: tuple[Any, ...], directions: tuple[Any, ...]) -> Value:
        """Its result for the arguments of the procedure and as many tangents."""
        try:
            return self.run(tuple_of([self.packed(points), self.packed(directions)]))
        except VladError as error:
            self._clarify(error, points)
            raise

    def reword(self, error: VladError, arguments: tuple[Any, ...]) -> None:
        self._clarify(error, arguments[:1])

    def _clarify(self, error: VladError, points: tuple[Any, ...]) -> None:
        """The library detects tangents that do not conform to the arguments."""
        of_tangents = (
            error.code == "bundle-do-not-conform" and error.span is not None and in_stdlib(error.span)
        )
        self.of.reword(error, points)
        if of_tangents:
            attribute_to(self.noun, error)


class Jacobian(Gradient):
    """The pair of the value and its derivatives, of which Python gets the second."""

    __slots__ = ()

    reshapes = RESTRUCTURES

    def _like_arguments(self, value: Value, arguments: tuple[Any, ...]) -> Any:
        value, rows = parts_of(value, 2)
        return self._over(value, rows, arguments)

    def _over(self, value: Value, rows: Value, arguments: tuple[Any, ...]) -> Any:
        """The value with each of its numbers replaced by its counterpart in `rows`, a derivative by the arguments."""
        value, rows = look(value), look(rows)
        if type(value) is float or (type(value) is Tensor and value.is_real):
            return self._sensitivities(arguments, rows)
        if not is_pair(value):
            return to_python(value, self._apply)
        head, keys, parts = head_of(value), list[Any](), list[Any]()
        if head is not None:
            if head in HEADS_OF_SETS:
                raise none_of_sets()
            value, rows = look(value[1]), look(rows[1])
        while is_pair(value):
            (first, value), (row, rows) = value, rows
            if head is DICT:
                (key, first), (_, row) = look(first), look(row)
                keys.append(key_of(key, self._apply))
            parts.append(self._over(first, row, arguments))
            value, rows = look(value), look(rows)
        if head is not None:
            return headed(head, keys, parts)
        if value == NIL or value is TUPLE:
            return parts if value == NIL else tuple(parts)
        found = self._over(value, rows, arguments)
        for part in reversed(parts):
            found = (part, found)
        return found

    def _shaped(self, leaves: tuple[Any, ...]) -> Any:
        value = leaves[0]
        if is_array(value) and value.dtype.kind != "f":  # it has no derivative and is returned unchanged
            return NotImplemented
        return Gradient._shaped(self, leaves[1:])


class Hessian(Gradient):
    """The gradient of a gradient: each number of the arguments is replaced by a value with their structure."""

    __slots__ = ()

    reshapes = RESTRUCTURES

    def _like_arguments(self, value: Value, arguments: tuple[Any, ...]) -> Any:
        def row(model: Any, part: Value) -> Any:
            point = from_python(model, self._apply)
            has_tangents = type(point) is float or (type(point) is Tensor and point.is_real)
            return self._sensitivities(arguments, part) if has_tangents else to_python(part, self._apply)

        chosen = self._chosen(arguments)
        if len(chosen) == 1 and (type(chosen[0]) is float or is_array(chosen[0])):
            return self._shaped((to_python(value, self._apply),))
        return self._sensitivities(arguments, value, row)

    def _shaped(self, leaves: tuple[Any, ...]) -> Any:
        if len(leaves) != 1:
            return NotImplemented
        return (leaves,) if type(self.by) is tuple else leaves[0]


class Backpropagator(Derived):
    """From a sensitivity of the value of a procedure at some arguments to theirs, with the structure of the arguments."""

    __slots__ = ("primals",)

    def __init__(
        self, value: Value, of: Procedure, noun: str, options: Options | None, primals: tuple[Any, ...]
    ) -> None:
        self.primals = primals
        super().__init__(value, of, noun, options)

    def taken(self) -> Signature:
        return Signature(self.__name__, "(sensitivity)", ("sensitivity",), False)

    def _same(self, options: Options | None) -> Backpropagator:
        return type(self)(self.value, self.of, self.noun, options, self.primals)

    def __reduce__(self) -> Any:
        again, facts = super().__reduce__()
        return again, (*facts, self.primals)

    def __call__(self, *arguments: Any) -> Any:
        """Machine code is not called directly: the structure of the primals determines the shape of its result."""
        return self._otherwise(*arguments)

    def _by_place(self, arguments: tuple[Any, ...]) -> Any:
        return self._slowly(arguments)

    def _call(self, arguments: tuple[Any, ...]) -> Any:
        sensitivities = _like_each(self.primals, self.run(self.packed(arguments)), self)
        return sensitivities[0] if len(self.primals) == 1 else sensitivities


@leaving
def grad(f: Procedure, argnums: Which = None, *, has_aux: bool = False) -> Gradient:
    """The gradient of a procedure that returns a real: a procedure of the same arguments.

    It returns the sensitivity of the only argument, or the tuple of those of several. `argnums` selects among them, from 0 on:
    a number or a name, for the bare sensitivity of that argument, or a tuple of such, for the tuple of these. Values without
    derivative come back unchanged: strings, booleans, and arrays of integers, such as labels; but the first of several
    arguments may not be such an array. Reverse mode (Pearlmutter & Siskind 2008, section 3). Raises VladError if `f` is no
    procedure of a session or has no such argument, or if that is a whole number which counts or selects; and when called, if
    `f` does not return a real. With `has_aux`, `f` returns a pair of a real and of anything else, and the result is the pair of
    the gradient and of that.
    """
    if has_aux:
        return _gradient(GradientWith, f, "vjp", "gradient", argnums, WITH_AUX)
    return _gradient(Gradient, f, "gradient", "gradient", argnums)


@leaving
def value_and_grad(f: Procedure, argnums: Which = None, has_aux: bool = False) -> ValueAndGradient:
    """As `grad`, but returns the pair of the value and the gradient, at the cost of the gradient; with `has_aux`, the value is
    the pair that `f` returns."""
    if has_aux:
        return _gradient(ValueAndGradientWith, f, "vjp", "value and gradient", argnums, WITH_AUX)
    return _gradient(ValueAndGradient, f, "value-and-gradient", "value and gradient", argnums)


@leaving
def jvp(f: Procedure, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The value of `f` and its derivative along `tangents`, by forward mode. `primals` and `tangents` are tuples with an entry
    for each argument of `f`; a single argument may be given without a tuple. Raises VladError if they do not conform.
    """
    along, points, directions = _along(f, "jvp", primals, tangents)
    value, tangent = parts_of(along.at(points, directions), 2)
    return to_python(value, along._apply), to_python(_expect_no_set(tangent), along._apply)


@leaving
def jacobian(f: Procedure, argnums: Which = None) -> Jacobian:
    """All partial derivatives of a procedure: a procedure of the same arguments, selected by `argnums` as in `grad`.

    It returns the value's structure with each real replaced by its sensitivity as from `grad`: for an array by
    an array, an array with the axes of the value before those of the argument. Reverse mode, once for each number in the
    value; forward mode, once for each number in the argument, if that is one number, or an array smaller than its
    result. Raises VladError if `f` is no procedure of a session or has no such argument.
    """
    return _gradient(Jacobian, f, "jacobian", "jacobian", argnums)


@leaving
def vjp(f: Procedure, *primals: Any) -> tuple[Any, Backpropagator]:
    """The value of `f` and its backpropagator: a procedure from a sensitivity of the value to the tuple of those of the
    arguments, or to the bare one for one argument. Raises VladError as `f` does.
    """
    f = session_procedure(f)
    _expect_no_counters(f)
    both = _derived(f, "vjp", Derived)
    apply, primals = both._apply, f.completed(primals, {})
    try:
        value, back = parts_of(both.run(both.packed(primals)), 2)
    except VladError as error:
        both.reword(error, primals)
        raise
    return to_python(value, apply), Backpropagator(look(back), f, "backpropagator", None, primals)


@leaving
def hessian(f: Procedure, argnums: Which = None) -> Hessian:
    """The second derivatives of a procedure that returns a real: a procedure of the same arguments, selected by `argnums` as in
    `grad`. It returns the gradient with each real replaced by a value with the structure of the gradient; for an array, an
    array of shape (*shape, *shape). Raises VladError as `grad` does.
    """
    return _gradient(Hessian, f, "hessian", "hessian", argnums)


@leaving
def hvp(f: Procedure, primals: Any, tangents: Any) -> Any:
    """The Hessian of `f` times a vector, without computing the Hessian: forward mode over reverse mode. `primals` and `tangents`
    as for `jvp`; the result is like that of `grad`. Raises VladError if they do not conform, or if `f` does not return a real.
    """
    along, points, directions = _along(f, "hvp", primals, tangents)
    if (type(primals) is float or is_array(primals)) and len(points) == 1 and points[0] is primals:
        return along(primals, tangents)
    sensitivities = _like_each(points, along.at(points, directions), along)
    return sensitivities[0] if len(points) == 1 else sensitivities


# What makes procedures of plain Python functions: session/differentiating.py gives it.
translated: Callable[[Any], Procedure] | None = None


def session_procedure(f: Any, verb: str = "differentiated") -> Procedure:
    """The argument as a procedure of a session, or a Python function as one of the process's session. Raises VladError if it is
    neither.
    """
    if isinstance(f, Procedure):
        return f
    of_python = callable(f) and not isinstance(f, type)
    if of_python and translated is not None:
        return translated(f)
    raise VladError(
        "not-a-procedure",
        f"A procedure of a session is {verb}; this is a Python {type(f).__name__}",
        hint="write `vlad.function(f)`, or `@vlad.function` above its definition"
        if of_python
        else 'a function that is written in Python, or `session["f"]`',
    )


def _gradient(kind: type[G], f: Any, operator: str, noun: str, by: Which, text: str = "") -> G:
    f, text = session_procedure(f), text or WITH_OPERANDS.get(operator, "")
    if by is None:
        return kind(_made(f, operator, text), f, noun, f.options).made_by(operator, text)
    numbers, count = _numbers(f, by)
    text = _partly(text, numbers, count)
    value = _made(f, operator, text)
    chosen = numbers[0] if isinstance(by, int | str) else numbers
    noun += f" by {' and '.join([f'argument {number}' for number in numbers])}"
    return kind(value, f, noun, f.options, chosen).made_by(operator, text)


def _numbers(f: Procedure, by: Any) -> tuple[tuple[int, ...], int]:
    """The selected arguments, from 0 on, and their total number. Raises VladError if they do not exist."""
    taken = f.taken()
    numbers = tuple(by) if isinstance(by, list | tuple) else (by,)
    if not taken.rest:
        numbers = tuple([taken.parameters.index(n) if n in taken.parameters else n for n in numbers])
    if taken.rest:
        why, hint = "takes any number of arguments", "wrap it in a lambda of so many"
    elif not numbers or not all(isinstance(n, int) and -taken.count <= n < taken.count for n in numbers):
        why, hint = (
            f"takes {taken.takes}",
            "argnums is the number of an argument, counted from 0, or its name, or a tuple of such; these are "
            + ", ".join(taken.parameters),
        )
    else:
        found = tuple([number % taken.count for number in numbers])
        _expect_no_counter(f, [taken.parameters[number] for number in found])
        if len(set(found)) == len(found):
            return found, taken.count
        else:
            why, hint = f"has an argument that argnums names twice: {by}", None
    what = f"No derivative by argnums {by!r}: {taken.name} {why}"
    raise VladError("invalid-argument", what, f.place(), hint=hint)


def _expect_no_counter(f: Procedure, chosen: Sequence[str]) -> None:
    """Raise VladError if one of these parameters is a counter of a Python function."""
    counted = f.counters()
    for own in chosen:
        if own in counted:
            raise VladError(
                "invalid-argument", f"No derivative by {own}: {f.taken().name} takes a whole number for it", counted[own],
                hint="counters, indices and lengths have no derivative; `argnums` chooses other arguments",
            )  # fmt: skip


def _expect_weights(arguments: tuple[Any, ...]) -> None:
    """Raise VladError if the first of several arguments is an array of integers: it would be returned as its own gradient, and a
    descent would subtract it. Later arguments of this kind are labels and indices."""
    if len(arguments) > 1 and is_array(arguments[0]) and arguments[0].dtype.kind in "iu":
        raise VladError(
            "invalid-argument",
            "The first argument is an array of integers, which has no derivative",
            hint="astype(float) makes it one of reals; argnums selects other arguments",
        )


def _expect_no_counters(f: Procedure) -> None:
    """The same of a derivative by all parameters, if all are counters. Those beside others have the derivative zero."""
    counted = f.counters()
    if counted:
        own = f.taken().parameters
        if all(one in counted for one in own):
            _expect_no_counter(f, own)


def _partly(text: str, numbers: tuple[int, ...], count: int) -> str:
    """An operator, or what a text makes of it, on a procedure of `count` arguments, as one of the selected ones alone."""
    names = [f"x{number}" for number in range(count)]
    chosen, all_of_them = " ".join([names[number] for number in numbers]), " ".join(names)
    partial = f"(lambda ({chosen}) (f {all_of_them}))"
    applied = f"(({text} operator {partial}) {chosen})" if text else f"((operator {partial}) {chosen})"
    return f"(lambda (operator f) (lambda ({all_of_them}) {applied}))"


def _derived(f: Any, operator: str, kind: type[D]) -> D:
    return made_by_operator(kind, session_procedure(f), operator, WITH_OPERANDS.get(operator, ""))


def made_by_operator(kind: type[D], f: Procedure, operator: str, text: str) -> D:
    return kind(_made(f, operator, text), f, operator, f.options).made_by(operator, text)


def _made(f: Procedure, operator: str, text: str = "") -> Value:
    """The result of an operator of the library, or of a text, on a procedure; the same each time."""
    kept, key = f._apply.derived, (id(f.value), operator, text)
    found = kept.get(key)
    if found is None:
        applied = f.session.library_value(operator)
        value = f._apply(_maker(f, text), (applied, f.value)) if text else f._apply(applied, f.value)
        while len(kept) >= MOST_KEPT:
            kept.pop(next(iter(kept)))
        found = kept[key] = f.value, value
    return found[1]


def _maker(f: Procedure, text: str) -> Value:
    kept = f._apply.derived
    if text not in kept:
        kept[text] = NIL, f.session._operator(text).value
    return kept[text][1]


def _along(
    f: Procedure, operator: str, primals: Any, tangents: Any
) -> tuple[Along, tuple[Any, ...], tuple[Any, ...]]:
    """An operator on a procedure, as a procedure, and its operands: points and directions. Raises VladError."""
    f, points, directions = session_procedure(f), _as_tuple(primals), _as_tuple(tangents)
    if len(points) != len(directions):
        raise VladError(
            "invalid-argument",
            f"There are {len(points)} arguments and {len(directions)} tangents",
            hint="each argument has a tangent of its own structure",
        )
    along = _derived(f, operator, Along)
    for own, tangent in zip(f.taken().parameters, directions, strict=False) if f.counters() else ():
        if not isinstance(tangent, float | int) or tangent != 0:
            _expect_no_counter(f, [own])
    if f.completed(points, {}) is points:
        return along, points, directions
    return along, f.completed(points, {}), _tangents(f, points, directions)


def _expect_no_set(tangent: Value) -> Value:
    """Raise VladError if a tangent is one of a set, or has one as a part."""
    work = [tangent]
    while work:
        part = look(work.pop())
        if is_pair(part):
            if head_of(part) in HEADS_OF_SETS:
                raise none_of_sets()
            work += part
    return tangent


def _tangents(f: Procedure, points: tuple[Any, ...], directions: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tangents of all parameters of a function: a default does not vary."""
    places = [object() for _ in points]
    of_places = dict(zip(map(id, places), directions, strict=True))
    zero = f.session.library_value("zero")

    def tangent(given: Any) -> Any:
        if id(given) in of_places:
            return of_places[id(given)]
        if isinstance(given, tuple) and given and all(id(one) in of_places for one in given):  # of `*args`
            return tuple([of_places[id(one)] for one in given])
        return to_python(f._apply(zero, from_python(given, f._apply)), f._apply)

    return tuple([tangent(given) for given in f.completed(tuple(places), {})])


def _like_each(
    models: Sequence[Any], value: Value, f: Procedure, leaf: Leaf | None = None
) -> tuple[Any, ...]:
    parts = parts_of(value, len(models))
    return tuple([like(model, part, f._apply, leaf) for model, part in zip(models, parts, strict=True)])


def _for_parameters(arguments: tuple[Any, ...], count: int) -> list[Any]:
    """The arguments of a call, one for each of `count` parameters. By the tuple rule the last takes all that remain; if
    there are too few, the last argument is several.
    """
    given = list(arguments) or [()]
    while len(given) < count:
        given += _arguments_in(given.pop())
    return given if len(given) == count else [*given[: count - 1], tuple(given[count - 1 :])]


def _arguments_in(value: Any) -> list[Any]:
    """The parts of a value that is a pair in the language."""
    if isinstance(value, dict):
        value = list(value.items())
    return [value[0], value[1:]] if isinstance(value, list) else parts_held(value)


def _as_tuple(points: Any) -> tuple[Any, ...]:
    return points if type(points) is tuple else (points,)
