"""What is done whenever control enters or leaves a procedure: the codes of `dynamic-wind`, `parameterize` and `with-cleanup`.

`(%wind before f after)` is the value of (f). (before) is called first, and what it returns is given to `after` at the end,
however f ends: so both together may hold a state of this visit, such as the value that a parameter had outside.

Inside a `reset` a shift in f ends it, too. The result of f's control entry is then a request (continuations.py), and `after` is
called before that goes on to its reset. Where the continuation is called, it begins with `before`, and what is left of f is wound
in the same way. That is R7RS `dynamic-wind` on delimited continuations (Flatt, Yu, Findler & Felleisen 2007, Adding delimited and
composable control to a production programming environment).
"""

from __future__ import annotations

from vlad.data.values import Role, SystemCode

CODES: dict[str, SystemCode] = {
    "%wind": (
        Role.PROCEDURE,
        "",
        {
            "": """(lambda (before f after)
                 (let* ((visit (before)) (r (attempt-to-pass f)) (done (after visit)))
                   (if (failed? r)
                       (let ((both (passed (failed-field-1 r)))) (throw (car both) (cdr both)))
                       (cdr r))))""",
            "control": "(lambda (k before f after) (begin-wind k before f after))",
        },
    ),
    "begin-wind": (
        Role.RULE,
        "",
        {
            "": """(lambda (k before f after)
                 (enter-wind k before (lambda (nothing) ((control-entry f) guard-end (quote ()))) after))""",
        },
    ),
    # (run), wound.
    "enter-wind": (
        Role.RULE,
        "",
        {
            "": """(lambda (k before run after)
                 ((control-entry before)
                   (lambda (visit) (finish-wind k before after visit (catch-to-pass run)))
                   (quote ())))""",
        },
    ),
    "finish-wind": (
        Role.RULE,
        "",
        {
            "": """(lambda (k before after visit r)
                 ((control-entry after)
                   (lambda (done)
                     (if (car r)
                         (let ((y (cdr r)))
                           (if (raised? y)
                               y
                               (if (shift-request? y)
                                   (let ((j (shift-request-field-1 y)))
                                     (make-shift-request
                                       (lambda (v) (enter-wind k before (lambda (nothing) (j v)) after))
                                       (shift-request-field-2 y)))
                                   (k y))))
                         (make-raised (passed (cdr r)))))
                   visit))""",
        },
    ),
}
