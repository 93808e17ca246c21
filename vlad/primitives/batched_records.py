"""Records that state their tangents, in batches: the part of `vmap` that differs for them; see batches.py.

The batch of such a record is a record of batches. Its tangent is the batch of the tangents of the rows, not that of its fields:
what the type states is about one record, and need not hold for a batch of them. So what takes a record apart into rows, and
puts one together of rows, has derivatives of its own here, which do the same to tangents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlad.data.devices import current
from vlad.data.errors import Kind, VladError
from vlad.data.tensors import Tensor, made, namespace
from vlad.data.values import Primitive, Role, SystemCode, Value
from vlad.primitives.arrays import constant, length_of, lengths_of
from vlad.primitives.numbers import invalid
from vlad.primitives.type_rules import filled, kind_of, known_lengths, shape_of

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine


def _code(name: str, operands: str, primal: str, tangent: str, sensitivity: str) -> tuple[str, SystemCode]:
    """A procedure with its derivatives: its tangent from dx, that of its operands; the sensitivity of its operands from s."""
    whole = f"({name} {operands})"
    texts = {
        "": f"(lambda ({operands}) {primal})",
        "control": f"(lambda (k {operands}) (k {whole}))",
        "stepping": f"(lambda (k steps {operands}) (k steps {whole}))",
        "tail": f"(lambda (k {operands}) (cons {whole} (lambda (s) (k zero {sensitivity}))))",
        "forward": f"(lambda (d dx {operands}) (cons {whole} {tangent}))",
    }
    return name, (Role.RULE, "", texts)


CODES: dict[str, SystemCode] = dict(
    [
        # The rows of an argument.
        _code("record-size", "axes x", "(batch-size axes (environment x))", "zero", "zero"),
        _code(
            "record-leading", "axes x", "(with-environment x (batch-leading axes (environment x)))",
            "(tangents-leading (axis-of-record axes) (cdr dx))", "(cons zero (tangents-back (axis-of-record axes) s))",
        ),
        _code(
            "record-row", "axes x i", "(with-environment x (batch-row axes (environment x) i))",
            "(tangents-row (car (cdr dx)) i)", "(cons zero (cons (tangents-put s (batch-size axes x) i) zero))",
        ),
        _code(
            "record-rest", "axes x", "(with-environment x (batch-rest axes (environment x)))", "(cdr dx)", "(cons zero s)"
        ),
        _code("record-blank", "axes x", "(with-environment x (batch-blank axes (environment x)))", "zero", "zero"),
        # Answers.
        _code(
            "record-begin", "n y", "(answers-begin n (environment y))", "(answers-begin n (complete y (cdr dx)))",
            "(cons zero (tangents-row s 0))",
        ),
        _code(
            "record-put", "answers like i y", "(answers-put answers (environment like) i (environment y))",
            "(answers-put (car dx) (complete like (car (cdr dx))) i (complete y (cdr (cdr (cdr dx)))))",
            "(cons s (cons zero (cons zero (tangents-row s i))))",
        ),
        _code(
            "record-end", "like answers", "(with-environment like (answers-end (environment like) answers))",
            "(answers-end (complete like (car dx)) (cdr dx))", "(cons zero s)",
        ),
        # The transpose of a row, for tangents that are such records.
        _code(
            "record-at", "s n i", "(with-environment s (tangents-at (environment s) n i))", "(tangents-at (car dx) n i)",
            "(cons (tangents-row s i) zero)",
        ),
        _code("record-of-none", "like", "(with-environment like (answers-of-none (environment like)))", "zero", "zero"),
    ]
)  # fmt: skip

PROCEDURES: dict[str, str] = {
    "axis-of-record": '(lambda (axes) (if (pair? axes) (refuse-batch "axes of a record" axes axes) axes))',
    # The same as of records, of their tangents.
    "tangents-leading": "(lambda (axis d) (tangents-turned d (lambda (t) (axis-first t axis))))",
    "tangents-back": "(lambda (axis s) (tangents-turned s (lambda (t) (axis-back t axis))))",
    "tangents-turned": """(lambda (d turn)
        (if (tensor? d)
            (turn d)
            (if (pair? d)
                (cons (tangents-turned (car d) turn) (tangents-turned (cdr d) turn))
                (if (batch-structure? d)
                    (if (states-tangent? d) d (with-environment d (tangents-turned (environment d) turn)))
                    d))))""",
    "tangents-row": """(lambda (d i)
        (if (tensor? d)
            (tensor-ref d i)
            (if (pair? d)
                (cons (tangents-row (car d) i) (tangents-row (cdr d) i))
                (if (procedure? d)
                    (refuse-batch "tangents" d d)
                    (if (same-code? d d)
                        (if (states-tangent? d) (record-row 0 d i) (with-environment d (tangents-row (environment d) i)))
                        d)))))""",
    # The batch of n tangents of which row i is this one, and the others are zero. What all rows share has no number of rows.
    "tangents-put": "(lambda (s n i) (if n (tangents-at s n i) s))",
    "tangents-at": """(lambda (s n i)
        (if (real? s)
            (tensor-put s (rows-of-zeros n s) i)
            (if (tensor? s)
                (tensor-put s (rows-of-zeros n s) i)
                (if (pair? s)
                    (cons (tangents-at (car s) n i) (tangents-at (cdr s) n i))
                    (if (procedure? s)
                        (refuse-batch "tangents" s s)
                        (if (same-code? s s)
                            (if (states-tangent? s)
                                (record-at s n i)
                                (with-environment s (tangents-at (environment s) n i)))
                            s))))))""",
}

MESSAGES = {
    "axes of a record": "Parts of a record that states its tangents have axes of their own in vmap",
    "tangents": "Tangent of a record in vmap holds a procedure",
}
HINTS = {
    "axes of a record": "derivatives need one axis for the whole of it, as a tangent need not have the same parts",
    "tangents": "tangents of rows are put together of numbers, tensors, pairs and records",
}


def refused(what: str, x: Value) -> VladError:
    """The error of a batch of records that has no derivative."""
    return VladError("invalid-argument", MESSAGES[what], name="vmap", irritants=(x,), hint=HINTS[what])


def _rows_of_zeros(n: Value, like: Value) -> Value:
    if type(n) is not float:
        raise invalid("rows-of-zeros", "a number of rows", n, of=(Kind.REAL,))
    xp, shape, options = current().xp, lengths_of(like), {"dtype": current().xp.float64}
    if type(like) is Tensor:
        xp = namespace(like.like)
        options = {"dtype": like.like.dtype, "device": getattr(like.like, "device", None)}
    return made(xp.broadcast_to(xp.zeros((), **options), (int(n), *shape)))


def _abstract_rows_of_zeros(w: AbstractMachine, n: Any, like: Any) -> Any:
    shape = (length_of("vmap", known_lengths(w, n)), *shape_of(like))
    return filled(w, shape, 0.0, kind_of(like) or "float64")


ROW: Primitive = constant(
    "rows-of-zeros",
    "n like",
    "Zeros for n rows like this one.",
    _rows_of_zeros,
    hidden=True,
    abstract=_abstract_rows_of_zeros,
)
