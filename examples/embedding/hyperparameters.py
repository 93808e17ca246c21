"""Choosing hyper-parameters by a gradient: SciPy minimises a model's loss on data that it was not fitted to.

Two nested searches. The inner one, in vlad, fits the weights of a logistic regression to some of the data,
where each feature has a penalty of its own. The outer one, SciPy's, searches for the penalties that minimise the fitted model's
loss on the rest. It needs the derivative of a fitted model by its penalties: `lbfgs` has one, as the place of a minimum
(the implicit function theorem), so `vlad.value_and_grad` differentiates both.

    python examples/embedding/hyperparameters.py
"""

from __future__ import annotations

import numpy as np
from scipy import optimize

import vlad

MODEL = """
; the mean loss of labels y, 1 or -1, for inputs x and weights w
(define (misfit w x y) (mean (softplus (- 0 (* y (matmul x w))))))

; weights that fit, where every weight costs something; penalties are given by their logarithms
(define (fitted logs x y)
  (lbfgs (lambda (w) (+ (misfit w x y) (sum (* (exp logs) (square w)))))
         (* 0 logs)
         1e-9))

(define (misfit-elsewhere logs x y other-x other-y)
  (misfit (fitted logs x y) other-x other-y))
"""


def data() -> tuple[np.ndarray, ...]:
    """40 examples for the fit and 400 others, with 6 features, of which 2 are informative."""
    random = np.random.default_rng(1)
    x = random.normal(size=(440, 6))
    y = np.sign(x @ np.array([2.0, -1.5, 0, 0, 0, 0]) + random.normal(size=440))
    return x[:40], y[:40], x[40:], y[40:]


def main() -> None:
    session = vlad.Session()
    session.eval(MODEL)
    parts = data()
    objective = vlad.value_and_grad(session["misfit-elsewhere"], 0)
    start = np.full(6, -3.0)
    found = optimize.minimize(
        lambda logs: objective(logs, *parts), start, jac=True, method="L-BFGS-B", bounds=[(-8, 4)] * 6
    )
    print(f"before: {objective(start, *parts)[0]:.3f}, after: {found.fun:.3f}")
    weights = session["fitted"](found.x, *parts[:2])
    for number, (log, weight) in enumerate(zip(found.x, weights, strict=True)):
        penalty, use = "raised" if log > -3 else "lowered", "used" if abs(weight) > 0.5 else "left out"
        print(f"feature {number}: penalty {penalty:8} {use}")
    step = np.zeros(6)
    step[0] = 1e-4
    difference = (objective(start + step, *parts)[0] - objective(start - step, *parts)[0]) / 2e-4
    print("the gradient is right:", bool(np.isclose(objective(start, *parts)[1][0], difference, rtol=1e-4)))


if __name__ == "__main__":
    main()
