"""Many at once: the rows, codes and procedures of `vmap`.

`(vmap f)` is f on the rows of its argument: row i of a structure has row i of each tensor in it. The answers are put together as
they were: each real, boolean and tensor of an answer becomes a tensor with one axis more, in front. All of it is code of the
language, so it has derivatives, is compiled, and may be nested. The rows here collect answers. They have two representations:

    tier 0      the list of those that are there, the last one first: an array would be copied for each
    compiled    the tensor of all, which is filled in place

No row reads from them what was put in, so only the derivatives of a row decide what they mean: the sensitivity of answers is
that of the tensor, whichever they are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from vlad.core.loop_nests import Access, Kernel, Output, Read, Write, contiguous
from vlad.core.types import is_tensor
from vlad.data.devices import current
from vlad.data.errors import VladError, unsuitable
from vlad.data.tensors import Tensor, kind_name, made, namespace, shape_text
from vlad.data.values import (
    FALSE,
    NIL,
    ZERO,
    Boolean,
    Primitive,
    Role,
    Symbol,
    SystemCode,
    Value,
    is_procedure,
    list_of,
    look,
)
from vlad.data.write import written
from vlad.messages.hints import kind, kind_text
from vlad.primitives import batched_records
from vlad.primitives import batches_again as again
from vlad.primitives.arrays import axis_of, constant, length_of, row
from vlad.primitives.indexing import with_part
from vlad.primitives.tensors import tensor_of
from vlad.primitives.transforms import abstract_test, abstract_wrap, machine_row, record_fields, tag_test
from vlad.primitives.type_rules import as_number, conversion, filled, kind_of, known, known_lengths, shape_of

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine, Evaluator

CODES: dict[str, SystemCode] = {
    **batched_records.CODES,
    "vmapped": (
        Role.PROCEDURE,
        "f axes",
        {
            "": "(lambda (x) (batch-map f (axes-of-all axes) x))",
            "control": "(lambda (k x) ((control-entry batch-map) k f (axes-of-all axes) x))",
        },
    ),
    # The procedures in the answers: the first for the first row, and so on.
    "side-by-side": (
        Role.PROCEDURE,
        "fs",
        {
            "": "(lambda (x) (batch-map batch-apply 0 (cons (make-side-by-side fs) x)))",
            "control": "(lambda (k x) ((control-entry batch-map) k batch-apply 0 (cons (make-side-by-side fs) x)))",
        },
    ),
}

# In sessions on a GPU.
ON_A_GPU: dict[str, SystemCode] = {
    "vmapped": (*CODES["vmapped"][:2], {**CODES["vmapped"][2], "tail": again.TAIL}),
}

SYSTEM_PROCEDURES: dict[str, str] = {
    **again.PROCEDURES,
    **batched_records.PROCEDURES,
    "batch-map": """(lambda (f axes x)
        (let* ((rows (batch-leading axes x)) (n (batch-size axes rows)))
          (if (boolean? n)
              (refuse-batch "no rows" x x)
              (if (= n 0)
                  (answers-of-none (f (batch-blank axes rows)))
                  (let ((y (f (batch-row axes rows (row-number 0)))))
                    (batch-loop f axes (batch-rest axes rows) n y 1 (answers-begin n y)))))))""",
    "batch-loop": """(lambda (f axes rows n like i answers)
        (if (= i n)
            (answers-end like answers)
            (let ((y (f (batch-row axes rows (row-number i)))))
              (batch-loop f axes (batch-rest axes rows) n like (+ i 1) (answers-put answers like i y)))))""",
    "batch-apply": "(lambda (f x) (f x))",
    # Axes: of all leaves of a structure, or the list of those of its parts, the last for the rest.
    "axes-of-all": "(lambda (axes) (if (pair? axes) (if (null? (cdr axes)) (car axes) axes) axes))",
    "axes-first": "(lambda (axes) (if (pair? axes) (car axes) axes))",
    "axes-rest": "(lambda (axes) (if (pair? axes) (axes-of-all (cdr axes)) axes))",
    # The number of rows; #f if nothing has rows.
    "batch-size": """(lambda (axes x)
        (if axes
            (if (tensor? x)
                (car (shape x))
                (if (pair? x)
                    (if (symbol? axes)
                        (count-items x 0)
                        (batch-same-size (batch-size (axes-first axes) (car x)) (batch-size (axes-rest axes) (cdr x))))
                    (if (side-by-side? x)
                        (count-items (side-by-side-field-1 x) 0)
                        (if (batch-structure? x)
                            (if (states-tangent? x) (record-size axes x) (batch-size axes (environment x)))
                            #f))))
            #f))""",
    "batch-same-size": '(lambda (a b) (if a (if b (if (= a b) a (refuse-batch "lengths" a b)) a) b))',
    "count-items": """(lambda (l n)
        (if (pair? l) (count-items (cdr l) (+ n 1)) (if (null? l) n (refuse-batch "no rows" l l))))""",
    "batch-structure?": "(lambda (x) (if (procedure? x) #f (same-code? x x)))",
    # The same with the axes in front.
    "batch-leading": """(lambda (axes x)
        (if axes
            (if (tensor? x)
                (axis-first x axes)
                (if (pair? x)
                    (if (symbol? axes)
                        x
                        (cons (batch-leading (axes-first axes) (car x)) (batch-leading (axes-rest axes) (cdr x))))
                    (if (batch-structure? x)
                        (if (states-tangent? x)
                            (record-leading axes x)
                            (with-environment x (batch-leading axes (environment x))))
                        x)))
            x))""",
    "batch-row": """(lambda (axes x i)
        (if axes
            (if (tensor? x)
                (tensor-ref x i)
                (if (pair? x)
                    (if (symbol? axes)
                        (car x)
                        (cons (batch-row (axes-first axes) (car x) i) (batch-row (axes-rest axes) (cdr x) i)))
                    (if (side-by-side? x)
                        (car (side-by-side-field-1 x))
                        (if (batch-structure? x)
                            (if (states-tangent? x)
                                (record-row axes x i)
                                (with-environment x (batch-row axes (environment x) i)))
                            x))))
            x))""",
    # What the rows after the first of a list are read from.
    "batch-rest": """(lambda (axes x)
        (if axes
            (if (pair? x)
                (if (symbol? axes)
                    (cdr x)
                    (cons (batch-rest (axes-first axes) (car x)) (batch-rest (axes-rest axes) (cdr x))))
                (if (side-by-side? x)
                    (make-side-by-side (cdr (side-by-side-field-1 x)))
                    (if (batch-structure? x)
                        (if (states-tangent? x)
                            (record-rest axes x)
                            (with-environment x (batch-rest axes (environment x))))
                        x)))
            x))""",
    # A row of zeros, for the shapes of the answers to no rows.
    "batch-blank": """(lambda (axes x)
        (if axes
            (if (tensor? x)
                (blank-row x)
                (if (pair? x)
                    (cons (batch-blank (axes-first axes) (car x)) (batch-blank (axes-rest axes) (cdr x)))
                    (if (batch-structure? x)
                        (if (states-tangent? x)
                            (record-blank axes x)
                            (with-environment x (batch-blank axes (environment x))))
                        x)))
            x))""",
    # Answers: each real, boolean and tensor is a row of a tensor; procedures are listed; what else there is is equal in all.
    "stacks?": "(lambda (y) (if (real? y) #t (if (tensor? y) #t (boolean? y))))",
    "answers-begin": """(lambda (n y)
        (if (stacks? y)
            (rows-begin n y)
            (if (pair? y)
                (cons (answers-begin n (car y)) (answers-begin n (cdr y)))
                (if (procedure? y)
                    (cons y '())
                    (if (same-code? y y)
                        (if (states-tangent? y) (record-begin n y) (answers-begin n (environment y)))
                        y)))))""",
    "answers-put": """(lambda (answers like i y)
        (if (stacks? y)
            (if (stacks? like) (rows-put answers i y) (refuse-batch "answers" like y))
            (if (pair? y)
                (if (pair? like)
                    (cons (answers-put (car answers) (car like) i (car y)) (answers-put (cdr answers) (cdr like) i (cdr y)))
                    (refuse-batch "answers" like y))
                (if (procedure? y)
                    (if (procedure? like) (cons y answers) (refuse-batch "answers" like y))
                    (if (same-code? y y)
                        (if (same-code? y like)
                            (if (states-tangent? y)
                                (record-put answers like i y)
                                (answers-put answers (environment like) i (environment y)))
                            (refuse-batch "answers" like y))
                        (if (equal? y like) answers (refuse-batch "answers" like y)))))))""",
    "answers-end": """(lambda (like answers)
        (if (stacks? like)
            (rows-end answers)
            (if (pair? like)
                (cons (answers-end (car like) (car answers)) (answers-end (cdr like) (cdr answers)))
                (if (procedure? like)
                    (make-side-by-side (in-order answers '()))
                    (if (same-code? like like)
                        (if (states-tangent? like)
                            (record-end like answers)
                            (with-environment like (answers-end (environment like) answers)))
                        like)))))""",
    "in-order": "(lambda (l found) (if (pair? l) (in-order (cdr l) (cons (car l) found)) found))",
    "answers-of-none": """(lambda (like)
        (if (stacks? like)
            (rows-of-none like)
            (if (pair? like)
                (cons (answers-of-none (car like)) (answers-of-none (cdr like)))
                (if (procedure? like)
                    (make-side-by-side '())
                    (if (same-code? like like)
                        (if (states-tangent? like)
                            (record-of-none like)
                            (with-environment like (answers-of-none (environment like))))
                        like)))))""",
}

AXES = "#:axes is an axis, #f for what all rows share, list for a list of rows, or a list of these, one for each argument"


def _vmap(machine: Evaluator, f: Value, axes: Value) -> Value:
    if not is_procedure(f):
        raise unsuitable("vmap", "(vmap f): a procedure", (f,))
    work = [axes]
    while work:
        one = look(work.pop())
        if type(one) is tuple and len(one) == 2:
            work += one
        elif not _is_axis(one):
            raise _about("axes", unsuitable("vmap", AXES, (axes,)))
    return (machine.codes["vmapped"], f, axes)


def _is_axis(x: Value) -> bool:
    if type(x) is Symbol:
        return x.name == "list"
    return x is FALSE or x == NIL or (type(x) is float and x.is_integer())


def _abstract_vmap(w: AbstractMachine, f: Any, axes: Any) -> Any:
    work = [w.types.canonical(axes.type)]
    while work:
        one = work.pop()
        if one.kind == "pair":
            work += map(w.types.canonical, one.parts)
        elif one.kind == "constant" and not _is_axis(one.of):
            return w.invalid("vmap")

    def of_one(f: Any) -> Any:
        return w.closure(w.system("vmapped"), [f, axes]) if f.type.kind == "closure" else w.invalid("vmap")

    return w.each(f, of_one)


def _axis(t: Value, axis: Value) -> int:
    if type(axis) is not float:
        raise _about("axes", unsuitable("vmap", AXES + "; a tensor has an axis", (axis,)))
    return axis_of("vmap", axis, len(t.shape))


def _axis_first(t: Value, axis: Value) -> Value:
    at = _axis(t, axis)
    return _reordered(t, _with_first(len(t.shape), at)) if at else t


def _axis_back(t: Value, axis: Value) -> Value:
    at = _axis(t, axis)
    order = _with_first(len(t.shape), at)
    return _reordered(t, [order.index(each) for each in range(len(order))]) if at else t


def _with_first(rank: int, axis: int) -> list[int]:
    return [axis, *[each for each in range(rank) if each != axis]]


def _reordered(t: Value, order: list[int]) -> Value:
    return made(namespace(t.array).permute_dims(t.array, tuple(order)))


def _abstract_axis(is_first: bool) -> Any:
    def rule(w: AbstractMachine, t: Any, axis: Any) -> Any:
        at = axis_of("vmap", known(w, axis), len(shape_of(t)))
        order = _with_first(len(shape_of(t)), at)
        if not is_first:
            order = [order.index(each) for each in range(len(order))]
        return (
            w.apply(w.machine.table["transpose"], [t, w.value(list_of([float(each) for each in order]))])
            if at
            else t
        )

    return rule


def _blank_row(t: Value) -> Value:
    xp = namespace(t.array)
    return made(xp.zeros(t.shape[1:], dtype=t.array.dtype, device=getattr(t.array, "device", None)))


def _abstract_blank_row(w: AbstractMachine, t: Any) -> Any:
    return filled(w, shape_of(t)[1:], 0.0, kind_of(t)) if len(shape_of(t)) > 1 else w.constant(0.0)


def _rows_begin(n: Value, y: Value) -> Value:
    return (y, NIL)


def _rows_put(rows: Value, i: Value, y: Value) -> Value:
    first = rows[0]
    if type(y) is not type(first) or (
        type(y) is Tensor and (y.shape != first.shape or y.array.dtype != first.array.dtype)
    ):
        raise _differing(first, y)
    return (y, rows)


def _rows_end(rows: Value) -> Value:
    return tensor_of(in_order(rows))


def in_order(rows: Value) -> Value:
    """A list in reverse."""
    found: Value = NIL
    while rows != NIL:
        y, rows = rows
        found = (y, found)
    return found


def _rows_of_none(y: Value) -> Value:
    if type(y) is Tensor:
        return made(
            namespace(y.array).zeros(
                (0, *y.shape), dtype=y.array.dtype, device=getattr(y.array, "device", None)
            )
        )
    xp = current().xp
    return made(current().asarray([], xp.bool if type(y) is Boolean else xp.float64))


def _abstract_rows_begin(w: AbstractMachine, n: Any, y: Any) -> Any:
    """The first row of an array whose other rows have no contents until they are put there."""
    length, kind = length_of("vmap", known_lengths(w, n)), kind_of(y) or "float64"
    if y.type.head == "boolean":
        y, kind = as_number(w, y), "bool"
    shape = shape_of(y)
    steps = conversion(w, 0, kind_of(y), kind)
    read = Read(0, Access(0, contiguous(shape)) if shape else None, kind_of(y) or "float64")
    write = Write(0, len(steps), Access(0, contiguous(shape)))
    output = Output(math.prod((length, *shape)), kind=kind)
    kernel = Kernel(shape, (read,), tuple(steps), (output,), (write,))
    return w.loops(kernel, [y], [w.types.tensor((length, *shape), kind)])[0]


def _with_row(w: AbstractMachine, rows: Any, i: Any, y: Any) -> Any:
    shape = shape_of(rows)
    inner = contiguous(shape)
    if i.type.kind == "constant":
        return with_part(w, "vmap", y, rows, int(known(w, i)) * inner[0], [], shape[1:], inner[1:])
    return with_part(w, "vmap", y, rows, 0, [(inner[0], i)], shape[1:], inner[1:])


def _abstract_rows_put(w: AbstractMachine, rows: Any, i: Any, y: Any) -> Any:
    if not is_tensor(rows.type):
        w.left_out("answers that tier 0 has begun to collect are")
    kind = "bool" if y.type.head == "boolean" else kind_of(y) or "float64"
    if y.type.of is not ZERO and (shape_of(y) != shape_of(rows)[1:] or kind != kind_of(rows)):
        return w.misfit("vmap", shape_of(rows)[1:], shape_of(y))
    return _with_row(w, rows, i, y)


def _differing(like: Value, y: Value) -> VladError:
    def text(x: Value) -> str:
        if type(x) is Tensor:
            return f"a tensor of {kind_name(x.array.dtype)} of shape {shape_text(x.shape)}"
        return kind_text(x) if kind_text(like) != kind_text(y) else written(x, 40)

    error = VladError(
        "wrong-shape", "Rows of vmap have results of different structures", name="vmap",
        hint=f"results are put together part by part: the first row's has {text(like)} where this one's has {text(y)}",
    )  # fmt: skip
    error.kinds = kind(like), kind(y)
    return _about("answers", error)


def _about(what: str, error: VladError) -> VladError:
    error.about = what
    return error


def _refuse(what: Value, a: Value, b: Value) -> Value:
    if what.text == "answers":
        raise _differing(a, b)
    if what.text == "lengths":
        error = VladError(
            "wrong-shape", f"Arguments of vmap have {a:.0f} and {b:.0f} rows", name="vmap",
            hint="each tensor has as many entries along its axis; #:axes names the axes, and #f what all rows share",
        )  # fmt: skip
    elif what.text in batched_records.MESSAGES:
        error = batched_records.refused(what.text, a)
    else:
        error = VladError(
            "invalid-argument", "Argument of vmap has no rows", name="vmap", irritants=(a,),
            hint="it maps over the first axis of the tensors in its arguments, and over lists where #:axes is list",
        )  # fmt: skip
    raise _about(what.text, error)


def _abstract_refuse(w: AbstractMachine, what: Any, a: Any, b: Any) -> Any:
    return w.fail(
        {
            "answers": "Rows of vmap have results of different structures",
            "lengths": "Arguments of vmap have different numbers of rows",
            "no rows": "Argument of vmap has no rows",
            **batched_records.MESSAGES,
        }[what.type.of.text]
    )


ROWS: list[Primitive] = [
    machine_row(
        "vmap", "f axes",
        "The procedure that maps f over the rows of its arguments, which are the parts of each tensor along its first axis, and "
        "puts the results together: a number becomes a vector, a tensor gets one axis more. Numbers, procedures and other things "
        "without axes are the same for each row. #:axes names another axis, or is #f for what all rows share, or list for a list "
        "of rows; or a list of these, one for each argument.\n"
        "((vmap (lambda (x) (* x x))) #[1 2 3])  ⇒ #[1 4 9]\n"
        "((vmap dot #:axes '(0 #f)) #[[1 2] [3 4]] #[1 10])  ⇒ #[21 43]\n"
        "((vmap (gradient (lambda (x) (if (< x 0) 0 (* x x))))) #[-1 2])  ⇒ #[0 4]",
        _vmap, type="procedure any -> procedure", keywords={"axes": 0.0},
        forward="(make-vmapped df daxes)", reverse={"f": "(vmapped-field-1 s)"}, abstract=_abstract_vmap,
    ),
    machine_row(
        "make-vmapped", "f axes", "(vmap f), or its tangent or sensitivity.",
        lambda machine, f, axes: (machine.codes["vmapped"], f, axes), type="any any -> any", hidden=True,
        forward="(make-vmapped df daxes)", reverse={"f": "(vmapped-field-1 s)", "axes": "(vmapped-field-2 s)"},
        abstract=abstract_wrap("vmapped"),
    ),
    *record_fields("vmapped", 2),
    machine_row(
        "make-side-by-side", "fs", "A list of procedures as one, of as many rows.",
        lambda machine, fs: (machine.codes["side-by-side"], fs, None), type="any -> any", hidden=True,
        forward="(make-side-by-side dfs)", reverse={"fs": "(side-by-side-field-1 s)"}, abstract=abstract_wrap("side-by-side"),
    ),
    *record_fields("side-by-side", 1),
    machine_row(
        "side-by-side?", "x", "Is x a list of procedures as one?", tag_test("side-by-side"), type="any -> boolean", hidden=True,
        forward="zero", reverse={}, abstract=abstract_test("side-by-side"),
    ),
    row("axis-first", "t axis", "The tensor with an axis in front.", _axis_first, linear="t", hidden=True,
        abstract=_abstract_axis(True), forward="(axis-first dt axis)", reverse={"t": "(axis-back s axis)"}),
    row("axis-back", "t axis", "The inverse of axis-first.", _axis_back, linear="t", hidden=True,
        abstract=_abstract_axis(False), forward="(axis-back dt axis)", reverse={"t": "(axis-first s axis)"}),
    constant("blank-row", "t", "A row of zeros.", _blank_row, hidden=True, abstract=_abstract_blank_row),
    Primitive(
        "row-number", "i", "The number of the row that is next: errors tell it.", value=lambda i: i, type="any -> any",
        python="i", hidden=True, effect=True, forward="zero", reverse={}, abstract=lambda w, i: i,
    ),
    row("rows-begin", "n y", "The results of n rows, of which the first is known.", _rows_begin, linear="y", hidden=True,
        abstract=_abstract_rows_begin, forward="(rows-begin n (complete y dy))", reverse={"y": "(tensor-ref s 0)"}),
    row("rows-put", "rows i y", "The results with one more.", _rows_put, linear="rows", hidden=True,
        abstract=_abstract_rows_put, forward="(rows-put drows i (complete y dy))",
        reverse={"y": "(tensor-ref s i)", "rows": "s"}),
    row("rows-end", "rows", "All answers, as a tensor.", _rows_end, linear="rows", hidden=True,
        abstract=lambda w, rows: rows, forward="(rows-end drows)", reverse={"rows": "s"}),
    batched_records.ROW,
    constant("fits-threads?", "f x", "Is a row of f at x small enough for a thread of a GPU? Asked of compiled code only.",
             lambda f, x: FALSE, hidden=True, abstract=again.abstract_fits_threads),
    constant("rows-of-none", "y", "No answers like y, as a tensor.", _rows_of_none, hidden=True,
             abstract=lambda w, y: filled(w, (0, *shape_of(y)), 0.0, "bool" if y.type.head == "boolean" else kind_of(y))),
    Primitive(
        "refuse-batch", "what a b", "The error of rows, or answers, that do not fit.", value=_refuse,
        type="string any any -> any", effect=True, hidden=True, forward="zero", reverse={}, abstract=_abstract_refuse,
    ),
]  # fmt: skip
