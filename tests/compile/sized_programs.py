"""Random programs on tensors whose lengths differ from call to call, compared between the tiers.

    python tests/compile/sized_programs.py COUNT FIRST

Axes have the lengths n and m, which differ from call to call, or 1 to 3. A program is a real of a list of tensors; its value and
gradient, or a second derivative, are computed for several lengths by compiled code and by the evaluator, which must agree. The
lengths of the second call become sizes of the code; those of later calls include ones for which a guard fails.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

import numpy as np

import vlad

Shape = tuple[object, ...]
INPUTS: dict[str, Shape] = {
    "a": ("n", 3), "b": ("n",), "c": ("m",), "d": (3, 2), "e": ("n", "m"), "g": ("m", 3), "h": (3,), "k": ("n", 1),
}  # fmt: skip
LENGTHS = ((11, 7), (13, 17), (5, 9), (24, 24), (40, 3), (2, 31), (1, 5), (13, 17), (64, 100))
UNARY = (
    "sin",
    "tanh",
    "square",
    "abs",
    "-",
    "exp (* 0.1 {})",
    "sqrt (+ 1 (square {}))",
    "log (+ 2 (sin {}))",
)
BINARY = ("+", "-", "*", "max", "min", "/ {} (+ 2 (square {}))", "atan {} (+ 3 (tanh {}))")


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def leaf(self, shape: Shape) -> str:
        names = [name for name, own in INPUTS.items() if own == shape]
        if names and self.random.random() < 0.9:
            return self.random.choice(names)
        dims = " ".join([self.length(length) for length in shape])
        return f"(full (list {dims}) {self.random.randint(1, 9) / 4})"

    @staticmethod
    def length(length: object) -> str:
        if length == "n":
            return "(car (shape a))"
        return "(size c)" if length == "m" else str(length)

    def tensor(self, shape: Shape, depth: int) -> str:
        if depth <= 0:
            return self.leaf(shape)
        pick = self.random.choice
        smaller = depth - self.random.randint(1, 2)
        makers = [self.unary, self.unary, self.binary, self.binary, self.chosen, self.reduced, self.leafy]
        if shape:
            makers += [self.along, self.joined, self.flattened, self.ordered, self.taken, self.listed]
        if len(shape) == 1:
            makers += [self.product_with_vector, self.row]
        if len(shape) == 2:
            makers += [self.product, self.product, self.turned, self.outer]
        return pick(makers)(shape, smaller)

    def leafy(self, shape: Shape, depth: int) -> str:
        return self.leaf(shape)

    def unary(self, shape: Shape, depth: int) -> str:
        name, inner = self.random.choice(UNARY), self.tensor(shape, depth)
        return f"({name.format(inner)})" if "{}" in name else f"({name} {inner})"

    def binary(self, shape: Shape, depth: int) -> str:
        name = self.random.choice(BINARY)
        one, other = self.tensor(shape, depth), self.tensor(self.broadcast(shape), depth)
        if self.random.random() < 0.3 and "{}" not in name:
            one, other = other, one
        return f"({name.format(one, other)})" if "{}" in name else f"({name} {one} {other})"

    def broadcast(self, shape: Shape) -> Shape:
        """A shape that broadcasts to this one."""
        if self.random.random() < 0.5:
            return shape
        shape = shape[self.random.randint(0, len(shape)) :]
        return tuple([length if self.random.random() < 0.6 else 1 for length in shape])

    def chosen(self, shape: Shape, depth: int) -> str:
        test, one, other = (self.tensor(self.broadcast(shape), depth) for _ in range(3))
        return f"(where (> {test} 0.1) {one} (+ {other} {self.tensor(shape, 0)}))"

    def reduced(self, shape: Shape, depth: int) -> str:
        name = self.random.choice(("sum", "mean", "logsumexp", "maximum", "variance"))
        axis = self.random.randint(0, len(shape))
        length = self.random.choice(("n", "m", 3, 2))
        inner = self.tensor((*shape[:axis], length, *shape[axis:]), depth)
        return f"({name} {inner} #:axis {axis})"

    def along(self, shape: Shape, depth: int) -> str:
        name = self.random.choice(("softmax", "cumsum", "log-softmax"))
        return f"({name} {self.tensor(shape, depth)} #:axis {self.random.randrange(len(shape))})"

    def joined(self, shape: Shape, depth: int) -> str:
        """Parts joined, and cut out again."""
        axis = self.random.randrange(len(shape))
        length = self.random.choice(("n", "m", 2))
        other = (*shape[:axis], length, *shape[axis + 1 :])
        parts = [self.tensor(shape, depth), self.tensor(other, depth)]
        first = self.random.random() < 0.5
        begin, end = "0", self.length(shape[axis])
        if not first:
            parts.reverse()
            begin, end = self.length(length), f"(+ {self.length(length)} {end})"
        return f"(slice (concatenate (list {' '.join(parts)}) #:axis {axis}) {begin} {end} #:axis {axis})"

    def flattened(self, shape: Shape, depth: int) -> str:
        dims = " ".join([self.length(length) for length in shape])
        inner = self.tensor(tuple(self.random.sample(shape, len(shape))), depth)
        flat = self.random.choice(
            (f"(reshape {inner} (list -1))", f"(sin (reshape {inner} (list (size {inner}))))")
        )
        return f"(reshape {flat} (list {dims}))"

    def ordered(self, shape: Shape, depth: int) -> str:
        return f"(sorted {self.tensor(shape, depth)} #:axis {self.random.randrange(len(shape))})"

    def taken(self, shape: Shape, depth: int) -> str:
        """Parts of a stack, or of a longer tensor by indices."""
        if self.random.random() < 0.5:
            parts = " ".join([self.tensor(shape, depth) for _ in range(2)])
            return f"(tensor-ref (stack (list {parts})) {self.random.randint(0, 1)})"
        source = self.tensor((self.random.choice(("n", "m", 3)), *shape[1:]), depth)
        index = f"(as-type (floor (* 0.9 (linspace 0 1 {self.length(shape[0])}))) 'int64)"
        return f"(gather {source} {index})"

    def listed(self, shape: Shape, depth: int) -> str:
        """The list of the parts of a tensor, changed and put together again."""
        axis = self.random.randrange(len(shape))
        change = self.random.choice(
            ("(sin r)", "(* r (sum r))", "(+ r (maximum r))", "(* 2 (softmax r #:axis 0))")
        )
        if len(shape) == 1:
            return f"(tensor (map (lambda (r) (+ (sin r) 1)) (tensor->list {self.tensor(shape, depth)})))"
        parts = f"(unstack {self.tensor(shape, depth)} #:axis {axis})"
        if self.random.random() < 0.3:
            start = f"(zeros (list {self.length(shape[1 - axis])}))" if len(shape) == 2 else "0"
            parts = f"(unroll (lambda (s r) (tanh (+ s r))) {start} {parts})"
        return f"(stack (map (lambda (r) {change}) {parts}) #:axis {axis})"

    def product(self, shape: Shape, depth: int) -> str:
        length = self.random.choice(("n", "m", 3, 2))
        return f"(matmul {self.tensor((shape[0], length), depth)} {self.tensor((length, shape[1]), depth)})"

    def product_with_vector(self, shape: Shape, depth: int) -> str:
        length = self.random.choice(("n", "m", 3))
        return f"(matmul {self.tensor((shape[0], length), depth)} {self.tensor((length,), depth)})"

    def turned(self, shape: Shape, depth: int) -> str:
        return f"(transpose {self.tensor(shape[::-1], depth)})"

    def outer(self, shape: Shape, depth: int) -> str:
        return f"(outer {self.tensor(shape[:1], depth)} {self.tensor(shape[1:], depth)})"

    def row(self, shape: Shape, depth: int) -> str:
        length = self.random.choice(("n", "m", 3))
        return f"(tensor-ref {self.tensor((length, *shape), depth)} {self.random.choice((0, 1, -1))})"

    def real(self, depth: int) -> str:
        shape: Shape = self.random.choice(((), ("n",), ("m",), ("n", "m"), ("n", 3), (3,), ("m", "n")))
        inner = self.tensor(shape, depth)
        if not shape:
            return f"(sum {inner})"
        kind = self.random.randint(0, 6)
        if kind == 0 and len(shape) == 1:
            return (
                f"(let ((t {inner})) (let loop ((i 0) (r 0)) (if (= i (size t)) r (loop (+ i 1) (+ (* 0.5 r) "
                "(tensor-ref t i))))))"
            )
        if kind == 1 and len(shape) == 1:
            return f"(dot {inner} {self.tensor(shape, 1)})"
        if kind == 2:
            return f"(norm {inner})"
        if kind == 3:
            return f"(/ (sum {inner}) (size {inner}))"
        return f"({('sum', 'mean', 'logsumexp')[kind % 3]} {inner})"

    def program(self) -> str:
        names = " ".join(INPUTS)
        moved = " ".join([f"(* {name} (+ 1 t))" for name in INPUTS])
        what = (
            f"(list (f {names}) ((gradient f) {names}))",
            f"((derivative (lambda (t) ((gradient f) {moved}))) 0)",
        )
        return (
            f'(import "nn")\n(define (f {names}) (+ {self.real(self.random.randint(1, 5))} (* 0.1 {self.real(2)})))\n'
            f"(define (go {names}) {what[self.random.random() < 0.3]})"
        )


def arrays(n: int, m: int, seed: int) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    lengths = {"n": n, "m": m}
    return [
        generator.standard_normal([lengths.get(length, length) for length in shape])  # type: ignore[call-overload,arg-type]
        for shape in INPUTS.values()
    ]


def flat(value: object) -> list[object]:
    return [part for one in value for part in flat(one)] if isinstance(value, list | tuple) else [value]


def differences(seed: int, lengths: tuple[tuple[int, int], ...] = LENGTHS) -> tuple[list[str], str]:
    """What differs between the tiers in a program, and the number of its variants or the reason why there is none."""
    text = Generator(seed).program()
    found = []
    with vlad.Session(tier="compile") as compiled, vlad.Session(tier="evaluate") as evaluated:
        for session in compiled, evaluated:
            session.run_text(text)
        for number, (n, m) in enumerate(lengths):
            given = arrays(n, m, number)
            results = []
            for session in compiled, evaluated:
                try:
                    results.append(flat(session["go"](*given)))
                except vlad.VladError as error:
                    results.append([f"{error.code}: {error.message}"])
            one, other = results
            if len(one) != len(other) or not all(map(are_close, one, other)):
                found.append(f"seed {seed}, n = {n}, m = {m}:\n{text}\n{one}\n{other}")
        entries = [entry for entry in compiled.tiers.entries.values() if entry.f[0].name == "go"]
        (entry,) = entries
        note = entry.reason or f"{len(entry.variants)} variants"
        if entry.disagrees:
            found.append(f"seed {seed}: {entry.reason}\n{text}")
        return found, f"no sizes, {note}" if entry.unsized else note


def are_close(one: object, other: object, within: float = 1e-7) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    a, b = np.asarray(one), np.asarray(other)
    return a.shape == b.shape and np.allclose(a, b, rtol=within, atol=within, equal_nan=True)


def main() -> None:
    count, first = int(sys.argv[1]), int(sys.argv[2])
    notes: Counter[str] = Counter()
    for seed in range(first, first + count):
        found, note = differences(seed)
        notes[note] += 1
        for one in found:
            print(one, flush=True)
    for note, times in notes.most_common():
        print(f"{times:6} {note}")


if __name__ == "__main__":
    main()
