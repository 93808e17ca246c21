"""Text → data: every datum keeps its extent, invalid text is distinguished from incomplete text, size and depth do not matter."""

from __future__ import annotations

import math
import time

import pytest
from amounts import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import texts

from vlad.data.errors import Incomplete, VladError
from vlad.data.source import Source
from vlad.data.values import FALSE, TRUE, String, Value, symbol
from vlad.data.write import displayed, written
from vlad.reader.lexer import tokens
from vlad.reader.parser import Form, Keyword, Literal, Name, TensorLiteral, datum, read, read_parts


def read_one(text: str) -> Value:
    (syntax,) = read(Source("test", text))
    return datum(syntax)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("-2.5", -2.5),
        ("+.5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("#b101", 5.0),
        ("#o-17", -15.0),
        ("#xFf", 255.0),
        ("#d1.5", 1.5),
        ("+inf.0", math.inf),
        ("-inf.0", -math.inf),
        ("1e999", math.inf),
        ("9" * 100_000, math.inf),
        ("0." + "1" * 100_000, 0.1111111111111111),
        ("#x" + "f" * 100_000, math.inf),
    ],
)
def test_numbers(text: str, value: float) -> None:
    assert read_one(text) == value


@pytest.mark.parametrize(
    "name", ["x", "x*", "*j", "v+", "k*v", "->", "...", "+", "-", "===>", "λ", "a.b", "J", "list->x", "!?"]
)
def test_names(name: str) -> None:
    assert read_one(name) is symbol(name)


def test_names_are_case_sensitive_and_may_stand_in_bars() -> None:
    assert read_one("Foo") is not read_one("foo")
    assert read_one("|a b|") is symbol("a b")


def test_other_data() -> None:
    assert read_one("#t") is TRUE and read_one("#false") is FALSE
    assert read_one('"a\\n\\"\\\\\\x3bb;"').text == 'a\n"\\λ'
    assert read_one("(1 . (2 3))") == (1.0, (2.0, (3.0, ())))
    assert read_one("(1 2 . 3)") == (1.0, (2.0, 3.0))
    assert (
        written(read_one("'(a `(b ,c ,@d))"))
        == "(quote (a (quasiquote (b (unquote c) (unquote-splicing d)))))"
    )
    kinds = [type(item) for item in read(Source("test", '(a) b 1 "s" #:axis #[1 [2 3]]'))]
    assert kinds == [Form, Name, Literal, Literal, Keyword, TensorLiteral]


def test_comments_are_skipped() -> None:
    text = "; line\n1 #| block #| nested |# |# 2 #;(a #;b c) 3 #; #; x y 4"
    assert [datum(s) for s in read(Source("test", text))] == [1.0, 2.0, 3.0, 4.0]


def test_the_systems_line_of_a_script_is_skipped() -> None:
    for text in ("#!/usr/bin/env vlad\n1", "#! /bin/vlad -\n1"):
        assert read_one(text) == 1
    for text in ("1 #!/bin/vlad", "#!eof 1"):
        with pytest.raises(VladError, match="Unknown syntax: #!"):
            read_one(text)


def test_every_datum_has_its_extent() -> None:
    source = Source("file.vlad", "(define x\n  '(1 2))\n")
    (form,) = read(source)
    assert isinstance(form, Form)
    quoted = form.items[2]
    assert (form.span.line, form.span.column, form.span.text) == (1, 1, "(define x\n  '(1 2))")
    assert (quoted.span.line, quoted.span.column, quoted.span.text) == (2, 3, "'(1 2)")
    assert quoted.span.excerpt() == "    2 |   '(1 2))\n      |   ^^^^^^"


@pytest.mark.parametrize("text", ["(", "(a (b)", "'", '"abc', "#| x", "#;", "(1 .", "#[1", "|a", "(a '"])
def test_incomplete_text(text: str) -> None:
    with pytest.raises(Incomplete):
        read(Source("test", text))


@pytest.mark.parametrize(
    ("text", "column"),
    [(")", 1), ("(a))", 4), ("(1 . )", 4), ("(. 1)", 2), ("(1 . 2 3)", 8), ("a 1.2.3", 3), ("#q", 1), ("[1]", 1),
     ('"a\\q"', 3), ("#\\spaces", 1), ("(#[1)", 5), ("\x00", 1), ("a\x07", 2), ("1/0", 1), ("1/2/3", 1)],
)  # fmt: skip
def test_wrong_text(text: str, column: int) -> None:
    with pytest.raises(VladError) as caught:
        read(Source("test", text))
    assert not isinstance(caught.value, Incomplete)
    assert caught.value.span is not None and caught.value.span.column == column
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "data", "wrong"),
    [
        ("(a\n(b))\n(c)", ["(a\n(b))", "(c)"], {}),  # it ends
        ("(a\n  (b)\n\n(c)\n(d", ["(c)"], {"1:1": "(a\n  (b)\n\n", "5:1": "(d"}),
        ("(a (b\n(c)\n#z (d", ["(c)"], {"1:4": "(a (b\n", "3:1": "#z", "3:4": "(d"}),
        ("(a))\n(b #z)\n1 ] 2", ["(a)"], {"1:4": ")", "2:4": "(b #z)\n1 ] 2"}),
        (
            '(a "x)\n(b "y")\n(c)',
            ['(b "y")', "(c)"],
            {"1:4": '(a "x)\n'},
        ),  # where a quotation mark is missing
        ("(a #| x)\n(b)", ["(b)"], {"1:4": "(a #| x)\n"}),
    ],
)
def test_what_surrounds_errors_is_read(text: str, data: list[str], wrong: dict[str, str]) -> None:
    found, errors = read_parts(Source("text", text))
    assert [one.span.text for one in found] == data
    assert {str(error.span)[5:]: unread.text for error, unread in errors} == wrong


def test_deep_nesting_and_much_text() -> None:
    depth, length = drawn(1_000_000), drawn(4_000_000)
    (form,) = read(Source("deep", "(" * depth + ")" * depth))
    assert len(written(datum(form))) == 2 * depth
    line = "(define (area r) (* 3.14159 (* r r))) ; a comment\n"
    source = Source("long", line * (length // len(line)))
    data = read(source)
    assert len(data) == length // len(line)
    assert data[-1].span.line == len(data)


def test_quotes_take_the_same_time_in_a_long_text() -> None:
    """Each checks its neighbouring characters, and not all the preceding text."""

    def seconds(before: str) -> float:
        source = Source("quotes", before + "(" + "'a " * 5_000 + ")")
        begun = time.perf_counter()
        read(source)
        return time.perf_counter() - begun

    comment = ";" + "." * 3_000_000 + "\n"
    assert min(seconds(comment) for _ in range(3)) < 10 * min(seconds("") for _ in range(3))


values = st.recursive(
    st.floats(allow_nan=False) | st.sampled_from([TRUE, FALSE, ()]) | texts(max_size=8).map(symbol),
    lambda inner: st.tuples(inner, inner) | st.lists(inner, max_size=4).map(lambda items: _list(items)),
    max_leaves=30,
)


def _list(items: list[Value]) -> Value:
    result: Value = ()
    for item in reversed(items):
        result = (item, result)
    return result


@settings(max_examples=drawn(500), deadline=None)
@given(values)
def test_what_is_written_reads_back(value: Value) -> None:
    again = read_one(written(value))
    assert again == value and written(again) == written(value)


@settings(max_examples=drawn(300), deadline=None)
@given(texts())
def test_strings_read_back(text: str) -> None:
    text = text.encode("utf-8", "replace").decode("utf-8")
    assert read_one(written(String(text))).text == text
    assert displayed(String(text)) == text


@settings(max_examples=drawn(500), deadline=None)
@given(st.text(alphabet="()[]'`,@#;|\"\\ \n.ab1-+:e\x00λ"))
def test_any_text_reads_or_ends_in_an_error(text: str) -> None:
    assert "".join([text[t.start : t.end] for t in tokens(text)]) == text
    try:
        read(Source("any", text))
    except VladError as error:
        assert error.span is not None
