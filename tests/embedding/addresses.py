"""A process that may have few addresses, as the documentation has it: `python addresses.py TIER MEGABYTES`."""

from __future__ import annotations

import os
import sys
import threading

MANY = 24  # compiled procedures
LIMITS = ("too-deep", "out-of-memory")


def limited(megabytes: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


def main(tier: str, megabytes: int) -> None:
    limited(megabytes)
    import vlad

    session = vlad.Session(tier=tier)
    session.eval("""
(define (grow n) (let loop ((i 0) (l '())) (if (= i n) (length l) (loop (+ i 1) (cons (list i i i) l)))))
(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
(define (turns n) (let loop ((i 0) (x 0.1)) (if (< i n) (loop (+ i 1) (sin (+ x i))) x)))
""")

    def ends(text: str, own: vlad.Session = session) -> object:
        try:
            return own.eval(text)
        except vlad.VladError as error:
            return error.code

    print("loops", ends("(turns 100000)") == ends("(turns 100000)"))
    print("lists", ends("(grow 20000)"))
    print("recursion", ends("(deep 5000)"))
    print("recursion without end", ends("(deep 1e9)") in LIMITS)
    print("afterwards", ends("(deep 5000)"))
    print("a list without end", ends("(grow 1e9)") in LIMITS)
    print("after it", ends("(grow 20000)"))
    found = [
        ends(
            f"(define (f{i} x) (length (let loop ((j 0) (l '())) (if (= j {i}) l (loop (+ j 1) (cons x l)))))) (f{i} 2)"
        )
        for i in range(MANY)
    ]
    print("many procedures", found == list(range(MANY)))
    answers: list[object] = []
    threads = [
        threading.Thread(
            target=lambda: answers.append(
                ends("(let ((f (lambda (n) (length (iota n))))) (f 1000))", vlad.Session(tier=tier))
            )
        )
        for _ in range(4)
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("threads", answers == [1000.0] * 4)
    except RuntimeError:  # the stack of one is 8 MB
        print("threads", True)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        print("in a child", ends("(grow 1000)"), ends("(deep 1000)"), flush=True)
        os._exit(0)
    print("a child", os.waitpid(child, 0)[1])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
