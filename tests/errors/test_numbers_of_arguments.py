"""Every primitive and every procedure of the library, called with an argument too few or too many: the error must say so.

By the tuple rule a last pair stands for all remaining arguments, so the first failure is in a part of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import vlad
from vlad.data.source import Source
from vlad.expand.arity import has_own_form
from vlad.manual.help import entries
from vlad.reader.parser import Form, Keyword, Name, read
from vlad.session.library import the_library
from vlad.session.session import Session

LAST = ["(random-key 1)", "(cons 1 'a)", "'(1 2)", "'(a b c)"]


TIERS = pytest.mark.parametrize(("tier", "step"), [("evaluate", 1), ("compile", 12)])


def session_on(tier: str) -> Session:
    return vlad.Session(tier=tier, write=lambda text: None, limits=vlad.Limits(seconds=20))


def operands_of(name: str, count: int) -> list[str]:
    """Suitable operands, from an example; none, if no example is a plain call."""
    for example in entries()[name].examples:
        form = read(Source("", example.call))[0]
        if isinstance(form, Form) and isinstance(form.items[0], Name) and form.items[0].symbol.name == name:
            operands = form.items[1:]
            named = [number for number, operand in enumerate(operands) if isinstance(operand, Keyword)]
            if form.tail is None and (named or [len(operands)])[0] == count:
                return [operand.span.text for operand in operands[:count]]
    return []


def counted(session: Session) -> Iterator[tuple[str, int]]:
    """A procedure that takes exactly this number of arguments."""
    for name in sorted(session.known_names() & set(entries())):
        procedure, usage = session[name], the_library().usage(name)
        takes_more = usage is not None and usage.takes_more
        if isinstance(procedure, vlad.Procedure) and not procedure.taken().rest and not takes_more:
            yield name, procedure.taken().count


def refusal(session: Session, program: str) -> vlad.VladError | None:
    try:
        session.eval(program)
    except vlad.VladError as error:
        return error
    return None  # by the tuple rule it is a call that suits, such as (cons '(1 2))


# Their operands are pairs: for one pair in place of two operands, the hint states the numbers.
TAKE_PAIRS = ("t+", "t-", "t*", "t/")


def is_exempt(name: str, count: int) -> bool:
    """Is a call with one operand less another procedure's, as (atan y), or does the name take pairs?"""
    return name in TAKE_PAIRS or has_own_form(name, count - 1)


@TIERS
def test_one_too_few(tier: str, step: int) -> None:
    session, asked, wrong = session_on(tier), 0, []
    names = [(name, count) for name, count in counted(session) if count > 1 and not is_exempt(name, count)]
    for number, (name, count) in enumerate(names[::step]):
        first = (operands_of(name, count) or ["1"] * count)[: count - 2]
        for last in LAST if step == 1 else LAST[number % 4 :][:1]:
            error = refusal(session, f"({' '.join([name, *first, last])})")
            if error is not None:
                asked += 1
                is_reported = error.message == f"{name} takes {count} arguments and got {count - 1}"
                # an error of the example's own procedure on a part of the pair has its place there
                if not is_reported and error.span is not None and error.span.start == 0:
                    wrong.append(str(error))
    assert wrong == [], "\n".join(wrong)
    assert asked > 400 / step / len(LAST)


# They take any number of arguments; or the last one before keywords is shown as the pair that it became.
ANY_NUMBER = ("einsum", "tensor-ref", "tensor-set", "slice-set")


@TIERS
def test_one_too_many(tier: str, step: int) -> None:
    session, asked, wrong = session_on(tier), 0, []
    names = [(name, count) for name, count in counted(session) if not has_own_form(name, count + 1)]
    for name, count in names[::step]:
        operands = operands_of(name, count)
        error = refusal(session, f"({' '.join([name, *operands, chr(39) + 'more'])})") if operands else None
        if error is not None:
            asked += 1
            message = f"{name} takes {count} argument{'s' * (count > 1)} and got {count + 1}"
            hint = f"{count + 1} are here, of which the last 2 come as one"
            # specific messages name the excess argument
            is_reported = error.message == message or "more" in error.message or name in ANY_NUMBER
            if not is_reported and hint not in (error.hint or ""):
                wrong.append(str(error))
    assert wrong == [], "\n".join(wrong)
    assert asked > 150 / step


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_a_name_that_the_program_defines_is_not_counted(tier: str) -> None:
    """Of the words of the library, in a text that gives them another meaning."""
    for program in [
        "(let ((atan (lambda (p) (car p)))) (atan 1))",
        "((lambda (uniform) (uniform (random-key 1))) normal)",
        "(define (f normal key) (normal key)) (f car 1)",
        "(define (f key) (define (uniform k) (vector-2 k)) (define (vector-2 k) (car (car k))) (uniform key)) (f '(1 2))",
    ]:
        own = session_on(tier)
        with pytest.raises(vlad.VladError) as caught:
            own.run_text(program)
        assert caught.value.code != "wrong-number-of-arguments" or "normal takes" in caught.value.message
