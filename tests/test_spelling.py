"""Suggestions for unknown words: one-edit typos of every public name, and words of other languages."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import vlad
from vlad.expand.forms import KEYWORDS
from vlad.messages.hints import NOTHING, names_in
from vlad.messages.other_languages import (
    CHARACTERS,
    CONTINUATIONS,
    FAMILIES,
    FILES,
    LOOPS,
    PURE,
    SHARED,
    TABLES,
    TESTS,
    VECTORS,
    WORDS,
    other_language_hint,
    words,
)
from vlad.messages.spelling import edits, nearest, suggestion

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
    """The hint has the intended name; names of one or two characters are too short to be recognised."""
    random_ = random.Random(1)
    asked = first = among = 0
    for name in NAMES:
        for word in typos(name, 5, random_):
            if word and word not in NAMES and len(name) > 2:
                near = nearest(word, NAMES)
                asked += 1
                first += near[:1] == [name]
                among += name in near
    print(
        f"{asked} typos: {100 * first / asked:.1f} % first, {100 * among / asked:.1f} % among those suggested"
    )
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


def test_a_name_is_suggested_once() -> None:
    assert suggestion("quxos", [], ["quxxs"] * 2) == "did you mean `quxxs`?"


def plain(name: str) -> str:
    """A name without differences of spelling between languages."""
    return re.sub(r"[-_?!'+]|(?<=[a-z])p$|w$", "", name.lower())


def test_words_of_other_languages() -> None:
    """Every listed word means something here, or has a hint: the same word, in this spelling, or others."""
    text = (Path(__file__).parent / "words_of_others.txt").read_text(encoding="utf-8")
    asked = [word for line in text.splitlines() if not line.startswith("#") for word in line.split()]
    assert len(asked) > 1500
    wrong = []
    for word in asked:
        if word not in NAMES and other_language_hint(word) is None:
            near = nearest(word, NAMES)
            if not near or plain(near[0]) != plain(word):
                wrong.append(f"{word}: {suggestion(word, NAMES)}")
    assert wrong == []


def test_a_word_has_its_hint() -> None:
    assert not set(words()) & (set(NAMES) - {"else"})
    for word in words():
        assert suggestion(word, NAMES) == other_language_hint(word)
    listed = [word for _, several in SHARED for word in several.split()]
    assert len(listed) == len(set(listed)) and not set(listed) & set(WORDS)


# What stands for something of the user's own in the words of a hint, or belongs to the module of mechanics.
LOCAL = """F->C components p->r structure? tuple-length
between cuda data digits dims end erfc eval float32 high in indices key keys less? low main matrix message
next out pattern rate seed start stop stop? test text tolerance updates values width"""


def test_a_hint_speaks_of_what_there_is() -> None:
    """Each name between back quotes is one of the language's, or a placeholder."""
    for hint in {other_language_hint(word) for word in words()} | {hint for _, hint in FAMILIES}:
        for code in re.findall(r"`([^`]+)`", hint or ""):
            if code.startswith((",", "?", "vlad ", "vlad.", "#:", "import")):
                continue
            for name in names_in(code):
                is_placeholder = (
                    name.isupper() or len(name) <= 2 or name in LOCAL.split() or name in ("...", "else", "=>")
                )
                assert is_placeholder or name in NAMES or name in ("#t", "#f"), f"{name} in {code}"


def test_words_are_recognised_by_their_spelling() -> None:
    for word, hint in [
        ("hash-table-set!", TABLES),
        ("hash-anything", TABLES),
        ("vector-anything", VECTORS),
        ("make-f32vector", VECTORS),
        ("char-anything?", CHARACTERS),
        ("open-output-anything", FILES),
        ("anything!", PURE),
        ("test-anything", TESTS),
        ("for/anything", LOOPS),
        ("np.sin", "write `sin`, without a module"),
        ("torch.nn.functional.relu", "write `relu`, without a module"),
        ("np.linalg.inv", other_language_hint("inv")),
        ("jnp.arctan2", other_language_hint("arctan2")),
    ]:
        assert suggestion(word, NAMES) == hint
    assert other_language_hint("!") is None and other_language_hint("my-own-word") is None


def test_a_name_of_the_same_text_is_nearer() -> None:
    assert suggestion("prompt", NAMES) == CONTINUATIONS
    assert suggestion("prompt", NAMES, ["prompts"]) == "did you mean `prompts`?"
    assert suggestion("nth", NAMES, ["nths"]) == other_language_hint("nth")


@pytest.mark.parametrize(
    ("program", "hint"),
    [
        ("(define (f valeu) (* 2 value)) (f 1)", "did you mean `valeu`?"),
        ("(defin x 1)", "did you mean `define`?"),
        ("(lamda (x) x)", "did you mean `lambda`?"),
        # only what has a meaning there
        ("(+ quxo quxx)", NOTHING),
        ("(define (f n) (+ quxo quxx)) (f 3)", NOTHING),
        ("(define quxo (+ 1 quxx))", NOTHING),
        ("(define (f quxx) quxx) (f quxo)", NOTHING),
        ("(define (f) (quxo)) (define (quxx) 1) (f)", "did you mean `quxx`?"),
        ("(define (fact n) (if (= n 0) 1 (* n (fac (- n 1))))) (fact 2)", "did you mean `fact`?"),
        ("(define (h) (define (quxx x) x) (quxo 2)) (h)", "did you mean `quxx`?"),
        ("(let loop ((quxx 3)) (loop quxo))", "did you mean `quxx`?"),
        ("(match '(1 2) ((list quxx b) (+ quxo b)))", "did you mean `quxx`?"),
        (
            "(define-syntax my-let (syntax-rules () ((_ a b c) (let ((a b)) c)))) (my-let quxx 1 (+ quxo 2))",
            "did you mean `quxx`?",
        ),
        ("(define-syntax quxx (syntax-rules () ((_ a) a))) (quxo 1)", "did you mean `quxx`?"),
        ("(print 1)", "write `(write x)`"),
        ("(set! x 1)", "no value ever changes"),
        ("(help sin)", "`vlad doc NAME`"),
        ("(plot sin 0 6)", "`,plot F LOW HIGH`"),
        ("f(x)", "define it"),
        ("(halt)", "write `(exit)`"),
        ("(throw 'wrong)", "write `(error MESSAGE VALUE ...)`"),
        ("(prompt0 1)", "write `(reset E ...)`"),
        ("(+ 1 (shift0 k 1))", "write `(reset E ...)`"),
        ("(nth 1)", "write `(list-ref LIST I)`"),
        ("(define-struct point (x y))", "write `(define-record-type NAME"),
        ("(multiple-value-bind (a b) 1)", "write `(receive (a b) VALUE BODY)`"),
        ("(parameter 1)", "`(make-parameter v)` makes"),
        ("(make-hash-table)", "`(table KEY VALUE ...)` makes a table"),
        ("(set-car! '(1 2) 3)", "no value ever changes"),
        ('(fmt "{}" 1)', "`(display x)` prints one value"),
        ('(test "one" 1 1)', "write `(assert TEST)`"),
        ("(call/ec (lambda (k) (k 1)))", "write `(with-escape f)`"),
        ("(call-with-prompt f)", "write `(reset E ...)`"),
        ("(vector-grow #(1) 2)", "are sequences of anything"),
        ("(vector-set! #(1) 0 2)", "`(vector-set v k x)` gives"),
        ('(string-append! "a" "b")', "no value ever changes"),
        ("(for ((i 10)) (display i))", "a loop is a named `let` or a `do`"),
        ("(match-let (((list a b) x)) a)", "write `(match VALUE (PATTERN BODY) ...)`"),
    ],
)
def test_the_hint_for_a_program(program: str, hint: str) -> None:
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
def test_the_name_in_the_hint(before: str, program: str, message: str) -> None:
    """A misspelt keyword rather than an error in its operands; but not a name that means something."""
    session = vlad.Session()
    session.eval(before)
    with pytest.raises(vlad.VladError) as caught:
        session.eval(program)
    assert caught.value.message == message
