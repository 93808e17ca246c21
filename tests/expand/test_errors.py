"""Wrong syntax: for each program the place, kind, message and hint of its error, which name the form and its shape."""

from __future__ import annotations

import pytest
from expanding import items

import vlad
from vlad.data.errors import Notice, VladError
from vlad.data.values import FALSE, Primitive
from vlad.expand.items import Expression
from vlad.expand.scope import Module
from vlad.primitives.table import TABLE

ERRORS = [
    ("()", "1:1", "invalid-expression", "Invalid expression: ()", "the empty list as a value is written '()"),
    ("(if)", "1:1", "invalid-expression", "Invalid expression: (if)", "(if TEST THEN ELSE)"),
    (
        "(if 1 2)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (if 1 2)",
        "(if TEST THEN ELSE); without ELSE write (when TEST THEN)",
    ),
    ("(if 1 2 3 4)", "1:1", "invalid-expression", "Invalid expression: (if 1 2 3 4)", "(if TEST THEN ELSE)"),
    (
        "(if . 1)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (if . 1)",
        "`if` is a keyword: no dot in its form",
    ),
    (
        "(lambda)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (lambda)",
        "(lambda (PARAMETER ...) BODY ...)",
    ),
    (
        "(lambda (x))",
        "1:1",
        "invalid-expression",
        "Invalid expression: (lambda (x))",
        "(lambda (PARAMETER ...) BODY ...)",
    ),
    (
        "(lambda (x x) x)",
        "1:12",
        "duplicate-variables",
        "Duplicate variables: (x x)",
        "`x` is bound twice here",
    ),
    (
        "(lambda (x . x) x)",
        "1:14",
        "duplicate-variables",
        "Duplicate variables: (x . x)",
        "`x` is bound twice here",
    ),
    (
        '(lambda ("a") 1)',
        "1:10",
        "invalid-parameter",
        'Invalid parameter: "a"',
        "a parameter is a variable, a constant, (cons P P), (cons* P ...), (list P ...), or (TYPE P ...) of a type of records",
    ),
    (
        "(lambda ((vector a)) 1)",
        "1:10",
        "invalid-parameter",
        "Invalid parameter: (vector a)",
        "a parameter is a variable, a constant, (cons P P), (cons* P ...), (list P ...), or (TYPE P ...) of a type of records",
    ),
    (
        "(lambda ((cons a)) 1)",
        "1:10",
        "invalid-parameter",
        "Invalid parameter: (cons a)",
        "a parameter is a variable, a constant, (cons P P), (cons* P ...), (list P ...), or (TYPE P ...) of a type of records",
    ),
    (
        "(lambda (()) 1)",
        "1:10",
        "invalid-parameter",
        "Invalid parameter: ()",
        "a parameter is a variable, a constant, (cons P P), (cons* P ...), (list P ...), or (TYPE P ...) of a type of records",
    ),
    (
        "(lambda (#:k) 1)",
        "1:10",
        "invalid-parameter",
        "Invalid parameter: #:k",
        "a parameter is a variable, a constant, (cons P P), (cons* P ...), (list P ...), or (TYPE P ...) of a type of records",
    ),
    (
        "(lambda ((cons a (cons b a))) 1)",
        "1:26",
        "duplicate-variables",
        "Duplicate variables: ((cons a (cons b a)))",
        "`a` is bound twice here",
    ),
    ("(let)", "1:1", "invalid-expression", "Invalid expression: (let)", "(let ((NAME VALUE) ...) BODY ...)"),
    (
        "(let x)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (let x)",
        "(let ((NAME VALUE) ...) BODY ...)",
    ),
    (
        "(let ((x)) x)",
        "1:7",
        "invalid-expression",
        "Invalid expression: (x)",
        "a binding is (NAME VALUE), as in (let ((NAME VALUE) ...) BODY ...)",
    ),
    (
        "(let ((x 1 2)) x)",
        "1:7",
        "invalid-expression",
        "Invalid expression: (x 1 2)",
        "a binding is (NAME VALUE), as in (let ((NAME VALUE) ...) BODY ...)",
    ),
    (
        "(let (x) x)",
        "1:7",
        "invalid-expression",
        "Invalid expression: x",
        "a binding is (NAME VALUE), as in (let ((NAME VALUE) ...) BODY ...)",
    ),
    (
        "(let x x)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (let x x)",
        "(let ((NAME VALUE) ...) BODY ...)",
    ),
    (
        "(let ((x 1) (x 2)) x)",
        "1:14",
        "duplicate-variables",
        "Duplicate variables: ((x 1) (x 2))",
        "`x` is bound twice here",
    ),
    (
        "(let loop ((i 0)))",
        "1:1",
        "invalid-expression",
        "Invalid expression: (let loop ((i 0)))",
        "(let ((NAME VALUE) ...) BODY ...)",
    ),
    (
        "(let* ((x 1)))",
        "1:1",
        "invalid-expression",
        "Invalid expression: (let* ((x 1)))",
        "(let* ((NAME VALUE) ...) BODY ...)",
    ),
    (
        "(letrec ((f 1 2)) f)",
        "1:10",
        "invalid-expression",
        "Invalid expression: (f 1 2)",
        "a binding is (NAME VALUE), as in (letrec ((NAME VALUE) ...) BODY ...)",
    ),
    (
        "(letrec (((cons a b) 1)) f)",
        "1:11",
        "invalid-parameter",
        "Invalid parameter: (cons a b)",
        "letrec binds names",
    ),
    (
        "(letrec ((f 1) (f 2)) f)",
        "1:17",
        "duplicate-variables",
        "Duplicate variables: f",
        "`f` is bound twice here",
    ),
    (
        "(letrec ((a b) (b 1)) a)",
        "1:13",
        "used-before-definition",
        "Used before its definition: b",
        "its value is needed here; move the definition of `b` up",
    ),
    (
        "(letrec ((a (lambda () b)) (b (a))) b)",
        "1:24",
        "used-before-definition",
        "Used before its definition: b",
        "`a` is needed at test.vlad:1:32, before that; move the definition of `b` up",
    ),
    (
        "(letrec ((a (cons 1 (lambda () a)))) a)",
        "1:32",
        "used-before-definition",
        "Used before its definition: a",
        "its value is needed here; move the definition of `a` up",
    ),
    (
        "(lambda (x) (define (f) y) (define z (f)) (define y 1) z)",
        "1:25",
        "used-before-definition",
        "Used before its definition: y",
        "`f` is needed at test.vlad:1:39, before that; move the definition of `y` up",
    ),
    ("(quote)", "1:1", "invalid-expression", "Invalid expression: (quote)", "(quote DATUM)"),
    ("(quote 1 2)", "1:1", "invalid-expression", "Invalid expression: (quote 1 2)", "(quote DATUM)"),
    (
        "(quote . 1)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (quote . 1)",
        "`quote` is a keyword: no dot in its form",
    ),
    ("'#:key", "1:2", "invalid-expression", "Invalid expression: '#:key", "write it before an operand"),
    (
        "(cond)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (cond)",
        "(cond (TEST VALUE ...) ... (else VALUE ...))",
    ),
    (
        "(cond 1)",
        "1:7",
        "invalid-expression",
        "Invalid expression: 1",
        "a clause of cond is (TEST VALUE ...), (TEST => RECEIVER) or (else VALUE ...)",
    ),
    (
        "(cond ())",
        "1:7",
        "invalid-expression",
        "Invalid expression: ()",
        "a clause of cond is (TEST VALUE ...), (TEST => RECEIVER) or (else VALUE ...)",
    ),
    (
        "(cond (else 1) (2 3))",
        "1:7",
        "invalid-expression",
        "Invalid expression: (else 1)",
        "(else VALUE ...) is the last clause of cond",
    ),
    (
        "(cond (else))",
        "1:7",
        "invalid-expression",
        "Invalid expression: (else)",
        "(else VALUE ...) is the last clause of cond",
    ),
    (
        "(cond (a => f g))",
        "1:7",
        "invalid-expression",
        "Invalid expression: (a => f g)",
        "(TEST => RECEIVER), where RECEIVER is a procedure of the test's value",
    ),
    (
        "(case)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (case)",
        "(case VALUE ((DATUM ...) RESULT ...) ... (else RESULT ...))",
    ),
    (
        "(case 1 (2 3))",
        "1:9",
        "invalid-expression",
        "Invalid expression: (2 3)",
        "a clause of case is ((DATUM ...) RESULT ...) or (else RESULT ...)",
    ),
    (
        "(case 1 (else 2) ((1) 2))",
        "1:9",
        "invalid-expression",
        "Invalid expression: (else 2)",
        "(else RESULT ...) is the last clause of case",
    ),
    ("(when)", "1:1", "invalid-expression", "Invalid expression: (when)", "(when TEST BODY ...)"),
    ("(when 1)", "1:1", "invalid-expression", "Invalid expression: (when 1)", "(when TEST BODY ...)"),
    ("(unless 1)", "1:1", "invalid-expression", "Invalid expression: (unless 1)", "(unless TEST BODY ...)"),
    ("(begin)", "1:1", "invalid-expression", "Invalid expression: (begin)", "(begin EXPRESSION ...)"),
    ("(f (begin))", "1:4", "invalid-expression", "Invalid expression: (begin)", "(begin EXPRESSION ...)"),
    (
        "(do)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (do)",
        "(do ((VARIABLE START STEP) ...) (TEST RESULT ...) BODY ...)",
    ),
    (
        "(do ((i)) (1))",
        "1:6",
        "invalid-expression",
        "Invalid expression: (i)",
        "a variable of do is (VARIABLE START STEP), as in (do ((VARIABLE START STEP) ...) (TEST RESULT ...) BODY ...)",
    ),
    (
        "(do ((i 0)) ())",
        "1:1",
        "invalid-expression",
        "Invalid expression: (do ((i 0)) ())",
        "(do ((VARIABLE START STEP) ...) (TEST RESULT ...) BODY ...)",
    ),
    (
        "(do (i) (1))",
        "1:6",
        "invalid-expression",
        "Invalid expression: i",
        "a variable of do is (VARIABLE START STEP), as in (do ((VARIABLE START STEP) ...) (TEST RESULT ...) BODY ...)",
    ),
    (
        "(define)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (define)",
        "(define NAME VALUE) or (define (NAME PARAMETER ...) BODY ...)",
    ),
    (
        "(define x)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (define x)",
        "(define NAME VALUE) or (define (NAME PARAMETER ...) BODY ...)",
    ),
    (
        "(define x 1 2)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (define x 1 2)",
        "(define NAME VALUE) or (define (NAME PARAMETER ...) BODY ...)",
    ),
    (
        "(define 3 4)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (define 3 4)",
        "(define NAME VALUE) or (define (NAME PARAMETER ...) BODY ...)",
    ),
    (
        "(define (3 x) 4)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (define (3 x) 4)",
        "(define NAME VALUE) or (define (NAME PARAMETER ...) BODY ...)",
    ),
    (
        "(define (f x))",
        "1:1",
        "invalid-expression",
        "Invalid expression: (define (f x))",
        "(define NAME VALUE) or (define (NAME PARAMETER ...) BODY ...)",
    ),
    (
        "(define () 1)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (define () 1)",
        "(define NAME VALUE) or (define (NAME PARAMETER ...) BODY ...)",
    ),
    (
        "(f (define x 1))",
        "1:4",
        "invalid-expression",
        "Invalid expression: (define x 1)",
        "a definition stands at top level or in a body, not where a value is needed",
    ),
    (
        "(if 1 (define x 1) 2)",
        "1:7",
        "invalid-expression",
        "Invalid expression: (define x 1)",
        "a definition stands at top level or in a body, not where a value is needed",
    ),
    (
        "(lambda (x) (define y 1))",
        "1:1",
        "invalid-expression",
        "Invalid expression: (lambda (x) (define y 1))",
        "a body ends with an expression, its value",
    ),
    (
        "(lambda (x) (define y 1) (define y 2) y)",
        "1:34",
        "duplicate-variables",
        "Duplicate variables: y",
        "`y` is bound twice here",
    ),
    ("(assert)", "1:1", "invalid-expression", "Invalid expression: (assert)", "(assert EXPRESSION)"),
    ("(delay)", "1:1", "invalid-expression", "Invalid expression: (delay)", "(delay EXPRESSION)"),
    (
        "(cons-stream 1)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (cons-stream 1)",
        "(cons-stream FIRST REST)",
    ),
    (
        "(unquote x)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (unquote x)",
        "`unquote` has a meaning only inside a quasiquotation `(…)",
    ),
    (
        ",@x",
        "1:1",
        "invalid-expression",
        "Invalid expression: ,@x",
        "`unquote-splicing` has a meaning only inside a quasiquotation `(…); operands are separated by blanks",
    ),
    (
        "(define-syntax)",
        "1:1",
        "invalid-expression",
        "Invalid expression: (define-syntax)",
        "(define-syntax NAME (syntax-rules (LITERAL ...) (PATTERN TEMPLATE) ...))",
    ),
    (
        "(define-syntax m 3)",
        "1:18",
        "invalid-expression",
        "Invalid expression: 3",
        "a macro is (syntax-rules (LITERAL ...) (PATTERN TEMPLATE) ...) or another macro's name",
    ),
    (
        "(define-syntax m (syntax-rules))",
        "1:18",
        "invalid-expression",
        "Invalid expression: (syntax-rules)",
        "(syntax-rules (LITERAL ...) (PATTERN TEMPLATE) ...)",
    ),
    (
        "(define-syntax m (syntax-rules (1)))",
        "1:32",
        "invalid-expression",
        "Invalid expression: (1)",
        "literals are names, as in (syntax-rules (LITERAL ...) (PATTERN TEMPLATE) ...)",
    ),
    (
        "(define-syntax m (syntax-rules () (_ 1)))",
        "1:36",
        "invalid-expression",
        "Invalid expression: _",
        "a pattern is a form that begins with the macro's name: (_ PATTERN ...)",
    ),
    (
        "(define-syntax m (syntax-rules () ((_ a))))",
        "1:35",
        "invalid-expression",
        "Invalid expression: ((_ a))",
        "a rule is (PATTERN TEMPLATE), as in (syntax-rules (LITERAL ...) (PATTERN TEMPLATE) ...)",
    ),
    (
        "(define-syntax m (syntax-rules () ((_ a a) 1)))",
        "1:41",
        "duplicate-variables",
        "Duplicate variables: a",
        "`a` is twice in one pattern",
    ),
    (
        "(define-syntax m (syntax-rules () ((_ a ...) a)))",
        "1:46",
        "invalid-template",
        "Invalid expression: a",
        "in a macro's template: `a` needs an ellipsis ... behind it",
    ),
    (
        "(define-syntax m (syntax-rules () ((_ a) (a ...))))",
        "1:43",
        "invalid-template",
        "Invalid expression: a",
        "in a macro's template: nothing before the ellipsis ... repeats",
    ),
    (
        "(define-syntax m (syntax-rules () ((_ ... a) a)))",
        "1:39",
        "invalid-expression",
        "Invalid expression: ...",
        "`...` follows what it repeats, once in a list",
    ),
    (
        "(define-syntax m (syntax-rules () ((_ a ... b ...) a)))",
        "1:47",
        "invalid-expression",
        "Invalid expression: ...",
        "`...` follows what it repeats, once in a list",
    ),
    (
        "(define-syntax m (syntax-rules () ((_ a) 1))) (m)",
        "1:47",
        "no-matching-rule",
        "Invalid expression: (m)",
        "m is used as (m a)",
    ),
    (
        "(define-syntax m (syntax-rules () ((_ (a ...) (b ...)) '((a b) ...)))) (m (1 2) (3))",
        "1:72",
        "invalid-template",
        "Invalid expression: what this macro repeats together has different lengths",
        "look at the ellipses of `b` and `a`",
    ),
    (
        "(define-syntax m (syntax-rules () ((_) (m)))) (m)",
        "1:47",
        "endless-macro",
        "The macro m expands without end",
        "one of its templates uses it again without getting smaller",
    ),
    (
        "(define-syntax m (syntax-rules () ((_ x) (if x)))) (m 1)",
        "1:42",
        "invalid-expression",
        "Invalid expression: (if x)",
        "(if TEST THEN ELSE)",
    ),
    (
        "(define-syntax m (syntax-rules () ((_) 1))) m",
        "1:45",
        "invalid-expression",
        "Invalid expression: m",
        "`m` is a macro, not a value: it stands first in a form",
    ),
    (
        "(f (define-syntax m 1))",
        "1:4",
        "invalid-expression",
        "Invalid expression: (define-syntax m 1)",
        "a macro's definition stands at top level or in a body, not where a value is needed",
    ),
    (
        "(syntax-rules () ((_) 1))",
        "1:1",
        "invalid-expression",
        "Invalid expression: (syntax-rules () ((_) 1))",
        "syntax-rules follows the name in define-syntax, let-syntax or letrec-syntax",
    ),
    (
        "(let-syntax ((1 2)) 1)",
        "1:15",
        "invalid-expression",
        "Invalid expression: 1",
        "a macro has a name, as in (let-syntax ((NAME (syntax-rules …)) ...) BODY ...)",
    ),
    (
        "(let-syntax ((m (syntax-rules ()))) (m))",
        "1:37",
        "no-matching-rule",
        "Invalid expression: (m)",
        "m has no rules",
    ),
    (
        "(let-syntax ((m if) (m if)) 1)",
        "1:22",
        "duplicate-variables",
        "Duplicate variables: m",
        "`m` is bound twice here",
    ),
    (
        "(map if x)",
        "1:6",
        "invalid-expression",
        "Invalid expression: if",
        "`if` is a keyword, not a value: it stands first in a form",
    ),
    ("(include)", "1:1", "invalid-expression", "Invalid expression: (include)", '(include "FILE")'),
    ("(include 3)", "1:1", "invalid-expression", "Invalid expression: (include 3)", '(include "FILE")'),
    ('(include "")', "1:1", "invalid-expression", 'Invalid expression: (include "")', "a file has a name"),
    (
        '(f (include "a"))',
        "1:4",
        "invalid-expression",
        'Invalid expression: (include "a")',
        "`include` stands at top level only",
    ),
    (
        '(import "a" b c)',
        "1:1",
        "invalid-expression",
        'Invalid expression: (import "a" b c)',
        '(import "MODULE") or (import "MODULE" as NAME)',
    ),
    (
        '(import "a" as 3)',
        "1:1",
        "invalid-expression",
        'Invalid expression: (import "a" as 3)',
        '(import "MODULE") or (import "MODULE" as NAME)',
    ),
    (
        '(lambda () (import "a") 1)',
        "1:12",
        "invalid-expression",
        'Invalid expression: (import "a")',
        "`import` stands at top level only; a module is a file, without `define-library`",
    ),
    (
        "(import (scheme base) (srfi 1))",
        "1:1",
        "invalid-expression",
        "Invalid expression: (import (scheme base) (srfi 1))",
        'what R7RS has is there without an import; modules: (import "MODULE") or (import "MODULE" as NAME)',
    ),
    ("(export 1)", "1:1", "invalid-expression", "Invalid expression: (export 1)", "(export NAME ...)"),
    ("(f #:k 1)", "1:4", "unknown-keyword", "Invalid expression: (f #:k 1)", "f takes no operand #:k"),
    ("(f 1 #:k)", "1:6", "unknown-keyword", "Invalid expression: (f 1 #:k)", "f takes no operand #:k"),
    (
        "#:k",
        "1:1",
        "invalid-expression",
        "Invalid expression: #:k",
        "#:k stands before an operand: (f x #:k value)",
    ),
    (
        "#[1, 2]",
        "1:4",
        "invalid-expression",
        "Invalid expression: , 2",
        "the numbers of a tensor literal are separated by blanks",
    ),
    (
        "#[1 x]",
        "1:5",
        "invalid-expression",
        "Invalid expression: x",
        "a tensor literal holds numbers; compute with (tensor (list …))",
    ),
    (
        "((lambda (x) x) 1 #:k 2)",
        "1:19",
        "unknown-keyword",
        "Invalid expression: ((lambda (x) x) 1 #:k 2)",
        "(lambda (x) x) takes no operand #:k",
    ),
]


@pytest.mark.parametrize(("program", "place", "code", "message", "hint"), ERRORS)
def test_error(program: str, place: str, code: str, message: str, hint: str) -> None:
    with pytest.raises(VladError) as caught:
        items(program)
    error = caught.value
    assert error.span is not None
    assert f"{error.span.line}:{error.span.column}" == place
    assert error.code == code
    assert error.message == message
    assert error.hint == hint


def test_an_error_in_a_template_has_the_place_of_the_use() -> None:
    with pytest.raises(VladError) as caught:
        items("(define-syntax m (syntax-rules ()\n  ((_ x) (if x))))\n(list\n  (m 1))")
    span = caught.value.span
    assert span is not None
    assert (span.line, span.column) == (2, 10)
    assert str(span.use) == "test.vlad:4:3"  # type: ignore[attr-defined]


def test_what_the_user_wrote_keeps_its_place_through_macros() -> None:
    with pytest.raises(VladError) as caught:
        items("(define-syntax m (syntax-rules () ((_ x) (list x))))\n(m\n  (if))")
    span = caught.value.span
    assert span is not None
    assert (span.line, span.column, span.text) == (3, 3, "(if)")


def test_a_wrong_definition_changes_nothing() -> None:
    module = Module("test", None, TABLE)
    items("(define-syntax m (syntax-rules () ((_) 1)))", module)
    for wrong in ("(define (m) (if))", "(define (when) (if))", "(define (f) (if))"):
        with pytest.raises(VladError):
            items(wrong, module)
    assert not module.defined
    assert len(items("(m) (when 1 2)", module)) == 2


KEYED = Primitive(
    "total", "a b axis keep", "For this test.", value=lambda a, b, axis, keep: a, type="any any any any -> any",
    forward="zero", reverse={}, keywords={"axis": 0.0, "keep": FALSE},
)  # fmt: skip


def keyed() -> Module:
    module = Module("test", None, TABLE)
    cell = module.define("total")
    cell.value, cell.primitive = (), KEYED
    return module


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("(total 1 2 #:axis 3)", [1.0, 2.0, 3.0, FALSE]),
        ("(total 1 2 #:keep 4 #:axis 3)", [1.0, 2.0, 3.0, 4.0]),
        ("(total 1 #:keep 4 2)", [1.0, 2.0, 0.0, 4.0]),
        ("(total 1 2)", [1.0, 2.0]),
    ],
)
def test_operands_by_name(program: str, expected: list[object]) -> None:
    (item,) = items(program, keyed())
    assert [operand.value for operand in item.body.result.operands] == expected  # type: ignore[union-attr]


def test_operands_before_names_are_found_once() -> None:
    """They were once evaluated twice: effects were repeated, and nested calls took exponential time and memory."""
    (item,) = items("(total (+ 1 2) (+ 3 4) #:axis (+ 5 6))", keyed())
    assert isinstance(item, Expression)
    assert len(item.body.bindings) == 3
    (item,) = items("(total 1 (begin (display 2) 3) #:axis 4)", keyed())
    assert str(item).count("display") == 1


@pytest.mark.parametrize(
    ("program", "column", "hint"),
    [
        (
            "(total 1 2 #:axis 3 . 4)",
            23,
            "a call with operands by name has no dot: each operand is written, as in (f x #:axis 0)",
        ),
        (
            "(total 1 2 . #:axis)",
            14,
            "a call with operands by name has no dot: each operand is written, as in (f x #:axis 0)",
        ),
        (
            "(total 1 2 #:axes 3)",
            12,
            "total takes the operands #:axis #:keep, each once and before its value",
        ),
        ("(total 1 2 #:axis)", 12, "total takes the operands #:axis #:keep, each once and before its value"),
        (
            "(total 1 2 #:axis #:keep 1)",
            19,
            "total takes the operands #:axis #:keep, each once and before its value",
        ),
        (
            "(total 1 2 #:axis 1 #:axis 2)",
            21,
            "total takes the operands #:axis #:keep, each once and before its value",
        ),
        ("(total 1 #:axis 3)", 1, "its parameter list is (total a b #:axis … #:keep …)"),
        ("(let ((total 1)) (total 1 2 #:axis 3))", 29, "total takes no operand #:axis"),
        ("(define (total . x) x) (total 1 2 #:axis 3)", 35, "total takes no operand #:axis"),
    ],
)
def test_wrong_operands_by_name(program: str, column: int, hint: str) -> None:
    with pytest.raises(VladError) as caught:
        items(program, keyed())
    assert caught.value.span is not None
    assert caught.value.span.column == column
    assert caught.value.hint == hint


def test_a_remark_on_a_value_that_is_not_used() -> None:
    session, found = vlad.Session(tier="evaluate", write=lambda text: None), list[Notice]()
    session.library.remark = found.append
    session.run_text(
        "(define (area x) x * x)\n"
        "(define (f x) (define y 2) (* x y) (display x) x 3)\n"
        "(define (g x) (let ((h sin)) (h x) (lambda () x) (cond ((> x 1) (newline) car 2) (else 3))))\n"
        "(define-syntax first-of (syntax-rules () ((_ a b) (begin a b))))\n"
        "(define (of-effect c x) (set-ref! c 1) (f x) (error x) (for-each display x) (first-of x 1) (first-of 2 x))\n"
        "(begin (define z 1) z (area z))\n",
        "test.vlad",
    )
    assert [(str(one.span), one.span.text) for one in found if one.span is not None] == [
        ("test.vlad:1:18", "x"),
        ("test.vlad:2:28", "(* x y)"),
        ("test.vlad:3:36", "(lambda () x)"),
        ("test.vlad:3:75", "car"),
        ("test.vlad:6:21", "z"),
    ]
    assert "`(* x x)`" in str(found[0].hint) and ";" not in str(found[1].hint)
