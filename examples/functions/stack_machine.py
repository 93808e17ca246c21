"""An interpreter, differentiated: the derivative of a program by its input.

The machine has a stack, jumps, and a handful of instructions. Its interpreter is an ordinary Python function: a loop around a
row of comparisons. The gradient of the interpreter is the gradient of whatever program it runs: here the square root by Newton's
method, with a loop whose number of turns depends on the input. Nothing in the machine is about derivatives.

    python examples/functions/stack_machine.py
"""

from __future__ import annotations

import vlad

# Newton's method for the root of the input: the estimate is kept in the memory, and improved until it hardly changes.
SQUARE_ROOT = [
    ("push", 1.0), ("store", 0.0),                                 # estimate = 1
    ("load", 0.0), ("input", 0.0), ("load", 0.0), ("divide", 0.0),  # 2: estimate, input / estimate
    ("add", 0.0), ("push", 0.5), ("multiply", 0.0),                # their mean
    ("copy", 0.0), ("load", 0.0), ("subtract", 0.0), ("absolute", 0.0),
    ("push", 1e-13), ("subtract", 0.0),                            # is it further from the estimate than 1e-13?
    ("jump-if-negative", 18.0), ("store", 0.0), ("jump", 2.0),     # then it is the next estimate
]  # fmt: skip


@vlad.function
def run(program, x):
    """The number that a program leaves on the stack when it is given the input x."""
    stack, memory, at = [], 0.0, 0
    while at < len(program):
        operation, number = program[at]
        at += 1
        if operation == "push":
            stack = [number, *stack]
        elif operation == "input":
            stack = [x, *stack]
        elif operation == "load":
            stack = [memory, *stack]
        elif operation == "store":
            memory, *stack = stack
        elif operation == "copy":
            stack = [stack[0], *stack]
        elif operation == "absolute":
            top, *stack = stack
            stack = [abs(top), *stack]
        elif operation == "jump":
            at = int(number)
        elif operation == "jump-if-negative":
            top, *stack = stack
            if top < 0:
                at = int(number)
        else:
            b, a, *stack = stack
            if operation == "add":
                result = a + b
            elif operation == "subtract":
                result = a - b
            elif operation == "multiply":
                result = a * b
            else:
                result = a / b
            stack = [result, *stack]
    return stack[0]


def main() -> None:
    slope = vlad.grad(run, argnums=1)
    curvature = vlad.grad(slope, argnums=1)
    for x in (0.25, 2.0, 9.0):
        print(f"x = {x}: root {run(SQUARE_ROOT, x):.6f}, derivative {slope(SQUARE_ROOT, x):.6f}, "
              f"second derivative {curvature(SQUARE_ROOT, x):.6f}")  # fmt: skip


if __name__ == "__main__":
    main()
