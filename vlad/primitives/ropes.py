"""Strings in compiled code: ropes (Boehm, Atkinson and Plass 1995), which are balanced trees of characters.

A rope is (), the code point of the only character, or (length . (left . right)), which is a node. The lengths of the two sides
differ by a factor of three at most (Adams 1993: trees balanced by weight, with rotations by a factor of two), so the character at
a position, a part, and two texts in a row take time that grows with the logarithm of the length. The list of its characters would
take time that grows with the length, and an array would be copied for each character that is appended.

Only type rules use these rows; they inspect and make a rope, whose type is `types.rope`. What is more is text, in CODES.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.core.types import Recursion, is_real
from vlad.data.values import NIL, Primitive, Role, Rope, SystemCode, rope_node, rope_size
from vlad.primitives.walking import scalar

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

_TEXTS = {
    "append": """(lambda (a b)
        (if (null? a)
            b
            (if (null? b)
                a
                (let ((m (rope-size a)) (n (rope-size b)))
                  (if (< (* 3 n) m)
                      (%rope-right (rope-left a) (%rope-append (rope-right a) b))
                      (if (< (* 3 m) n)
                          (%rope-left (%rope-append a (rope-left b)) (rope-right b))
                          (rope-node a b)))))))""",
    # Two in a row, of which the right one, or the left one, may be too long.
    "right": """(lambda (a b)
        (let ((c (rope-left b)) (d (rope-right b)))
          (if (< (* 3 (rope-size a)) (rope-size b))
              (if (< (rope-size c) (* 2 (rope-size d)))
                  (rope-node (rope-node a c) d)
                  (rope-node (rope-node a (rope-left c)) (rope-node (rope-right c) d)))
              (rope-node a b))))""",
    "left": """(lambda (a b)
        (let ((c (rope-left a)) (d (rope-right a)))
          (if (< (* 3 (rope-size b)) (rope-size a))
              (if (< (rope-size d) (* 2 (rope-size c)))
                  (rope-node c (rope-node d b))
                  (rope-node (rope-node c (rope-left d)) (rope-node (rope-right d) b)))
              (rope-node a b))))""",
    "ref": """(lambda (t k)
        (if (real? t)
            t
            (let ((m (rope-size (rope-left t))))
              (if (< k m) (%rope-ref (rope-left t) k) (%rope-ref (rope-right t) (- k m))))))""",
    "part": """(lambda (t start end)
        (let ((n (rope-size t)))
          (if (<= end start)
              (rope-of (quote ()))
              (if (if (= start 0) (= end n) #f)
                  t
                  (let ((m (rope-size (rope-left t))))
                    (if (<= end m)
                        (%rope-part (rope-left t) start end)
                        (if (<= m start)
                            (%rope-part (rope-right t) (- start m) (- end m))
                            (%rope-append (%rope-part (rope-left t) start m)
                                          (%rope-part (rope-right t) 0 (- end m))))))))))""",
    # Are the characters of `a` from i to before n those of `b`, from k on?
    "at?": """(lambda (a i n b k)
        (if (= i n) #t (if (= (%rope-ref a i) (%rope-ref b k)) (%rope-at? a (+ i 1) n b (+ k 1)) #f)))""",
    "same?": "(lambda (a b) (let ((n (rope-size a))) (if (= n (rope-size b)) (%rope-at? a 0 n b 0) #f)))",
    "before?": """(lambda (a b i n)
        (if (= i n)
            (< (rope-size a) (rope-size b))
            (let ((x (%rope-ref a i)) (y (%rope-ref b i)))
              (if (= x y) (%rope-before? a b (+ i 1) n) (< x y)))))""",
    "search": """(lambda (a n b k last)
        (if (< last k) #f (if (%rope-at? a 0 n b k) k (%rope-search a n b (+ k 1) last))))""",
    "characters": """(lambda (t after)
        (if (null? t)
            after
            (if (real? t) (cons t after) (%rope-characters (rope-left t) (%rope-characters (rope-right t) after)))))""",
    # The rope of the first n characters of a list, and the others. (No `car` and `cdr`: a guard may have to take their errors.)
    "first": """(lambda (l n)
        (if (= n 1)
            (cons (rope-of (rope-first l)) (rope-rest l))
            (let* ((half (floor (/ n 2))) (left (%rope-first l half)) (right (%rope-first (cdr left) (- n half))))
              (cons (rope-node (car left) (car right)) (cdr right)))))""",
    "count": "(lambda (l n) (if (null? l) n (%rope-count (rope-rest l) (+ n 1))))",
    "of-list": """(lambda (l)
        (if (null? l) (rope-of (quote ())) (car (%rope-first l (%rope-count l 0)))))""",
}

CODES: dict[str, SystemCode] = {f"%rope-{name}": (Role.RULE, "", {"": text}) for name, text in _TEXTS.items()}


def _side(index: int) -> Callable[[Rope], Rope]:
    return lambda t: t[1][index] if type(t) is tuple and t else NIL


# Type rules. Their results have the type of all ropes.


def _abstract_size(w: AbstractMachine, t: Any) -> Any:
    def of_one(t: Any) -> Any:
        if t.type.kind == "pair":
            return w.part(t, 0)
        return w.constant(1.0 if is_real(t.type) else 0.0)

    return w.each(t, of_one)


def _abstract_node(w: AbstractMachine, a: Any, b: Any) -> Any:
    sizes = [w.apply(w.machine.table["rope-size"], [side]) for side in (a, b)]
    return w.rope(w.pair(w.unknown_real(scalar(w, "+", *sizes)), w.pair(w.rope(a), w.rope(b))))


def _abstract_side(index: int) -> Callable[..., Any]:
    def side(w: AbstractMachine, t: Any) -> Any:
        def of_one(t: Any) -> Any:
            return w.part(w.part(t, 1), index) if t.type.kind == "pair" else w.rope(w.constant(NIL))

        return w.each(t, of_one)

    return side


def _abstract_first(w: AbstractMachine, characters: Any) -> Any:
    return w.each(characters, lambda x: w.part(x, 0) if x.type.kind == "pair" else w.constant(0.0))


def _abstract_rest(w: AbstractMachine, characters: Any) -> Any:
    return w.each(characters, lambda x: w.part(x, 1) if x.type.kind == "pair" else w.no_characters)


def _row(name: str, operands: str, doc: str, value: Callable[..., Any], abstract: Any) -> Primitive:
    return Primitive(
        name, operands, doc, value=value, type=f"{'any ' * len(operands.split())}-> any", forward="zero", reverse={},
        hidden=True, abstract=abstract,
    )  # fmt: skip


ROWS: list[Primitive] = [
    _row("rope-of", "t", "A character, or nothing, as a rope.", lambda t: t, lambda w, t: w.rope(t)),
    _row("rope-size", "t", "The number of characters.", rope_size, _abstract_size),
    _row("rope-node", "a b", "Two ropes in a row.", rope_node, _abstract_node),
    _row("rope-left", "t", "The left side of a node; nothing of a character.", _side(0), _abstract_side(0)),
    _row(
        "rope-first",
        "l",
        "The first character of a list; 0 of none.",
        lambda x: x[0] if x else 0.0,
        _abstract_first,
    ),
    _row("rope-rest", "l", "The others; none of none.", lambda x: x[1] if x else NIL, _abstract_rest),
    _row("rope-right", "t", "The right side of a node; nothing of a character.", _side(1), _abstract_side(1)),
]


# Used by the rules of other rows, on strings.


def on_ropes(w: AbstractMachine, name: str, *operands: Any) -> Any:
    """The result of a text in CODES; the reals among its operands are unknown, as it changes them."""
    given = [w.unknown_real(one) if is_real(one.type) else one for one in operands]
    return w.invoke(w.system(f"%rope-{name}"), (), given, False)


def size_of(w: AbstractMachine, text: Any) -> Any:
    return w.apply(w.machine.table["rope-size"], [w.rope(text)])


def same_texts(w: AbstractMachine, a: Any, b: Any) -> Any:
    return on_ropes(w, "same?", w.rope(a), w.rope(b))


def listed(w: AbstractMachine, text: Any) -> Any:
    """The list of the characters of a string, each a real."""
    return on_ropes(w, "characters", w.rope(text), w.no_characters)


def text_of_list(w: AbstractMachine, characters: Any) -> Any:
    """The string of a list of characters; None if the list is None."""
    rope = characters and on_ropes(w, "of-list", characters)
    return rope and w.string(rope)


def by_character(w: AbstractMachine, text: Any, recursion: Recursion) -> Any:
    """The string of the rope that a recursion returns for the rope of a string."""
    rope = w.recursive(recursion, w.rope(text))
    return rope and w.string(rope)
