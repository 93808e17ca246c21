"""The same call in another process is recognised, and its library found without the compiler; any other call is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from test_several_shapes import monitored

from vlad import Session
from vlad.compile.calling import pipeline
from vlad.compile.calling.cache_key import Nameless, identity
from vlad.compile.calling.compilation import compile_call
from vlad.compile.calling.interface import read_interface
from vlad.compile.ir.refusals import Unbounded
from vlad.compile.native import cache
from vlad.core.types import LONGEST_CHAIN
from vlad.data.values import look
from vlad.data.write import written
from vlad.python.convert import from_python

pytestmark = pytest.mark.any_compiler

PROGRAM = """
(define scale 3)
(define (twice f) (lambda (x) (f (f x))))
(define (loop i y) (if (= i 0) y (loop (- i 1) (* y (cos (* scale y))))))
(define (f x) (let ((g (lambda (z) (loop 5 (* z x))))) ((twice g) ((derivative-R sin) x))))
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def digest(text: str, operands: tuple[object, ...] = (0.5,), name: str = "f") -> str:
    session = Session(tier="evaluate")
    session.run_text(text)
    f = session.module.cell(name).value
    return identity(session.machine, f, [from_python(operand) for operand in operands], LONGEST_CHAIN)[0]


@pytest.mark.parametrize(
    "same",
    [
        PROGRAM,
        "; moved\n\n" + PROGRAM.replace("\n", "\n\n"),
        PROGRAM.replace("z", "another"),
        PROGRAM + "(define unrelated 7)",
    ],
)
def test_what_does_not_matter(same: str) -> None:
    assert digest(same) == digest(PROGRAM)


@pytest.mark.parametrize(
    "other",
    [
        PROGRAM.replace("scale 3", "scale 3.0000000000000004"),
        PROGRAM.replace("scale 3", "scale -3"),
        PROGRAM.replace("loop 5", "loop 6"),
        PROGRAM.replace("cos", "sin"),
        PROGRAM.replace("derivative-R", "derivative-F"),
        PROGRAM.replace("(f (f x))", "(f (f (f x)))"),
        PROGRAM.replace("(* z x)", "(* x x)"),
        PROGRAM.replace("(* z x)", "(+ z x)"),
        PROGRAM.replace("(- i 1)", "(- 1 i)"),
        PROGRAM + "(define (cos x) x)",
        PROGRAM + "(define scale '(3))",
        PROGRAM.replace("(define scale 3)", ""),
    ],
)
def test_what_matters(other: str) -> None:
    assert digest(other) != digest(PROGRAM)


def test_kinds_of_operands() -> None:
    known = [
        (0.5,),
        (True,),
        ((1.0, 2.0),),
        ([],),
        ([1.0],),
        ([1.0] * 30,),
        ([True] * 30,),
        ([[1.0]] * 30,),
        ("a",),
    ]
    assert len({digest(PROGRAM, operands) for operands in known}) == len(known)
    assert digest(PROGRAM, (0.5,)) == digest(PROGRAM, (-7.0,))
    assert digest(PROGRAM, ([1.0] * 30,)) == digest(PROGRAM, ([2.0] * 300,))
    assert digest(PROGRAM, ([1.0] * 3,)) != digest(PROGRAM, ([2.0] * 4,))
    assert digest(PROGRAM, ([1.0] * 29 + [True],)) != digest(PROGRAM, ([1.0] * 30,))


def test_values_that_procedures_hold() -> None:
    def held(value: str) -> str:
        return digest(f"(define f (let ((kept {value})) (lambda (x) (cons kept x))))")

    values = [
        "1",
        "-1",
        "0",
        "-0.",
        "#t",
        "#f",
        "'()",
        "'a",
        '"a"',
        "'(a b)",
        "'(a . b)",
        "'((a) b)",
        "sin",
        "cos",
    ]
    values += [
        "(lambda (x) x)",
        "(lambda (x) 1)",
        "(let ((y 2)) (lambda (x) y))",
    ]
    assert len({held(value) for value in values}) == len(values)


@pytest.mark.parametrize(
    "text",
    [
        "(define (f x) (cons x (command-line-arguments)))",
        "(define f ((lambda (g) (lambda (x) (g '()))) command-line-arguments))",
    ],
)
def test_the_words_that_a_session_was_given(text: str) -> None:
    def given(*words: str) -> str:
        session = Session(tier="evaluate", arguments=words)
        session.run_text(text + "(define (g x) x)")
        return "".join(
            [
                identity(session.machine, session.module.cell(name).value, [0.5], LONGEST_CHAIN)[0]
                for name in "fg"
            ]
        )

    all_words = [(), ("",), ("a",), ("b",), ("a", "b"), ("ab",), ("b", "a")]
    texts = [given(*words) for words in all_words]
    assert len({text[:64] for text in texts}) == len(all_words)
    assert len({text[64:] for text in texts}) == 1


def test_names_with_anything_in_them() -> None:
    """Two procedures that capture different names, which read the same when concatenated."""
    session = Session(tier="evaluate")
    session.eval("(define (make x y) (lambda (n) (if (> n 0) (list (car x) y n) (list x n))))")
    texts = [
        """(make (cons 'a 'b) (string->symbol "c' 'd"))""",
        """(make (cons (string->symbol "a' 'b") 'c) 'd)""",
        """(make (cons 'a (string->symbol "1:b")) 'c)""",
        """(make (cons (string->symbol "a '1:b") 'c) 'd)""",
    ]
    found = [session.eval(text).value for text in texts]
    assert len({identity(session.machine, f, [0.5], LONGEST_CHAIN)[0] for f in found}) == len(texts)


def test_what_is_too_large_has_no_name() -> None:
    session = Session(tier="evaluate")
    session.run_text(
        "(define l (let loop ((i 0) (l '())) (if (= i 300000) l (loop (+ i 1) (cons i l))))) (define (f x) l)"
    )
    with pytest.raises(Nameless):
        identity(session.machine, session.module.cell("f").value, [0.5], LONGEST_CHAIN)


def test_the_second_time_nothing_is_analysed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    for _ in range(2):
        session = Session(tier="compile")
        session.run_text(PROGRAM)
        answers.append(session["f"](0.7))
        monkeypatch.setattr(pipeline, "Unit", None)
    assert answers[0] == answers[1]
    names = [entry.name for entry in cache.entries()]
    assert {name.rpartition(".")[2] for name in names} == {"call", "so"}


def test_large_tensors_are_found_again_by_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their entries are passed with each call, so they may differ; which of them are the same may not."""
    text = """
    (define a (* {scale} (arange 100)))
    (define b (+ a 1))
    (define make (let ((c (* 2 b)) (d {captured})) (lambda (x) (sum (- (* x (+ a c d)) (* 3 b))))))
    """

    def answer(scale: int, captured: str) -> float:
        session = Session(tier="compile")
        with session.tiers.paused():
            session.run_text(text.format(scale=scale, captured=captured))
        found: float = session["make"](2)
        expected = Session(tier="evaluate")
        expected.run_text(text.format(scale=scale, captured=captured))
        assert found == expected["make"](2) and not session.tiers.entry(session["make"].value).reason
        return found

    answers = {answer(1, "(* 3 b)")}
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "Unit", None)
        answers |= {answer(1, "(* 4 b)"), answer(5, "(* 3 b)")}
        with pytest.raises(TypeError):
            answer(1, "a")
    answers |= {answer(1, "a"), answer(1, "b")}
    assert len(answers) == 5


def test_a_reason_is_kept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "(define (f x) (string->symbol (number->string x)))"
    reasons = []
    for _ in range(2):
        session = Session(tier="evaluate")
        session.run_text(text)
        with pytest.raises(Unbounded) as caught:
            compile_call(session.machine, session.module.cell("f").value, (0.5,))
        reasons.append(caught.value.reason)
        monkeypatch.setattr(pipeline, "Unit", None)
    assert reasons[0] == reasons[1] != ""


@pytest.mark.parametrize("gone", ["so", "call"])
def test_half_an_entry_is_made_whole(gone: str, folder: Path) -> None:
    for _ in range(3):
        session = Session(tier="compile")
        session.run_text(PROGRAM)
        session["f"](0.7)
        assert len(list(folder.glob("*.so"))) == len(list(folder.glob("*.call"))) == 1
        for path in folder.glob(f"*.{gone}"):
            path.unlink()


def test_what_was_found_is_forgotten_when_a_global_changes() -> None:
    for _ in range(2):
        session = Session(tier="compile")
        session.run_text(PROGRAM)
        before = session["f"](0.7)
        session.run_text("(define scale 4)")
        assert session["f"](0.7) != before


@pytest.mark.parametrize(
    "text, operands",
    [
        ("(define (f x) x)", (0.5,)),
        ('(define (f x) (cons x \'(a "b" #t ())))', (0.5,)),
        ("(define (f l) l)", ([1.0] * 40,)),
        ("(define (f l) (if (null? l) #f l))", ([(True, [float(i)]) for i in range(40)],)),
        ("(define (f x) (if (> x 0) 'yes (list x x)))", (0.5,)),
        ("(define (f x) ((gradient-R (lambda (l) (* (car l) 2))) (list x x)))", (0.5,)),
        (f"(define (f x) (list {' '.join(['x'] * 1100)}))", (0.5,)),  # longer than Python's recursion goes
    ],
)
def test_an_interface_is_read_as_it_was_written(text: str, operands: tuple[object, ...]) -> None:
    answers = []
    for _ in range(2):
        session = Session(tier="evaluate")
        session.run_text(text)
        values = tuple([from_python(operand) for operand in operands])
        f = session.module.cell("f").value
        compiled = compile_call(session.machine, f, values)
        answers.append(written(compiled(*values)))
        call = identity(session.machine, f, values, LONGEST_CHAIN)
        codes = call.numbers()
        again = read_interface(compiled.interface.text(codes), session.machine, call.code)
        assert again.text(codes) == compiled.interface.text(codes)
    assert answers[0] == answers[1]


CLOSURES = """
(define (layer w) (lambda (x) (tanh (* w x))))
(define (twice f) (define (odd x) (even (f x))) (define (even x) (if (> x 0.1) x (odd (+ x 1)))) (list odd even sin))
(define (f a) (list (layer a) (twice (layer a)) (lambda (x) (+ x a)) cons))
(define (g l) (+ ((car l) 1.5) ((car (car (cdr l))) 0.25) ((car (cdr (cdr l))) 2)))
"""


def test_calls_that_take_and_return_procedures_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another session, as another process, finds the codes of local procedures, of groups, of the library and of primitives."""
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path))
    answers = []
    for turn in range(2):
        session = Session(tier="compile")
        session.run_text(CLOSURES)
        with monitored() as strategies:
            session.run_text("(define made (f 0.5))")
            made = session.module.cell("made").value
            answers.append(session.eval("(list (g made) ((car (cdr (car (cdr made)))) 0.5))"))
        assert bool(strategies) is (turn == 0)
        assert look(made)[0][0].machine is session.machine and session.tiers.disagreements == 0
    evaluated = Session(tier="evaluate")
    evaluated.run_text(f"{CLOSURES}(define made (f 0.5))")
    answers.append(evaluated.eval("(list (g made) ((car (cdr (car (cdr made)))) 0.5))"))
    assert answers[0] == answers[1] == answers[2]


RECORDS = """
(import "mechanics")
(define-record-type point (make-point x y) point? (x point-x) (y point-y))
(define-record-type <pole> (pole r) pole? (r radius))
(define (f x) (list (make-point x (* 2 x)) (if (> x 0) (pole x) x)))
(define (g x) ((Gamma (lambda (t) (* t t))) x))
"""


def test_calls_that_make_records_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record types of a program and of the library are found again, though no operand has them."""
    results = []
    for _ in range(2):
        session = Session(tier="compile", write=lambda text: None)
        session.run_text(RECORDS)
        results.append(
            session.eval("(list (f 0.5) (f -1) (g 3) (map point-x (list (car (f 2)))) (pole? (cadr (f 3))))")
        )
        monkeypatch.setattr(pipeline, "Unit", None)
    assert str(results[0]) == str(results[1]) and results[1][-1] is True
    assert session.tiers.disagreements == 0


def test_another_process_finds_the_same_key(tmp_path: Path) -> None:
    program = tmp_path / "it.vlad"
    program.write_text(PROGRAM, encoding="utf-8")
    ask = (
        "import sys; from vlad import Session; from vlad.compile.calling.cache_key import identity\n"
        "s = Session(tier='evaluate')\n"
        "s.run(sys.argv[1]); print(identity(s.machine, s.module.cell('f').value, [0.5], 24)[0])"
    )
    said = set()
    for seed in "123":
        done = subprocess.run(
            [sys.executable, "-c", ask, str(program)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            stdout=subprocess.PIPE,
            check=True,
        )
        said.add(done.stdout)
    assert said == {digest(PROGRAM).encode() + b"\n"}
