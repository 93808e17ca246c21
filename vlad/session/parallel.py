"""Calls of a procedure on many cores and machines: `vlad.map`, and `vlad.value_and_grad` of a loss over data.

In: procedures, and an executor (executors.py).  Out: the results in order, with the same bits for any number of workers.

A procedure travels as its text, once for each part, and a worker keeps what it has read and compiled. Parts of data travel
once to each worker, too: afterwards their digests do.
"""

from __future__ import annotations

import functools
import hashlib
import io
import itertools
import pickle
from builtins import map as each
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Generic, TypeVar

from vlad.data.errors import VladError, WrongOption
from vlad.data.tensors import is_array
from vlad.data.values import NIL, Value, list_of
from vlad.evaluate.limits import Limits
from vlad.evaluate.machine import Machine
from vlad.primitives.arrays import elements
from vlad.python import derivatives
from vlad.python.convert import Procedure, from_python, like
from vlad.python.derivatives import Which, session_procedure
from vlad.python.dump import dumps_with_places
from vlad.python.functions import Function
from vlad.python.load import loads_with_places
from vlad.python.structures import tuple_of
from vlad.session.default import function
from vlad.session.executors import executor_of, ordered

T = TypeVar("T")

CHUNKS = 32  # parts of the items, if there are so many
KEPT = 256  # parts of data that a worker keeps

Progress = Callable[[int, int], object]


def map(
    f: Callable[..., Any],
    *iterables: Iterable[Any],
    executor: Any = None,
    chunks: int = CHUNKS,
    progress: Progress | None = None,
) -> list[Any]:
    """The list of `f(x, …)` for the items of the iterables, which must be equally long.

    With an `executor` other processes or machines compute them, each a part at a time: a number of processes of this machine,
    or whatever has `submit` or `map`, such as a ProcessPoolExecutor or a client of Dask. `chunks` is the number of parts.
    `progress` is called with the number of items that are ready, and of all. `f` is a procedure, or a Python function that
    `vlad.function` takes. Raises what the first call that fails raises, with the number of its item as a note, and VladError if
    the workers end.
    """
    f = session_procedure(function(f) if isinstance(f, FunctionType) else f, "mapped")
    calls = [f.completed(item, {}) for item in _rows(iterables)]
    bounds = _bounds(len(calls), chunks)
    workers = executor_of(executor)
    procedure = f if workers is None else _packed(f)
    tasks = [(procedure, calls[start:end], f.session.machine.limits) for start, end in bounds]
    told = None if progress is None else lambda parts: progress(bounds[parts - 1][1], len(calls))
    found: list[Any] = []
    for results, error in ordered(workers, _applied, tasks, told):
        found += results
        if error is not None:
            error.add_note(f"in item {len(found)} of vlad.map")
            raise error
    return found


def _rows(iterables: Sequence[Iterable[Any]]) -> list[tuple[Any, ...]]:
    if not iterables:
        raise WrongOption("invalid-argument", "vlad.map takes a procedure and what to map it over")
    columns = [list(one) for one in iterables]
    if len({len(column) for column in columns}) > 1:
        lengths = " and ".join([str(len(column)) for column in columns])
        raise WrongOption(
            "invalid-argument",
            f"vlad.map: the iterables have {lengths} items",
            hint="they must be equally long",
        )
    return list(zip(*columns, strict=True))


def _bounds(count: int, chunks: int) -> list[tuple[int, int]]:
    """The start and end of each part: they depend on the number of items and of parts only."""
    if isinstance(chunks, bool) or not isinstance(chunks, int) or chunks < 1:
        raise WrongOption("invalid-argument", f"chunks is {chunks!r}", hint="a whole number from 1 on")
    parts = min(chunks, count)
    ends = [count * number // parts for number in range(parts + 1)] if parts else [0]
    return list(itertools.pairwise(ends))


def spread(session: Any, executor: Any, f: Value, items: Value) -> Value:
    """The list of the values of f at the items, as workers compute them: `parallel-map`. What f prints in them is printed
    here, in the order of the items. Raises the error of the first call that fails.
    """
    calls, machine = session._calls, session.machine
    given = elements("parallel-map", items)
    bounds = _bounds(len(given), CHUNKS)
    procedure = _packed(Procedure(f, calls))
    tasks = [(procedure, _saved(list_of(given[start:end]), session), machine.limits) for start, end in bounds]
    found: list[Value] = []
    for output, values, error in ordered(executor_of(executor), _mapped, tasks):
        for written in output:
            machine.write(written)
        if values is None:
            assert error is not None
            raise error
        found += elements("parallel-map", _value_in(values, session))
    return list_of(found)


Saved = tuple[str, bytes]  # the text and the places of a procedure


def _saved(value: Value, session: Any) -> Saved:
    """Any value of the language, as a procedure that returns it."""
    calls = session._calls
    return dumps_with_places(Procedure(calls(session.library_value("constantly"), value), calls))


def _value_in(saved: Saved, session: Any) -> Value:
    return session._calls(loads_with_places(*saved, session).value, NIL)


# In a worker.


def _mapped(
    procedure: bytes, items: Saved, limits: Limits
) -> tuple[list[str], Saved | None, VladError | None]:
    """What the values of a procedure at items print, and these values, or their error."""
    f = _read(procedure)
    session, output = f.session, list[str]()
    with session.limited(limits), _written_to(session.machine, output):
        try:
            values = f._apply(session.library_value("map"), (f.value, _value_in(items, session)))
            return output, _saved(values, session), None
        except VladError as error:
            return output, None, error


@contextmanager
def _written_to(machine: Machine, output: list[str]) -> Iterator[None]:
    write, machine.write = (
        machine.write,
        lambda text: output.append(text),
    )  # a function of Python: explain.py looks for its code
    try:
        yield
    finally:
        machine.write = write


def _applied(
    procedure: bytes | Procedure, calls: list[tuple[Any, ...]], limits: Limits
) -> tuple[list[Any], Exception | None]:
    """The results of calls, up to the first that fails, and its error."""
    f = procedure if isinstance(procedure, Procedure) else _read(procedure)
    found: list[Any] = []
    with f.session.limited(limits):
        for arguments in calls:
            try:
                found.append(f(*arguments))
            except Exception as error:
                return found, error
    return found, None


class Missing:
    """The result of a worker that has not kept the part of the data."""


def _differentiated(
    procedure: bytes | Procedure, params: bytes | tuple[Any, ...], digest: bytes, part: bytes | tuple[Any, ...] | None,
    limits: Limits,
) -> Any:  # fmt: skip
    """The value and gradient of a loss over a part of the data."""
    rows = part if isinstance(part, tuple) else _kept(digest, part)
    if rows is None:
        return Missing()
    f = procedure if isinstance(procedure, Procedure) else _read(procedure)
    given = params if isinstance(params, tuple) else _read(params)
    with f.session.limited(limits):
        return f(*given, *rows)


@functools.lru_cache(maxsize=16)
def _read(packed: bytes) -> Any:
    return pickle.loads(packed)


_parts: OrderedDict[bytes, tuple[Any, ...]] = OrderedDict()


def _kept(digest: bytes, part: bytes | None) -> tuple[Any, ...] | None:
    if part is not None:
        _parts[digest] = pickle.loads(part)
        while len(_parts) > KEPT:
            _parts.popitem(last=False)
    if digest in _parts:
        _parts.move_to_end(digest)
    return _parts.get(digest)


# At the user's.


class _Pickler(pickle.Pickler):
    """Python functions travel as their translations: a worker may not have the module."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Function):
            value.renewed()
            return Procedure.__reduce__(value)
        return NotImplemented


def _packed(value: Any) -> bytes:
    file = io.BytesIO()
    _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


class OverData:
    """The value and gradient of a loss over the rows of data: a function of the parameters (`value_and_grad`)."""

    def __init__(
        self, f: Procedure, argnums: Which, data: Any, reduce: str | None, executor: Any, chunks: int,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        if reduce not in ("sum", "mean"):
            raise WrongOption(
                "invalid-argument", f"reduce is {reduce!r}",
                hint='`reduce="sum"` if the loss is a sum over the rows, `reduce="mean"` if it is their mean',
            )  # fmt: skip
        columns = data if type(data) is tuple else (data,)
        lengths = {_length(column) for column in columns}
        if len(lengths) != 1 or 0 in lengths:
            raise WrongOption(
                "invalid-argument", f"The data have {' and '.join(each(str, sorted(lengths)))} rows",
                hint="arrays or lists, equally long and not empty",
            )  # fmt: skip
        (count,) = lengths
        self.f = f
        self.argnums = argnums
        self.progress = progress
        self.bounds = _bounds(count, chunks)
        self.weights = [(end - start) / count if reduce == "mean" else 1.0 for start, end in self.bounds]
        self.workers = executor_of(executor)
        self.rows = [tuple([column[start:end] for column in columns]) for start, end in self.bounds]
        self.packed = (
            []
            if self.workers is None
            else [pickle.dumps(rows, pickle.HIGHEST_PROTOCOL) for rows in self.rows]
        )
        self.digests = [hashlib.blake2b(part, digest_size=16).digest() for part in self.packed]
        self.sent = False

    def __repr__(self) -> str:
        return f"<value and gradient of {self.f.__name__} over {self.bounds[-1][1]} rows in {len(self.bounds)} parts>"

    def __call__(self, *params: Any) -> tuple[float, Any]:
        by = (
            self.argnums if self.argnums is not None else 0 if len(params) == 1 else tuple(range(len(params)))
        )
        gradient = derivatives.value_and_grad(self.f, by)
        limits = self.f.session.machine.limits
        if self.workers is None:
            parts = ordered(
                None,
                _differentiated,
                [(gradient, params, b"", rows, limits) for rows in self.rows],
                self._told,
            )
            return self._total(gradient, parts)
        procedure, given = _packed(gradient), _packed(params)

        def task(number: int, part: bytes | None) -> tuple[Any, ...]:
            return procedure, given, self.digests[number], part, limits

        def again(number: int, result: Any) -> tuple[Any, ...] | None:
            return task(number, self.packed[number]) if isinstance(result, Missing) else None

        tasks = [task(number, None if self.sent else part) for number, part in enumerate(self.packed)]
        self.sent = hasattr(self.workers, "submit")  # which gets what a worker misses again
        return self._total(gradient, ordered(self.workers, _differentiated, tasks, self._told, again))

    def _told(self, parts: int) -> None:
        if self.progress is not None:
            self.progress(parts, len(self.bounds))

    def _total(self, gradient: Procedure, parts: Iterator[tuple[float, Any]]) -> tuple[float, Any]:
        """The sum of values and gradients, as the procedures of the library add them."""
        apply, session = gradient._apply, self.f.session
        add, scale = session.library_value("v+"), session.library_value("k*v")

        def plus(a: tuple[float, Value], b: tuple[float, Value]) -> tuple[float, Value]:
            return a[0] + b[0], apply(add, tuple_of([a[1], b[1]]))

        model: Any = None
        total = _Sum(plus)
        for weight, (value, slope) in zip(self.weights, parts, strict=True):
            model = slope if model is None else model
            found = from_python(slope, apply)
            total.add(
                (weight * value, apply(scale, tuple_of([weight, found]))) if weight != 1 else (value, found)
            )
        value, found = total.result()
        return value, like(model, found, apply)


class _Sum(Generic[T]):
    """A sum of terms in order, as a tree that is determined by their number: of two neighbours, of two such sums, and so on. It
    keeps as many sums as that number has binary digits.
    """

    def __init__(self, plus: Callable[[T, T], T]) -> None:
        self.plus = plus
        self.sums: list[tuple[int, T]] = []  # of how many terms each is, and the sum

    def add(self, term: T) -> None:
        count = 1
        while self.sums and self.sums[-1][0] == count:
            term = self.plus(self.sums.pop()[1], term)
            count *= 2
        self.sums.append((count, term))

    def result(self) -> T:
        total = self.sums.pop()[1]
        while self.sums:
            total = self.plus(self.sums.pop()[1], total)
        return total


def _length(column: Any) -> int:
    if isinstance(column, list) or (is_array(column) and column.ndim > 0):
        return len(column)
    raise WrongOption(
        "invalid-argument",
        f"The data contain {column!r}",
        hint="arrays or lists, with a row for each example",
    )
