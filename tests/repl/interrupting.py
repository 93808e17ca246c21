"""The time that Ctrl-C takes in all activities of the prompt, and whether the session is intact afterwards. A script:

python tests/repl/interrupting.py [TIMES] [ACTIVITY ...]
"""

from __future__ import annotations

import random
import sys
import time

from terminals import Person

LOOP = "(let loop ((i 0)) (if (< i 0) i (loop (+ i 1))))"
PRINTING = '(let loop ((i 0)) (display "a line of some length, again and again\\n") (loop (+ i 1)))'
CHECK = "((gradient (lambda (x y) (* x x y))) 3 4)", "(24 . 9)"


def long_to_compile(number: int) -> str:
    """A procedure that is another one each time, and large, with its derivative."""
    terms = " ".join([f"(sin (* x {number + i}.5))" for i in range(150)])
    return f"((derivative (derivative (lambda (x) (+ {terms})))) 1)"


def activities(name: str, number: int) -> tuple[str, float]:
    """What to type, and how long it takes at least until it is under way."""
    if name == "compiling":
        return long_to_compile(number), 0.15
    return {
        "evaluating": (LOOP, 0.1),
        "compiled code": (LOOP, 1.0),
        "printing": (PRINTING, 0.1),
        "reading": ("(+ 1 (", 0.05),
    }[name]


PROMPT = "\x1b[?2004h"  # when the prompt is ready, it makes the terminal mark pasted text


def await_prompt(person: Person, count: int) -> None:
    """Wait until the prompt has come so often."""
    end = time.monotonic() + 30
    while person.raw.count(PROMPT) < count:
        assert time.monotonic() < end, person.raw[-500:]
        person._more(0.005)


def interrupted(person: Person, name: str, number: int) -> float:
    """Seconds from Ctrl-C to the next prompt."""
    text, least = activities(name, number)
    person.forget()  # megabytes by now, where much is printed
    if name == "reading":
        person.type(text)
    else:  # pasted, as typed text is painted key by key
        person.line(f'\x1b[200~(display (string-append "under" " way\\n")) {text}\x1b[201~')
        person.sees("under way")
    end = time.monotonic() + least + random.random() * 0.3
    while time.monotonic() < end:
        person._more(0.01)
    prompts = person.raw.count(PROMPT)
    begun = time.monotonic()
    person.interrupt()
    await_prompt(person, prompts + 1)
    taken = time.monotonic() - begun
    person.at = len(person.shown)
    person.line(CHECK[0])
    person.sees(CHECK[1])
    await_prompt(person, prompts + 2)
    return taken


ACTIVITIES = ("evaluating", "compiling", "compiled code", "printing", "reading")


def main() -> None:
    times = int((*sys.argv[1:], "200")[0])
    for name in sys.argv[2:] or ACTIVITIES:
        tier = "evaluate" if name in ("evaluating", "printing") else "compile"
        with Person("--tier", tier) as person:
            person.asks(1)
            found = sorted([interrupted(person, name, number) for number in range(times)])
        print(
            f"{name:<14} median {found[len(found) // 2] * 1000:6.1f} ms, most {found[-1] * 1000:6.1f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
