"""Loops that read or add entry by entry: the cost of an iteration does not depend on the size of the tensor, and arrays that are
overwritten have no other references.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import THOROUGH
from sessions import shared_for

import vlad
from vlad.compile.calling.pipeline import Unit
from vlad.compile.emit.c_loops import CLoopPrinter
from vlad.compile.emit.loop_text import LoopPrinter
from vlad.compile.ir.refusals import Unbounded
from vlad.compile.loops.ir import For
from vlad.compile.native import toolchain
from vlad.compile.native.abi import ffi
from vlad.compile.native.reserve import reserve
from vlad.compile.passes.uniqueness import owning
from vlad.python.convert import from_python

pytestmark = pytest.mark.any_compiler


def unit(text: str, *operands: Any) -> Unit:
    session = vlad.Session(tier="evaluate")
    f = session.eval(text).value
    given = tuple([from_python(operand) for operand in operands])
    return Unit(session.machine, f[0], f[1 : 1 + len(f[0].environment)], given)


def per_entry(folder: Path, text: str, operand: Any, monkeypatch: pytest.MonkeyPatch) -> float:
    """How many turns of loops a call makes for each entry of its operand."""
    print_loop = LoopPrinter.loop

    def print_and_count(self: LoopPrinter, loop: For) -> None:
        self.line("{")
        if loop.begin is not None:
            self.line(f"turns_made += {self.text(loop.end)} - {self.text(loop.begin)};")
        print_loop(self, loop)
        self.line("}")

    with monkeypatch.context() as patch:
        patch.setattr(LoopPrinter, "loop", print_and_count)
        patch.setattr(CLoopPrinter, "mark", lambda *_: None)  # it marks the loop that follows
        made = unit(text, operand)
    assert made.interface.words.parameters == "p"
    counting = f"""static long turns_made;
#pragma GCC visibility push(default)
{made.text}
long vlad_count(void) {{ return turns_made; }}
"""
    path = str(folder / f"counting_{operand.size}.so")
    toolchain.build_executable(counting, path, shared=True)
    library = ctypes.CDLL(path)
    ctypes.c_void_p.in_dll(library, "vlad_reserve").value = int(ffi.cast("long", reserve()))
    given, answers = (ctypes.c_void_p * 32)(operand.ctypes.data), (ctypes.c_void_p * 32)()
    assert library.vlad_call(given, answers) == 0
    count = int(library.vlad_count())
    assert count > operand.size // 2
    return count / operand.size


def alike(text: str, *operands: Any, tier: str = "compile") -> None:
    """On both tiers, and the operands are unchanged."""
    given = [operand.copy() for operand in operands]
    found, expected = [shared_for(text, one).eval(text)(*operands) for one in (tier, "evaluate")]
    compare(found, expected)
    for operand, original in zip(operands, given, strict=True):
        assert np.array_equal(operand, original)


def compare(found: Any, expected: Any) -> None:
    while isinstance(expected, tuple):
        compare(found[0], expected[0])
        found, expected = found[1], expected[1]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def over(body: str) -> str:
    """A procedure that adds something for each entry but the last two."""
    turn = f"(loop (+ i 1) (+ s {body}))"
    return f"(lambda (x) (let loop ((i 0) (s 0)) (if (= i (- (car (shape x)) 2)) s {turn})))"


INNER = "(let inner ((j 0) (s 0)) (if (= j {}) (sin s) (inner (+ j 1) (+ s (square (tensor-ref x i j))))))"

# The term added in each iteration; all have gradients that take as long as they do.
TURNS = {
    "an entry": "(square (tensor-ref x i))",
    "two entries": "(* (tensor-ref x i) (tensor-ref x (+ i 1)))",
    "an entry that is known": "(* i (square (tensor-ref x 0)))",
    "four entries, three of them known": "(* (tensor-ref x 0) (tensor-ref x i) (tensor-ref x 1) (tensor-ref x -1))",
    "a slice": "(prod (slice x i (+ i 2)))",
    "an entry that is gathered": "(square (sum (gather x i)))",
    "entries that are gathered, one of them twice": "(square (sum (gather x (stack (list i (+ i 1) i)))))",
    "all of these": "(+ (sum (gather x (+ i 1))) (* (tensor-ref x i) (sum (slice x i (+ i 2)))))",
    "an entry, in some turns": "(if (> (tensor-ref x i) 0.5) (square (tensor-ref x i)) 1)",
    "one entry or another": "(if (> (tensor-ref x i) 0.5) (square (tensor-ref x i)) (* 3 (tensor-ref x (+ i 1))))",
}
GRADIENTS = {name: f"(gradient {over(turn)})" for name, turn in TURNS.items()}
# Of each entry, of what was set before it, and of a row of the table at the end.
TABLE = """(gradient (lambda (x)
  (let loop ((i 1) (t (zeros (list (size x) 3))))
    (if (= i (size x))
        (sum (tensor-ref t (- (size x) 1)))
        (loop (+ i 1)
              (let* ((t (tensor-set t i 0 (sin (+ (tensor-ref x i) (tensor-ref t (- i 1) 2)))))
                     (t (tensor-set t i 1 (* (tensor-ref t i 0) (tensor-ref t (- i 1) 1)))))
                (tensor-set t i 2 (max (tensor-ref t i 0) (tensor-ref t (- i 1) 1)))))))))"""
LOOPS = {
    "a loop of what was computed": """(gradient (lambda (x) (let ((y (square x)))
      (let loop ((i 0) (s 0)) (if (= i (size x)) s (loop (+ i 1) (+ s (* (tensor-ref x i) (tensor-ref y i)))))))))""",
    "a loop that carries it along": """(gradient (lambda (x)
      (let loop ((i 0) (s 0) (y x))
        (if (= i (size x)) (* s (sum y)) (loop (+ i 1) (+ s (* (tensor-ref x i) (tensor-ref y i))) y)))))""",
    "two procedures by turns": """(gradient (lambda (x)
      (define (even i s) (if (= i (size x)) s (odd (+ i 1) (+ s (sin (tensor-ref x i))))))
      (define (odd i s) (if (= i (size x)) s (even (+ i 1) (* s (tensor-ref x i)))))
      (even 0 0)))""",
    "recursion": """(gradient (lambda (x)
      (let all ((i 0)) (if (= i (size x)) 0 (+ (square (tensor-ref x i)) (* 0.9 (all (+ i 1))))))))""",
    "adding in a loop": """(lambda (x)
      (let loop ((i 0) (t x)) (if (= i (size x)) t (loop (+ i 1) (scatter-add t i (tensor-ref x i))))))""",
    "the gradient of that": """(gradient (lambda (x)
      (let loop ((i 0) (t x))
        (if (= i (size x)) (sum (square t)) (loop (+ i 1) (scatter-add t i (square (tensor-ref x i))))))))""",
    "adding what was added before": """(gradient (lambda (x)
      (let loop ((i 1) (t x))
        (if (= i (size x)) (sum (square t)) (loop (+ i 1) (scatter-add t i (* 0.5 (tensor-ref t (- i 1)))))))))""",
    "setting in a loop": """(lambda (x)
      (let loop ((i 0) (t x)) (if (= i (size x)) t (loop (+ i 1) (tensor-set t i (sin (tensor-ref x i)))))))""",
    "setting slices": """(lambda (x)
      (let loop ((i 0) (t x)) (if (= i (- (size x) 1)) t (loop (+ i 1) (slice-set t i (+ i 2) (* 0.5 (slice x i (+ i 2))))))))""",
    "the gradient of a table": TABLE,
    "forward over a table": f"(lambda (x) (jvp {TABLE} x (+ 1 x)))",
    "backward over a table": f"(gradient (lambda (x) (sum (square ({TABLE} x)))))",
    "a table that is written over": """(gradient (lambda (x)
      (let loop ((i 1) (t (* x x)))
        (if (= i (size x)) (sum t) (loop (+ i 1) (tensor-set t i (* (tensor-ref t i) (cos (tensor-ref t (- i 1))))))))))""",
    **{
        f"forward over {name}": f"(lambda (x) (jvp {GRADIENTS[name]} x (+ 1 x)))"
        for name in ("an entry", "four entries, three of them known", "a slice", "an entry that is gathered")
    },
    **{
        f"backward over {name}": f"(gradient (lambda (x) (sum (square ({GRADIENTS[name]} x)))))"
        for name in GRADIENTS
        if name != "all of these"
    },
}
# Of matrices of three columns more than rows, n of them.
NESTED = {
    "rows": f"(gradient {over('(square (sum (tensor-ref x i)))')})",
    "a loop within": f"(gradient {over(INNER.format('(cadr (shape x))'))})",
    "a loop within, without turns at first": f"(gradient {over(INNER.format('i'))})",
    "forward over a loop within": f"(lambda (x) (jvp (gradient {over(INNER.format('(cadr (shape x))'))}) x (+ 1 x)))",
    "backward over a loop within": f"(gradient (lambda (x) (sum (square ((gradient {over(INNER.format('i'))}) x)))))",
}


def vector(n: int) -> Any:
    return np.cos(np.arange(float(n))) ** 2


@pytest.mark.parametrize("text", [*GRADIENTS.values(), *LOOPS.values()], ids=[*GRADIENTS, *LOOPS])
def test_a_turn_is_as_long_for_large_tensors(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = [per_entry(tmp_path, text, vector(n), monkeypatch) for n in (8000, 2000)]
    assert counts[0] <= 1.1 * counts[1] < 100
    for length in (3, 90, 700) if THOROUGH else (3, 300):
        alike(text, vector(length))


@pytest.mark.parametrize("name", NESTED)
def test_so_is_one_of_nested_loops(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = NESTED[name]
    squares = [vector(n * (n + 3)).reshape(n, n + 3) for n in (90, 45)]
    counts = [per_entry(tmp_path, text, square, monkeypatch) for square in squares]
    assert counts[0] <= 1.1 * counts[1] < 100
    alike(text, vector(28).reshape(4, 7))
    alike(text, vector(1720).reshape(40, 43))


def test_float32() -> None:
    text = GRADIENTS["two entries"]
    x = vector(500).astype("float32")
    found = vlad.Session(tier="compile").eval(text)(x)
    assert found.dtype == x.dtype
    np.testing.assert_allclose(found, vlad.Session(tier="evaluate").eval(text)(x), rtol=1e-6)


# What may be seen elsewhere is not written over.
ELSEWHERE = {
    "it is kept": "(lambda (x) (let loop ((i 0) (t x) (l '())) (if (= i 5) l (loop (+ i 1) (scatter-add t i 1) (cons t l)))))",
    "it is given": "(lambda (x) (cons x (let loop ((i 0) (t x)) (if (= i 5) t (loop (+ i 1) (scatter-add t i 1))))))",
    "two begin with it": """(lambda (x) (let loop ((i 0) (t x) (u x))
      (if (= i 5) (cons t u) (loop (+ i 1) (scatter-add t i 1) (scatter-add u i 2)))))""",
    "two become one": """(lambda (x) (let loop ((i 0) (t x) (u (+ x 1)))
      (if (= i 5) (cons t u) (let ((v (scatter-add t i 1))) (loop (+ i 1) v (if (= i 2) v u))))))""",
    "they change places": """(lambda (x) (let loop ((i 0) (t x) (u (+ x 1)))
      (if (= i 5) (cons t u) (loop (+ i 1) (scatter-add u i 1) t))))""",
    "the one before is read": """(lambda (x) (let loop ((i 0) (t x) (u x) (s 0))
      (if (= i 5) (cons s t) (loop (+ i 1) (scatter-add t i 1) t (+ s (sum u))))))""",
    "it is read afterwards": """(lambda (x) (let loop ((i 0) (t x) (s 0))
      (if (= i 5) (cons s t) (let ((u (scatter-add t i 1))) (loop (+ i 1) u (+ s (* (sum u) (sum t))))))))""",
    "what is added is read of it": """(lambda (x) (let loop ((i 0) (t x))
      (if (= i 5) t (loop (+ i 1) (scatter-add t (stack (list i (+ i 1))) (slice t (+ i 1) (+ i 3)))))))""",
    "a procedure hands it on": """(lambda (x)
      (define (twice t i) (let ((u (scatter-add t i 1))) (cons u (scatter-add u i 1))))
      (let loop ((i 0) (t x) (s 0))
        (if (= i 5) (cons s t) (let ((p (twice t i))) (loop (+ i 1) (cdr p) (+ s (sum (car p))))))))""",
    "a loop begins with what goes on": """(lambda (x) (let loop ((i 0) (t x) (s 0))
      (if (= i 5) (cons s t)
          (let ((u (let inner ((j 0) (u t)) (if (= j i) u (inner (+ j 1) (scatter-add u j 1))))))
            (loop (+ i 1) (scatter-add t i (sum u)) (+ s (sum u)))))))""",
    "a loop answers what it was given": """(lambda (x) (let loop ((i 0) (t x) (u x))
      (if (= i 5) (cons t u)
          (let ((v (let inner ((j 0) (u t)) (if (= j (- i 2)) u (if (> j i) t (inner (+ j 1) u))))))
            (loop (+ i 1) (scatter-add v i 1) v)))))""",
    "a loop answers what others have": """(lambda (x) (let loop ((i 0) (t x) (s 0))
      (if (= i 5) (cons s t)
          (let ((u (let inner ((j 0)) (if (= j i) x (inner (+ j 1))))))
            (loop (+ i 1) (scatter-add u i s) (+ s (sum x)))))))""",
    "it is a constant": """(lambda (x) (let loop ((i 0) (t #[1 2 3 4 5 6 7 8]))
      (if (= i 5) (cons (sum (* t x)) t) (loop (+ i 1) (scatter-add (if (= i 3) #[1 2 3 4 5 6 7 8] t) i 1)))))""",
}  # fmt: skip


ELSEWHERE |= {
    f"{name}, which is set": text.replace("scatter-add", "tensor-set")
    for name, text in ELSEWHERE.items()
    if "stack" not in text
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_shared_values_stay(name: str) -> None:
    x = vector(8)
    alike(ELSEWHERE[name], x)
    if "'()" not in ELSEWHERE[name]:
        value = f"(let sum-of ((v ({ELSEWHERE[name]} x))) (if (pair? v) (* (sum-of (car v)) (sum-of (cdr v))) (sum (sin v))))"
        alike(f"(gradient (lambda (x) {value}))", x)


def a_program(pick: Callable[[Any], Any]) -> str:
    """A loop over three tensors, a real and a list, which change places and are read and added to by turns."""

    def tensor(depth: int = 0) -> str:
        choices = ["t", "u", "v", "x", "t", "u", "v"]
        if depth < 3:
            inner, other = tensor(depth + 1), tensor(depth + 1)
            choices += [
                f"(scatter-add {inner} {place()} {real()})", f"(scatter-add {inner} {place()} {real()})",
                f"(scatter-add {inner} (stack (list {place()} {place()})) (slice {other} 1 3))",
                f"(tensor-set {inner} {place()} {real()})", f"(slice-set {inner} 1 3 (slice {other} 2 4))",
                f"(if {test()} {inner} {other})", f"(f {inner} {place()})", f"(g {inner} {other})",
                f"(let more ((j 0) (w {inner})) (if (>= j i) w (more (+ j 1) (scatter-add w j {real()}))))",
                f"(let ((w {inner})) (if (> (sum w) 1) (scatter-add w {place()} 0.5) (h w w)))", f"(* 0.5 {inner})",
            ]  # fmt: skip
        return str(pick(choices))

    def place() -> str:
        return str(pick(["i", "0", "(- 6 i)", "1", "-1"]))

    def real() -> str:
        return str(
            pick(["0.1", "s", f"(tensor-ref t {place()})", f"(tensor-ref u {place()})", "(* 0.1 (sum v))"])
        )

    def test() -> str:
        return str(pick(["(= i 2)", "(> s 0.5)", "(> (tensor-ref t 1) (tensor-ref u 2))", "(< i 3)"]))

    kept = pick(["l", "l", "(cons t l)", "(cons u l)", "(if (= i 1) (cons t l) l)"])
    answer = pick(["t", "(cons t u)", "(cons (cons t u) v)", "(cons (cons t u) (cons v s))"])
    turn = f"(loop (+ i 1) {tensor()} {tensor()} {tensor()} (sin (+ s {real()})) {kept})"
    return f"""(lambda (x)
      (define (f t i) (scatter-add t i 0.25))
      (define (g t u) (if (> (sum t) (sum u)) t u))
      (define (h t u) (tensor-set (scatter-add t 2 (tensor-ref u 3)) 1 (tensor-ref t 2)))
      (let loop ((i 0) (t x) (u {pick(["x", "(* 2 x)"])}) (v (zeros 7)) (s 0.1) (l '()))
        (if (= i 5) (cons {answer} (if (null? l) 0 (sum (car l)))) {turn})))"""


@pytest.mark.parametrize("seed", range(10))
def test_random_programs(seed: int) -> None:
    """Until one of them writes over an array; in the thorough run, three."""
    pick, found = random.Random(seed).choice, 0
    x = vector(7) / 3
    for _ in range(3):
        if found and not THOROUGH:
            break
        text = a_program(pick)
        alike(text, x)
        found += len(owning(unit(text, x).program))
        value = f"(let all ((v ({text} x))) (if (pair? v) (+ (all (car v)) (all (cdr v))) (sum (sin v))))"
        alike(f"(gradient (lambda (x) {value}))", x)
    assert found


THIN = f"(lambda (x) (jvp {GRADIENTS['an entry, in some turns']} x x))"


def test_what_would_be_copied_each_time_is_left_to_tier_0() -> None:
    """A zero or a tensor, by turns, is in a box, where others may see it."""
    with pytest.raises(Unbounded, match="entry by entry"):
        unit(THIN, vector(700))
    unit(THIN, vector(200))
    alike(THIN, vector(700), tier="auto")


def test_one_entry_of_a_large_tensor_is_no_loop() -> None:
    text = "(lambda (x i) ((gradient (lambda (x) (square (tensor-ref x i)))) x))"
    unit(text, vector(5000), np.float64(3))
