"""The rows of mutable cells.

A cell is an address: in transformed code it has no tangent and no sensitivity. Those of its content are in another cell, its
*shadow*, one in each level of differentiation. So derivatives are those of the program that passes its store along: whatever
names a cell has, it has one shadow. A level begins where a bundled procedure or a backpropagator is applied, with no shadows
but those of cells in the argument, and ends with that call: hence a backpropagator returns the same each time, and cells from
outside are left with bare values.

The rules below state what happens to the shadow, in terms of the same rows, so transformed code can be transformed again: the
shadow of a shadow is a cell, too. `level` counts the levels from the innermost one (evaluate/machine.level_of), of which a
procedure knows from its own transforms how many there are. (Most cells of loops become variables before: core/cells.py.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlad.data.errors import OutsideStep, VladError
from vlad.data.values import FALSE, TRUE, UNSPECIFIED, ZERO, Primitive, Reference, Value
from vlad.primitives.numbers import invalid

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine, Evaluator


# by which definitions of the library use cells
OF_CELLS = frozenset(["ref", "deref", "set-ref!", "update-ref!", "%handler-cell"])
LOCAL = (
    "a cell that only the procedure which makes it and its loops and definitions use is compiled; those of parameters and of "
    "`call/cc` are not"
)


def outside_rule(cell: Value) -> VladError:
    return VladError(
        "cell-outside-rule", "A cell from outside is used where a derivative is given by `with-derivative`",
        hint="the procedure and its rules use cells that they make; hand over and return the contents of others",
        irritants=(cell,),
    )  # fmt: skip


def outside_step(cell: Value) -> VladError:
    return OutsideStep(
        "cannot-checkpoint", "A checkpointed procedure uses a cell that other procedures or structures hold",
        hint="its reverse mode runs parts of it again, when the cell may hold something else; parameters are such cells, too, "
        "and in a `reset` so is what handlers and `call/cc` use. Read it outside of `checkpointed`, and hand over its value",
        name="checkpointed", irritants=() if cell is ZERO else (cell,),
    )  # fmt: skip


def _of_cell(name: str, x: Value) -> Reference:
    if type(x) is not Reference:
        raise invalid(name, "a cell, as `ref` makes it", x)
    return x


def _used(machine: Evaluator, name: str, x: Value) -> Reference:
    """The cell x. A rule of `with-derivative` may use only those that it made, as others would lose their shadows; a step of a
    checkpointed procedure, as others may have changed when it runs again.
    """
    cell = _of_cell(name, x)
    if machine.rules is not None and cell.born < machine.rules[0]:
        raise machine.rules[3](cell)
    return cell


def _deref(machine: Evaluator, cell: Value) -> Value:
    return _used(machine, "deref", cell).content


def _set(machine: Evaluator, cell: Value, v: Value) -> Value:
    used = _used(machine, "set-ref!", cell)
    if used.born < machine.kept_until:
        machine.will_change()
    used.content = v
    if used.born < machine.changed:
        machine.changed = used.born
    return UNSPECIFIED


def _begin_visit(machine: Evaluator, cell: Value) -> Value:
    used = _used(machine, "begin-visit", cell)
    machine.visits.append((used, used.content))
    return UNSPECIFIED


def _end_visit(machine: Evaluator, cell: Value) -> Value:
    while machine.visits and machine.visits.pop()[0] is not cell:
        pass  # of a call that was given up, to start again compiled
    return UNSPECIFIED


def _shadow(machine: Evaluator, level: Value, cell: Value) -> Value:
    place = machine.shadows
    for _ in range(int(level)):
        place = place and place[1]
    if place is None:
        raise VladError("invalid-argument", "A cell is used where no derivative is taken", name="shadow")
    shadows = place[0]
    found = shadows.get(cell)
    if found is None:
        found = shadows[cell] = Reference(ZERO)
    return found


def _abstract(w: AbstractMachine, *operands: Any) -> Any:
    w.left_out("cells that procedures capture, or structures hold, are", hint=LOCAL)


def _row(name: str, operands: str, doc: str, value: Any, **columns: Any) -> Primitive:
    type_ = f"{' '.join(['any'] * len(operands.split()))} -> any"
    return Primitive(name, operands, doc, value=value, type=type_, effect=True, abstract=_abstract, **columns)


ROWS: list[Primitive] = [
    _row(
        "ref", "v", "A new cell that holds v.\n(deref (ref 3))  ⇒ 3\n(ref 3)  ⇒ #<ref 3>", Reference, state=True,
        forward="(let* ((shadow (shadow level r)) (done (set-ref! shadow dv))) zero)",
        reverse={"v": "(deref (shadow level r))"},
    ),
    _row(
        "deref", "cell", "The value in a cell.\n(deref (ref 3))  ⇒ 3", _deref,
        state=True, needs_machine=True, forward="(deref (shadow level cell))",
        reverse={
            "cell": "(let* ((shadow (shadow level cell)) (done (set-ref! shadow (accumulate (deref shadow) s)))) zero)"
        },
    ),
    _row(
        "set-ref!", "cell v",
        "Puts v into a cell.\n(let ((r (ref 1))) (set-ref! r 5) (deref r))  ⇒ 5\n"
        "((derivative (lambda (x) (let ((r (ref x))) (set-ref! r (* x (deref r))) (deref r)))) 3)  ⇒ 6",
        _set, state=True, needs_machine=True,
        forward="(let* ((shadow (shadow level cell)) (done (set-ref! shadow dv))) zero)",
        reverse={"v": "(let* ((shadow (shadow level cell)) (s (deref shadow)) (done (set-ref! shadow zero))) s)"},
    ),
    _row(
        "begin-visit", "cell", "Notes what the cell of a parameter holds, until `end-visit`.", _begin_visit, hidden=True,
        state=True, needs_machine=True, forward="zero", reverse={},
    ),
    _row(
        "end-visit", "cell", "Forgets what the cell of a parameter held.", _end_visit, hidden=True, state=True,
        needs_machine=True, forward="zero", reverse={},
    ),
    _row(
        "shadow", "level cell", "The cell with the tangent or sensitivity of a cell's content, in a level of differentiation.",
        _shadow, hidden=True, needs_machine=True, forward="zero", reverse={},
    ),
    Primitive(
        "ref?", "x", "Is x a cell?\n(ref? (ref 3))  ⇒ #t", value=lambda x: TRUE if type(x) is Reference else FALSE,
        type="any -> boolean", forward="zero", reverse={}, abstract=lambda w, x: w.each(x, lambda x: w.truth(False)),
    ),
]  # fmt: skip

PROCEDURES: dict[str, str] = {
    "update-ref!": """;;; (update-ref! cell f)
        ;;; Puts f of the value in a cell into the cell.
        ;;; (let ((r (ref 3))) (update-ref! r square) (deref r))  ⇒ 9
        (lambda (cell f) (set-ref! cell (f (deref cell))))""",
}
