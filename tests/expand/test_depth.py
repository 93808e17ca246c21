"""Deep and long programs: expanding costs no C stack and time in proportion to the program."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from amounts import drawn
from expanding import deep_recursion

from vlad.data.source import Source
from vlad.expand.forms import expand_form
from vlad.expand.scope import Module
from vlad.primitives.table import TABLE
from vlad.reader.parser import read

PROGRAMS: dict[str, Callable[[int], str]] = {
    "nested calls": lambda n: "(+ 1 " * n + "1" + ")" * n,
    "nested calls with operands by name": lambda n: "(sum " * n + "1" + " #:axis 0)" * n,
    "begin": lambda n: "(begin " + "(f 1) " * n + ")",
    "let*": lambda n: "(let* ((x 0) " + "(x (+ x 1)) " * n + ") x)",
    "let* of different names": lambda n: (
        "(let* ((x0 0) " + "".join(f"(x{i + 1} (+ x{i} 1)) " for i in range(n)) + f") x{n})"
    ),
    "cond": lambda n: "(cond " + "".join(f"((= z {i}) {i}) " for i in range(n)) + ")",
    "case": lambda n: "(case z " + "".join(f"(({i}) {i}) " for i in range(n)) + ")",
    "data of a case": lambda n: "(case z ((" + "1 " * n + ") 1))",
    "and": lambda n: "(and " + "(f 1) " * n + ")",
    "or": lambda n: "(or " + "(f 1) " * n + ")",
    "nested lets, a name from outside": lambda n: (
        "(let ((y 1)) " + "".join(f"(let ((x{i} y)) (f y " for i in range(n)) + "y" + "))" * n + ")"
    ),
    "nested lambdas": lambda n: "(lambda (x) " * n + "x" + ")" * n,
    "nested ifs": lambda n: "(if a b " * n + "1" + ")" * n,
    "nested tests": lambda n: "(if " * n + "1" + " 2 3)" * n,
    "definitions, forward": lambda n: (
        "(lambda () " + "".join(f"(define (f{i} x) (f{min(i + 1, n - 1)} x)) " for i in range(n)) + "1)"
    ),
    "definitions, in a ring": lambda n: (
        "(lambda () " + "".join(f"(define (f{i} x) (f{(i + 1) % n} x)) " for i in range(n)) + "1)"
    ),
    "definitions of values": lambda n: (
        "(lambda () (define a0 1) " + "".join(f"(define a{i + 1} (+ a{i} 1)) " for i in range(n)) + "1)"
    ),
    "quoted data": lambda n: "'" + "(" * n + ")" * n,
    "quoted tensors": lambda n: "'" + "(" * n + "#[1]" + " . #[2])" * n,
    "a nested template": lambda n: "`" + "(1 " * n + ",a" + ")" * n,
    "a long template": lambda n: "`(" + ",a b ,@c " * n + ")",
    "a long list": lambda n: "(list " + "(f 1) " * n + ")",
    "a long pattern": lambda n: "(lambda ((list " + "".join(f"x{i} " for i in range(n)) + ") y) y)",
    "a deep pattern": lambda n: "(lambda (" + "(cons " * n + "z" + " 1)" * n + " y) z)",
    "a deep tuple": lambda n: (
        "(lambda (" + "".join(f"(cons x{i} " for i in range(n)) + "z" + ")" * n + ") z)"
    ),
    "curried heads": lambda n: "(define " + "(" * n + "f" + " x)" * n + " x)",
    "nested uses of a macro": lambda n: (
        "(define-syntax m (syntax-rules () ((_ a) (f 1 a)))) " + "(m " * n + "1" + ")" * n
    ),
}


@pytest.fixture(autouse=True)
def no_collections() -> Iterator[None]:
    """Of cyclic garbage, of which there is none: searching for it takes half the time."""
    gc.disable()
    yield
    gc.enable()


def expand(text: str) -> float:
    """Seconds of expanding a program."""
    module = Module("test", None, TABLE)
    cell = module.define("sum")
    cell.value, cell.primitive = (), TABLE["sum"]
    forms = list(read(Source("deep.vlad", text)))
    begin = time.process_time()
    for form in forms:
        expand_form(form, module)
    return time.process_time() - begin


@pytest.mark.parametrize("title", PROGRAMS)
def test_deep_on_a_small_stack(title: str) -> None:
    """Deep or long, on a C stack of 512 kB: even the smallest of C's frames, once for each level, are too many for it."""
    failures: list[BaseException] = []

    def work() -> None:
        try:
            expand(PROGRAMS[title](drawn(32_000)))
        except BaseException as error:
            failures.append(error)

    old = threading.stack_size(512 * 1024)
    try:
        with deep_recursion():
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
    finally:
        threading.stack_size(old)
    assert not failures


@pytest.mark.parametrize("title", PROGRAMS)
def test_time_is_linear(title: str) -> None:
    """Sixteen times the program takes about sixteen times as long; a quadratic step would take 256 times."""
    make, times = PROGRAMS[title], []
    with deep_recursion():
        for _ in range(4):  # again if something else took the time
            small, large = [min(expand(make(n)) for _ in range(tries)) for n, tries in ((250, 2), (4_000, 1))]
            times.append((small, large))
            if large < 64 * small + 0.01:
                return
    raise AssertionError(times)
