"""The rows that reduce the axes of tensors, and other operations along an axis (arrays.py has the conventions)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from vlad.control.budget import expect_array, expect_arrays
from vlad.core.extents import real_of
from vlad.core.loop_nests import Access, Kernel, Output, Read, Routine, Step, Write, contiguous
from vlad.core.types import has_tangents, is_tensor
from vlad.data.devices import device_of, sums_along
from vlad.data.errors import VladError, unsuitable
from vlad.data.tensors import Array, Tensor, made, namespace, numbers, quiet, shape_text
from vlad.data.values import FALSE, Primitive, Value
from vlad.primitives.arrays import (
    LAST,
    REDUCED,
    array_of,
    axes_of,
    axis_of,
    constant,
    flag,
    reals,
    repeated_like,
    row,
)
from vlad.primitives.data import boolean
from vlad.primitives.type_rules import (
    as_kind,
    as_numbers,
    as_reals,
    copied,
    filled,
    is_number,
    kind_of,
    known,
    over,
    reduced,
    repeated,
    reshaped,
    result_kind,
    shape_of,
    unfit,
)

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine


def _reduction(
    name: str, rule: Callable[..., Array], empty: bool = True, most_axes: int = 99, keeps_reals: bool = True
) -> Callable[..., Value]:
    """`rule` takes a namespace, the array, its axes, and whether they are kept. `keeps_reals`: whether a real is
    its own result.
    """

    def value(t: Value, axis: Value, keep: Value) -> Value:
        array = array_of(name, t)
        axes, is_kept = axes_of(name, axis, array.ndim), flag(name, "keep", keep)
        if axes is not None and len(axes) > most_axes:
            raise unsuitable(name, f"{name} takes one axis, or all", names_itself=True)
        if not empty:
            _expect_some(name, array, axes)
        if type(t) is float and keeps_reals:  # the only entry; NumPy's sums lose the sign of a zero
            return t
        entries = numbers(t) if type(t) is Tensor else array
        if axes is not None:
            expect_arrays(1, math.prod([length for one, length in enumerate(array.shape) if one not in axes]))
        with quiet():
            return made(rule(namespace(array), entries, axes, is_kept))

    return value


def _expect_some(name: str, array: Array, axes: Sequence[int] | None) -> None:
    """Raise VladError if an axis that is reduced is empty, unless another empty axis makes the result empty."""
    if any(array.shape[one] == 0 for one in (range(array.ndim) if axes is None else axes)):
        hint = f"the tensor has the shape {shape_text(array.shape)}"
        raise VladError("wrong-shape", f"{name} of nothing", hint=hint, name=name)


def _abstract_reduction(
    name: str, rule: Callable[..., Any], empty: bool = True, most_axes: int = 99
) -> Callable[..., Any]:
    """`rule` takes the AbstractInterpreter, the tensor, its axes, and whether they are kept."""

    def abstract(w: AbstractMachine, t: Any, axis: Any, keep: Any) -> Any:
        if not is_number(t):
            return w.invalid(name)
        shape = shape_of(t)
        chosen = axes_of(name, known(w, axis), len(shape))
        if chosen is not None and len(chosen) > most_axes:
            return w.invalid(name)
        axes = over(shape, chosen)
        if not empty and any(shape[one] == 0 for one in axes):
            return w.fail(f"{name} of nothing")
        return rule(w, t, axes, flag(name, "keep", known(w, keep)))

    return abstract


def _combined(combine: str) -> Callable[..., Any]:
    return lambda w, t, axes, keep: reduced(w, t, axes, keep, combine) if is_tensor(t.type) else t


def _abstract_mean(w: AbstractMachine, t: Any, axes: Sequence[int], keep: bool) -> Any:
    count = math.prod([shape_of(t)[axis] for axis in axes])
    total = _combined("+")(w, as_reals(w, t), axes, keep)
    return w.apply(w.machine.table["/"], [total, w.constant(real_of(count))])


def _expect_two(array: Array, axes: Any) -> None:
    """Check for memory for two arrays like this one and its reduction over some axes, which may be as large itself."""
    over = range(array.ndim) if axes is None else axes
    kept = math.prod([length for axis, length in enumerate(array.shape) if axis not in over])
    expect_arrays(1, 2 * array.size + 2 * kept)


def _variance(xp: Any, array: Array, axes: Any, keep: bool) -> Array:
    array = reals(array)
    _expect_two(array, axes)
    off = array - xp.mean(array, axis=axes, keepdims=True)
    off *= off
    return xp.mean(off, axis=axes, keepdims=keep)


def _abstract_variance(w: AbstractMachine, t: Any, axes: Sequence[int], keep: bool) -> Any:
    table, t = w.machine.table, as_reals(w, t)
    off = w.apply(table["-"], [t, _abstract_mean(w, t, axes, True)])
    return _abstract_mean(w, w.apply(table["*"], [off, off]), axes, keep)


def _abstract_top(w: AbstractMachine, t: Any, axes: Sequence[int]) -> Any:
    """The largest entries, with axes kept, if they are finite; else 0."""
    table = w.machine.table
    top = _combined("max")(w, t, axes, True)
    size = w.apply(table["abs"], [top])
    return w.apply(table["where"], [w.apply(table["<"], [size, w.constant(math.inf)]), top, w.constant(0.0)])


def _abstract_logsumexp(w: AbstractMachine, t: Any, axes: Sequence[int], keep: bool) -> Any:
    table, t = w.machine.table, as_reals(w, t)
    if not is_tensor(t.type):
        return t
    shape = shape_of(t)
    kept = tuple([1 if axis in axes else length for axis, length in enumerate(shape)])
    left = tuple([length for axis, length in enumerate(shape) if axis not in axes])
    if any(shape[axis] == 0 for axis in axes):
        return (
            filled(w, kept if keep else left, -math.inf, kind_of(t))
            if keep or left
            else w.constant(-math.inf)
        )
    top = _abstract_top(w, t, axes)
    powers = w.apply(table["exp"], [w.apply(table["-"], [t, top])])
    total = w.apply(table["+"], [w.apply(table["log"], [_combined("+")(w, powers, axes, True)]), top])
    return total if keep else reshaped(w, total, left)


def _abstract_shifted(name: str, exponential: bool) -> Callable[..., Any]:
    def abstract(w: AbstractMachine, t: Any, axis: Any) -> Any:
        if not is_number(t):
            return w.invalid(name)
        shape, table, t = shape_of(t), w.machine.table, as_reals(w, t)
        axes = over(shape, axes_of(name, known(w, axis), len(shape)))
        if 0 in shape:
            return t
        below = w.apply(table["-"], [t, _abstract_top(w, t, axes)])
        powers = w.apply(table["exp"], [below])
        total = _combined("+")(w, powers, axes, True)
        if exponential:
            return w.apply(table["/"], [powers, total])
        return w.apply(table["-"], [below, w.apply(table["log"], [total])])

    return abstract


def _abstract_spread(w: AbstractMachine, x: Any, t: Any, axis: Any) -> Any:
    if not is_tensor(t.type):
        return x
    shape = shape_of(t)
    axes = over(shape, axes_of("spread", known(w, axis), len(shape)))
    if is_tensor(x.type) and len(shape_of(x)) < len(shape):
        kept = tuple([1 if axis in axes else length for axis, length in enumerate(shape)])
        if math.prod(kept) != math.prod(shape_of(x)):
            return unfit(w, x, kept)
        x = reshaped(w, x, kept)
    x = as_numbers(w, x)
    return repeated(w, x, shape, kind_of(t) if has_tangents(t.type) or not is_tensor(x.type) else kind_of(x))


def _abstract_repeated(w: AbstractMachine, t: Any, axis: Any) -> Any:
    shape = shape_of(t)
    at = axis_of("prod", known(w, axis), len(shape))
    strides = contiguous(shape)
    access = Access(0, (*strides[:at], 0, *strides[at + 1 :], strides[at]))
    return copied(w, t, (*shape, shape[at]), access)


def _abstract_gathered(w: AbstractMachine, x: Any, axis: Any) -> Any:
    shape = shape_of(x)
    at = axis_of("prod", known(w, axis), len(shape) - 1)
    total = reduced(w, x, [at], False, "+")
    rest, strides = shape_of(total), contiguous(shape_of(total))
    order = (*range(at), len(rest) - 1, *range(at, len(rest) - 1))
    return copied(
        w, total, tuple([rest[axis] for axis in order]), Access(0, tuple([strides[axis] for axis in order]))
    )


def _abstract_is_own(w: AbstractMachine, t: Any, axis: Any) -> Any:
    shape = shape_of(t)
    at = axis_of("prod", known(w, axis), len(shape))
    whole = (*shape, shape[at])
    own = Access(0, tuple([1 if axis == at else 0 for axis in range(len(whole))]))
    other = Access(0, (*[0] * len(shape), 1))
    kernel = Kernel(
        whole, (Read(None, own), Read(None, other)), (Step(w.machine.table["="], (0, 1)),),
        (Output(math.prod(whole), kind="bool"),), (Write(0, 2, Access(0, contiguous(whole))),),
    )  # fmt: skip
    return w.loops(kernel, [], [w.types.tensor(whole, "bool")])[0]


def _abstract_place(name: str, combine: str) -> Callable[..., Any]:
    """The least index at which the entry is the extreme one, or nan."""

    def abstract(w: AbstractMachine, t: Any, axis: Any) -> Any:
        if not is_number(t):
            return w.invalid(name)
        shape = shape_of(t)
        table, chosen = w.machine.table, known(w, axis)
        at = None if chosen is FALSE else axis_of(name, chosen, len(shape))
        if not is_tensor(t.type):
            return w.constant(0.0)
        axes = over(shape, None if at is None else (at,))
        if any(shape[one] == 0 for one in axes):
            return w.fail(f"{name} of nothing")
        if 0 in shape:
            return filled(
                w, tuple([shape[one] for one in range(len(shape)) if one not in axes]), 0.0, "int64"
            )
        extreme = reduced(w, t, axes, True, combine)
        place = Access(
            0, contiguous(shape) if at is None else tuple([int(one == at) for one in range(len(shape))])
        )
        kernel = Kernel(
            shape,
            (Read(None, place),),
            (),
            (Output(math.prod(shape)),),
            (Write(0, 0, Access(0, contiguous(shape))),),
        )
        (index,) = w.loops(kernel, [], [w.types.tensor(shape)])
        is_extreme = w.apply(table["="], [t, extreme])
        is_number_there = w.apply(table["="], [t, t])
        found = w.apply(
            table["where"],
            [is_extreme, index, w.apply(table["where"], [is_number_there, w.constant(math.inf), index])],
        )
        least = reduced(w, found, axes, False, "min")
        return as_kind(w, least, "int64")

    return abstract


def _cumsum(t: Value, axis: Value, from_end: Value) -> Value:
    array = array_of("cumsum", t)
    at, is_back = axis_of("cumsum", axis, array.ndim), flag("cumsum", "from-end", from_end)
    xp, array = namespace(array), numbers(t)
    expect_arrays(1, array.size)
    with quiet():
        if not is_back:
            return made(sums_along(array, at))
        return made(xp.flip(sums_along(xp.flip(array, axis=at), at), axis=at))


def _abstract_cumsum(w: AbstractMachine, t: Any, axis: Any, from_end: Any) -> Any:
    if not is_number(t):
        return w.invalid("cumsum")
    shape = shape_of(t)
    at = axis_of("cumsum", known(w, axis), len(shape))
    kind = result_kind(w.machine.table["cumsum"].value, (kind_of(t),), -1.0, FALSE)
    if 0 in shape:
        return filled(w, shape, 0.0, kind)
    is_back = flag("cumsum", "from-end", known(w, from_end))
    output = Output(math.prod(shape), kind=kind)
    routine = Routine(
        "sums", (output,), shape[at], math.prod(shape[at + 1 :]), shape[:at], transposed=is_back, kind=kind
    )
    return w.loops(routine, [as_kind(w, t, kind)], [w.types.tensor(shape, kind)])[0]


def _repeated(t: Value, axis: Value) -> Value:
    array = array_of("prod", t)
    xp, at = namespace(array), axis_of("prod", axis, array.ndim)
    expect_array((*array.shape, array.shape[at]))
    whole = xp.expand_dims(xp.moveaxis(array, at, -1), at)
    return made(xp.broadcast_to(whole, (*array.shape, array.shape[at])))


def _gathered(x: Value, axis: Value) -> Value:
    array = array_of("prod", x)
    at = axis_of("prod", axis, array.ndim - 1)
    xp = namespace(array)
    with quiet():
        return made(xp.moveaxis(xp.sum(array, axis=at), -1, at))


def _is_own(t: Value, axis: Value) -> Value:
    array = array_of("prod", t)
    xp, at = namespace(array), axis_of("prod", axis, array.ndim)
    length = array.shape[at]
    expect_array((*array.shape, length))
    places = device_of(array).make("arange", length)
    own = xp.reshape(places, (length,) + (1,) * (array.ndim - at)) == places
    return made(xp.broadcast_to(own, (*array.shape, length)))


def _spread(x: Value, t: Value, axis: Value) -> Value:
    """The result of a reduction of t, repeated over t."""
    if type(t) is not Tensor:
        return x
    axes = axes_of("spread", axis, len(t.shape))
    array = numbers(x)
    if type(x) is Tensor and axes is not None and array.ndim < len(t.shape):
        kept = [1 if axis in axes else length for axis, length in enumerate(t.shape)]
        array = namespace(array).reshape(array, tuple(kept))
    kind = (
        None if type(array) is float else array.dtype
    )  # of a tensor of integers, which a real may not be one of
    return made(repeated_like(array, t.like, t.like.dtype if t.is_real else kind))


def _top(xp: Any, array: Array, axes: Any) -> Array:
    """The largest entries, so that exp(x - top) cannot overflow."""
    top = xp.max(array, axis=axes, keepdims=True)
    return xp.where(xp.isfinite(top), top, 0.0)


def _logsumexp(xp: Any, array: Array, axes: Any, keep: bool) -> Array:
    array = reals(array)
    lengths = [array.shape[axis] for axis in (range(array.ndim) if axes is None else axes)]
    if 0 in lengths:  # a largest entry needs at least one
        return xp.log(xp.sum(array, axis=axes, keepdims=keep))
    _expect_two(array, axes)
    top = _top(xp, array, axes)
    total = xp.log(xp.sum(xp.exp(array - top), axis=axes, keepdims=True)) + top
    return total if keep else xp.squeeze(total, axis=tuple(range(array.ndim)) if axes is None else axes)


def _place_of(name: str, find: Callable[..., Array]) -> Callable[..., Value]:
    """`find` takes a namespace, the array and the axis, or None for all."""

    def value(t: Value, axis: Value) -> Value:
        array = numbers(t) if type(t) is Tensor else array_of(name, t)
        at = None if axis is FALSE else axis_of(name, axis, array.ndim)
        _expect_some(name, array, None if at is None else (at,))
        return made(find(namespace(array), array, at))

    return value


def _shifted(name: str, t: Value, axis: Value, exponential: bool) -> Value:
    array = reals(array_of(name, t))
    xp = namespace(array)
    axes = axes_of(name, axis, array.ndim)
    if not array.size:
        return made(array)
    _expect_two(array, axes)
    with quiet():
        below = array - _top(xp, array, axes)
        powers = xp.exp(below)
        total = xp.sum(powers, axis=axes, keepdims=True)
        if exponential:
            powers /= total
            return made(powers)
        below -= xp.log(total)
        return made(below)


_HOLDS = "(let ((m (where (= t (spread r t axis)) 1 0)))"


# For each entry the product of the others: exact if entries are zero, unlike a quotient by the entry.
_OTHERS = """(if axis (prod (where (is-own t axis) 1 (repeated t axis)) -1 #f)
    (let ((u (reshape t -1))) (reshape-like (prod (where (is-own u 0) 1 (repeated u 0)) -1 #f) t)))"""


def _extreme(name: str, doc: str, rule: Callable[..., Array]) -> Primitive:
    return row(
        name, "t axis keep", doc, _reduction(name, rule, empty=False), keywords=REDUCED,
        abstract=_abstract_reduction(name, _combined({"maximum": "max", "minimum": "min"}[name]), False),
        forward=f"{_HOLDS} (broadcast-like (/ (sum (* m dt) axis keep) (sum m axis keep)) r))",
        reverse={"t": f"{_HOLDS} (sum-like (* (spread s t axis) (/ m (spread (sum m axis keep) t axis))) t))"},
    )  # fmt: skip


ROWS: list[Primitive] = [
    row("sum", "t axis keep",
        "The sum of the entries.\n(sum #[[1 2] [3 4]])  ⇒ 10\n(sum #[[1 2] [3 4]] #:axis 0)  ⇒ #[4 6]\n"
        "((gradient sum) #[1 2 3])  ⇒ #[1 1 1]", linear="t", keywords=REDUCED,
         value=_reduction("sum", lambda xp, a, axes, keep: xp.sum(a, axis=axes, keepdims=keep)),
         abstract=_abstract_reduction("sum", _combined("+")), forward="(sum dt axis keep)", reverse={"t": "(spread s t axis)"}),
    row("mean", "t axis keep",
        "The mean of the entries.\n(mean #[1 2 6])  ⇒ 3\n(mean #[[1 2] [3 4]] #:axis 1)  ⇒ #[1.5 3.5]",
        linear="t", keywords=REDUCED,
         value=_reduction("mean", lambda xp, a, axes, keep: xp.mean(reals(a), axis=axes, keepdims=keep), empty=False),
         abstract=_abstract_reduction("mean", _abstract_mean, False), forward="(mean dt axis keep)",
         reverse={"t": "(/ (spread s t axis) (/ (size t) (size r)))"}),
    row("variance", "t axis keep",
        "The mean of the squared deviations from the mean.\n(variance #[1 2 3 6])  ⇒ 3.5\n"
        "(variance #[[1 5] [3 5]] #:axis 0)  ⇒ #[1 0]", keywords=REDUCED,
         value=_reduction("variance", _variance, empty=False, keeps_reals=False),
         abstract=_abstract_reduction("variance", _abstract_variance, False),
         forward="(mean (* (* 2 dt) (- t (mean t axis #t))) axis keep)",
         reverse={"t": "(* (/ (spread s t axis) (/ (size t) (size r))) (* 2 (- t (mean t axis #t))))"}),
    _extreme("maximum",
        "The largest entry.\n(maximum #[1 5 2])  ⇒ 5\n((gradient maximum) #[1 5 2])  ⇒ #[0 1 0]",
        lambda xp, a, axes, keep: xp.max(a, axis=axes, keepdims=keep)),
    _extreme("minimum",
        "The smallest entry.\n(minimum #[[4 1] [2 3]] #:axis 0)  ⇒ #[2 1]",
        lambda xp, a, axes, keep: xp.min(a, axis=axes, keepdims=keep)),
    constant("argmax", "t axis",
        "The index of the largest entry, the first of several.\n(argmax #[3 9 4])  ⇒ 1",
        _place_of("argmax", lambda xp, a, axis: xp.argmax(a, axis=axis)),
             abstract=_abstract_place("argmax", "max"), keywords={"axis": FALSE}, room=1),
    constant("argminimum", "t axis",
        "The index of the smallest entry, the first of several; `argmin` is for procedures.\n(argminimum #[3 9 2])  ⇒ 2",
        _place_of("argminimum", lambda xp, a, axis: xp.argmin(a, axis=axis)),
             abstract=_abstract_place("argminimum", "min"), keywords={"axis": FALSE}, room=1),
    row("cumsum", "t axis from-end",
        "Cumulative sums along an axis; or sums of all entries from each on, added from the end.\n"
        "(cumsum #[1 2 3])  ⇒ #[1 3 6]\n(cumsum #[1 2 3] #:from-end #t)  ⇒ #[6 5 3]\n"
        "((gradient (lambda (t) (dot (cumsum t) #[1 10 100]))) #[1 2 3])  ⇒ #[111 110 100]", linear="t",
        keywords={"axis": 0.0, "from-end": FALSE}, value=_cumsum, abstract=_abstract_cumsum,
        forward="(cumsum dt axis from-end)", reverse={"t": "(cumsum s axis (if from-end #f #t))"}),
    row("spread", "x t axis", "The result of a reduction, repeated over the reduced entries.",
         linear="x t", value=_spread, hidden=True, abstract=_abstract_spread,
         forward="(spread dx t axis)", reverse={"x": "(sum-like (sum s axis (same-rank x t)) x)"}),
    constant("same-rank", "x t", "Have two tensors as many axes?", hidden=True,
             abstract=lambda w, x, t: w.truth(is_tensor(x.type) and len(shape_of(x)) == len(shape_of(t))),
              value=lambda x, t: boolean(type(x) is Tensor is type(t) and len(x.shape) == len(t.shape))),
    row("logsumexp", "t axis keep",
        "log of the sum of exp, without overflow; -inf.0 for no entries.\n(round-to 4 (logsumexp #[0 0]))  ⇒ 0.6931\n"
        "(logsumexp (zeros 0))  ⇒ -inf.0",
        _reduction("logsumexp", _logsumexp), abstract=_abstract_reduction("logsumexp", _abstract_logsumexp),
         keywords=REDUCED, forward="(sum (* (softmax t axis) dt) axis keep)",
         reverse={"t": "(* (spread s t axis) (softmax t axis))"}),
    row("softmax", "t axis", "exp, divided by its sum along an axis.\n(softmax #[0 0])  ⇒ #[0.5 0.5]", keywords=LAST,
         value=lambda t, axis: _shifted("softmax", t, axis, True), abstract=_abstract_shifted("softmax", True),
         forward="(* r (- dt (sum (* r dt) axis #t)))", reverse={"t": "(* r (- s (sum (* r s) axis #t)))"}),
    row("log-softmax", "t axis",
        "The logarithm of softmax.\n(round-to 4 (log-softmax #[0 0]))  ⇒ #[-0.6931 -0.6931]", keywords=LAST,
         value=lambda t, axis: _shifted("log-softmax", t, axis, False),
        abstract=_abstract_shifted("log-softmax", False),
         forward="(- dt (sum (* (exp r) dt) axis #t))", reverse={"t": "(- s (* (exp r) (sum s axis #t)))"}),
    row("prod", "t axis keep",
        "The product of the entries; of one axis, or of all.\n(prod #[2 3 4])  ⇒ 24\n"
        "((gradient prod) #[2 0 4])  ⇒ #[0 8 0]", keywords=REDUCED, linear="t",
         value=_reduction("prod", lambda xp, a, axes, keep: xp.prod(a, axis=axes, keepdims=keep), most_axes=1),
        abstract=_abstract_reduction("prod", _combined("*"), most_axes=1),
         forward=f"(let ((others {_OTHERS})) (sum (* others dt) axis keep))",
         reverse={"t": f"(let ((others {_OTHERS})) (* (spread s t axis) others))"}),
    row("repeated", "t axis", "The tensor, with each entry of an axis replaced by all of them, on a new last axis.", _repeated,
         abstract=_abstract_repeated,
         linear="t", hidden=True, forward="(repeated dt axis)", reverse={"t": "(gathered s axis)"}),
    row("gathered", "x axis", "The transpose of repeated.", _gathered, abstract=_abstract_gathered, linear="x", hidden=True,
         forward="(gathered dx axis)", reverse={"x": "(repeated s axis)"}),
    constant("is-own", "t axis", "Where repeated has the entry itself.", _is_own, hidden=True, linear="t",
         abstract=_abstract_is_own),
]  # fmt: skip
