"""The output of `,core`, `,reverse` and `,forward` is read back, and computes the same: the whole library, by its own examples;
and random programs.

Each procedure of the library, or its derivative, is replaced by the reading of its text. Then the examples of its
documentation run, and must print the documented output.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from amounts import drawn
from reading_back import STAGES, Reader, answer, checked, code_at, put, read_back

from vlad import Session, VladError
from vlad.data.values import Value, is_procedure
from vlad.manual.help import public
from vlad.session.library import the_library


def procedures(session: Session) -> Iterator[tuple[str, Value]]:
    for name in the_library().names():
        value = session.library.cell(name).value
        if is_procedure(value):
            yield name, value


def examples_of(session: Session, names: set[str]) -> int:
    """Run the examples of these names; how many there were."""
    count = 0
    for entry in public():
        if entry.name in names:
            for example in entry.examples:
                printed: list[str] = []
                session.machine.write = printed.append
                try:
                    session.run_text(example.call)
                except VladError as error:
                    printed.append(f"Error: {error.message}")
                assert "".join(printed).splitlines() == list(example.shown), (entry.name, example)
                count += 1
    return count


def test_the_library_read_back_computes_the_same() -> None:
    """In all stages at once: each code is one of its own."""
    session = Session(tier="evaluate")
    codes = [
        (name, code_at(session, value, stage)) for name, value in procedures(session) for stage in STAGES
    ]
    made = [session.machine.core_of(code) for _, code in codes]  # before any is replaced
    for (_, code), lambda_ in zip(codes, made, strict=True):
        put(session, code, read_back(session, lambda_))
    names = {name for name, _ in codes}
    assert len(names) > 280
    assert examples_of(session, names) > 280
    for (_, code), lambda_ in zip(codes, made, strict=True):
        assert code.lambda_ is not lambda_  # nothing has made it anew


def test_random_programs_read_back_compute_the_same() -> None:
    """`python tests/repl/reading_back.py` does it with a thousand."""
    assert checked(Reader(), drawn(120), 1) > drawn(80)


@pytest.mark.parametrize("stage", STAGES)
def test_what_was_read_is_what_is_evaluated(stage: str) -> None:
    """So that the tests above are meaningful."""
    reader = Reader()
    program = "(lambda (x y) (* y (tanh x)))"
    texts = reader.printed(program)
    altered = texts[stage].replace("(tanh ", "(cos ")
    assert altered != texts[stage]
    reader.read(program, {**texts, stage: altered})
    call = "(all-of f 0.5 2)"
    assert answer(reader.session, call) != answer(reader.prompt.shell.session, call)


OWN = """
(define (sin x) (* x 2))
(define zero 3)
(define (record x) (+ x zero))
(define (accumulate x y) (- x y))
(define (identity x) (* 5 x))
(define |#zero| 7)
"""


def test_names_that_mean_something_else_than_the_systems() -> None:
    """The derivative of cos applies the sine of the system; the program's own one is another."""
    reader = Reader()
    assert reader.prompt.output(OWN) == ""
    reader.session.run_text(OWN)
    program = "(lambda (x y) (accumulate (* (cos (sin x)) |#zero|) (identity (record y))))"
    texts = reader.printed(program)
    assert "(#global:sin x)" in texts["core"] and "(sin t)" in texts["forward"]
    reader.check(program, (0.5, 2.0))


def test_quoted_data_like_the_notation_of_core() -> None:
    reader = Reader()
    program = '(lambda (x y) (cons x \'(|#1=| (a b) |#zero| |#=1| (c) "#zero #1=(")))'
    reader.prompt.output(f"(define f {program})")
    reader.read(program, {"core": reader.printed(program)["core"]})
    assert answer(reader.session, "(f 1 2)") == '(1 |#1=| (a b) |#zero| |#=1| (c) "#zero #1=(")'
