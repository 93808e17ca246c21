"""The rows of *j, bundle, perturb, sensitize, zero, plus and of the entries; and the codes of AD values, in the language.

An AD value is a wrapper around a bare value, made in O(1): a closure of one of the codes below over the wrapped value
(design.md section 3, decision 0). Applying it is therefore ordinary core code, which can be transformed
in turn: this is why J of J works. The sensitivity of a wrapper is a record of the same shape.

The file is long because the rows of one family stand in one table, with the rules that they share above it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.ad.vector_space import (
    Shadows,
    accumulate,
    cells_of,
    complete,
    contents,
    fitting_tangent,
    head_of,
    is_structure,
    nonconforming,
    note_shadows,
    parts_of,
    plus,
    rebuilt,
    zero,
    zero_tangent,
)
from vlad.core.types import Recursion, has_tangents, is_tensor
from vlad.data.errors import VladError, unsuitable
from vlad.data.tensors import Tensor
from vlad.data.values import (
    FALSE,
    NIL,
    TRUE,
    ZERO,
    Opaque,
    Primitive,
    Reference,
    Role,
    Value,
    is_procedure,
    list_of,
    look,
)
from vlad.primitives.arrays import elements
from vlad.primitives.numbers import invalid
from vlad.primitives.references import outside_rule
from vlad.primitives.type_rules import as_kind, filled, kind_of, shape_of

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine, Evaluator

# Codes of the system: the role of each, the names it is closed over, its lambda; for `with-derivative` also its tail
# entry and its forward entry, over the same names.
CODES: dict[str, tuple[Role, str, tuple[str, ...]]] = {
    "identity": (Role.PROCEDURE, "", ("(lambda (x) x)",)),
    "reverse": (
        Role.TAG,
        "v",
        (
            """(lambda (x)
                 (let* ((bare (strip-reverse x))
                        (before (contents v bare))
                        (both ((tail-entry v) identity bare))
                        (y (car both)))
                   (cons (*j y) (make-backpropagator v bare y (cdr both) before))))""",
        ),
    ),
    "backpropagator": (
        Role.BACKPROPAGATOR,
        "v x y back contents",
        (
            """(lambda (s)
                 (if (sensitivity? s)
                     (let ((both (back (check-sensitivity y (unsensitize s) contents))))
                       (sensitize (cons (target-sensitivity v (car both)) (argument-sensitivity x (cdr both)))))
                     (let ((both (back (check-sensitivity y s contents))))
                       (cons (target-sensitivity v (car both)) (argument-sensitivity x (cdr both))))))""",
        ),
    ),
    "forward": (
        Role.TAG,
        "v dv",
        (
            """(lambda (x)
                 (let* ((bundle (strip-forward x v dv))
                        (both ((forward-entry v) dv (tangent-part bundle) (primal bundle))))
                   (forward-result (car both) (cdr both))))""",
        ),
    ),
    "perturbation": (Role.TAG, "v", ("(lambda (x) (perturb (v (strip-perturbation x))))",)),
    "sensitivity": (Role.TAG, "v", ("(lambda (x) (sensitize (v (strip-sensitivity x))))",)),
    # The user's rules are about the argument. The derivative by the values that f captures comes from f's own code. The primal
    # value is that of the whole, not of f alone, so that the rules hold for higher orders, too.
    "with-derivative": (
        Role.PROCEDURE,
        "f forward reverse",
        (
            "(lambda (x) (f x))",
            """(lambda (k x)
                 (let* ((rule (begin-rule x zero 0))
                        (both (if reverse
                                  (reverse x)
                                  (reverse-from-forward forward (make-with-derivative f forward reverse) x)))
                        (y (car both))
                        (back (cdr both)))
                   (if (closed? f)
                       (let ((end (end-rule y)))
                         (cons y (lambda (s)
                           (let* ((again (begin-rule zero rule 1))
                                  (dx (back (complete y s)))
                                  (end (end-rule zero)))
                             (k zero dx)))))
                       (let* ((own (cdr ((tail-entry f) identity x)))
                              (end (end-rule y)))
                         (cons y (lambda (s)
                           (let* ((t (complete y s))
                                  (df (car (own t)))
                                  (again (begin-rule zero rule 1))
                                  (dx (back t))
                                  (end (end-rule zero)))
                             (k (make-with-derivative df zero zero) dx))))))))""",
            """(lambda (d dx x)
                 (let* ((rule (begin-rule x zero 1))
                        (both (if forward (cons ((make-with-derivative f forward reverse) x) (forward x (complete x dx)))
                                  (forward-from-reverse reverse x (complete x dx))))
                        (end (end-rule (car both))))
                   (if (closed? f)
                       both
                       (let* ((rule (begin-rule zero zero 0))
                              (own (cdr ((forward-entry f) (with-derivative-field-1 d) zero x)))
                              (end (end-rule zero)))
                         (cons (car both) (accumulate (cdr both) own))))))""",
        ),
    ),
}


# Abstract rules: the same on types. `w` is the compiler's AbstractInterpreter; a value there has a
# `type` with `kind`, `of` and `parts`. Structures are traversed eagerly: unused results are dropped later.


def _abstract_wrap(code: str) -> Any:
    return lambda w, *parts: w.closure(w.system(code), parts)


def _abstract_field(index: int, *codes: str) -> Any:
    """A field of a closure of one of these system codes; for the known zero, the known zero."""

    def field(w: AbstractMachine, x: Any) -> Any:
        def of_one(x: Any) -> Any:
            if x.type.of is ZERO:
                return x
            if x.type.kind == "closure" and any(x.type.of is w.system(code) for code in codes):
                return w.part(x, index)
            return w.misfitting("Argument has wrong type for target")

        return w.each(x, of_one)

    return field


def _abstract_test(*codes: str) -> Any:
    def test(w: AbstractMachine, x: Any) -> Any:
        return w.each(x, lambda x: w.truth(x.type.of in [w.system(code) for code in codes]))

    return test


def _abstract_strip_forward(w: AbstractMachine, x: Any) -> Any:
    def of_one(x: Any) -> Any:
        tagged = x.type.of is ZERO or x.type.of is w.system("forward")
        return x if tagged else w.misfitting("Argument has wrong type for target")

    return w.each(x, of_one)


def _with_parts(w: AbstractMachine, like: Any, parts: list[Any]) -> Any:
    return None if None in parts else w.rebuilt(like.type, parts)


def _same_shape(a: Any, b: Any) -> bool:
    """Whether these are tensors of one shape."""
    return is_tensor(a.type) and is_tensor(b.type) and shape_of(a) == shape_of(b)


def _zero_types(w: AbstractMachine, x: Any) -> Any:
    def of_one(x: Any) -> Any:
        if x.type.head == "real":
            return w.constant(0.0)
        if is_tensor(x.type):
            return filled(w, shape_of(x), 0.0, kind_of(x)) if has_tangents(x.type) else x
        return _with_parts(w, x, [w.recursive(ZERO_OF, part) for part in w.parts(x)]) if x.type.parts else x

    return w.each(x, of_one)


def _zero_tangent(w: AbstractMachine, x: Any) -> Any:
    """Transformed code takes it apart, so that its structure is that of x; one of unknown size is not traversed."""
    type_ = w.types.canonical(x.type)
    if type_.kind == "union" or type_.head == "real" or is_tensor(type_):
        return w.known_zero
    parts = [_zero_tangent(w, part) for part in w.parts(x)]
    return w.rebuilt(type_, parts) if parts else x


ZERO_OF = Recursion("zero", _zero_types)


def _sum_types(recursion: str, checked: bool) -> Any:
    def total(w: AbstractMachine, a: Any, b: Any) -> Any:
        def of_two(a: Any, b: Any) -> Any:
            x, y = a.type, b.type
            if x.of is ZERO or y.of is ZERO:
                return b if x.of is ZERO else a
            if x.head == y.head == "real":
                return w.apply(w.machine.table["+"], [a, b])
            if is_tensor(x) or is_tensor(y):
                return of_tensors(a, b)
            if len(x.parts) != len(y.parts) or x.kind != y.kind or (checked and not _alike_types(x, y)):
                return w.unlike(recursion)
            if not x.parts:
                return _same_or_fail(w, a, b, recursion) if checked else a
            pairs = zip(w.parts(a), w.parts(b), strict=True)
            return _with_parts(w, a, [w.recursive(SUMS[recursion], p, q) for p, q in pairs])

        def of_tensors(a: Any, b: Any) -> Any:
            if not _same_shape(a, b):
                return w.unlike(recursion)
            return w.apply(w.machine.table["+"], [a, b]) if has_tangents(a.type) else a

        return w.each(a, lambda a: w.each(b, lambda b: of_two(a, b), "b"), "a")

    return total


def _same_or_fail(w: AbstractMachine, a: Any, b: Any, name: str) -> Any:
    """The tangent of a value without parts is the value itself."""
    if a.type.head != "boolean" or a.type.kind == b.type.kind == "constant":
        return a if a.type is b.type else w.unlike(name)
    key = w.key
    test = w.compute(w.machine.table["same-boolean?"], [a, b], w.types.boolean)
    return w.branch((key, "same"), test, lambda: a, lambda: w.unlike(name), False)


def _alike_types(x: Any, y: Any) -> bool:
    if x.kind == y.kind == "closure":
        return x.of.base is y.of.base
    return bool(x.kind == "pair" or x.head == y.head)


SUMS = {
    "plus": Recursion("plus", _sum_types("plus", True)),
    "accumulate": Recursion("accumulate", _sum_types("accumulate", False)),
}


def _complete_types(w: AbstractMachine, x: Any, s: Any) -> Any:
    def of_one(x: Any) -> Any:
        if x.type.head == "real":
            return w.each(s, real, "s")
        if is_tensor(x.type) and has_tangents(x.type):
            return w.each(s, lambda s: tensor(x, s), "s")
        if not x.type.parts:
            return x
        return w.each(s, lambda s: of_structure(x, s), "s")

    def real(s: Any) -> Any:
        if s.type.of is ZERO:
            return w.constant(0.0)
        return s if s.type.head == "real" else w.unlike("plus")

    def tensor(x: Any, s: Any) -> Any:
        if s.type.of is ZERO:
            return filled(w, shape_of(x), 0.0, kind_of(x))
        return as_kind(w, s, kind_of(x)) if _same_shape(x, s) else w.unlike("plus")

    def of_structure(x: Any, s: Any) -> Any:
        if s.type.of is ZERO:
            return w.recursive(ZERO_OF, x)
        if len(s.type.parts) != len(x.type.parts):
            return w.unlike("plus")
        pairs = zip(w.parts(x), w.parts(s), strict=True)
        return _with_parts(w, x, [w.recursive(COMPLETE, p, q) for p, q in pairs])

    return w.each(x, of_one, "x")


COMPLETE = Recursion("complete", _complete_types)


def _conforms_types(w: AbstractMachine, x: Any, d: Any) -> Any:
    """Like `conforms`, but a failure is an error at once."""

    def of_two(x: Any, d: Any) -> Any:
        a, b = x.type, d.type
        if b.of is ZERO or a.head == b.head == "real" or (is_tensor(a) and a is b):
            return w.truth(True)
        if _same_shape(x, d) and has_tangents(a) and has_tangents(b):
            return w.truth(True)
        if a.head == "real" or b.head == "real" or not _alike_types(a, b) or len(a.parts) != len(b.parts):
            return w.unlike("bundle")
        if not a.parts:
            return _same_or_fail(w, x, d, "bundle")
        tests = [w.recursive(CONFORMS, p, q) for p, q in zip(w.parts(x), w.parts(d), strict=True)]
        return None if None in tests else w.truth(True)

    return w.each(x, lambda x: w.each(d, lambda d: of_two(x, d), "d"), "x")


CONFORMS = Recursion("conforms", _conforms_types)


def _without_points_types(w: AbstractMachine, d: Any) -> Any:
    """The tangent with known zeros in place of tensors that are not of reals."""

    def of_one(d: Any) -> Any:
        if is_tensor(d.type):
            return d if has_tangents(d.type) else w.known_zero
        return (
            _with_parts(w, d, [w.recursive(WITHOUT_POINTS, part) for part in w.parts(d)])
            if d.type.parts
            else d
        )

    return w.each(d, of_one)


WITHOUT_POINTS = Recursion("without-points", _without_points_types)


def _abstract_bundle(w: AbstractMachine, v: Any, p: Any) -> Any:
    tangent = _abstract_field(0, "perturbation")(w, p)
    if tangent is None or w.recursive(CONFORMS, v, tangent) is None:
        return None
    if w.types.has_points:
        tangent = w.recursive(WITHOUT_POINTS, tangent)
    return w.closure(w.system("forward"), [v, tangent])


def _abstract_tangent(w: AbstractMachine, x: Any) -> Any:
    def of_one(x: Any) -> Any:
        if x.type.of is ZERO:
            return x
        if x.type.of is not w.system("forward"):
            return w.fail("Argument to tangent is not a forward value")
        completed = w.recursive(COMPLETE, w.part(x, 0), w.part(x, 1))
        return None if completed is None else w.closure(w.system("perturbation"), [completed])

    return w.each(x, of_one)


def _abstract_check(w: AbstractMachine, y: Any, s: Any, held: Any) -> Any:
    def of_two(y: Any, s: Any) -> Any:
        if is_tensor(y.type) or is_tensor(s.type):
            fits = s.type.of is ZERO or _same_shape(y, s)
        else:
            fits = s.type.of is ZERO or (y.type.head == "real") == (s.type.head == "real")
        return s if fits else w.unlike("plus")

    return w.each(y, lambda y: w.each(s, lambda s: of_two(y, s), "s"), "y")


def _abstract_with_derivative(w: AbstractMachine, f: Any, forward: Any, reverse: Any) -> Any:
    types = [w.types.canonical(rule.type) for rule in (f, forward, reverse)]
    if (
        any(type_.kind != "closure" and type_.of is not FALSE for type_ in types)
        or types[1].of is types[2].of is FALSE
    ):
        return w.invalid("with-derivative")
    return w.closure(w.system("with-derivative"), [f, forward, reverse])


def _abstract_entry(entry: str) -> Any:
    def derived(w: AbstractMachine, f: Any) -> Any:
        def of_one(f: Any) -> Any:
            if f.type.kind == "closure":
                return w.closure(w.machine.derived_code(f.type.of, entry), w.parts(f))
            return f if f.type.of is ZERO else w.fail("Target is not a procedure")

        return w.each(f, of_one)

    return derived


def _is_tagged(machine: Evaluator, name: str, value: Value) -> bool:
    value = look(value)
    return type(value) is tuple and len(value) > 2 and value[0] is machine.codes[name]


def _strip(machine: Evaluator, name: str, value: Value, refusal: Callable[[], VladError]) -> Value:
    seen = look(value)
    if seen is ZERO or (type(seen) is tuple and len(seen) > 2 and seen[0] is machine.codes[name]):
        return seen
    raise refusal()


def _not_tagged(operation: str, kind: str, value: Value) -> VladError:
    article = "a"
    message = f"Argument to {operation} is not {article} {kind} value"
    makers = {"perturbation": "perturb", "forward": "bundle", "sensitivity": "sensitize", "reverse": "J"}
    return VladError(
        "not-tagged",
        message,
        hint=f"{kind} values are made by `{makers[kind]}`",
        irritants=(value,),
        name=operation,
    )


def _wrong_target(kind: str, value: Value) -> VladError:
    hints = {
        "reverse": "what J makes of a procedure takes what J makes of its arguments: `((J f) (J x))`, or `((J f) (J x y))`; "
        "`((derivative f) x)` is the derivative alone",
        "forward": "what j* makes of a procedure takes bundled arguments: `((j* f) (bundle x (perturb dx)))`; "
        "`((derivative f) x)` is the derivative alone",
        "perturbation": "a perturbed procedure takes perturbed arguments",
        "sensitivity": "a sensitized procedure takes sensitized arguments",
    }
    return VladError(
        "wrong-type-for-target", "Argument has wrong type for target", hint=hints[kind], irritants=(value,)
    )


def _wrapper(name: str, code: str, doc: str, inverse: str, inverse_doc: str) -> list[Primitive]:
    """The two rows of a one-field tag: each is linear, and the adjoint of the other."""

    def wrap(machine: Evaluator, x: Value) -> Value:
        return (machine.codes[code], x, None)

    def unwrap(machine: Evaluator, x: Value) -> Value:
        return _strip(machine, code, x, lambda: _not_tagged(inverse, code, x))[1]

    def strip(machine: Evaluator, x: Value) -> Value:
        return _strip(machine, code, x, lambda: _wrong_target(code, x))[1]

    def test(machine: Evaluator, x: Value) -> Value:
        tagged = _is_tagged(machine, code, x)
        if code == "sensitivity":
            tagged = tagged or _is_tagged(machine, "backpropagator", x)
        return TRUE if tagged else FALSE

    there, back = {"x": f"({inverse} s)"}, {"x": f"({name} s)"}
    return [
        Primitive(
            name, "x", doc, value=wrap, type="any -> any", forward=f"({name} dx)", reverse=there, needs_machine=True,
            abstract=_abstract_wrap(code),
        ),
        Primitive(
            inverse, "x", inverse_doc, value=unwrap, type="any -> any", forward=f"({inverse} dx)", reverse=back,
            needs_machine=True, abstract=_abstract_field(0, code),
        ),
        Primitive(
            f"strip-{code}", "x", f"Removes the {code} tag of an argument.", value=strip, type="any -> any",
            forward=f"({inverse} dx)", reverse=back, needs_machine=True, hidden=True, abstract=_abstract_field(0, code),
        ),
        Primitive(
            f"{code}?", "x", f"Is the outermost tag of x {code}?\n({code}? ({name} 1))  ⇒ #t\n({code}? 1)  ⇒ #f",
            value=test, type="any -> boolean", forward="zero",
            reverse={}, needs_machine=True,
            abstract=_abstract_test(code, "backpropagator") if code == "sensitivity" else _abstract_test(code),
        ),
    ]  # fmt: skip


def _bundle(machine: Evaluator, v: Value, p: Value) -> Value:
    seen = look(p)
    if not _is_tagged(machine, "perturbation", seen) and seen is not ZERO:
        raise nonconforming("bundle", v, p)
    tangent = fitting_tangent(v, seen[1])
    if tangent is None:
        raise nonconforming("bundle", v, seen[1])
    return (machine.codes["forward"], v, tangent)


def _make_forward(machine: Evaluator, v: Value, d: Value) -> Value:
    return (machine.codes["forward"], v, d)


def _forward_field(name: str, index: int) -> Any:
    def field(machine: Evaluator, x: Value) -> Value:
        return _strip(machine, "forward", x, lambda: _not_tagged(name, "forward", x))[index]

    return field


def _tangent(machine: Evaluator, x: Value) -> Value:
    seen = _strip(machine, "forward", x, lambda: _not_tagged("tangent", "forward", x))
    if seen is ZERO:
        return ZERO
    return (machine.codes["perturbation"], complete(seen[1], seen[2]), None)


def _strip_forward(machine: Evaluator, x: Value, v: Value, dv: Value) -> Value:
    stripped = _strip(machine, "forward", x, lambda: _wrong_target("forward", x))
    if machine.uses_cells:
        shadows = Shadows()
        note_shadows(shadows, v, dv)
        if stripped is not ZERO:
            note_shadows(shadows, stripped[1], stripped[2])
        machine.shadows = shadows, machine.shadows
    return stripped


def _forward_result(machine: Evaluator, y: Value, dy: Value) -> Value:
    shadows = _ended_level(machine)
    return (machine.codes["forward"], y, _completed(y, dy, shadows) if shadows else dy)


def _ended_level(machine: Evaluator) -> Shadows | None:
    """The shadows of the innermost level, which ends."""
    if machine.shadows is None:
        return None
    shadows: Shadows
    shadows, machine.shadows = machine.shadows
    return shadows


def _begin_rule(machine: Evaluator, x: Value, first: Value, levels: Value) -> Value:
    """The rules of `with-derivative` are not transformed, so they run in fewer levels than the code around them."""
    if not machine.uses_cells:
        return ZERO
    _without_cells(x)
    outer = machine.shadows
    if first is ZERO and levels == -1.0 and machine.rules is not None:
        first = machine.rules[0]
    elif first is ZERO:
        first = float(next(Reference.births))
    machine.rules = first, outer, machine.rules
    if levels == -1.0:
        machine.shadows = Shadows(), outer
    elif levels == 1.0 and outer is not None:
        machine.shadows = outer[1]
    return first


def _end_rule(machine: Evaluator, y: Value) -> Value:
    if machine.rules is not None:
        _without_cells(y)
        _, machine.shadows, machine.rules = machine.rules
    return ZERO


def _without_cells(x: Value) -> None:
    for cell in cells_of(x):
        raise outside_rule(cell)


def _no_cells(machine: Evaluator, given: Value, s: Value) -> Value:
    if machine.uses_cells and any(True for _ in cells_of(given)):
        raise VladError(
            "cells-in-sensitivity", "A derivative in reverse mode by a sensitivity with cells is not supported",
            hint="take that derivative in forward mode (`derivative-F`, `jvp`)", irritants=(given,),
        )  # fmt: skip
    return s


def _is_forward(machine: Evaluator, x: Value) -> Value:
    return TRUE if _is_tagged(machine, "forward", x) else FALSE


def _check_sensitivity(machine: Evaluator, y: Value, s: Value, held: Value) -> Value:
    if machine.uses_cells:
        before, after = ({}, {}) if held is ZERO else held.object
        shadows = Shadows(before)
        note_shadows(shadows, y, s, after, copied_in=(machine.shadows,))
        machine.shadows = shadows, machine.shadows
    if (type(y) is float) != (type(s) is float) and s is not ZERO:
        raise nonconforming("plus", y, s)
    if type(y) is Tensor or type(s) is Tensor:
        complete(y, s)
    return s


def _target_sensitivity(machine: Evaluator, v: Value, s: Value) -> Value:
    return _completed(v, s, machine.shadows and machine.shadows[0])


def _argument_sensitivity(machine: Evaluator, x: Value, s: Value) -> Value:
    return _completed(x, s, _ended_level(machine))


def _completed(x: Value, s: Value, shadows: Shadows | None) -> Value:
    """Complete at once if there are cells, whose contents may change later."""
    result = complete(x, s, shadows)
    if shadows:
        for _ in cells_of(result):
            pass
    return result


def _contents(machine: Evaluator, v: Value, x: Value) -> Value:
    held = contents(v, x) if machine.uses_cells else None
    return Opaque(held) if held else ZERO


def _make_backpropagator(
    machine: Evaluator, v: Value, x: Value, y: Value, back: Value, before: Value
) -> Value:
    held = before
    if machine.uses_cells:
        after = contents(y)
        if before is not ZERO or after:
            held = Opaque(({} if before is ZERO else before.object, after))
    return (machine.codes["backpropagator"], v, x, y, back, held)


def _with_derivative(machine: Evaluator, f: Value, forward: Value, reverse: Value) -> Value:
    for procedure in (f, forward, reverse):
        if not is_procedure(procedure) and procedure is not FALSE:
            hint = "(with-derivative f #:forward g #:reverse h), each a procedure"
            raise unsuitable("with-derivative", hint, (procedure,))
    if forward is FALSE and reverse is FALSE:
        raise VladError(
            "invalid-argument", "Argument to with-derivative is invalid: no rule is given",
            hint="give #:forward, (x . dx) to dy, or #:reverse, x to (y . backpropagator), or both", name="with-derivative",
        )  # fmt: skip
    return (machine.codes["with-derivative"], f, forward, reverse)


def _make_with_derivative(machine: Evaluator, f: Value, forward: Value, reverse: Value) -> Value:
    return (machine.codes["with-derivative"], f, forward, reverse)


def _is_closed(f: Value) -> Value:
    """Whether f captures nothing that could have a derivative."""
    return FALSE if is_structure(f) else TRUE


def _environment(f: Value) -> Value:
    return ZERO if f is ZERO else list_of(parts_of(_procedure("environment", f)))


def _with_environment(f: Value, values: Value) -> Value:
    if f is ZERO or values is ZERO:
        return ZERO
    procedure, found = _procedure("with-environment", f), elements("with-environment", values)
    held = len(parts_of(procedure))
    if len(found) != held:
        raise VladError(
            "wrong-shape", f"Environment given to with-environment does not fit: {len(found)} values",
            hint=f"the procedure is closed over {held}", irritants=(f,), name="with-environment",
        )  # fmt: skip
    return rebuilt(head_of(procedure), found, procedure) if held else procedure


def _is_same_code(f: Value, g: Value) -> Value:
    f, g = look(f), look(g)
    return TRUE if is_procedure(f) and is_procedure(g) and f[0].base is g[0].base else FALSE


def _abstract_same_code(w: AbstractMachine, f: Any, g: Any) -> Any:
    def of_two(x: Any, y: Any) -> Any:
        return w.truth(x.kind == y.kind == "closure" and x.of.base is y.of.base)

    return w.each(f, lambda f: w.each(g, lambda g: of_two(f.type, g.type), "g"), "f")


def _procedure(name: str, f: Value) -> tuple[Value, ...]:
    seen = look(f)
    if not is_procedure(seen):
        raise invalid(name, "a procedure", f)
    procedure: tuple[Value, ...] = seen
    return procedure


def _abstract_environment(w: AbstractMachine, f: Any) -> Any:
    def of_one(f: Any) -> Any:
        if f.type.of is ZERO:
            return f
        if f.type.kind != "closure":
            return w.invalid("environment")
        values = w.constant(NIL)
        for part in reversed(w.parts(f)):
            values = w.pair(part, values)
        return values

    return w.each(f, of_one)


def _abstract_with_environment(w: AbstractMachine, f: Any, values: Any) -> Any:
    def of_two(f: Any, values: Any) -> Any:
        if f.type.of is ZERO or values.type.of is ZERO:
            return w.known_zero
        parts: list[Any] = []
        while values.type.kind == "pair" and len(parts) < len(f.type.parts):
            parts.append(w.part(values, 0))
            values = w.part(values, 1)
        if values.type.kind == "union":
            return w.unbounded("`with-environment` is compiled where the number of values is known")
        if f.type.kind != "closure" or values.type.of != NIL or len(parts) < len(f.type.parts):
            return w.invalid("with-environment")
        return w.rebuilt(f.type, parts)

    return w.each(f, lambda f: w.each(values, lambda values: of_two(f, values), "values"), "f")


def _tail_entry(machine: Evaluator, f: Value) -> Value:
    return machine.tail_closure(f)


def _forward_entry(machine: Evaluator, f: Value) -> Value:
    return machine.forward_closure(f)


def _machine_row(name: str, operands: str, doc: str, value: Any, **columns: Any) -> Primitive:
    return Primitive(name, operands, doc, value=value, needs_machine=True, **columns)


def _record_fields(code: str, count: int) -> list[Primitive]:
    """Rows for the fields of the sensitivity of a closure of a system code, CODE-field-1 … ; make-CODE constructs one."""
    name, maker = f"{code}-field", f"make-{code}"

    def field(index: int) -> Primitive:
        others = " ".join(["s" if index == other else "zero" for other in range(1, count + 1)])
        return _machine_row(
            f"{name}-{index}", "b", "A field of a closure's sensitivity.", lambda machine, b: look(b)[index],
            type="procedure -> any", hidden=True, forward=f"({name}-{index} db)", reverse={"b": f"({maker} {others})"},
            abstract=_abstract_field(index - 1, code),
        )  # fmt: skip

    return [field(index) for index in range(1, count + 1)]


ROWS: list[Primitive] = [
    *_wrapper("*j", "reverse",
        "The reverse transform of any value (J).\n(cdr ((cdr ((*j square) (*j 3))) 1))  ⇒ 6\n"
        "(*j 3)  ⇒ (reverse 3)", "*j-inverse",
        "The inverse of *j.\n(*j-inverse (*j 3))  ⇒ 3"),
    *_wrapper("perturb", "perturbation", "x as a perturbation.\n(perturb 1)  ⇒ (perturbation 1)", "unperturb",
        "The inverse of perturb.\n(unperturb (perturb 1))  ⇒ 1"),
    *_wrapper("sensitize", "sensitivity", "x as a sensitivity.\n(sensitize 1)  ⇒ (sensitivity 1)", "unsensitize",
        "The inverse of sensitize.\n(unsensitize (sensitize 1))  ⇒ 1"),
    _machine_row(
        "bundle", "v p",
        "The forward value with primal v and perturbation p, which must conform.\n"
        "(bundle 3 (perturb 1))  ⇒ (forward 3 (perturbation 1))\n"
        "(unperturb (tangent ((j* square) (bundle 3 (perturb 1)))))  ⇒ 6", _bundle,
        type="any any -> any", forward="(make-forward dv (unperturb dp))",
        reverse={"v": "(primal s)", "p": "(perturb (tangent-part s))"}, abstract=_abstract_bundle,
    ),
    _machine_row(
        "make-forward", "v d", "bundle of bare parts, unchecked.", _make_forward, type="any any -> any", hidden=True,
        forward="(make-forward dv dd)", reverse={"v": "(primal s)", "d": "(tangent-part s)"},
        abstract=_abstract_wrap("forward"),
    ),
    _machine_row(
        "primal", "x",
        "The primal of a forward value.\n(primal (bundle 3 (perturb 1)))  ⇒ 3",
        _forward_field("primal", 1), type="any -> any",
        forward="(primal dx)", reverse={"x": "(make-forward s zero)"}, abstract=_abstract_field(0, "forward"),
    ),
    _machine_row(
        "tangent", "x",
        "The perturbation of a forward value.\n(tangent (bundle 3 (perturb 1)))  ⇒ (perturbation 1)",
        _tangent, type="any -> any",
        forward="(perturb (tangent-part dx))", reverse={"x": "(make-forward zero (unperturb s))"},
        abstract=_abstract_tangent,
    ),
    _machine_row(
        "tangent-part", "x", "The bare tangent of a forward value.", _forward_field("tangent", 2), type="any -> any",
        forward="(tangent-part dx)", reverse={"x": "(make-forward zero s)"}, hidden=True,
        abstract=_abstract_field(1, "forward"),
    ),
    _machine_row(
        "strip-forward", "x v dv", "The argument of the bundled procedure v, checked. Begins a level of shadows of cells.",
        _strip_forward, type="any any any -> any", effect=True,
        forward="dx", reverse={"x": "s"}, hidden=True, abstract=lambda w, x, v, dv: _abstract_strip_forward(w, x),
    ),
    _machine_row(
        "forward-result", "v d", "make-forward of the result of a bundled procedure. Ends the level.", _forward_result,
        type="any any -> any", effect=True, hidden=True, forward="(make-forward dv dd)",
        reverse={"v": "(primal s)", "d": "(tangent-part s)"}, abstract=_abstract_wrap("forward"),
    ),
    _machine_row(
        "forward?", "x",
        "Is the outermost tag of x forward?\n(forward? (bundle 3 (perturb 1)))  ⇒ #t",
        _is_forward, type="any -> boolean", forward="zero",
        reverse={}, abstract=_abstract_test("forward"),
    ),
    Primitive(
        "zero", "x",
        "The zero of x's tangent space, shaped like x.\n(zero (list 1 #[3 4] 'a))  ⇒ (0 #[0 0] a)",
        value=zero, type="any -> any", forward="zero",
        reverse={}, abstract=lambda w, x: w.recursive(ZERO_OF, x),
    ),
    Primitive(
        "zero-tangent", "x", "The zero of x's tangent space, with known zeros for captured values.",
        value=zero_tangent, type="any -> any", forward="zero", reverse={}, hidden=True, abstract=_zero_tangent,
    ),
    Primitive(
        "plus", "a b",
        "The sum of conforming values, part by part.\n(plus '(1 (2 3)) '(10 (20 30)))  ⇒ (11 (22 33))",
        value=plus, type="any any -> any",
        forward="(accumulate da db)", reverse={"a": "s", "b": "s"}, abstract=lambda w, a, b: w.recursive(SUMS["plus"], a, b),
    ),
    Primitive(
        "accumulate", "a b", "The sum of two sensitivities.", value=accumulate, type="any any -> any", hidden=True,
        python="a + b if type(a) is float else accumulate(a, b)", uses={"accumulate": accumulate},
        forward="(accumulate da db)", reverse={"a": "s", "b": "s"},
        abstract=lambda w, a, b: w.recursive(SUMS["accumulate"], a, b),
    ),
    Primitive(
        "complete", "x s", "A sensitivity in the full shape of its primal x.", value=complete, type="any any -> any",
        forward="ds", reverse={"s": "s"}, hidden=True, abstract=lambda w, x, s: w.recursive(COMPLETE, x, s),
    ),
    _machine_row(
        "check-sensitivity", "y s held", "s, if it may be a sensitivity of y. Begins a level of shadows of cells.",
        _check_sensitivity, type="any any any -> any", effect=True, forward="ds", reverse={"s": "(no-cells r s)"}, hidden=True,
        abstract=_abstract_check,
    ),
    _machine_row(
        "contents", "v x", "What the cells in values hold now.", _contents, type="any any -> any", effect=True, forward="zero",
        reverse={}, hidden=True, abstract=lambda w, v, x: w.known_zero,
    ),
    _machine_row(
        "no-cells", "given s", "s, if the sensitivity that was given has no cells.", _no_cells, type="any any -> any",
        effect=True, forward="ds", reverse={"s": "s"}, hidden=True, abstract=lambda w, given, s: s,
    ),
    _machine_row(
        "begin-rule", "x first levels",
        "Begins a rule of `with-derivative` of x, so many levels further out. It may use cells that are not older than `first`, "
        "or if that is zero, than now. Gives that bound.",
        _begin_rule, type="any any real -> any", effect=True, forward="zero", reverse={}, hidden=True,
        abstract=lambda w, x, first, levels: w.known_zero,
    ),
    _machine_row(
        "end-rule", "y", "Ends the rule, with result y.", _end_rule, type="any -> any", effect=True, forward="zero", reverse={},
        hidden=True, abstract=lambda w, y: w.known_zero,
    ),
    _machine_row(
        "target-sensitivity", "x s", "The sensitivity of a procedure, in its full shape.", _target_sensitivity,
        type="any any -> any", effect=True, forward="ds", reverse={"s": "s"}, hidden=True,
        abstract=lambda w, x, s: w.recursive(COMPLETE, x, s),
    ),
    _machine_row(
        "argument-sensitivity", "x s", "The sensitivity of its argument, in its full shape. Ends the level.",
        _argument_sensitivity, type="any any -> any", effect=True, forward="ds", reverse={"s": "s"}, hidden=True,
        abstract=lambda w, x, s: w.recursive(COMPLETE, x, s),
    ),
    _machine_row(
        "make-backpropagator", "v x y back before", "The backpropagator of (*j v) at x.", _make_backpropagator,
        type="any any any any any -> any", hidden=True, forward="(make-backpropagator dv dx dy dback zero)",
        reverse={
            "v": "(backpropagator-field-1 s)", "x": "(backpropagator-field-2 s)",
            "y": "(backpropagator-field-3 s)", "back": "(backpropagator-field-4 s)",
        },
        abstract=_abstract_wrap("backpropagator"),
    ),
    *_record_fields("backpropagator", 5),
    *_record_fields("with-derivative", 3),
    _machine_row(
        "make-with-derivative", "f forward reverse", "with-derivative, unchecked.", _make_with_derivative,
        type="any any any -> any", hidden=True, forward="(make-with-derivative df dforward dreverse)",
        reverse={
            "f": "(with-derivative-field-1 s)", "forward": "(with-derivative-field-2 s)",
            "reverse": "(with-derivative-field-3 s)",
        },
        abstract=_abstract_wrap("with-derivative"),
    ),
    Primitive(
        "closed?", "f", "Does f capture nothing that could have a derivative?", value=_is_closed,
        type="any -> boolean", forward="zero", reverse={}, hidden=True,
        abstract=lambda w, f: w.each(f, lambda f: w.truth(not f.type.parts)),
    ),
    Primitive(
        "environment", "f",
        "The values that the procedure f captures, as a list, in unspecified order.\n"
        "(environment ((curry *) 5))  ⇒ (* 5)", value=_environment,
        type="procedure -> any", forward="(environment df)", reverse={"f": "(with-environment f (complete r s))"},
        abstract=_abstract_environment,
    ),
    Primitive(
        "with-environment", "f values",
        "The procedure f with these captured values instead of its own.\n"
        "((with-environment ((curry *) 5) (list * 7)) 2)  ⇒ 14",
        value=_with_environment, type="procedure any -> procedure", forward="(with-environment f (complete values dvalues))",
        reverse={"values": "(environment (complete r s))"}, abstract=_abstract_with_environment,
    ),
    Primitive(
        "same-code?", "f g",
        "Are f and g procedures of one text, whatever they capture?\n"
        "(same-code? (constantly 1) (constantly 2))  ⇒ #t", value=_is_same_code,
        type="any any -> boolean", forward="zero", reverse={}, abstract=_abstract_same_code,
    ),
    _machine_row(
        "tail-entry", "f", "The reverse transform of f as (k . x) to (y . backpropagator).", _tail_entry,
        type="procedure -> procedure", forward="df", reverse={"f": "s"}, hidden=True,
        abstract=_abstract_entry("tail"),
    ),
    _machine_row(
        "forward-entry", "f", "The forward transform of f as (df . (dx . x)) to (y . dy).", _forward_entry,
        type="procedure -> procedure", forward="df", reverse={"f": "s"}, hidden=True, abstract=_abstract_entry("forward"),
    ),
    _machine_row(
        "with-derivative", "f forward reverse",
        "f with user-defined derivative rules.\n"
        "((derivative (with-derivative square #:forward (lambda (x dx) (* 100 dx)))) 3)  ⇒ 100", _with_derivative,
        type="procedure procedure procedure -> procedure", keywords={"forward": FALSE, "reverse": FALSE},
        forward="(make-with-derivative df dforward dreverse)",
        reverse={
            "f": "(with-derivative-field-1 s)", "forward": "(with-derivative-field-2 s)",
            "reverse": "(with-derivative-field-3 s)",
        },
        abstract=_abstract_with_derivative,
    ),
]  # fmt: skip

# Procedures of the basis, written in the language.
PROCEDURES: dict[str, str] = {
    "j*": """;;; (j* x)
        ;;; The forward transform of any value: bundled with the zero perturbation.
        ;;; (j* 3)  ⇒ (forward 3 (perturbation 0))
        ;;; (unperturb (tangent ((j* square) (bundle 3 (perturb 1)))))  ⇒ 6
        (lambda (x) (make-forward x (zero-tangent x)))""",
}

# Procedures that only the system's own texts call. A linear map is transposed by its reverse derivative, at any point.
SYSTEM_PROCEDURES: dict[str, str] = {
    "reverse-from-forward": """(lambda (rule f x)
        (let* ((y (f x))
               (linear (lambda (dx) (rule x dx)))
               (back (cdr ((tail-entry linear) identity (zero x)))))
          (cons y (lambda (s)
            (let* ((rule (begin-rule zero zero -1)) (dx (cdr (back s))) (end (end-rule zero))) dx)))))""",
    "forward-from-reverse": """(lambda (rule x dx)
        (let* ((both (rule x))
               (y (car both))
               (linear (cdr both))
               (transposed (cdr ((tail-entry linear) identity (zero y))))
               (rule (begin-rule zero zero -1))
               (dy (cdr (transposed dx)))
               (end (end-rule zero)))
          (cons y dy)))""",
}
