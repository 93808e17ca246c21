"""The output of `,core`, `,reverse` and `,forward` for random programs is read back, and computes the same. A script:

python tests/repl/reading_back.py [PROGRAMS] [SEED]

Each program is entered at a prompt, and its output is read in another session, which has the same program. There,
the parsed code replaces the session's own. Values, gradients of both modes, and second derivatives of
all four mixtures must be the same to the last digit. The same is done with a closure that the program makes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings
from writing import Writing

from vlad import Session
from vlad.core.nodes import Lambda
from vlad.core.text import Printer, read_core
from vlad.data.values import Code, Global, Value
from vlad.data.write import written
from vlad.evaluate.entries import await_first_call

sys.path.insert(0, str(Path(__file__).parent.parent / "ad"))
from programs import functions, points

STAGES = ("core", "reverse", "forward")
DEFINITIONS = """
(define (grad-R f x y) (cdr ((cdr ((*j f) (*j (cons x y)))) 1)))
(define (partial-F f x y dx dy) (unperturb (tangent ((j* f) (bundle (cons x y) (perturb (cons dx dy)))))))
(define (grad-F f x y) (cons (partial-F f x y 1 0) (partial-F f x y 0 1)))
(define ((along grad f i j) x y) (let (((cons a b) (grad f x y))) (+ (* i a) (* j b))))
(define (rows outer inner f x y) (list (outer (along inner f 1 0) x y) (outer (along inner f 0 1) x y)))
(define (all-of f x y)
  (list (f x y) (grad-R f x y) (grad-F f x y)
        (rows grad-R grad-R f x y) (rows grad-R grad-F f x y) (rows grad-F grad-R f x y) (rows grad-F grad-F f x y)))
(define ((over f x) y) (f x y))
"""


def code_at(session: Session, procedure: Value, stage: str) -> Code:
    """The code that `,STAGE F` prints."""
    code: Code = procedure[0]
    if stage == "core":
        return code
    return session.machine.tail_code(code) if stage == "reverse" else session.machine.forward_code(code)


def put(session: Session, code: Code, lambda_: Lambda) -> None:
    """Let a code evaluate another lambda."""
    code.lambda_ = lambda_
    code.family.codes[lambda_] = code
    await_first_call(code)


def read_back(session: Session, lambda_: Lambda) -> Lambda:
    """The lambda that its text stands for, over the same variables. Its text is printed again to see that it is the same."""
    printer = Printer()
    printer.survey(lambda_)
    text = printer.lambda_(lambda_, 0)
    owners = {label: owner for owner, label in printer.labels.items() if owner not in printer.inside}
    variables = {printer.name(variable): variable for variable in lambda_.free}
    found = read_core(text, session.library.cell, session.machine.table, owners, variables)
    assert isinstance(found, Lambda)
    again = Printer()
    again.survey(found)
    assert again.lambda_(found, 0) == text
    assert set(found.free) <= set(lambda_.free)
    return Lambda(found.parameters, found.body, lambda_.free, lambda_.name, lambda_.span)


def read_printed(session: Session, text: str) -> Lambda:
    """The lambda that a text stands for in a session's program: names without a mark are the system's, if it has them."""

    def cell(name: str) -> Global:
        return session.library.lookup(name) or session.module.cell(name)

    found = read_core(text, cell, session.machine.table, marked=session.module.cell)
    assert isinstance(found, Lambda)
    return found


class Reader:
    """A prompt at which programs are entered, and a session in which its output is read."""

    def __init__(self) -> None:
        self.prompt = Writing()
        self.session = Session(tier="evaluate")
        self.session.eval(DEFINITIONS)
        assert self.prompt.output(DEFINITIONS) == ""

    def printed(self, program: str) -> dict[str, str]:
        """The prompt's output for a program, by stage."""
        assert self.prompt.output(f"(define f {program})") == ""
        texts = {}
        for stage in STAGES:
            text = self.prompt.output(f",{stage} f").strip()
            assert text.startswith("(define f (") and text.endswith(")"), text
            texts[stage] = text.removeprefix("(define f ")[:-1]
        return texts

    def read(self, program: str, texts: dict[str, str]) -> None:
        """Define the program; then replace it, and its derivatives, by the texts."""
        f = value(self.session, f"(define f {program}) f")
        for stage, text in texts.items():
            put(self.session, code_at(self.session, f, stage), read_printed(self.session, text))

    def check(self, program: str, point: tuple[float, float]) -> None:
        """The texts of a program's stages, read in the session, compute the program's result at the prompt."""
        x, y = point
        self.read(program, self.printed(program))
        call = f"(all-of f {x} {y})"
        assert answer(self.session, call) == answer(self.prompt.shell.session, call)

    def check_closure(self, program: str, point: tuple[float, float]) -> None:
        """The same in one session, as a text over variables does not contain their values."""
        x, y = point
        session = self.prompt.shell.session
        body = program.removeprefix("(lambda (x y) ")[:-1]
        f = value(session, f"(define f ((lambda (x) (lambda (y) {body})) {x})) f")
        call = f"(all-of (lambda (y s) (* s (f y))) {y} {x})"
        before = answer(session, call)
        for stage in STAGES:
            code = code_at(session, f, stage)
            put(session, code, read_back(session, session.machine.core_of(code)))
        assert answer(session, call) == before


def value(session: Session, text: str) -> Value:
    """The value of the last form of a text."""
    values: list[Value] = []
    session.run_text(text, "<program>", values.append)
    return values[-1]


def answer(session: Session, text: str) -> str:
    return written(value(session, text))


def checked(reader: Reader, count: int, chosen: int) -> int:
    """Check `count` random programs, and closures that they make; `chosen` draws them. Returns the number of different ones."""
    seen = set()

    @seed(chosen)
    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(functions(), points())
    def check(program: str, point: tuple[float, float]) -> None:
        seen.add(program)
        reader.check(program, point)
        reader.check_closure(program, point)

    check()
    return len(seen)


def main() -> None:
    count, chosen = [int(word) for word in (*sys.argv[1:], "1000", "1")[:2]]
    begun = time.monotonic()
    different = checked(Reader(), count, chosen)
    print(f"{count} programs, {different} of them different, {time.monotonic() - begun:.0f} s: all the same")


if __name__ == "__main__":
    main()
