"""What a GPU is good for: the same programs on both devices, in one run: `python benchmarks/gpu.py`.

Each is called once, its answer compared with the other device's, then timed: the least of several runs, each of which ends with
a real, so that the GPU has done its work by then. Needs CuPy and a GPU.
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from vlad import Session
from vlad.devices import device_named

PROGRAM = """
(define key (random-key 1))
(define (matrix n) (uniform key (list n n)))
(define (product n) (let ((m (matrix n))) (sum (matmul m m))))
(define (entries n) (let ((x (uniform key n))) (sum (* (exp (- (* x x))) (sin x)))))
(define (normals n) (sum (abs (normal key n))))
(define (shuffled n) (tensor-ref (gather (arange n) (permutation key n)) -1))
(define (layer w x) (tanh (matmul x w)))
(define (loss ws x) (mean (square (layer (cdr ws) (layer (car ws) x)))))
(define (learning n)
  (let ((x (uniform key (list 256 n))))
    (let loop ((ws (cons (matrix n) (matrix n))) (steps 10))
      (if (= steps 0) (loss ws x) (loop (v- ws (k*v 0.01 ((gradient-R (lambda (ws) (loss ws x))) ws))) (- steps 1))))))
"""
SIZES = {
    "product": 4096,
    "entries": 20_000_000,
    "normals": 20_000_000,
    "shuffled": 2_000_000,
    "learning": 2048,
}


def least(f: Any, size: int, runs: int = 3) -> float:
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        f(size)
        times.append(time.perf_counter() - begun)
    return min(times)


def main() -> int:
    device_named("cuda")
    sessions = [Session(device=name, tier="evaluate") for name in ("cpu", "cuda")]
    for session in sessions:
        session.eval(PROGRAM)
    print(f"{'':10} {'size':>10} {'cpu, ms':>10} {'cuda, ms':>10} {'ratio':>8}")
    for name, size in SIZES.items():
        answers = [session[name](size) for session in sessions]
        if not math.isclose(*answers, rel_tol=1e-9):
            print(f"{name}: {answers[0]} on cpu, {answers[1]} on cuda")
            return 1
        cpu, cuda = [1000 * least(session[name], size) for session in sessions]
        print(f"{name:10} {size:10} {cpu:10.1f} {cuda:10.1f} {cpu / cuda:8.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
