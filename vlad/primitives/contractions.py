"""The row behind `einsum`, and its procedure: sums of products over named axes (arrays.py has the conventions).

A specification such as "ij,jk->ik" names the axes of each operand, and of the result. It is planned once for the
shapes of the operands: a tree of contractions of two tensors each. `contract` is such a step. A name may also
occur several times in one term (a diagonal), or in the result alone (repeated along an axis): that makes contractions closed
under transposition, so the derivatives of a contraction are contractions with the terms exchanged.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from vlad.control.budget import expect_array
from vlad.core.loop_nests import Access, contiguous
from vlad.core.types import is_tensor
from vlad.data.devices import device_of
from vlad.data.errors import Kind, VladError, unsuitable
from vlad.data.tensors import Array, Tensor, alike, expect_together, made, numbers, quiet
from vlad.data.values import FALSE, Primitive, String, Value, list_of, look
from vlad.primitives.arrays import array_of, constant, dimensions, reshaped_to, row
from vlad.primitives.elementwise import library, unlike
from vlad.primitives.numbers import invalid
from vlad.primitives.products import product
from vlad.primitives.type_rules import is_number, kind_of, known, loops, result_kind, shape_of, unfit

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

Shape = tuple[int, ...]
Lengths = dict[str, int]
_TERM = r"[A-Za-z]*(\.\.\.[A-Za-z]*)?"
_UNNAMED = 0x100  # names from here on: the axes of `...`, and broadcast axes of length 1


# Contracting.


class Side(NamedTuple):
    """How an operand becomes a factor of a product of matrices. `kept` are the names of its axes that are not summed over at
    once.
    """

    labels: str
    kept: str
    order: tuple[int, ...] | None
    shape: Shape

    def factor(self, xp: Any, array: Array) -> Array:
        if self.kept != self.labels:
            array = _reduced(xp, array, self.labels, self.kept)
        if self.order is not None:
            array = xp.permute_dims(array, self.order)
        return reshaped_to(array, self.shape)


class Recipe(NamedTuple):
    """How two operands are contracted: as a product of matrices, batched over axes of both and of the result.

    inner       whether there are axes to sum over
    found       the names of the axes of the product, whose lengths are `shape`
    """

    left: Side
    right: Side
    inner: bool
    found: str
    shape: Shape
    result: str


@lru_cache(1024)
def _recipe(labels: str, x: Shape, y: Shape) -> Recipe:
    terms, _, result = labels.partition("->")
    left, _, right = terms.partition(",")
    lengths = dict(zip(left + right, (*x, *y), strict=True))
    kept_left = "".join([label for label in dict.fromkeys(left) if label in right + result])
    kept_right = "".join([label for label in dict.fromkeys(right) if label in left + result])
    shared = [label for label in kept_left if label in kept_right]
    batch = "".join([label for label in shared if label in result])
    inner = "".join([label for label in shared if label not in result])
    rows = "".join([label for label in kept_left if label not in shared])
    columns = "".join([label for label in kept_right if label not in shared])
    sizes = [math.prod([lengths[label] for label in names]) for names in (batch, rows, inner, columns)]
    found = batch + rows + columns
    return Recipe(
        Side(left, kept_left, _order_of(kept_left, batch + rows + inner), (sizes[0], sizes[1], sizes[2])),
        Side(right, kept_right, _order_of(kept_right, batch + inner + columns), (sizes[0], sizes[2], sizes[3])),
        bool(inner), found, tuple([lengths[label] for label in found]), result,
    )  # fmt: skip


def _order_of(labels: str, wanted: str) -> tuple[int, ...] | None:
    return None if labels == wanted else tuple([labels.index(label) for label in wanted])


def _contract(a: Value, b: Value, labels: Value, like: Value) -> Value:
    """The sum of the products of entries of a and b over all axes that the result does not have. `like` has the shape of the
    result: a list of lengths, or a tensor or real.
    """
    xp = library("einsum", a, b, like)
    beside = next((value.like for value in (a, b, like) if type(value) is Tensor), None)
    x, y = [
        numbers(value) if type(value) is Tensor else array_of("einsum", value, beside) for value in (a, b)
    ]
    recipe = _recipe(labels.text, x.shape, y.shape)
    with quiet():
        x, y = alike((recipe.left.factor(xp, x), recipe.right.factor(xp, y)))
        if not recipe.inner:
            expect_together(x, y)
        found = xp.reshape(product(xp, x, y) if recipe.inner else x * y, recipe.shape)
    if recipe.found == recipe.result:
        return made(found)
    dims = like.shape if type(like) is Tensor else dimensions("einsum", like)
    return made(_placed(xp, found, recipe.found, recipe.result, dims))


def _abstract_contract(w: AbstractMachine, a: Any, b: Any, labels: Any, like: Any) -> Any:
    """Loops over the names: those of the result, then those that are summed over."""
    terms, _, result = known(w, labels).text.partition("->")
    left, _, right = terms.partition(",")
    dims = shape_of(like) if is_number(like) else dimensions("einsum", known(w, like))
    named, found = left + right + result, (*shape_of(a), *shape_of(b), *dims)
    lengths = dict(zip(named, found, strict=False))
    if len(named) != len(found) or any(lengths[name] != n for name, n in zip(named, found, strict=True)):
        return unfit(w, a, shape_of(like) if is_number(like) else dims)
    names = list(dict.fromkeys(result + left + right))
    extents = tuple([lengths[name] for name in names])

    def access(term: str, shape: Shape) -> Access:
        strides = contiguous(shape)
        return Access(
            0,
            tuple([sum([s for s, own in zip(strides, term, strict=True) if own == name]) for name in names]),
        )

    accesses = [
        access(term, shape_of(x)) if is_tensor(x.type) else None for term, x in ((left, a), (right, b))
    ]
    is_diagonal = len(set(result)) < len(result)

    def kind(x: Any, term: str, other: str) -> str:
        """The kind of an operand of the product: None for a real, float64 if a tensor is first summed over axes of its own."""
        own, is_summed = kind_of(x) or "float64", any(label not in other + result for label in term)
        return result_kind(w.machine.table["sum"].value, (own,), -1.0, FALSE) if is_summed else own

    return loops(
        w, extents, [a, b], accesses, dims, steps=[(w.machine.table["*"], (0, 1))],
        among=[kind(a, left, right), kind(b, right, left)],
        write=access(result, dims) if dims else None, combine="+", fill=0.0 if is_diagonal else None,
    )  # fmt: skip


def _reduced(xp: Any, array: Array, labels: str, kept: str) -> Array:
    """The diagonal over repeated names, summed over the names that are not in `kept`."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            n = array.shape[i]
            array = xp.moveaxis(array, (i, j), (-2, -1))
            array = xp.reshape(array, (*array.shape[:-2], n * n))[..., :: n + 1]
            labels = labels[:i] + labels[i + 1 : j] + labels[j + 1 :] + label
    summed = tuple([axis for axis, label in enumerate(labels) if label not in kept])
    if summed:
        array = xp.sum(array, axis=summed)
    order = _order_of("".join([label for label in labels if label in kept]), kept)
    return array if order is None else xp.permute_dims(array, order)


def _placed(xp: Any, array: Array, labels: str, result: str, dims: Shape) -> Array:
    """Axes in the order of the result: repeated along axes that only it has, on the diagonal of axes that it has
    several times.
    """
    lengths = dict(zip(result, dims, strict=True))
    order = "".join(dict.fromkeys(result))
    axes = _order_of(labels, "".join([label for label in order if label in labels]))
    if axes is not None:
        array = xp.permute_dims(array, axes)
    for axis, label in enumerate(order):
        if label not in labels:
            array = xp.expand_dims(array, axis=axis)
    shape = tuple([lengths[label] for label in order])
    expect_array(dims)
    if array.shape != shape:
        array = xp.broadcast_to(array, shape)
    return array if order == result else _on_diagonals(xp, array, result, dims)


def _on_diagonals(xp: Any, array: Array, result: str, dims: Shape) -> Array:
    """Zeros except where the indices along all axes of one name are equal."""
    places = [
        xp.reshape(device_of(array).make("arange", length), (-1,) + (1,) * (len(dims) - axis - 1))
        for axis, length in enumerate(dims)
    ]
    again = [axis for axis, label in enumerate(result) if result.index(label) < axis]
    for axis in again:
        array = xp.expand_dims(array, axis=axis)
    for axis in again:
        equal = places[axis] == places[result.index(result[axis])]
        array = xp.where(equal, array, device_of(array).make("zeros", (), dtype=array.dtype))
    return array


def _turned(labels: Value, place: Value) -> Value:
    """The labels of the transpose: result, other term -> term."""
    terms, _, result = labels.text.partition("->")
    left, _, right = terms.partition(",")
    return String(f"{result},{right}->{left}" if place == 0 else f"{result},{left}->{right}")


# Planning.


def _einsum_plan(spec: Value, ts: Value) -> Value:
    """A tree: a tensor's number, #f for the number 1, or (labels dims . (left . right))."""
    if type(spec) is not String:
        raise invalid("einsum", 'a string such as "ij,jk->ik", and tensors', spec, of=(Kind.TENSOR,))
    terms, result = _read(spec.text)
    values = _operands(ts, len(terms))
    shapes = tuple([array_of("einsum", value).shape for value in values])
    try:
        return _planned(tuple(terms), result, shapes)
    except _Unlike as error:
        raise unlike("einsum", tuple(values), str(error)) from None


def _abstract_plan(w: AbstractMachine, spec: Any, ts: Any) -> Any:
    text = known(w, spec)
    if type(text) is not String:
        return w.invalid("einsum")
    terms, result = _read(text.text)
    operands = []
    while ts.type.kind == "pair":
        first, ts = w.parts(ts)
        operands.append(first)
    if ts.type.of != ():
        operands.append(ts)
    if any(x.type.kind == "union" for x in operands):
        return w.unbounded("`einsum` is compiled where the shapes of its tensors are known")
    if len(operands) != len(terms) or not all(is_number(x) for x in operands):
        return w.invalid("einsum")
    shapes = tuple([shape_of(x) for x in operands])
    try:
        return w.value(_planned(tuple(terms), result, shapes))
    except _Unlike:
        return w.misfit("einsum", *shapes)


class _Unlike(Exception):
    """Shapes that do not match the specification: the hint."""


def _read(text: str) -> tuple[list[str], str | None]:
    """The terms and the result of a specification."""
    sides = text.replace(" ", "").split("->")
    terms = sides[0].split(",")
    if len(sides) > 2 or not all(re.fullmatch(_TERM, term) for term in [*terms, *sides[1:]]):
        raise _malformed(
            text,
            "it has a term of letters for each tensor, such as ij,jk->ik or ...i,i; `...` stands for any axes",
        )
    result = sides[1] if len(sides) == 2 else None
    letters = (result or "").replace("...", "")
    for letter in letters:
        if letter not in sides[0]:
            raise _malformed(text, f"the result has {letter}, and no term has it")
        if letters.count(letter) > 1:
            raise _malformed(text, f"the result has {letter} more than once")
    return terms, result


def _malformed(text: str, hint: str) -> VladError:
    return unsuitable("einsum", hint, (String(text),))


def counted(count: int, one: str, several: str = "") -> str:
    """A count with its noun."""
    return f"{count} {one if count == 1 else several or one + 's'}"


def _operands(ts: Value, count: int) -> list[Value]:
    """The tensors of a call, or in a list."""
    found = []
    rest = look(ts)
    while type(rest) is tuple and len(rest) == 2:
        found.append(look(rest[0]))
        rest = look(rest[1])
    if rest != ():
        found.append(rest)
    if len(found) != count:
        terms, given = counted(count, "term"), counted(len(found), "tensor")
        raise unsuitable(
            "einsum", f"the specification has {terms}, one for each tensor; it was given {given}"
        )
    return found


@lru_cache(1024)
def _planned(terms: tuple[str, ...], result: str | None, shapes: tuple[Shape, ...]) -> Value:
    """The tree for terms over tensors of these shapes. Raises _Unlike."""
    named = [_without_dots(term, len(shape)) for term, shape in zip(terms, shapes, strict=True)]
    lengths = _lengths(named, shapes)
    dots = "".join(
        sorted({label for term in named for label in term if ord(label) >= _UNNAMED}, reverse=True)
    )
    if result is None:
        letters = sorted("".join(terms).replace(".", ""))
        result = "..." * bool(dots) + "".join([one for one in letters if letters.count(one) == 1])
    if dots and "..." not in result:
        raise _Unlike("the result has `...` where an operand has it")
    wanted = result.replace("...", dots)
    fresh = _UNNAMED + 100
    for place, (term, shape) in enumerate(zip(named, shapes, strict=True)):
        for axis, length in enumerate(shape):
            if length == 1 != lengths[term[axis]]:
                named[place] = named[place][:axis] + chr(fresh) + named[place][axis + 1 :]
                fresh += 1
    return _tree(named, wanted, lengths, shapes)


def _without_dots(term: str, rank: int) -> str:
    """The term with a name for each axis; those of `...` are numbered from the last one on."""
    count = rank - len(term.replace("...", ""))
    if count < 0 or (count and "..." not in term):
        letters = counted(len(term.replace("...", "")), "letter")
        raise _Unlike(
            f'the term "{term}" has {letters}, one for each axis; its tensor has {counted(rank, "axis", "axes")}'
        )
    return term.replace("...", "".join([chr(_UNNAMED + place) for place in range(count - 1, -1, -1)]))


def _lengths(terms: list[str], shapes: tuple[Shape, ...]) -> Lengths:
    lengths: Lengths = {}
    for term, shape in zip(terms, shapes, strict=True):
        for label, length in zip(term, shape, strict=True):
            known = lengths.setdefault(label, length)
            if known == 1 != length and ord(label) >= _UNNAMED:
                lengths[label] = length
            elif known != length and (length != 1 or ord(label) < _UNNAMED):
                if ord(label) < _UNNAMED:
                    raise _Unlike(
                        f"axis {label} has the lengths {known} and {length}; only axes of `...` are broadcast"
                    )
                raise _Unlike(
                    f"an axis of `...` has the lengths {known} and {length}, which are to be equal or 1"
                )
    return lengths


def _tree(terms: list[str], result: str, lengths: Lengths, shapes: tuple[Shape, ...]) -> Value:
    open_: list[tuple[str, Value]] = [(term, float(place)) for place, term in enumerate(terms)]
    if len(open_) == 1:
        return _node(open_[0], ("", FALSE), result, lengths)[1]
    for pair in _order(terms, result, shapes):
        a, b = [open_[place] for place in pair]
        open_ = [term for place, term in enumerate(open_) if place not in pair]
        kept = result + "".join([term for term, _ in open_])
        wanted = (
            "".join([label for label in dict.fromkeys(a[0] + b[0]) if label in kept]) if open_ else result
        )
        open_.append(_node(a, b, wanted, lengths))
    return open_[0][1]


def _node(a: tuple[str, Value], b: tuple[str, Value], result: str, lengths: Lengths) -> tuple[str, Value]:
    dims = list_of([float(lengths[label]) for label in result])
    return result, (String(f"{a[0]},{b[0]}->{result}"), (dims, (a[1], b[1])))


def _order(terms: list[str], result: str, shapes: tuple[Shape, ...]) -> list[tuple[int, int]]:
    """Pairs to contract, step by step; each result is appended. NumPy finds a cheap order."""
    if len(terms) == 2:
        return [(0, 1)]
    import numpy

    names = {label: chr(ord("A") + place) for place, label in enumerate(dict.fromkeys("".join(terms)))}
    path: list[tuple[int, ...]] = [tuple(range(len(terms)))]
    if len(names) <= 26:
        translated = ["".join([names[label] for label in term]) for term in (*terms, result)]
        subscripts = f"{','.join(translated[:-1])}->{translated[-1]}"
        operands = [numpy.broadcast_to(0.0, shape) for shape in shapes]
        path = numpy.einsum_path(subscripts, *operands, optimize="greedy")[0][1:]
    count, pairs = len(terms), []
    for step in path:  # steps with two or more terms
        pairs.append((step[0], step[1]))
        count -= 1
        for done, place in enumerate(step[2:]):
            pairs.append((place - 2 - done, count - 1))
            count -= 1
    return pairs


# A single tensor follows as an operand, or all are in a list.
PROCEDURES: dict[str, str] = {
    "einsum": """;;; (einsum specification tensor ...)
        ;;; The sum of products that a specification names: a term of letters for each tensor, `->`, those of the result.
        ;;; (einsum "ij,j->i" #[[1 2] [3 4]] #[1 1])  ⇒ #[3 7]
        ;;; ((gradient (lambda (a) (einsum "ii" a))) #[[1 2] [3 4]])  ⇒ #[[1 0] [0 1]]
        (lambda (spec ts)
        (letrec ((term (lambda (ts place)
                    (if (= place 0) (if (pair? ts) (car ts) ts) (term (cdr ts) (- place 1)))))
                 (value (lambda (node)
                    (if (pair? node)
                        (contract (value (car (cdr (cdr node)))) (value (cdr (cdr (cdr node)))) (car node) (car (cdr node)))
                        (if (real? node) (term ts node) 1)))))
          (value (einsum-plan spec ts))))""",
}

ROWS: list[Primitive] = [
    row("contract", "a b labels like", "The sum of the products of two tensors over the axes that the result does not name.",
         linear="a b like", value=_contract, hidden=True, abstract=_abstract_contract,
         forward="(accumulate (contract da b labels like) (contract a db labels like))",
         reverse={
             "a": "(sum-like (contract s b (turned labels 0) a) a)",
             "b": "(sum-like (contract s a (turned labels 1) b) b)",
         }),
    constant("turned", "labels place", "The labels of the transpose by an operand.", _turned, hidden=True,
             abstract=lambda w, labels, place: w.value(_turned(known(w, labels), known(w, place)))),
    constant("einsum-plan", "spec ts", "The plan of a specification for tensors of these shapes.", _einsum_plan, hidden=True,
             abstract=_abstract_plan),
]  # fmt: skip
