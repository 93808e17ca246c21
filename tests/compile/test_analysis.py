"""Results of the analysis of programs, as text; and the size of their C and machine code."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mixed_structures
import pytest

import vlad
from vlad.compile.analysis.abstract_interpreter import Application, Instance
from vlad.compile.analysis.fixpoint import Analysis
from vlad.compile.analysis.strategy import Strategy
from vlad.compile.calling import pipeline
from vlad.compile.calling.compilation import compile_call
from vlad.compile.calling.pipeline import Unit
from vlad.compile.ir.program import Box, Compute, Return, statements
from vlad.compile.ir.refusals import CALL, Unbounded
from vlad.compile.native import toolchain
from vlad.core.type_text import text_of
from vlad.core.types import Known, Type, Types
from vlad.data.values import Code, Primitive
from vlad.evaluate.limits import deep_recursion
from vlad.python.convert import from_python, to_python

EXAMPLES = Path(__file__).parents[2] / "examples"

DEFINITIONS = """
(define (numbers n) (if (= n 0) '() (cons n (numbers (- n 1)))))
(define (total l) (if (null? l) 0 (+ (car l) (total (cdr l)))))
(define (loop x i) (if (= i 0) x (loop (* x (sin x)) (- i 1))))
(define (nth l i) (if (= i 0) (car l) (nth (cdr l) (- i 1))))
(define (inner x) (nth (list x (list x 0)) 1))
(define (inners x) (list (inner 1) (inner 2) (inner 3) (inner 4) (inner 5) (inner 6) (nth (list x (list x 0)) 0)))
"""

# An argument's operands are reals, as many as the procedure has parameters.
TYPES = {
    "(lambda (x) x)": "real",
    "(lambda (x) 3)": "3",
    "(lambda (x) (< x 1))": "boolean",
    "(lambda (x) (list x #t 'a))": "'(real #t a)",
    "(lambda (x y) (cons x y))": "(real . real)",
    "(lambda (x) (lambda (y) (+ x y)))": "[lambda at 1:13 real]",
    "(define (adder x) (lambda (y) (+ x y))) adder": "[lambda in adder real]",
    "(lambda (x) (if (> x 0) x #f))": "real or #f",
    "(lambda (x) (list (if (> x 0) x #f)))": "((real or #f))",
    "numbers": "(list of real)",
    "(lambda (n) (map (lambda (x) (* 2 x)) (numbers n)))": "(list of real)",
    "(lambda (n) (cons n (numbers n)))": "(real . (list of real))",
    "(define (tree n) (if (= n 0) n (cons (tree (- n 1)) (tree (- n 2))))) tree": "A where A = real or (A . A)",
    "(define (tree n) (if (= n 0) '() (list (tree (- n 1)) (tree (- n 1))))) tree": "A where A = () or (A A)",
    # positions stay constants where other constants are many
    "(lambda (x) (list (inners 7) (inner x)))": "(((1 0) (2 0) (3 0) (4 0) (real 0) (real 0) 7) (real 0))",
    "(lambda (x) (list x x x x 0))": "(real real real real 0)",
    "(lambda (x) (list x x x x x 0))": "(real ×5 0)",
    "(lambda (x) '(1 2 3 4 5 6 7 8 9 10 11 12 13))": "(1 2 3 4 5 6 7 8 9 10 11 12 …)",
    '(lambda (x) \'(a (b 2) "c"))': '\'(a (b 2) "c")',
    "(lambda (x) 'a)": "'a",
    '(lambda (x) (string-append "1234567890123456789012345678901234567890" "123"))': (
        '"1234567890123456789012345678901234567890…"'
    ),
    "(lambda (x) (number->string x))": "string",
    "(lambda (x) (ones '(2 3)))": "tensor (2 3)",
    "(lambda (x) (list (ones 3) (ones 2 #:dtype 'float32)))": "(tensor (3) tensor (2) float32)",
    "(lambda (x) sin)": "[sin]",
    "(lambda (x) ((J sin) (*j x)))": "((reverse real) . [backpropagator of sin])",
    "(lambda (x) (let ((f (lambda (y) (* x y)))) (J f)))": "(reverse [f real])",
    "(lambda (x) (zero x))": "0",
    "(lambda (x) (map sin (list x 0 x)))": "(real 0 real)",
    "(lambda (x) (total (numbers x)))": "real",
    "(lambda (x) (*j x))": "(reverse real)",
    "(lambda (x) (j* sin))": "(forward [sin])",
    "(lambda (x) ((derivative-R (derivative-F sin)) x))": "real",
    "(lambda (x) ((gradient-R (lambda (x y) (* x y))) x 2))": "(real . real)",
    "(lambda (x) ((gradient-R (lambda (x y) (* x x))) x 2))": "(real . 0)",
    "(lambda (x) ((derivative-R (lambda (x) (loop x 5))) x))": "real",
    "(lambda (x) (car '(1 2)))": "1",
}


def unit(text: str) -> Unit:
    session = vlad.Session(tier="evaluate")
    session.eval(DEFINITIONS)
    f = session.eval(text).value
    return Unit(session.machine, f[0], f[1 : 1 + len(f[0].environment)], (0.5,) * f[0].arity)


@pytest.mark.parametrize("text", TYPES)
def test_the_type_of_a_result(text: str) -> None:
    made = unit(text)
    result = made.interface.result
    assert result is not None
    assert text_of(made.interface.layout.types, result, captured=True) == TYPES[text]


@pytest.mark.parametrize("text", ["(lambda (x) (car x))", "(define (f x) (f x)) f", "(lambda (x) (error x))"])
def test_a_program_that_never_returns_has_no_type(text: str) -> None:
    assert unit(text).interface.result is None


def test_an_unbounded_analysis_has_a_reason() -> None:
    with pytest.raises(Unbounded, match="the order of its derivatives is not known"):
        unit("(define (nth f n) (if (= n 0) f (derivative (nth f (- n 1))))) (lambda (n x) ((nth sin n) x))")


def test_a_loop_over_orders_is_noticed_in_its_third_turn() -> None:
    """Each order takes longer to analyse than all before it."""
    session = vlad.Session(tier="evaluate")
    session.eval("(define (nth f n) (if (= n 0) f (derivative (nth f (- n 1)))))")
    code: Any = session.eval("(lambda (n x) ((nth sin n) x))").value[0]
    analysis = Analysis(session.machine)
    with pytest.raises(Unbounded, match="the order of its derivatives is not known"):
        analysis.solve(code, (), (analysis.types.real, analysis.types.real))
    codes = [instance.callee for instance in analysis.instances]
    assert max(len(code.transforms) for code in codes if isinstance(code, Code)) == 2


def test_the_analysis_is_deterministic() -> None:
    text = "(lambda (x) ((derivative-R (derivative-R (lambda (x) (total (map (lambda (y) (* x y)) (list x 2)))))) x))"
    assert unit(text).text == unit(text).text


def test_joins() -> None:
    types = Types()
    one, two, real = types.constant(1.0), types.constant(2.0), types.real
    assert types.join(one, one) is one and types.join(one, two) is real and types.join(None, one) is one
    assert types.join(types.true, types.false) is types.boolean
    assert types.join(types.pair(one, two), types.pair(one, one)) is types.pair(one, real)
    # the known zero is a sensitivity of whatever it meets
    assert types.join(types.zero, types.pair(real, types.zero)) is types.pair(real, types.zero)
    assert types.join(types.zero, one) is real
    assert types.constant(0.0) is not types.constant(-0.0)


def test_a_list_is_a_recursive_type() -> None:
    types = Types()
    union = types.join(types.nil, types.pair(types.real, types.nil))
    assert union is not None and union.kind == "union"
    again = types.join(union, types.pair(types.real, union))
    assert again is not None and types.canonical(union) is again
    assert {str(member) for member in types.members(again)} == {"()", f"(real . #{again.of.serial})"}


SEARCHES = """
(define (bracket f a b k)
  (let loop ((a a) (fa (f a)) (b b) (fb (f b)) (c (+ b (- b a))) (fc (f (+ b (- b a)))))
    (if (< fb fc)
        (k a fa b fb c fc)
        (let ((d (+ c (* 2 (- c b)))) (e (/ (+ b c) 2)))
          (if (> (* (- b e) (- e c)) 0)
              (let ((fe (f e)))
                (if (< fe fc)
                    (k b fb e fe c fc)
                    (if (> fe fb) (k a fa b fb e fe) (loop b fb c fc d (f d)))))
              (if (< (* d e) 0) (loop b fb c fc e (f e)) (loop b fb c fc d (f d))))))))
(define (narrow f a b k)
  (let loop ((a a) (fa (f a)) (b b) (fb (f b)))
    (if (< (abs (- b a)) 0.01)
        (if (< fa fb) (k a fa) (k b fb))
        (let ((m (* 0.5 (+ a b)))) (if (< fa fb) (loop a fa m (f m)) (loop m (f m) b fb))))))
(define (argmin f) (bracket f 0 1 (lambda (a fa b fb c fc) (narrow f a c (lambda (m fm) m)))))
(define (slope f x) ((derivative-R f) x))
(define (step f x) (let ((d (slope f x))) (- x (* d (argmin (lambda (t) (f (- x (* t d)))))))))
(define (outer y)
  (let ((x (step (lambda (x) (+ (square (- x y)) (* 0.1 (square (square x))))) (real 1)))) (+ (square x) y)))
"""


def test_arms_that_continue_a_loop_are_one_loop() -> None:
    """Each arm that calls the loop again has a longer chain of backpropagators; analysed one by one, loops of such loops
    are as many as the sequences of arms.
    """
    session = vlad.Session(tier="evaluate")
    session.eval(SEARCHES)
    f = session.eval("(lambda (y) (step outer y))").value
    made = Unit(session.machine, f[0], f[1 : 1 + len(f[0].environment)], (0.5,))
    assert len(made.analysis.instances) < 320
    compiled = compile_call(session.machine, f, (0.5,))
    assert compiled(0.5) == pytest.approx(session.eval("(step outer 0.5)"), rel=1e-12)


class TestWhatIsLeft:
    def test_pairs_and_tags_take_no_code(self) -> None:
        made = unit("(lambda (x) (car (*j-inverse (*j (cons (* x 2) 3)))))")
        (entry,) = made.program.functions
        assert [type(s) for s in statements(entry.body)] == [Compute]

    def test_unused_sensitivities_are_not_computed(self) -> None:
        made = unit("(lambda (x) (car ((gradient-R (lambda (x y) (* x (sin (cos y))))) x 2)))")
        rows = [s.row.name for f in made.program.functions for s in statements(f.body) if type(s) is Compute]
        assert rows == []  # the derivative by x is a constant

    def test_straight_code_has_no_tape(self) -> None:
        made = unit("(lambda (x) ((derivative-R (lambda (x) (* (sin x) (exp (* x x))))) x))")
        assert not [s for f in made.program.functions for s in statements(f.body) if type(s) is Box]
        assert "vlad_allocate" not in made.text

    def test_the_tape_of_a_loop_holds_what_the_way_back_needs(self) -> None:
        made = unit("(lambda (x) ((derivative-R (lambda (x) (loop x 100))) x))")
        sizes = [s.member.size for f in made.program.functions for s in statements(f.body) if type(s) is Box]
        assert sizes and max(sizes) <= 24  # x, sin x, what was before

    def test_the_text_names_the_program_and_its_places(self) -> None:
        text = unit("(define (my-function my-variable) (sin my-variable)) my-function").text
        assert "v0_my_function" in text and "my_variable_1" in text and "/* <expression>:1:1 */" in text
        assert "#include" not in text

    @pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed")
    def test_the_derivative_of_a_line_is_a_constant_of_the_machine(self, tmp_path: Path) -> None:
        text = unit("(lambda (x) ((gradient (lambda (x) (+ (* 5 x) 3))) x))").text
        target = tmp_path / "unit.so"
        toolchain.build_executable(text, str(target), shared=True)
        listing = subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", str(target)], capture_output=True, text=True, check=True
        ).stdout
        body = listing.split("<vlad_direct>:\n")[1].split("\n\n")[0]
        names = [line.split("\t")[1].split()[0] for line in body.splitlines() if "\t" in line]
        assert [name for name in names if not name.startswith(("nop", "endbr", "cs", "data16"))][:2] in (
            ["movsd", "ret"],
            ["vmovsd", "ret"],
        )


INTERPRETER = """
(define (bind next d)
  (append-map (lambda (case) (map (lambda (more) (cons (* (car case) (car more)) (cdr more))) (next (cdr case)))) d))
(define (evaluate e environment)
  (cond ((symbol? e) (if (equal? e (car (car environment))) (cdr (car environment)) (evaluate e (cdr environment))))
        ((not (pair? e)) (list (cons 1 e)))
        (else
         (bind (lambda (test) (evaluate (if test (cadr e) (caddr e)) environment)) (evaluate (car e) environment)))))
(define (flip p) (list (cons (- 1 p) #f) (cons p #t)))
(define (probability value d)
  (fold-left (lambda (sum case) (if (equal? (cdr case) value) (+ sum (car case)) sum)) 0 d))
(define (likelihood p q)
  (let ((d (evaluate '(x 0 (y 1 2)) (list (cons 'x (flip p)) (cons 'y (flip q))))))
    (fold-left (lambda (product observed) (* product (probability observed d))) 1 '(0 1 2 2))))
"""


@pytest.mark.parametrize(
    "text",
    [
        "likelihood",
        "(lambda (p q) (car ((gradient-R likelihood) p q)))",
    ],
)
def test_an_interpreter_is_run_at_compile_time(text: str) -> None:
    """Lists of known length and the continuations of loops over them are distinguished: only arithmetic remains."""
    session = vlad.Session(tier="evaluate")
    session.eval(INTERPRETER)
    f = session.eval(text)
    made = Unit(session.machine, f.value[0], f.value[1:], (0.3, 0.4))
    (function,) = made.program.functions
    assert all(type(statement) is Compute for statement in statements(function.body))
    assert type(function.body.end) is Return
    compiled = compile_call(session.machine, f.value, (0.3, 0.4))
    assert compiled(0.3, 0.4) == pytest.approx(f(0.3, 0.4), rel=1e-12)


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("(lambda (x) ((nth-derivative sin 7) x))", (0.7,)),
        ("(lambda (x) (map (lambda (n) ((nth-derivative sqrt n) x)) (iota 6)))", (2.0,)),
        ("(lambda (x) (taylor-coefficients (lambda (x) (/ 1 (- 1 (+ x (* x x))))) x 6))", (0.1,)),
        (
            "(lambda (x) (let turn ((n 4) (f cos)) (if (= n 0) (f x) (turn (- n 1) (derivative-R f)))))",
            (0.7,),
        ),
        ("(lambda (p q) ((derivative-F (lambda (p) (car ((gradient-R likelihood) p q)))) p))", (0.3, 0.4)),
        ("(lambda (p q) ((derivative-R (lambda (p) (car ((gradient-R likelihood) p q)))) p))", (0.3, 0.4)),
        ("(lambda (p q) ((hessian likelihood) p q))", (0.3, 0.4)),
    ],
)
def test_what_constants_decide_is_followed(text: str, operands: tuple[float, ...]) -> None:
    """The order of a derivative, the program of an interpreter."""
    session = vlad.Session(tier="evaluate")
    session.eval(INTERPRETER)
    f = session.eval(text)
    compiled = compile_call(session.machine, f.value, operands)
    expected, got = reals(f(*operands)), reals(to_python(compiled(*operands), session._calls))
    assert len(got) == len(expected) > 0
    assert got == pytest.approx(expected, rel=1e-12)


def test_what_is_straightforward_is_followed_for_long() -> None:
    """An interpreter of a constant program: hardly any instance runs twice."""
    session = vlad.Session(tier="evaluate")
    definitions, _, _ = (EXAMPLES / "probabilistic.vlad").read_text().partition("; dry, wet,")
    session.eval(definitions)
    code: Any = session.eval("(lambda (x) ((jacobian chances) '(0.5 . 0.5)))").value[0]
    analysis = Analysis(session.machine, Strategy().unrolling(CALL))
    with deep_recursion():
        result = analysis.solve(code, (), (analysis.types.real,)).result
    assert analysis.runs > 2_500
    assert result is not None and 20 * analysis.reruns < analysis.runs


def reals(value: Any) -> list[float]:
    return [value] if isinstance(value, float) else [x for part in value for x in reals(part)]


def test_what_nothing_decides_is_given_up_in_time() -> None:
    session = vlad.Session(tier="evaluate")
    session.eval("(define (f n) ((nth-derivative sin (round n)) 1))")
    begun = time.monotonic()
    with pytest.raises(Unbounded, match="order of its derivatives"):
        compile_call(session.machine, session["f"].value, (3.1,))  # a whole number would be tried
    assert time.monotonic() - begun < 10


def test_a_procedure_of_many_numbers_is_compiled() -> None:
    session = vlad.Session(tier="compile")
    names = [f"x{n}" for n in range(700)]
    f = session.eval(f"(lambda ({' '.join(names)}) (- x0 x699))")
    assert f(*[float(n) for n in range(700)]) == -699.0
    assert session.tiers.entry(f.value).variants


def test_each_instance_of_a_program_without_loops_is_run_once() -> None:
    """A caller goes on with the result of a call that it has waited for."""
    session = vlad.Session(tier="evaluate")
    session.eval(
        "(define (f x) (+ x (sin x))) (define (g x) (* (f x) (f (f x)))) (define (h x) (- (g x) (f (g x))))"
    )
    code = session.eval("(lambda (x) ((gradient h) x))").value[0]
    analysis = Analysis(session.machine)
    with deep_recursion():
        analysis.solve(code, (), (analysis.types.real,))
    assert analysis.runs == len(analysis.instances) > 10


# What `view` returns for `(else s)` is none of the pairs that it takes, so its result does not become a part of its operand
VIEW = """(lambda (n x)
  (define (view s)
    (cond ((pair? s) (cons (view (car s)) (view (cdr s)))) ((real? s) (list 'real s)) ((tensor? s) (list 'tensor s))
          ((procedure? s) (list 'procedure (view (environment s)))) (else s)))
  (define (total s) (if (pair? s) (+ (* 0.5 (total (car s))) (total (cdr s))) (if (real? s) (sqrt (+ 4 (* s s))) 0)))
  (let* ((s (append (map (lambda (n) (- x n)) (iota n)) (if (> x 1) (list 0.5) 2)))
         (g ((gradient total) (v+ s ((gradient (lambda (q) (square (car q)))) s)))))
    (list g (view g))))"""


def test_what_several_tests_rule_out_counts_together() -> None:
    session = vlad.Session(tier="evaluate")
    code = session.eval(VIEW).value[0]
    analysis = Analysis(session.machine)
    with deep_recursion():
        analysis.solve(code, (), (analysis.types.real, analysis.types.real))
    assert analysis.runs < 250  # 8,741, and then it was given up, when each test was taken by itself
    compiled = vlad.Session(tier="compile").eval(VIEW)
    assert compiled(3.0, 0.75) == session.eval(VIEW)(3.0, 0.75)
    assert (
        unit(
            "(define (kind s) (cond ((null? s) 0) ((pair? s) 1) ((real? s) 2) (else 3)))"
            " (lambda (x) (kind (if (> x 1) '() (if (> x 0) x (list x)))))"
        ).text.count("3.0")
        == 0
    )  # nothing is left for the last arm


PARTS = """(lambda (n x)
  (define (view s) (cond ((pair? s) (cons (view (car s)) (view (cdr s)))) ((real? s) (list 'real s)) (else s)))
  (define (total s) (fold (lambda (e all) (if (real? e) (+ all 1) all)) 0 (if (pair? s) s '())))
  (let* ((s (let loop ((i 0) (all (list n 'b)))
              (if (= i n) all (loop (+ i 1) (cons (if (> x 1) (cons i 'b) (- x i)) all)))))
         (r ((gradient-F total) s))
         (g ((gradient total) r)))
    (list g (view g))))"""


def test_what_no_call_leads_to_any_more_is_not_run_again() -> None:
    """While the types of the list grow, each of them has instances of its own, down to the last derivative."""
    session = vlad.Session(tier="evaluate")
    code = session.eval(PARTS).value[0]
    analysis = Analysis(session.machine, Strategy(patient=True))
    with deep_recursion():
        root = analysis.solve(code, (), (analysis.types.real, analysis.types.real))
    assert analysis.runs < 4_500  # 10,000 before, of which a quarter concerned what is live
    reached = {root: None}
    work = [root]
    while work:
        new = [callee for callee in work.pop().calls if callee not in reached]
        reached |= dict.fromkeys(new)
        work += new
    live = [one for one in analysis.instances if one.live]
    assert set(live) >= reached.keys()
    assert 3 * len(live) < len(analysis.instances)
    assert all(one.epoch == analysis.types.epoch and not one.dirty for one in live)
    assert (
        analysis.types.epoch > 100
    )  # so often unions became one, and the keys that this concerns were made again
    for callee, fields, operands in analysis._of_key:
        assert (fields, operands) == analysis._now(fields, operands), callee
    assert all(one.fields == analysis.types.all_canonical(one.fields) for one in analysis.instances)
    assert vlad.Session(tier="compile").eval(PARTS)(3.0, 0.75) == session.eval(PARTS)(3.0, 0.75)


def _covers(types: Types, whole: Type, part: Type, assumed: set[tuple[Type, Type]]) -> bool:
    whole, part = types.canonical(whole), types.canonical(part)
    if whole is part or (whole, part) in assumed:
        return True
    assumed.add((whole, part))
    if whole.kind == "union":
        members = {member.head: member for member in types.members(whole)}
        if part.kind == "union":
            return all(_covers(types, whole, member, assumed) for member in types.members(part))
        if part is types.zero and part.head not in members:
            return True  # as the zero of a member
        return part.head in members and _covers(types, members[part.head], part, assumed)
    if part is types.zero:
        return True
    if whole.head != part.head or part.kind == "union":
        return False
    return whole is types.real or all(
        _covers(types, *both, assumed) for both in zip(whole.parts, part.parts, strict=True)
    )


def test_joined_types_cover_what_was_joined_for_ever() -> None:
    """Unions of lists, elements and zeros, into which more is joined: a union may grow while it takes a member."""
    for seed in range(
        1_000, 1_200
    ):  # with 1122, joins did not end when what a union gained meanwhile was lost
        choose = random.Random(seed).choice
        types = Types()
        made, joined = [types.zero, types.nil, types.real, types.union(types.zero)], []
        for _ in range(10):
            a, b = (types.canonical(choose(made[-8:] + made[:3])) for _ in "ab")
            one = choose((types.pair, types.pair, types.join_both, types.widened))(a, b)
            joined += [(one, a), (one, b)] if one.kind != "pair" or one.parts != (a, b) else []
            made.append(one)
            assert all(_covers(types, whole, part, set()) for whole, part in joined), seed


class Thorough(Analysis):
    """An analysis that leaves nothing out, and asserts that it would have found the same."""

    left_out = 0

    def _current(self) -> Callable[[Instance], bool]:
        is_current = super()._current()

        def is_rightly_current(instance: Instance) -> bool:
            if not is_current(instance):
                return False
            before = self.types.epoch, len(self.instances), len(self._dirty)
            found = self._found(instance)
            if not instance.dirty:
                self._run(instance)
                assert before == (self.types.epoch, len(self.instances), len(self._dirty)), instance
                assert found == self._found(instance), instance
                Thorough.left_out += 1
            return True

        return is_rightly_current

    def _found(self, instance: Instance) -> object:
        result = instance.result and self.types.canonical(instance.result)
        return result, list(instance.calls), instance.acts

    def _is_same(self, found: Application, operands: list[Known]) -> bool:
        if not super()._is_same(found, operands):
            return False
        Thorough.left_out += 1
        before, members, acts = self.types.state, self.members_run, self.instance.acts
        self.instance.acts = False
        key, row = self.key, self.row
        result = self.apply(row, operands)
        assert (self.types.state, self.instance.acts) == (before, found.acts), row
        assert self.members_run == members + found.members, row
        types = [
            None if one is None else self.types.canonical(one)
            for one in (found.result, result and result.type)
        ]
        assert types[0] is types[1], row
        self.key, self.members_run, self.instance.acts = key, members, acts
        return True

    def application(self, row: Primitive, operands: list[Known]) -> Known | None:
        self.row = row
        return super().application(row, operands)


# By minors; a list of rows, some of them shorter
DETERMINANT = """(lambda (n x)
  (define (without i l) (if (= i 0) (cdr l) (cons (car l) (without (- i 1) (cdr l)))))
  (define (det m)
    (if (null? m)
        1
        (let loop ((i 0) (column (car m)) (sign 1) (sum 0))
          (if (null? column)
              sum
              (loop (+ i 1) (cdr column) (- 0 sign)
                    (+ sum (* sign (car column) (det (map (lambda (c) (without i c)) (cdr m))))))))))
  ((gradient det) (list (list n 1 0 3) (list 1 3 1 0) (list 0 1 x 2) '(1 0 2 5))))"""


@pytest.mark.parametrize(
    "text", [VIEW, DETERMINANT, *[mixed_structures.program(seed, False)[0] for seed in (3, 14)]]
)
def test_what_is_not_run_again_would_find_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "Analysis", Thorough)
    Thorough.left_out = 0
    session = vlad.Session(tier="evaluate")
    session.eval('(import "optimizers") (import "linear-algebra")')
    f: Any = session.eval(text).value
    operands = (3.0, 0.75, from_python([1.0, 2.0]))[: f[0].arity]
    pipeline.made(session.machine, f[0], f[1 : 1 + len(f[0].environment)], operands).close()
    assert Thorough.left_out > 10


def test_two_unions_of_symbols_are_compared_in_time_that_grows_with_their_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = []
    for count in (10, 40):
        names = " ".join([f"(= n {k}) 'name-{k})" + " (" * (k < count - 1) for k in range(count)])
        session = vlad.Session(tier="evaluate")
        session.eval(f"(define (name n) (cond ({names} (else 'none)))")
        f: Any = session.eval("(lambda (a b) (if (eq? (name a) (name b)) 1 2))").value
        ran = 0

        def truth(self: Analysis, value: bool) -> Known:
            nonlocal ran
            ran += 1
            return Known(self.types.truth(value))

        monkeypatch.setattr(Analysis, "truth", truth)
        analysis = Analysis(session.machine)
        with deep_recursion():
            assert analysis.solve(f[0], (), (analysis.types.real,) * 2).result is analysis.types.real
        counts.append(ran)
    assert counts[1] < 5 * counts[0] < 500  # 16 times as many when each was compared with each


@pytest.mark.any_compiler
def test_a_step_of_many_nested_derivatives_settles_in_reverse_mode() -> None:
    """A backpropagator contains what its four slopes need, each a derivative of derivatives: many nodes, most of them shared."""
    program = """
(import "mechanics")
(define ((P m l ys) (up t q v))
  (let ((ydot ((D ys) t)))
    (- (* 0.5 m (+ (square (* l v)) (square ydot) (* 2 ydot l v (sin q)))) (* 9.8 (- (ys t) (* l (cos q)))))))
(define (run l n)
  (let ((f (Lagrangian->state-derivative (P 1 l (lambda (t) (* 0.1 (cos t)))))))
    (coordinate (rk4 (lambda (t s) (f s)) 0 (up 0 1 0) 1 n))))
"""
    found = []
    for tier, mode in (("compile", "R"), ("evaluate", "F")):
        session = vlad.Session(tier=tier)
        session.run_text(program)
        found.append(session.eval(f"(derivative-{mode} (lambda (l) (run l 10)))")(2.0))
        assert {entry.reason for entry in session.tiers.entries.values()} <= {None}
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_a_type_may_be_large_if_it_repeats_its_parts() -> None:
    """As the environment of a derivative does of which others are taken: its nodes are many, and the distinct ones few."""
    doubled = " ".join([f"(l{k} (cons l{k - 1} l{k - 1}))" for k in range(1, 18)])
    first = "(car " * 17 + "l17" + ")" * 17
    session = vlad.Session(tier="compile")
    f = session.eval(f"(lambda (x) (let* ((l0 (lambda () 2)) {doubled}) (* x ({first}))))")
    with warnings.catch_warnings():
        warnings.simplefilter("error", vlad.NotCompiledWarning)
        assert f(3.0) == 6


@pytest.mark.parametrize("item", ["'{}", '"{}"', '(string-append (number->string y) "{}")', "(> y {})", "{}"])
def test_what_a_continuation_is_resumed_with_is_one_type(item: str) -> None:
    """Under a handler, each arm of a conditional calls the continuation. What follows is analysed once, as where arms meet,
    and not for each arm and each list of what arms returned."""

    def runs(arms: int) -> int:
        tests = " ".join(f"((> y {n}) {item.format(n)})" for n in range(arms))
        body = f"(guard (e (#t 0)) (length (map (lambda (y) (cond {tests} (else {item.format(99)}))) (numbers x))))"
        made = unit(f"(lambda (x) {body})")
        assert not made.analysis.strategy.patient
        return made.analysis.runs

    few, many = runs(4), runs(12)
    assert many < 400 and many < 2 * few + 60, (few, many)
