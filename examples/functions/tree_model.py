"""A recursive model: a decision tree whose branches are soft, trained by gradients.

A tree is a number, its answer, or a tuple of a direction, a threshold and two subtrees, between which it mixes by a logistic
function. The model walks over the tree by recursion. The gradient of the loss by the tree is a tree of the same structure,
so that a step of the training is a recursive function, too.

    python examples/functions/tree_model.py
"""

from __future__ import annotations

import math

import vlad

session = vlad.Session(tier="compile")  # many calls, none of which is long
Tree = float | tuple


def answer(tree, x, y):
    if isinstance(tree, float):
        return tree
    (a, b), threshold, left, right = tree
    share = 1.0 / (1.0 + math.exp(threshold - a * x - b * y))
    return (1.0 - share) * answer(left, x, y) + share * answer(right, x, y)


@session.function
def loss(tree, points):
    return sum([(answer(tree, x, y) - wanted) ** 2 for x, y, wanted in points]) / len(points)


def moved(tree: Tree, gradient: Tree, rate: float) -> Tree:
    """The tree, after a step down the gradient, which has its structure."""
    if isinstance(tree, float):
        return tree - rate * gradient
    return tuple(moved(one, other, rate) for one, other in zip(tree, gradient, strict=True))


def grown(depth: int, seed: float) -> Tree:
    """A tree to begin with."""
    if depth == 0:
        return math.sin(5.0 * seed)
    direction = (3.0 * math.cos(seed), 3.0 * math.sin(seed))
    return (
        direction,
        0.5 * math.sin(7.0 * seed),
        grown(depth - 1, 2.0 * seed + 0.3),
        grown(depth - 1, 3.0 * seed + 0.7),
    )


def main() -> None:
    grid = [i / 4.0 - 1.0 for i in range(9)]
    points = [(x, y, 1.0 if x * y > 0 else -1.0) for x in grid for y in grid]  # no line separates these
    tree = grown(2, 0.4)
    gradient = vlad.grad(loss, argnums=0)
    for step in range(601):
        if step % 150 == 0:
            print(f"step {step}: loss {loss(tree, points):.4f}")
        tree = moved(tree, gradient(tree, points), 0.6)
    right = sum((answer(tree, x, y) > 0) == (wanted > 0) for x, y, wanted in points)
    print(f"{right} of {len(points)} points are on the right side")


if __name__ == "__main__":
    main()
