"""Memory that rows use beyond their limit: `python tests/primitives/memory_walk.py TIER [ROW,ROW…]`.

Each row is called with large operands under memory limits below, about and above its need; it prints a line for each call, with
BEYOND if it exceeded its limit. Peaks are the system's: /proc/self/clear_refs resets them.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import vlad
from vlad.primitives.table import TABLE

ENTRIES = 1 << 23
OPERAND = ENTRIES * 8 / 1e6  # megabytes
LIMITS = (0.25, 1.1, 2.05)  # in operands
SLACK = 32.0  # megabytes: what fits into the time between two looks
SECONDS = 0.8  # some rows take minutes, and as much memory from the first second on

# The calls of a row, if the names of its operands do not determine them: a capital is an operand, mostly a large one.
CALLS: dict[str, list[str]] = {
    "+": ["T T", "B T", "I T", "Q P"], "*": ["T T", "B B"], "/": ["T T", "I I"], "expt": ["T T", "I 2.5"], "<": ["T T", "I T"],
    "where": ["B T T", "T T 1", "B I T"], "polygamma": ["2 T"], "conic": ["1 2 1 3 T"], "conic-slope": ["1 2 1 3 T"],
    "power-log": ["T 2 1 1 1 1"], "one-plus-power": ["2 1 T"],
    "car": ["N"], "cdr": ["N"], "match-car": ["N"], "match-cdr": ["N"], "refuse-derivative": ['"a" "b" T T'],
    "string-append": ["Y Y"], "string-length": ["Y"], "substring": ["Y 1 30000000"], "string=?": ["Y Y"], "string<?": ["Y Y"],
    "string-upcase": ["Y"], "string-downcase": ["Y"], "string-search": ["Y Y"], "string->symbol": ["Y"], "symbol->string": ["Z"],
    "string->number": ["Y"], "numeral-real": ["1 2 3 4 5"],
    "tensor": ["T", "N", "O"], "tensor-parts": ["M N"], "tensor->list": ["T", "M"],
    "as-type": ["T 'float32", "T 'int64", "I 'float64", "F 'float64", "T 'boolean", "B 'float64", "I 'int32"],
    "to-device": ['T "cpu"'], "zeros": ["D 'float64", "D 'int64"], "ones": ["D 'float64", "D 'float32"], "full": ["D 2.5"],
    "eye": ["2896"], "arange": ["8388608 0 1"], "linspace": ["0 1 8388608"],
    "sum-like": ["T T", "M P", "T 1"], "broadcast-like": ["P M", "1 T"], "reshape": ["M D", "V D", "T (quote (list 2 -1))"],
    "reshape-like": ["M T", "V T"], "transpose": ["M #f", "M (quote (list 1 0))"], "inverse-axes": ["(quote (list 1 0))"],
    "flipped": ["T 0"], "broadcast-to": ["P R"], "concatenate": ["N 0", "E 0"], "split-like": ["T N 0"], "stack": ["N 0", "N 1"],
    "unstack": ["T 0", "M 0"], "tensor-ref": ["M 1"], "tensor-put": ["1 T 1", "P M 1"],
    "set-entry": ["T 1 1", "M 1 P", "I 1 1", "B 1 1"],
    "slice-set": ["T 0 8000000 1 0 1", "T 0 4194304 A 0 1", "I 0 8000000 1 0 1"],
    "slice": ["T 1 8000000 0 1"], "unslice": ["A T 0 4194304 0 1"], "slice-like": ["T A 0 4194304 0 1"],
    "gather": ["T X 0", "T I 0", "P X 0"], "scatter-add": ["T X T 0", "I I I 0", "P X T 0"],
    **{
        name: ["T #f #f", "M 0 #f", "M 1 #t", "W 1 #f", "B #f #f", "I #f #f"]
        for name in ("sum", "mean", "variance", "maximum", "minimum", "logsumexp", "prod")
    },
    "argmax": ["T #f", "M 0", "M 1", "B #f"],
    "argminimum": ["T #f", "M 0", "M 1"], "cumsum": ["T 0 #f", "T 0 #t", "B 0 #f", "M 0 #f"],
    "spread": ["1 T #f", "P M 0"], "softmax": ["T 0", "M 0", "M 1", "I 0"], "log-softmax": ["T 0", "M 0", "M 1", "I 0"],
    "repeated": ["P 0"], "gathered": ["M 0"], "is-own": ["P 0"],
    "argsort": ["T 0", "M 0", "M 1"], "sorted": ["T 0", "M 0", "M 1"], "ordered": ["T I 0"], "unordered": ["T I 0"],
    "dot": ["T T", "I I", "B T"], "matmul": ["L P8", "H L", "S S", "I8 I8"], "as-product": ["M M M"], "outer": ["P P"],
    "solve": ["S S"], "solve-triangular": ["U S #t"], "solve-factor": ["U S #t"], "triangle": ["S #t", "S #f"],
    "as-columns": ["T T"],
    **{
        name: ["S"]
        for name in ("inverse", "cholesky", "half-lower", "det", "log-det", "transposed-inverse", "cofactor", "eigh", "qr",
                     "svd", "on-diagonal", "first-columns", "taller", "cofactors", "mirrored")
    },
    "half": ["S 0"], "placed": ["S 1"], "as-first-columns": ["S S"], "gaps": ["S1 -1"], "over": ["T T", "S S"], "as-line": ["T"],
    "as-diagonal": ["S1"], "norm": ["T", "I", "F"], "heading": ["T 2.5", "T 1e-310"], "along": ["T 2.5 T", "T 1e-310 T"],
    "contract": ['T T "i,i->" 1',
                 'T T "i,i->i" T', 'P P "i,j->ij" M', 'M P "ij,j->i" A1', 'M M "ij,ij->ij" M', 'M M "ij,ji->ij" M',
                 'S S "bij,bjk->bik" S'],
    "turned": ['"ij,jk->ik" 0'], "einsum-plan": ['"i,i" N'],
    "conv2d": ["W C 1 0 1 1", "W C 1 1 1 1", "W C 2 0 2 1"],
    "conv2d-images": ["W C W 1 1 1 1"], "conv2d-filters": ["W W C 1 1 1 1"],
    "max-pool": ["W 2 2 0"], "pool-patches": ["W 0 2 2 0"], "pool-unpatched": ["W4 W 2 2 0"], "avg-pool": ["W 2 2 0", "W 2 1 1"],
    "avg-unpool": ["W2 W 2 2 0"], "one-hot": ["P 2048"], "random-key": ["1"],
    "split": ["T 2 0", "K 1000000 0"], "uniform": ["K D 0 1"], "normal": ["K D"], "random-integer": ["K 0 10 D"],
    "permutation": ["K 8388608"], "perturb": ["T"], "bundle": ["T T"], "complete": ["T T"],
    "error": ["T"], "with-environment": ["J J"],
    "make-forward": ["T T"], "check-sensitivity": ["T T T"], "target-sensitivity": ["T T"],
    "argument-sensitivity": ["T T"], "forward-result": ["T T"], "accumulate": ["T T"], "plus": ["T T", "N N"],
    "equal?": ["T T2", "N N2"],
    **{name: ["J"] for name in ("environment", "tail-entry", "forward-entry", "*j", "*j-inverse", "strip-reverse", "closed?")},
    "same-code?": ["J J"], "with-derivative": ["J J J"], "make-with-derivative": ["J J J"],
}  # fmt: skip
# Those that a large operand means nothing to: they take reals, or touch the outside, or are records of code.
WITHOUT = ("real-character", "numeral", "is-numeral", "load-", "save-", "newline", "read-real", "command-line",
           "argument-character",
           "capital-", "small-", "random-word", "normal-quantile", "random-below", "backpropagator", "with-derivative-field",
           "make-backpropagator", "write", "display", "zero?", "positive?", "negative?", "even?", "odd?", "nan?", "finite?",
           "infinite?", "same?", "same-boolean?", "whole?", "number->string", "number->decimal",
           "decimal-character", "error")  # fmt: skip


def operands() -> dict[str, Any]:
    r = np.random.default_rng(1)
    line = r.uniform(0.1, 0.9, ENTRIES)
    side = 1 << ENTRIES.bit_length() // 2
    matrix = line.reshape(-1, side)
    small = r.uniform(0.1, 0.9, (ENTRIES // 64, 8, 8))
    systems = small @ np.swapaxes(small, 1, 2) + 8 * np.eye(8)
    places = np.arange(ENTRIES)
    image = line.reshape(1, 1, -1, 1024)
    return {
        "T": line, "T2": line.copy(), "M": matrix, "S": systems, "S1": systems[:, 0].copy(),
        "U": np.triu(systems) + np.tril(systems),
        "I": places, "B": line < 0.5, "F": line.astype(np.float32), "X": places % 1024 * 1.0, "A": line[: ENTRIES // 2].copy(),
        "P": np.arange(side) * 1.0, "Q": np.ones((ENTRIES // side, 1)), "R": [ENTRIES // side, side], "D": [ENTRIES], "G": 2896,
        "W": image, "W2": image[..., ::2, ::2].copy(), "W4": line.reshape(1, 1, 4, -1, 512), "C": np.full((1, 1, 3, 3), 0.1),
        "L": line.reshape(-1, 8), "P8": np.ones((8, 8)), "A1": np.ones(ENTRIES // side), "H": np.ones((8, ENTRIES // 8)),
        "I8": places[: 1 << 18].reshape(512, 512),
        "V": matrix.T, "N": [line[: ENTRIES // 2], line[ENTRIES // 2 :]],
        "N2": [line[: ENTRIES // 2] * 1.0, line[ENTRIES // 2 :] * 1.0],
        "E": [line[: ENTRIES // 2], places[ENTRIES // 2 :]], "Y": "1" * (8 * ENTRIES), "O": [[1.0, 2.0]] * 1000,
    }  # fmt: skip


QUOTED = {
    f"'{kind}": f"(quote (quote {kind}))" for kind in ("float64", "float32", "int64", "int32", "boolean")
}
USUAL = {
    "t": "T", "x": "T", "a": "T", "b": "T", "y": "T", "s": "T", "like": "T", "c": "B", "dims": "2", "axis": "0", "keep": "#f",
    "result": "T", "d": "T", "data": "T", "ts": "N", "indices": "X", "updates": "T", "key": "K", "n": "2", "k": "T",
    "step": "1", "start": "0", "stop": "7", "stride": "1", "padding": "0", "dilation": "1", "groups": "1", "window": "2",
}  # fmt: skip


def calls(name: str, known: dict[str, list[str]]) -> list[str]:
    """The calls of a row: its operands, by letters or as core has them."""
    return known.get(name) or [" ".join([USUAL.get(operand, "T") for operand in TABLE[name].operands])]


def procedure(session: vlad.Session, name: str, call: str) -> tuple[Any, list[str]]:
    """A call as a procedure of its large operands."""
    given, words, depth = [], [], 0
    for word in call.split():
        if word[0].isupper() and not depth:
            given.append(word)
            words.append(f"x{len(given)}")
        else:
            words.append(QUOTED.get(word, word))
            depth += word.count("(") - word.count(")")
    names = [f"x{number + 1}" for number in range(len(given))] or ["x"]
    body = f"(let* ((r ({name} {' '.join(words)}))) r)"
    f = vlad.loads(f"(vlad-saved 1 (code f (lambda f ({' '.join(names)}) {body})) (closure f))", session)
    return f, given or ["0"]


def peak_of(act: Any) -> tuple[float, Any]:
    """Megabytes by which the process grew meanwhile, at most."""
    gc.collect()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before, answer = field("VmRSS"), act()
    return (field("VmHWM") - before) / 1e3, answer


def field(name: str) -> float:
    with open("/proc/self/status") as file:
        return next(float(line.split()[1]) for line in file if line.startswith(name))


def outcome(session: vlad.Session, text: str, limit: float) -> str:
    try:
        session.eval(text, limits=vlad.Limits(memory=limit, seconds=SECONDS))
    except vlad.VladError as error:
        return error.code
    except Exception as error:  # of what no program can write
        return type(error).__name__
    return "none"


def walk(tier: str, names: list[str], known: dict[str, list[str]]) -> Iterator[tuple[str, float, float, str]]:
    session = vlad.Session(tier=tier)
    for name, value in operands().items():
        session[name] = value
    session.eval(
        "(define K (random-key 1)) (define Z (string->symbol Y)) (define J ((lambda (t) (lambda (x) (+ x t))) T))"
    )
    for name in names:
        if name.startswith(WITHOUT):
            continue
        for call in calls(name, known):
            try:
                f, given = procedure(session, name, call)
            except vlad.VladError as error:
                yield f"({name} {call})", 0.0, 0.0, str(error)
                continue
            session["f"] = f
            if tier == "compile":  # else the compiler's own memory counts
                outcome(session, f"(f {' '.join(given)})", 1.0)
            ends = ""
            for share in LIMITS:
                if ends == "none":
                    break
                limit = share * OPERAND
                begun = time.monotonic()
                peak, ends = peak_of(partial(outcome, session, f"(f {' '.join(given)})", limit))
                yield f"({name} {call})", limit, peak, f"{ends} {time.monotonic() - begun:.2f}s"


def main(tier: str, wanted: str = "") -> None:
    names = [name for name in TABLE if not wanted or name in wanted.split(",")]
    calls_of = CALLS if not wanted else {name: CALLS[name][:2] for name in names if name in CALLS}
    for call, limit, peak, ends in walk(tier, names, calls_of):
        wrong = "BEYOND" if peak > 1.2 * limit + SLACK else "within"
        print(f"{wrong} {peak:6.0f} MB of {limit:4.0f}  {ends:22} {call}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
