"""What is suggested for words that mean nothing: one-edit typos of every public name, and words of other languages."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator

import pytest

import vlad
from vlad.expand.forms import KEYWORDS
from vlad.spelling import ELSEWHERE, edits, nearest, suggestion

NAMES = sorted(vlad.Session().known_names() | set(KEYWORDS))
LETTERS = string.ascii_lowercase + "-?"


def typos(name: str, count: int, random_: random.Random) -> Iterator[str]:
    """Words that are one edit from a name: a character left out, put in, replaced, or swapped with the next."""
    for _ in range(count):
        at = random_.randrange(len(name))
        letter = random_.choice(LETTERS)
        yield random_.choice(
            [
                name[:at] + name[at + 1 :],
                name[:at] + letter + name[at:],
                name[:at] + letter + name[at + 1 :],
                name[:at] + name[at + 1 : at + 2] + name[at] + name[at + 2 :],
            ]
        )


def test_one_edit_typos() -> None:
    """The hint has the name that was meant; names of one or two characters leave nothing to know them by."""
    random_ = random.Random(1)
    asked = first = among = 0
    for name in NAMES:
        for word in typos(name, 5, random_):
            if word and word not in NAMES and len(name) > 2:
                near = nearest(word, NAMES)
                asked += 1
                first += near[:1] == [name]
                among += name in near
    print(f"{asked} typos: {100 * first / asked:.1f} % first, {100 * among / asked:.1f} % among those told")
    assert asked > 1500
    assert among >= 0.95 * asked
    assert first >= 0.90 * asked


@pytest.mark.parametrize(
    ("a", "b", "count"),
    [
        ("", "", 0),
        ("car", "car", 0),
        ("car", "cdr", 1),
        ("ca", "car", 1),
        ("lenght", "length", 1),
        ("abc", "xyz", 3),
    ],
)
def test_edits(a: str, b: str, count: int) -> None:
    assert edits(a, b, 3) == edits(b, a, 3) == count
    assert count <= 1 or edits(a, b, 1) == 2


def test_nothing_is_suggested_for_what_is_like_nothing() -> None:
    assert suggestion("quxfrobnicate", NAMES) is None
    assert suggestion("q", ["x", "y"]) is None


def test_words_of_other_languages() -> None:
    assert not set(ELSEWHERE) & (set(NAMES) - {"else"})
    for word, hint in ELSEWHERE.items():
        assert suggestion(word, NAMES) == hint


@pytest.mark.parametrize(
    ("program", "hint"),
    [
        ("(define (f valeu) (* 2 value)) (f 1)", "did you mean `valeu`?"),
        ("(defin x 1)", "did you mean `define`?"),
        ("(lamda (x) x)", "did you mean `lambda`?"),
        ("(print 1)", "write `(write x)`"),
        ("(set! x 1)", "no value ever changes"),
        ("(values 1 2)", "write `(cons a b)`"),
        ("(help sin)", "`vlad doc NAME`"),
        ("(plot sin 0 6)", "`,plot F LOW HIGH`"),
        ("f(x)", "define it"),
        ("(exit)", "a program ends with its last form"),
        ("(raise 'wrong)", "write `(error MESSAGE VALUE ...)`"),
        ("(let-values (((a b) (cons 1 2))) a)", "write `(let (((cons a b) VALUE)) BODY)`"),
    ],
)
def test_what_a_program_is_told(program: str, hint: str) -> None:
    with pytest.raises(vlad.VladError) as caught:
        vlad.Session().eval(program)
    assert caught.value.hint is not None and hint in caught.value.hint


@pytest.mark.parametrize(
    ("before", "program", "message"),
    [
        ("(define-syntax while (syntax-rules () ((_ e) e)))", "(while nothing)", "Unbound variable: nothing"),
        ("(define (lamda x) x)", "(lamda nothing)", "Unbound variable: nothing"),
        ("1", "(let ((lamda nothing)) lamda)", "Unbound variable: nothing"),
        ("1", "(while nothing)", "Unbound variable: while"),
        ("1", "(cnod ((= 1 1) 2))", "Unbound variable: cnod"),
        ("1", "(cond ((= 1 1) (2)))", "Target is not a procedure"),
    ],
)
def test_which_name_is_told(before: str, program: str, message: str) -> None:
    """A misspelt keyword rather than what was found in its operands; but not a name that means something."""
    session = vlad.Session()
    session.eval(before)
    with pytest.raises(vlad.VladError) as caught:
        session.eval(program)
    assert caught.value.message == message
