"""syntax-rules by programs: matching, instantiation, and hygiene."""

from __future__ import annotations

import pytest
from expanding import items, printed

from vlad.data.errors import VladError
from vlad.data.source import Source
from vlad.expand.forms import expand_form
from vlad.expand.items import Expression
from vlad.expand.scope import Module
from vlad.primitives.table import TABLE
from vlad.reader.parser import read

MATCHING = {
    "several rules, literals, recursion": (
        """(define-syntax my-cond (syntax-rules (else)
             ((_ (else e)) e)
             ((_ (c e) clause ...) (if c e (my-cond clause ...)))))
           (my-cond (#f 1) ((= 1 2) 2) (else 3))""",
        ["3"],
    ),
    "nested ellipses": (
        """(define-syntax m (syntax-rules () ((_ (a b ...) ...) '((b ... a) ...))))
           (m (1 2 3) (4) (5 6))""",
        ["((2 3 1) (4) (6 5))"],
    ),
    "nested ellipses, flattened": (
        "(define-syntax m (syntax-rules () ((_ (a ...) ...) '(a ... ...)))) (m (1 2 3) () (4))",
        ["(1 2 3 4)"],
    ),
    "three levels": (
        "(define-syntax m (syntax-rules () ((_ ((a ...) ...) ...) '((a ... ...) ...)))) (m ((1 2) (3)) () ((4)))",
        ["((1 2 3) () (4))"],
    ),
    "let* by nested ellipsis": (
        """(define-syntax my-let* (syntax-rules ()
             ((_ () body ...) (let () body ...))
             ((_ ((x e) more ...) body ...) (let ((x e)) (my-let* (more ...) body ...)))))
           (my-let* ((x 1) (y (+ x 1)) (x (* y 10))) (list x y))""",
        ["(20 2)"],
    ),
    "a variable with fewer ellipses is repeated": (
        "(define-syntax m (syntax-rules () ((_ x (y ...)) '((x y) ...)))) (m 0 (1 2 3))",
        ["((0 1) (0 2) (0 3))"],
    ),
    "a variable at two depths at once": (
        "(define-syntax m (syntax-rules () ((_ (x ...) (y ...)) '((x (x y) ...) ...)))) (m (1 2) (3 4))",
        "error",
    ),
    "a product": (
        "(define-syntax m (syntax-rules () ((_ (x ...) (y ...)) '((x y ...) ...)))) (m (1 2) (3 4 5))",
        ["((1 3 4 5) (2 3 4 5))"],
    ),
    "patterns behind the ellipsis": (
        "(define-syntax m (syntax-rules () ((_ a ... y z) '(z y a ...)))) (m 1 2) (m 1 2 3 4)",
        ["(2 1)", "(4 3 1 2)"],
    ),
    "patterns behind the ellipsis, dotted": (
        "(define-syntax m (syntax-rules () ((_ a ... z . r) '((a ...) z r)))) (m 1 2 3) (m 1 2 . 3)",
        ["((1 2) 3 ())", "((1) 2 3)"],
    ),
    "a dotted pattern": (
        "(define-syntax m (syntax-rules () ((_ a . r) '(r a)))) (m 1) (m 1 2 3) (m 1 . 2)",
        ["(() 1)", "((2 3) 1)", "(2 1)"],
    ),
    "dotted templates": (
        "(define-syntax m (syntax-rules () ((_ a b) '(a . b)) ((_ f . r) (f . r)))) (m 1 (2 3)) (m + 1 2)",
        ["(1 2 3)", "3"],
    ),
    "an empty repetition": (
        "(define-syntax m (syntax-rules () ((_ (a b ...) ...) '((a ...) (b ...) ...)))) (m) (m (1) (2 3))",
        ["(())", "((1 2) () (3))"],
    ),
    "constants in patterns": (
        """(define-syntax m (syntax-rules () ((_ 1) 'one) ((_ "a") 'a) ((_ #t) 'true) ((_ ()) 'empty) ((_ x) 'other)))
           (m 1) (m 1.0) (m "a") (m #t) (m ()) (m 2)""",
        ["one", "one", "a", "true", "empty", "other"],
    ),
    "the underscore matches anything, twice": (
        "(define-syntax m (syntax-rules () ((_ _ _ x) x))) (m (bad syntax) 2 3)",
        ["3"],
    ),
    "an escaped ellipsis": (
        "(define-syntax m (syntax-rules () ((_ a) '(a (... ...) (... (a ...)))))) (m 1)",
        ["(1 ... (1 ...))"],
    ),
    "an ellipsis of one's own": (
        "(define-syntax m (syntax-rules ::: () ((_ a :::) '(a ::: ...)))) (m 1 2)",
        ["(1 2 ...)"],
    ),
    "the ellipsis as a literal": (
        "(define-syntax m (syntax-rules (...) ((_ ...) 'dots) ((_ x) 'one))) (m ...) (m 1)",
        ["dots", "one"],
    ),
    "the underscore as a literal": (
        "(define-syntax m (syntax-rules (_) ((m _) 'underscore) ((m x) 'other))) (m _) (m 1)",
        ["underscore", "other"],
    ),
    "the name of the macro in a pattern does not matter": (
        "(define-syntax m (syntax-rules () ((anything x) x))) (m 1)",
        ["1"],
    ),
    "keywords of calls pass through": (
        "(define-syntax m (syntax-rules () ((_ #:a x) x) ((_ x) 0))) (m #:a 5) (m 1)",
        ["5", "0"],
    ),
    "another name for a macro or a keyword": (
        "(define-syntax my-if if) (define-syntax mine my-if) (mine #t 1 (2))",
        ["1"],
    ),
    "a macro that makes definitions": (
        """(define-syntax define-two (syntax-rules () ((_ a b v) (begin (define a v) (define b (+ a 1))))))
           (define-two x y 3) (list x y)
           (define (f) (define-two p q 5) (list p q)) (f)""",
        ["(3 4)", "(5 6)"],
    ),
    "a macro in the place of a pattern variable": (
        "(define-syntax m (syntax-rules () ((_ f x) (f x)))) (m quote a)",
        ["a"],
    ),
}

HYGIENE = {
    "swap!: what a template binds captures nothing": (
        """(define-syntax swap (syntax-rules () ((_ a b body) (let ((tmp a)) (let ((a b)) (let ((b tmp)) body))))))
           (let ((tmp 1) (other 2)) (swap tmp other (list tmp other)))""",
        ["(2 1)"],
    ),
    "or: the user's tmp": (
        """(define-syntax my-or (syntax-rules () ((_) #f) ((_ e) e) ((_ e r ...) (let ((tmp e)) (if tmp tmp (my-or r ...))))))
           (let ((tmp 5)) (my-or #f tmp))""",
        ["5"],
    ),
    "keywords in templates mean the keywords": (
        """(define-syntax my-if (syntax-rules () ((_ a b c) (cond (a b) (else c)))))
           (let ((if list) (cond list) (else #f)) (my-if #f 1 2))""",
        ["2"],
    ),
    "top-level names in templates mean the top-level names": (
        """(define (helper x) (* x 10))
           (define-syntax m (syntax-rules () ((_ x) (helper x))))
           (let ((helper list) (list 3)) (m 4))""",
        ["40"],
    ),
    "a later definition of such a name is seen": (
        "(define-syntax m (syntax-rules () ((_) (later)))) (define (later) 1) (m) (define (later) 2) (m)",
        ["1", "2"],
    ),
    "literals match by what they mean": (
        """(define-syntax m (syntax-rules (k) ((_ k) 'literal) ((_ x) 'other)))
           (list (m k) (let ((k 5)) (m k)))
           (define-syntax n (syntax-rules (else) ((_ else) 1) ((_ x) 2)))
           (list (n else) (let ((else 0)) (n else)))""",
        ["(literal other)", "(1 2)"],
    ),
    "else from a template is else": (
        "(define-syntax m (syntax-rules () ((_ e) (cond (#f 1) (else e))))) (m 7)",
        ["7"],
    ),
    "a local macro sees the names around its definition": (
        "(let ((x 1)) (let-syntax ((m (syntax-rules () ((_) x)))) (let ((x 2)) (list x (m)))))",
        ["(2 1)"],
    ),
    "a local macro captures parameters, also of inner procedures": (
        """(define (f x)
             (define-syntax twice (syntax-rules () ((_ e) (+ x e e))))
             (map (lambda (x) (twice x)) '(1 2)))
           (f 100)""",
        ["(102 104)"],
    ),
    "let-syntax does not see itself, letrec-syntax does": (
        """(define-syntax m (syntax-rules () ((_) 'outer)))
           (let-syntax ((m (syntax-rules () ((_ x) (m))))) (m 1))
           (letrec-syntax ((e? (syntax-rules () ((_) #t) ((_ a . r) (o? . r))))
                           (o? (syntax-rules () ((_) #f) ((_ a . r) (e? . r)))))
             (list (e? 1 1 1 1) (e? 1 1 1)))""",
        ["outer", "(#t #f)"],
    ),
    "a macro that defines a macro": (
        """(define-syntax define-constant-macro (syntax-rules () ((_ n e)
             (define-syntax n (syntax-rules () ((_ x (... ...)) (list e x (... ...))))))))
           (define-constant-macro m 1)
           (m 2 3)""",
        ["(1 2 3)"],
    ),
    "a macro that defines a macro whose template has a helper": (
        """(define helper 10)
           (define-syntax def (syntax-rules () ((_ n) (define-syntax n (syntax-rules () ((_) helper))))))
           (def m)
           (let ((helper 1)) (m))""",
        ["10"],
    ),
    "the inner macro's variables are not the outer's": (
        """(define-syntax def (syntax-rules () ((_ n v)
             (let-syntax ((n (syntax-rules () ((_ x) (list x v))))) (let ((x 3)) (n x))))))
           (let ((x 1)) (def m x))""",
        ["(3 1)"],
    ),
    "a local macro made by a macro": (
        """(define-syntax mk (syntax-rules () ((_ n v) (let-syntax ((n (syntax-rules () ((_) v)))) (let ((v 2)) (n))))))
           (let ((q 1)) (mk a q))""",
        ["1"],
    ),
    "a parameter shadows a macro": (
        "(define-syntax m (syntax-rules () ((_ x) 1))) ((lambda (m) (m 2)) (lambda (x) (* x 10)))",
        ["20"],
    ),
    "an internal definition shadows a macro, also before it": (
        """(define-syntax m (syntax-rules () ((_ x) 1)))
           (define (f) (define (g) (m 2)) (define (m x) (* x 10)) (g))
           (f)""",
        ["20"],
    ),
    "a definition replaces a macro, and a macro a definition": (
        """(define-syntax m (syntax-rules () ((_ x) 1))) (define (m x) 2) (m 0)
           (define-syntax m (syntax-rules () ((_ x) 3))) (m 0)""",
        ["2", "3"],
    ),
    "loops keep their names to themselves": (
        "(let ((do 5)) (let loop ((i 0)) (if (= i 1) do (loop (+ i 1))))) (let ((x 7)) (do ((i 0 (+ i 1))) ((= i 2) x)))",
        ["5", "7"],
    ),
    "names in quoted data are plain symbols": (
        "(define-syntax m (syntax-rules () ((_ x) '(x y)))) (equal? (m a) '(a y))",
        ["#t"],
    ),
    "two uses have different names": (
        """(define-syntax bind (syntax-rules () ((_ e body) (let ((t e)) (+ t body)))))
           (bind 1 (bind 10 (bind 100 1000)))""",
        ["1111"],
    ),
    "names a template binds in patterns": (
        """(define-syntax m (syntax-rules () ((_ p e) (let (((cons a p) e)) (list a p)))))
           (let ((a 5)) (m b (cons 1 a)))""",
        ["(1 5)"],
    ),
}


@pytest.mark.parametrize("title", MATCHING)
def test_matching(title: str) -> None:
    program, expected = MATCHING[title]
    if expected == "error":
        with pytest.raises(VladError, match="different lengths"):
            printed(program)
    else:
        assert printed(program) == expected


@pytest.mark.parametrize("title", HYGIENE)
def test_hygiene(title: str) -> None:
    program, expected = HYGIENE[title]
    assert printed(program) == expected


def test_a_template_of_another_module_means_that_modules_names() -> None:
    root = Module("root", None, TABLE)
    library = Module("library", root)
    program = Module("program", root)
    items("(define hidden 1) (define-syntax m (syntax-rules () ((_ x) (list hidden x))))", library)
    assert library.handed_out() == ["hidden", "m"]
    program.define_macro("m", library.macros["m"])
    items("(define hidden 2)", program)
    (syntax,) = read(Source("test", "(m hidden)"))
    (item,) = expand_form(syntax, program)
    assert isinstance(item, Expression)
    cells = {binding.rhs.operands[0].cell for binding in item.body.bindings}  # type: ignore[union-attr]
    assert cells == {library.cells["hidden"], program.cells["hidden"]}


ENDLESS = [
    "(define-syntax m (syntax-rules () ((_) (m)))) (m)",
    "(define-syntax m (syntax-rules () ((_) (+ 1 (m))))) (m)",
    "(define-syntax m (syntax-rules () ((_) (let () (m))))) (m)",
    "(define-syntax m (syntax-rules () ((_) (lambda (x) (m))))) (m)",
    "(define-syntax m (syntax-rules () ((_ x) (begin (m x) (m x))))) (m 1)",
    "(define-syntax m (syntax-rules () ((_ f) (f f)))) (m m)",
    "(define-syntax m (syntax-rules () ((_ x) (m (x x))))) (m 1)",
    "(define-syntax m (syntax-rules () ((_ x ...) (m x ... x ...)))) (m 1)",
    "(define-syntax a (syntax-rules () ((_) (b)))) (define-syntax b (syntax-rules () ((_) (a)))) (a)",
]


@pytest.mark.parametrize("program", ENDLESS)
@pytest.mark.timeout(30)
def test_an_endless_macro_ends_in_an_error_at_its_use(program: str) -> None:
    with pytest.raises(VladError) as caught:
        printed(program)
    assert caught.value.code == "endless-macro"
    assert caught.value.span is not None
    assert caught.value.span.start == program.rindex("(")


def test_recursion_over_a_long_list_is_not_endless() -> None:
    program = "(define-syntax sum (syntax-rules () ((_) 0) ((_ a r ...) (+ a (sum r ...)))))"
    assert printed(f"{program} (sum {'1 ' * 3_000})") == ["3000"]
