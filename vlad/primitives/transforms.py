"""The rows of *j, bundle, perturb, sensitize, zero, plus and of the entries; and the codes of AD values, in the language.

An AD value is a wrapper around a bare value, made in O(1): a closure of one of the codes below over the wrapped value
(design.md section 3, decision 0). Applying it is therefore ordinary core code, which can be transformed
in turn: this is why J of J works. The sensitivity of a wrapper is a record of the same shape. Rows with which these codes begin
and end levels of cells are in levels.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.ad.vector_space import (
    accumulate,
    cells_of,
    complete,
    fitting_tangent,
    head_of,
    is_structure,
    nonconforming,
    parts_of,
    plus,
    rebuilt,
    zero,
    zero_tangent,
)
from vlad.core.types import is_table
from vlad.data.errors import VladError, unsuitable
from vlad.data.tables import Table
from vlad.data.values import (
    FALSE,
    NIL,
    TRUE,
    ZERO,
    Primitive,
    Role,
    SystemCode,
    Value,
    is_procedure,
    list_of,
    look,
)
from vlad.primitives.arrays import elements
from vlad.primitives.numbers import invalid
from vlad.primitives.vector_space_types import (
    COMPLETE,
    CONFORMS,
    SUMS,
    WITHOUT_POINTS,
    ZERO_OF,
    zero_tangent_type,
)

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine, Evaluator

# Codes of the system: the role of each, the names it is closed over, and the texts of its lambda ("") and of those entries, by
# their kinds, that are not made of it by transforms.
CODES: dict[str, SystemCode] = {
    "identity": (Role.PROCEDURE, "", {"": "(lambda (x) x)"}),
    "reverse": (
        Role.TAG,
        "v",
        {
            "": """(lambda (x)
                 (let* ((bare (strip-reverse x))
                        (before (contents v bare))
                        (both ((tail-entry v) identity bare))
                        (y (car both)))
                   (cons (*j y) (make-backpropagator v bare y (cdr both) before))))""",
        },
    ),
    "backpropagator": (
        Role.BACKPROPAGATOR,
        "v x y back contents",
        {
            "": """(lambda (s)
                 (if (sensitivity? s)
                     (let ((both (back (check-sensitivity y (unsensitize s) contents))))
                       (sensitize (cons (target-sensitivity v (car both)) (argument-sensitivity x (cdr both)))))
                     (let ((both (back (check-sensitivity y s contents))))
                       (cons (target-sensitivity v (car both)) (argument-sensitivity x (cdr both))))))""",
        },
    ),
    "forward": (
        Role.TAG,
        "v dv",
        {
            "": """(lambda (x)
                 (let* ((bundle (strip-forward x v dv))
                        (both ((forward-entry v) dv (tangent-part bundle) (primal bundle))))
                   (forward-result (car both) (cdr both))))""",
        },
    ),
    "perturbation": (Role.TAG, "v", {"": "(lambda (x) (perturb (v (strip-perturbation x))))"}),
    "sensitivity": (Role.TAG, "v", {"": "(lambda (x) (sensitize (v (strip-sensitivity x))))"}),
    # The user's rules are about the argument. The derivative by the values that f captures comes from f's own code. The primal
    # value is that of the whole, not of f alone, so that the rules hold for higher orders, too.
    "with-derivative": (
        Role.PROCEDURE,
        "f forward reverse",
        {
            "": "(lambda (x) (f x))",
            "control": "(lambda (k x) (k ((make-with-derivative f forward reverse) x)))",
            # one step: a derivative of the steps of f would not follow the rules
            "stepping": "(lambda (k n x) (k n ((make-with-derivative f forward reverse) x)))",
            "tail": """(lambda (k x)
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
            "forward": """(lambda (d dx x)
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
        },
    ),
}


# Abstract rules: the same on types (vector_space_types.py).


def abstract_wrap(code: str) -> Any:
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


def abstract_test(*codes: str) -> Any:
    def test(w: AbstractMachine, x: Any) -> Any:
        return w.each(x, lambda x: w.truth(x.type.of in [w.system(code) for code in codes]))

    return test


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


def _abstract_with_derivative(w: AbstractMachine, f: Any, forward: Any, reverse: Any) -> Any:
    types = [w.types.canonical(rule.type) for rule in (f, forward, reverse)]
    if (
        any(type_.kind != "closure" and type_.of is not FALSE for type_ in types)
        or types[1].of is types[2].of is FALSE
    ):
        return w.invalid("with-derivative")
    return w.closure(w.system("with-derivative"), [f, forward, reverse])


def abstract_entry(entry: str) -> Any:
    def derived(w: AbstractMachine, f: Any) -> Any:
        def of_one(f: Any) -> Any:
            if f.type.kind == "closure":
                return w.closure(w.machine.derived_code(f.type.of, entry), w.parts(f))
            return f if f.type.of is ZERO else w.fail("Target is not a procedure")

        return w.each(f, of_one)

    return derived


def is_tagged(machine: Evaluator, name: str, value: Value) -> bool:
    value = look(value)
    return type(value) is tuple and len(value) > 2 and value[0] is machine.codes[name]


def tag_test(name: str) -> Callable[[Evaluator, Value], Value]:
    """The value rule of the row that `abstract_test` is of."""
    return lambda machine, x: TRUE if is_tagged(machine, name, x) else FALSE


def unwrapped(machine: Evaluator, name: str, value: Value, refusal: Callable[[], VladError]) -> Value:
    seen = look(value)
    if seen is ZERO or is_tagged(machine, name, seen):
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


def wrong_target(kind: str, value: Value) -> VladError:
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
        return unwrapped(machine, code, x, lambda: _not_tagged(inverse, code, x))[1]

    def strip(machine: Evaluator, x: Value) -> Value:
        return unwrapped(machine, code, x, lambda: wrong_target(code, x))[1]

    def test(machine: Evaluator, x: Value) -> Value:
        tagged = is_tagged(machine, code, x)
        if code == "sensitivity":
            tagged = tagged or is_tagged(machine, "backpropagator", x)
        return TRUE if tagged else FALSE

    there, back = {"x": f"({inverse} s)"}, {"x": f"({name} s)"}
    return [
        Primitive(
            name, "x", doc, value=wrap, type="any -> any", forward=f"({name} dx)", reverse=there, needs_machine=True,
            abstract=abstract_wrap(code),
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
            abstract=abstract_test(code, "backpropagator") if code == "sensitivity" else abstract_test(code),
        ),
    ]  # fmt: skip


def _bundle(machine: Evaluator, v: Value, p: Value) -> Value:
    seen = look(p)
    if not is_tagged(machine, "perturbation", seen) and seen is not ZERO:
        raise nonconforming("bundle", v, p)
    tangent = fitting_tangent(v, seen[1])
    if tangent is None:
        raise nonconforming("bundle", v, seen[1])
    return (machine.codes["forward"], v, tangent)


def _make_forward(machine: Evaluator, v: Value, d: Value) -> Value:
    return (machine.codes["forward"], v, d)


def _forward_field(name: str, index: int) -> Any:
    def field(machine: Evaluator, x: Value) -> Value:
        return unwrapped(machine, "forward", x, lambda: _not_tagged(name, "forward", x))[index]

    return field


def _tangent(machine: Evaluator, x: Value) -> Value:
    seen = unwrapped(machine, "forward", x, lambda: _not_tagged("tangent", "forward", x))
    if seen is ZERO:
        return ZERO
    return (machine.codes["perturbation"], complete(seen[1], seen[2]), None)


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


def _plus(machine: Evaluator, a: Value, b: Value) -> Value:
    if machine.shadows is not None and any(True for _ in cells_of(a, b)):
        raise VladError(
            "plus-do-not-conform", "Arguments to plus do not conform", name="plus", irritants=(a, b),
            hint="in a derivative cells are not added, as theirs are in other cells: add their contents",
        )  # fmt: skip
    return plus(a, b)


def _is_closed(f: Value) -> Value:
    """Whether f captures nothing that could have a derivative."""
    return FALSE if is_structure(f) else TRUE


def _environment(f: Value) -> Value:
    return list_of(parts_of(_structure("environment", f)))


def _tangent_environment(f: Value, d: Value) -> Value:
    """The environment of a tangent of f, which for a table may lack keys."""
    if d is ZERO:
        return ZERO
    return _environment(complete(f, d) if type(look(f)) is Table else d)


def _with_environment(f: Value, values: Value) -> Value:
    if f is ZERO or values is ZERO:
        return ZERO
    structure, found = _structure("with-environment", f), elements("with-environment", values)
    held = len(parts_of(structure))
    if len(found) != held:
        holds = (
            f"the table has {held}" if type(structure) is Table else f"the procedure is closed over {held}"
        )
        raise VladError(
            "wrong-shape", f"Environment given to with-environment does not fit: {len(found)} values",
            hint=holds, irritants=(f,), name="with-environment",
        )  # fmt: skip
    return rebuilt(head_of(structure), found, structure) if held else structure


def _is_same_code(f: Value, g: Value) -> Value:
    f, g = look(f), look(g)
    if type(f) is Table and type(g) is Table:
        return TRUE if f.paired(g) is not None else FALSE
    return TRUE if is_procedure(f) and is_procedure(g) and f[0].base is g[0].base else FALSE


def _abstract_same_code(w: AbstractMachine, f: Any, g: Any) -> Any:
    def of_two(f: Any, g: Any) -> Any:
        x, y = f.type, g.type
        if is_table(x) and is_table(y):
            return w.invoke(w.system("same-keys?"), (), [f, g], False)
        return w.truth(x.kind == y.kind == "closure" and x.of.base is y.of.base)

    return w.each(f, lambda f: w.each(g, lambda g: of_two(f, g), "g"), "f")


def _structure(name: str, f: Value) -> Value:
    """A procedure, a record or a table."""
    seen = look(f)
    if not is_procedure(seen) and type(seen) is not Table:
        raise invalid(name, "a procedure", f)
    return seen


def _abstract_environment(w: AbstractMachine, f: Any) -> Any:
    def of_one(f: Any) -> Any:
        if f.type.of is ZERO:
            return f
        if f.type.kind != "closure":
            return w.invalid("environment")
        if is_table(f.type):
            return w.invoke(w.system("table-environment"), (), [f], False)
        values = w.constant(NIL)
        for part in reversed(w.parts(f)):
            values = w.pair(part, values)
        return values

    return w.each(f, of_one)


def _abstract_tangent_environment(w: AbstractMachine, f: Any, d: Any) -> Any:
    def of_one(d: Any) -> Any:
        if is_table(f.type) and d.type.of is not ZERO:
            d = w.recursive(COMPLETE, f, d)
        return d and _abstract_environment(w, d)

    return w.each(d, of_one, "d")


def _abstract_with_environment(w: AbstractMachine, f: Any, values: Any) -> Any:
    def of_two(f: Any, values: Any) -> Any:
        if f.type.of is ZERO or values.type.of is ZERO:
            return w.known_zero
        if is_table(f.type):
            return w.invoke(w.system("table-with-environment"), (), [f, values], False)
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


def machine_row(name: str, operands: str, doc: str, value: Any, **columns: Any) -> Primitive:
    return Primitive(name, operands, doc, value=value, needs_machine=True, **columns)


def record_fields(code: str, count: int) -> list[Primitive]:
    """Rows for the fields of the sensitivity of a closure of a system code, CODE-field-1 … ; make-CODE constructs one."""
    name, maker = f"{code}-field", f"make-{code}"

    def field(index: int) -> Primitive:
        others = " ".join(["s" if index == other else "zero" for other in range(1, count + 1)])
        return machine_row(
            f"{name}-{index}", "b", "A field of a closure's sensitivity.", lambda machine, b: look(b)[index],
            type="procedure -> any", hidden=True, forward=f"({name}-{index} db)", reverse={"b": f"({maker} {others})"},
            abstract=_abstract_field(index - 1, code),
        )  # fmt: skip

    return [field(index) for index in range(1, count + 1)]


def record_rows(code: str, operands: str, doc: str, unused: tuple[str, ...] = ()) -> list[Primitive]:
    """The rows that make a closure of a code of the system, and that return its fields. `unused`: fields without derivatives."""

    def wrap(machine: Evaluator, *parts: Value) -> Value:
        return (machine.codes[code], *parts, None) if len(parts) == 1 else (machine.codes[code], *parts)

    names = operands.split()
    maker = machine_row(
        f"make-{code}", operands, doc, wrap, type=f"{'any ' * len(names)}-> any", hidden=True,
        forward=f"(make-{code} {' '.join([f'd{name}' for name in names])})",
        reverse={name: f"({code}-field-{i} s)" for i, name in enumerate(names, 1) if name not in unused},
        abstract=abstract_wrap(code),
    )  # fmt: skip
    return [maker, *record_fields(code, len(names))]


ROWS: list[Primitive] = [
    *_wrapper("*j", "reverse",
        "The reverse transform of any value (J).\n(cdr ((cdr ((*j square) (*j 3))) 1))  ⇒ 6\n"
        "(*j 3)  ⇒ (reverse 3)", "*j-inverse",
        "The inverse of *j.\n(*j-inverse (*j 3))  ⇒ 3"),
    *_wrapper("perturb", "perturbation", "x as a perturbation.\n(perturb 1)  ⇒ (perturbation 1)", "unperturb",
        "The inverse of perturb.\n(unperturb (perturb 1))  ⇒ 1"),
    *_wrapper("sensitize", "sensitivity", "x as a sensitivity.\n(sensitize 1)  ⇒ (sensitivity 1)", "unsensitize",
        "The inverse of sensitize.\n(unsensitize (sensitize 1))  ⇒ 1"),
    machine_row(
        "bundle", "v p",
        "The forward value with primal v and perturbation p, which must conform.\n"
        "(bundle 3 (perturb 1))  ⇒ (forward 3 (perturbation 1))\n"
        "(unperturb (tangent ((j* square) (bundle 3 (perturb 1)))))  ⇒ 6", _bundle,
        type="any any -> any", forward="(make-forward dv (unperturb dp))",
        reverse={"v": "(primal s)", "p": "(perturb (tangent-part s))"}, abstract=_abstract_bundle,
    ),
    machine_row(
        "make-forward", "v d", "bundle of bare parts, unchecked.", _make_forward, type="any any -> any", hidden=True,
        forward="(make-forward dv dd)", reverse={"v": "(primal s)", "d": "(tangent-part s)"},
        abstract=abstract_wrap("forward"),
    ),
    machine_row(
        "primal", "x",
        "The primal of a forward value.\n(primal (bundle 3 (perturb 1)))  ⇒ 3",
        _forward_field("primal", 1), type="any -> any",
        forward="(primal dx)", reverse={"x": "(make-forward s zero)"}, abstract=_abstract_field(0, "forward"),
    ),
    machine_row(
        "tangent", "x",
        "The perturbation of a forward value.\n(tangent (bundle 3 (perturb 1)))  ⇒ (perturbation 1)",
        _tangent, type="any -> any",
        forward="(perturb (tangent-part dx))", reverse={"x": "(make-forward zero (unperturb s))"},
        abstract=_abstract_tangent,
    ),
    machine_row(
        "tangent-part", "x", "The bare tangent of a forward value.", _forward_field("tangent", 2), type="any -> any",
        forward="(tangent-part dx)", reverse={"x": "(make-forward zero s)"}, hidden=True,
        abstract=_abstract_field(1, "forward"),
    ),
    machine_row(
        "forward?", "x",
        "Is the outermost tag of x forward?\n(forward? (bundle 3 (perturb 1)))  ⇒ #t",
        tag_test("forward"), type="any -> boolean", forward="zero",
        reverse={}, abstract=abstract_test("forward"),
    ),
    Primitive(
        "zero", "x",
        "The zero of x's tangent space, shaped like x.\n(zero (list 1 #[3 4] 'a))  ⇒ (0 #[0 0] a)",
        value=zero, type="any -> any", forward="zero",
        reverse={}, abstract=lambda w, x: w.recursive(ZERO_OF, x),
    ),
    Primitive(
        "zero-tangent", "x", "The zero of x's tangent space, with known zeros for captured values.",
        value=zero_tangent, type="any -> any", forward="zero", reverse={}, hidden=True, abstract=zero_tangent_type,
    ),
    machine_row(
        "plus", "a b",
        "The sum of conforming values, part by part.\n(plus '(1 (2 3)) '(10 (20 30)))  ⇒ (11 (22 33))",
        _plus, type="any any -> any",
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
    *record_fields("backpropagator", 5),
    *record_fields("with-derivative", 3),
    machine_row(
        "make-with-derivative", "f forward reverse", "with-derivative, unchecked.", _make_with_derivative,
        type="any any any -> any", hidden=True, forward="(make-with-derivative df dforward dreverse)",
        reverse={
            "f": "(with-derivative-field-1 s)", "forward": "(with-derivative-field-2 s)",
            "reverse": "(with-derivative-field-3 s)",
        },
        abstract=abstract_wrap("with-derivative"),
    ),
    Primitive(
        "closed?", "f", "Does f capture nothing that could have a derivative?", value=_is_closed,
        type="any -> boolean", forward="zero", reverse={}, hidden=True,
        abstract=lambda w, f: w.each(f, lambda f: w.truth(not f.type.parts)),
    ),
    Primitive(
        "environment", "f",
        "The values that the procedure f captures, as a list, in unspecified order. Of a record those of its fields, of a "
        "table those of its keys.\n(environment ((curry *) 5))  ⇒ (* 5)\n(environment (table 'a 1 'b 2))  ⇒ (1 2)",
        value=_environment, type="procedure -> any", forward="(tangent-environment f df)",
        reverse={"f": "(with-environment f (complete r s))"}, abstract=_abstract_environment,
    ),
    Primitive(
        "tangent-environment", "f d", "The environment of a tangent of f.", value=_tangent_environment, hidden=True,
        type="procedure any -> any", forward="(tangent-environment f dd)",
        reverse={"d": "(with-environment f (complete r s))"},
        abstract=lambda w, f, d: w.each(f, lambda f: _abstract_tangent_environment(w, f, d), "f"),
    ),
    Primitive(
        "with-environment", "f values",
        "The procedure f with these captured values instead of its own; also a record, or a table.\n"
        "((with-environment ((curry *) 5) (list * 7)) 2)  ⇒ 14",
        value=_with_environment, type="procedure any -> procedure", forward="(with-environment f (complete values dvalues))",
        reverse={"values": "(environment (complete r s))"}, abstract=_abstract_with_environment,
    ),
    Primitive(
        "same-code?", "f g",
        "Are f and g procedures of one text, whatever they capture? Also of records of one type, or tables of the same keys.\n"
        "(same-code? (constantly 1) (constantly 2))  ⇒ #t", value=_is_same_code,
        type="any any -> boolean", forward="zero", reverse={}, abstract=_abstract_same_code,
    ),
    machine_row(
        "tail-entry", "f", "The reverse transform of f as (k . x) to (y . backpropagator).", _tail_entry,
        type="procedure -> procedure", forward="df", reverse={"f": "s"}, hidden=True,
        abstract=abstract_entry("tail"),
    ),
    machine_row(
        "forward-entry", "f", "The forward transform of f as (df . (dx . x)) to (y . dy).", _forward_entry,
        type="procedure -> procedure", forward="df", reverse={"f": "s"}, hidden=True, abstract=abstract_entry("forward"),
    ),
    machine_row(
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
