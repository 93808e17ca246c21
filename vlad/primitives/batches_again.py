"""The reverse phase of a batch on a GPU, as texts in the language: a batch itself.

Each row is computed again with its tape, which no other row needs, and what the rows share gets the sum of what they return for
it. Otherwise one tape would connect all rows. batches.py has the procedures that are called here. Tier 0 keeps the tape, since
rows with effects must not run twice: `fits-threads?` holds in compiled code only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlad.core.extents import AnExtent
from vlad.data.values import FALSE, TRUE

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

# The tail entry of `vmapped`, which is closed over f and axes.
TAIL = """(lambda (k x)
    (let* ((along (axes-of-all axes))
           (back (lambda (own df d-axes dx) (k (make-vmapped df d-axes) dx))))
      (if (batch-fits? f along x)
          (let ((y ((make-vmapped f axes) x)))
            (if (batch-of-numbers? y)
                (cons y (lambda (s)
                  (let ((d (batch-sensitivities f along x (complete y s))))
                    (k (make-vmapped (car d) zero) (cdr d)))))
                ((tail-entry batch-map) back f along x)))
          ((tail-entry batch-map) back f along x))))"""

PROCEDURES: dict[str, str] = {
    # The sensitivities of f and x, of which each row computes its own.
    "batch-fits?": """(lambda (f axes x)
        (if (batch-of-lists? axes)
            #f
            (let* ((rows (batch-leading axes x)) (n (batch-size axes rows)))
              (if (boolean? n)
                  #f
                  (if (= n 0)
                      #f
                      (if (fits-threads? f (batch-row axes rows 0)) (if (batch-states? (cons f x)) #f #t) #f))))))""",
    # Has it records that state their tangents? These are not by field, as what follows needs.
    "batch-states?": """(lambda (x)
        (if (pair? x)
            (if (batch-states? (car x)) #t (batch-states? (cdr x)))
            (if (same-code? x x) (if (states-tangent? x) #t (batch-states? (environment x))) #f)))""",
    "batch-of-lists?": """(lambda (axes)
        (if (pair? axes) (if (batch-of-lists? (car axes)) #t (batch-of-lists? (cdr axes))) (symbol? axes)))""",
    "batch-of-numbers?": """(lambda (y)
        (if (pair? y) (if (batch-of-numbers? (car y)) (batch-of-numbers? (cdr y)) #f) (if (same-code? y y) #f #t)))""",
    "batch-sensitivities": """(lambda (f axes x s)
        (let ((parts ((make-vmapped batch-sensitivity (cons #f (cons axes (cons 0 '())))) (cons f (cons x s)))))
          (cons (batch-dressed f (batch-total (car parts))) (batch-back axes x (cdr parts)))))""",
    "batch-sensitivity": """(lambda (row)
        (let* ((f (car row)) (x (car (cdr row))) (d ((cdr ((tail-entry f) identity x)) (cdr (cdr row)))))
          (cons (batch-bare (complete f (car d))) (batch-bare (complete x (cdr d))))))""",
    # With the environments of procedures and records in their place, which are put together as other answers are.
    "batch-bare": """(lambda (s)
        (if (pair? s)
            (cons (batch-bare (car s)) (batch-bare (cdr s)))
            (if (same-code? s s) (batch-bare (environment s)) s)))""",
    "batch-dressed": """(lambda (x s)
        (if (pair? x)
            (cons (batch-dressed (car x) (car s)) (batch-dressed (cdr x) (cdr s)))
            (if (same-code? x x) (with-environment x (batch-dressed (environment x) s)) s)))""",
    "batch-total": """(lambda (d)
        (if (tensor? d) (sum d 0 #f) (if (pair? d) (cons (batch-total (car d)) (batch-total (cdr d))) d)))""",
    "batch-back": """(lambda (axes x d)
        (if axes
            (if (tensor? x)
                (if (tensor? d) (axis-back d axes) d)
                (if (pair? x)
                    (cons (batch-back (axes-first axes) (car x) (car d)) (batch-back (axes-rest axes) (cdr x) (cdr d)))
                    (if (batch-structure? x)
                        (with-environment x (batch-back axes (environment x) d))
                        (batch-dressed x (batch-total d)))))
            (batch-dressed x (batch-total d))))""",
}

MOST_ENTRIES = 1 << 10  # of the tensors of a row that a thread computes


def abstract_fits_threads(w: AbstractMachine, f: Any, x: Any) -> Any:
    """Where it does not, each row would make sensitivities of all that the rows share."""
    entries = [_entries(w, one.type) for one in (f, x)]
    return w.value(TRUE if sum(entries) <= MOST_ENTRIES else FALSE)


def _entries(w: AbstractMachine, type_: Any) -> AnExtent:
    """The entries of a value's tensors; more than any thread gets if it has parts of unknown number."""
    type_ = w.types.canonical(type_)
    if type_.kind == "tensor":
        size: AnExtent = type_.of.size
        return size
    if type_.kind == "union":
        return MOST_ENTRIES + 1
    return sum([_entries(w, part) for part in type_.parts])
