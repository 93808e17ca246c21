"""Generates the page docs/r7rs.md: which forms and procedures of R7RS (small) are there, which differ, which are out and why.

    python docs/make_r7rs.py    write the page

In: the names of R7RS by section, and what differs (below); the language's own tables for the rest: its keywords and names, and
the hints for words that it lacks. tests/test_r7rs.py checks that the page is up to date, that each name is accounted for, and
that programs use each procedure of chapter 6 that is there.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import vlad
from vlad.expand.forms import KEYWORDS
from vlad.messages.other_languages import other_language_hint

PAGE = Path(__file__).resolve().parent / "r7rs.md"
WIDTH = 140

# The names by the sections of R7RS (small), in its order.
FORMS: dict[str, str] = {
    "4.1 and 4.2, expressions": """
    quote lambda if set! include include-ci cond else => case and or when unless cond-expand
    let let* letrec letrec* let-values let*-values begin do delay delay-force parameterize
    guard quasiquote unquote unquote-splicing case-lambda""",
    "4.3, macros": "let-syntax letrec-syntax syntax-rules syntax-error",
    "5, program structure": "import define define-values define-syntax define-record-type define-library export",
}
PROCEDURES: dict[str, str] = {
    "4.2, promises and parameters": "force promise? make-promise make-parameter",
    "6.1, equivalence": "eqv? eq? equal?",
    "6.2, numbers": """
    number? complex? real? rational? integer? exact? inexact? exact-integer? finite? infinite?
    nan? = < > <= >= zero? positive? negative? odd? even? max min + * - / abs floor/
    floor-quotient floor-remainder truncate/ truncate-quotient truncate-remainder quotient
    remainder modulo gcd lcm numerator denominator floor ceiling truncate round rationalize
    exp log sin cos tan asin acos atan square sqrt exact-integer-sqrt expt make-rectangular
    make-polar real-part imag-part magnitude angle inexact exact number->string string->number""",
    "6.3, booleans": "not boolean? boolean=?",
    "6.4, pairs and lists": """
    pair? cons car cdr set-car! set-cdr! caar cadr cdar cddr caaar caadr cadar caddr cdaar
    cdadr cddar cdddr caaaar caaadr caadar caaddr cadaar cadadr caddar cadddr cdaaar cdaadr
    cdadar cdaddr cddaar cddadr cdddar cddddr null? list? make-list list length append reverse
    list-tail list-ref list-set! memq memv member assq assv assoc list-copy""",
    "6.5, symbols": "symbol? symbol=? symbol->string string->symbol",
    "6.6, characters": """
    char? char=? char<? char>? char<=? char>=? char-ci=? char-ci<? char-ci>? char-ci<=?
    char-ci>=? char-alphabetic? char-numeric? char-whitespace? char-upper-case?
    char-lower-case? digit-value char->integer integer->char char-upcase char-downcase
    char-foldcase""",
    "6.7, strings": """
    string? make-string string string-length string-ref string-set! string=? string-ci=?
    string<? string-ci<? string>? string-ci>? string<=? string-ci<=? string>=? string-ci>=?
    string-upcase string-downcase string-foldcase substring string-append string->list
    list->string string-copy string-copy! string-fill!""",
    "6.8, vectors": """
    vector? make-vector vector vector-length vector-ref vector-set! vector->list list->vector
    vector->string string->vector vector-copy vector-copy! vector-append vector-fill!""",
    "6.9, bytevectors": """
    bytevector? make-bytevector bytevector bytevector-u8-ref bytevector-u8-set!
    bytevector-length bytevector-copy bytevector-copy! bytevector-append utf8->string
    string->utf8""",
    "6.10, control": """
    procedure? apply map string-map vector-map for-each string-for-each vector-for-each
    call-with-current-continuation call/cc values call-with-values dynamic-wind""",
    "6.11, exceptions": """
    with-exception-handler raise raise-continuable error error-object? error-object-message
    error-object-irritants read-error? file-error?""",
    "6.12, environments": "environment scheme-report-environment null-environment interaction-environment eval",
    "6.13, input and output": """
    call-with-port call-with-input-file call-with-output-file input-port? output-port?
    textual-port? binary-port? port? input-port-open? output-port-open? current-input-port
    current-output-port current-error-port with-input-from-file with-output-to-file
    open-input-file open-binary-input-file open-output-file open-binary-output-file close-port
    close-input-port close-output-port open-input-string open-output-string get-output-string
    open-input-bytevector open-output-bytevector get-output-bytevector read read-char
    peek-char read-line eof-object? eof-object char-ready? read-string read-u8 peek-u8
    u8-ready? read-bytevector read-bytevector! write write-shared write-simple display newline
    write-char write-string write-u8 write-bytevector flush-output-port""",
    "6.14, the system": """
    load file-exists? delete-file command-line exit emergency-exit get-environment-variable
    get-environment-variables current-second current-jiffy jiffies-per-second features""",
}

# What differs where the name is there. A group of names has one sentence.
DIFFERENT: tuple[tuple[str, str], ...] = (
    (
        "lambda",
        "A rest parameter takes the rest of the tuple, `(b . c)` for three arguments, not a list `(b c)`; `(a . rest)` takes two "
        "arguments or more.",
    ),
    ("if", "It has three parts; without ELSE, write `when`."),
    ("case", "Keys are compared by `equal?`."),
    (
        "case-lambda",
        "A clause of one parameter takes a tuple of several arguments, too: longer parameter lists come first.",
    ),
    (
        "delay delay-force force make-promise",
        "A promise is computed each time, which only cells and output show.",
    ),
    (
        "let-values let*-values define-values values call-with-values",
        "Several values are a tuple: `(values a b)` is `(cons a b)`. A name that takes all of them, or the rest, gets the tuple, "
        "not a list; `(define-values () (values))` is out.",
    ),
    (
        "include import export",
        'A module is a file: `(import "FILE")`, `(import "FILE" as PREFIX)`, and in it `(export NAME ...)`.',
    ),
    (
        "define-record-type",
        "In the place of a modifier stands a procedure that returns another record. The constructor takes all fields.",
    ),
    (
        "eqv? eq?",
        "Numbers, strings and tensors are compared by value; 0 and -0 are equal. Two pairs are the same if they are one "
        "object, as equal constants may be: nothing changes them, so `(cons 1 2)` is a constant.",
    ),
    (
        "exact? inexact? exact-integer?",
        "Numbers are doubles, and 3 and 3.0 one number: exact is a whole number of at most 2^53, free of rounding.",
    ),
    ("exact inexact", "They return the number as it is."),
    ("rational? complex?", "`rational?` holds for finite numbers, `complex?` for all."),
    (
        "max min + * - / = < > <= >=",
        "They are defined for tensors, too, entry by entry. `(/ 1 2)` is 0.5, and so is `1/2` in a program.",
    ),
    (
        "numerator denominator rationalize",
        "A double is a quotient by a power of 2. `(rationalize x y)` is the double next to the simplest quotient.",
    ),
    ("sqrt log asin acos", "There are no complex numbers: the root of -1 is `+nan.0`."),
    ("exact-integer-sqrt", "Of whole numbers up to 2^53."),
    ("number->string", "In a radix other than 10, whole numbers only."),
    ("string->number", "Decimals and, in any radix, whole numbers and fractions; no prefix such as `#x`."),
    ("make-list", "It takes both arguments."),
    ("list-copy string-copy vector-copy", "Nothing changes, so a copy of the whole is the same value."),
    ("list vector", "In a call it is syntax. As a value it follows the tuple rule."),
    (
        "map for-each",
        "As values, as in `(let ((m map)) …)`, they take one list; in calls and with `apply`, any number.",
    ),
    ("string-map string-for-each vector-map vector-for-each", "As values, they take one string or vector."),
    ("append", "As a value, of two lists; in calls and with `apply`, of any number."),
    ("apply", "By the tuple rule `(apply f a b l)` is `(apply f (cons* a b l))`."),
    ("char?", 'A character is a string of one: `#\\a` is the string `"a"`, and `(char? "a")` holds.'),
    ("string?", "It holds for characters, too."),
    ("string-ref string->list", "The characters are strings of one."),
    ("vector-ref", "Access takes time that grows with the logarithm of the length."),
    (
        "call-with-current-continuation call/cc",
        "The continuation goes up to the end of the top-level form; called in a later form, it gives the value of that. In a "
        "derivative, and within `with-output-to-string`, it can only end the call that made it. Not compiled.",
    ),
    ("dynamic-wind", "Continuations of `shift` enter and leave it, too."),
    (
        "with-exception-handler",
        "For `raise` and `error`, the handler runs where `with-exception-handler` was called, with the parameters from there.",
    ),
    (
        "raise-continuable",
        "A `guard` that is closer than the handler takes it as `raise`. Not compiled: a program that comes to it is evaluated.",
    ),
    (
        "exit emergency-exit",
        "The status is a whole number up to 255, `#t` or `#f`. In Python an error is raised, `vlad.Exited`.",
    ),
    ("error-object?", "It holds for errors of the system, too."),
    (
        "error",
        "By the tuple rule, several values of which the last is a list are one list behind the message.",
    ),
    (
        "write",
        "Without a port, it writes the end of a line behind the value, and returns it. Symbols such as `+i`, which are numbers "
        "in R7RS, have no bars.",
    ),
    ("write-string", "It takes no positions in the text."),
    (
        "read read-char peek-char read-line read-string char-ready?",
        "They take a port: there is no input that is current.",
    ),
    (
        "open-output-string get-output-string",
        "A text is collected in a cell, so programs that make such ports are not compiled, but evaluated; nor is "
        "`with-output-to-string`.",
    ),
    ("current-output-port", "It is the session's output, and no parameter."),
    ("syntax-rules", "Vectors are patterns and templates, tensors only templates."),
)
# The notation of data, which has no names.
NOTATION: tuple[str, ...] = (
    "Numbers are written as decimals and fractions, with the prefixes `#b #o #d #x #e #i`: `#xff`, `#e1.5`, `1e3`, "
    "`+inf.0`, `+NaN.0`. "
    "Out: complex numbers, such as `1+2i`, and the exponents `s f d l` of R5RS. So `+i`, `-i` and `+NaN.0abc` are symbols.",
    "A number is written in the shortest way that is read as the same double: `1.0` is written `1`, and `1/2` is written `0.5`.",
    "Labels of shared data, `#0=(1 . #0#)`, are out, since nothing is circular. `write` shows a part as often as it occurs.",
    "Letters of either case differ in names; `#!fold-case` and `#!no-fold-case` are out.",
    "Characters are strings of one: `#\\a`, `#\\newline`, `#\\x41`. Vectors are `#(1 a)`, and `#[1 2]` is a tensor. "
    "`#u8(1 2)` is out.",
    "Comments are `;`, `#|` to `|#`, which nest, and `#;` before a datum. Symbols may stand in bars, `|a b|`.",
)
OUT_TEXT = "Out, with the hint that an error message gives:"


def names_of(sections: dict[str, str]) -> dict[str, list[str]]:
    return {section: names.split() for section, names in sections.items()}


def differences() -> dict[str, str]:
    return {name: sentence for names, sentence in DIFFERENT for name in names.split()}


def known() -> set[str]:
    """The names that a program has."""
    return vlad.Session().known_names() | set(KEYWORDS) | {"else", "=>"}


def page() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    there, differing = known(), differences()
    sections = {**names_of(FORMS), **names_of(PROCEDURES)}
    total = sum(map(len, sections.values()))
    found = [name for names in sections.values() for name in names if name in there]
    own = [name for name in found if name in differing]
    yield from ("# R7RS in vlad", "")
    yield from _filled(
        f"The Revised⁷ Report on Scheme (small) has {total} names of forms and procedures. {len(found)} of them are "
        f"there, {len(own)} of these with a difference that is stated below. The others are out: what changes a value, "
        "since nothing but cells changes; bytes and files; and what depends on the program's surroundings. "
        "`vlad doc NAME` explains those that are there."
    )
    yield ""
    yield from _filled(
        "Two differences are everywhere. Every procedure takes one argument: `(f a b c)` is f of `(a . (b . c))`, so the last "
        "argument and a rest of several are not told apart. And all numbers are doubles."
    )
    yield from (
        "",
        "Made by `python docs/make_r7rs.py` from the language's tables; the tests use each procedure of chapter 6.",
        "",
    )
    yield from ("## 2, notation", "")
    for sentence in NOTATION:
        yield from _filled(f"- {sentence}", "  ")
    yield ""
    for section, names in sections.items():
        yield from (f"## {section}", "")
        yield from _section(names, there, differing)


def _section(names: list[str], there: set[str], differing: dict[str, str]) -> Iterator[str]:
    same = [name for name in names if name in there and name not in differing]
    if same:
        yield from _filled(f"As in R7RS: {_listed(same)}.")
        yield ""
    groups: dict[str, list[str]] = {}
    for name in names:
        if name in there and name in differing:
            groups.setdefault(differing[name], []).append(name)
    if groups:
        yield from ("Different:", "")
        for sentence, several in groups.items():
            yield from _filled(f"- {_listed(several)}: {_lower(sentence)}", "  ")
        yield ""
    hints: dict[str, list[str]] = {}
    for name in names:
        if name not in there:
            hints.setdefault(other_language_hint(name) or "", []).append(name)
    if hints:
        yield from (OUT_TEXT, "")
        for hint, several in hints.items():
            yield from _filled(f"- {_listed(several)}: {hint}.", "  ")
        yield ""


def _lower(sentence: str) -> str:
    """A sentence behind a colon."""
    return (
        sentence[0].lower() + sentence[1:]
        if sentence[1:2].islower() or sentence.startswith("A ")
        else sentence
    )


def _listed(names: list[str]) -> str:
    return " ".join([f"`{name}`" for name in names])


def _filled(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
