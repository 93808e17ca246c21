"""Entries of codes: a function for each number of operands, made at the first call; tail calls.

In: a code.  Out: its `native` and `entry1` to `entry4`, which emit its function on the first call, and then are that
function or adapters by the tuple rule; `bounce`, which continues a tail call. Called by machine.py. All functions through
which one emitted function reaches another are here: overtaking.py identifies them by this file and their names.

Tail calls: a procedure that ends in a call to another stores it in the register T and returns T; the caller of a non-tail
call continues with `bounce`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from vlad.data.values import Code, Value
from vlad.evaluate.emit_python import marked

NOTHING = (None,) * 7


class Register:
    """T: a pending tail call, returned to the caller of a non-tail call. `e` is the function, `f` the closure, the
    rest `n` operands.
    """

    __slots__ = ("e", "f", "a", "b", "c", "d", "n")

    e: Callable[..., Value]
    f: Value
    a: Value
    b: Value
    c: Value
    d: Value
    n: int

    def __init__(self) -> None:
        self.take_back(NOTHING)

    def kept(self) -> tuple[Any, ...]:
        """The pending call, for `take_back`."""
        return self.e, self.f, self.a, self.b, self.c, self.d, self.n

    def take_back(self, kept: tuple[Any, ...]) -> None:
        self.e, self.f, self.a, self.b, self.c, self.d, self.n = kept


def make_bounce(T: Register) -> Callable[[], Value]:
    def bounce() -> Value:
        """Run the tail call in T, and those it leads to, until there is a value."""
        while True:
            e, n = T.e, T.n
            if n == 2:
                r = e(T.f, T.a, T.b)
            elif n == 1:
                r = e(T.f, T.a)
            elif n == 3:
                r = e(T.f, T.a, T.b, T.c)
            else:
                r = e(T.f, T.a, T.b, T.c, T.d)
            if r is not T:
                return r

    return bounce


_adapters: dict[int, Callable[[Code], None]] = {}


def install(code: Code, native: Callable[..., Value]) -> None:
    """Make `native` the code's function, and its entries: adapters by the tuple rule if the count differs."""
    code.native = native
    make = _adapters.get(code.arity)
    if make is None:
        names = marked()
        exec(compile(_adapters_text(code.arity), "<vlad adapter>", "exec"), names)
        make = _adapters[code.arity] = names["make"]
    make(code)


def _adapters_text(arity: int) -> str:
    """Python for the entries of a procedure of `arity` parameters: `(f . (a . b))` takes its last operand apart,
    excess operands are packed into the last parameter.
    """
    lines = ["def make(code):", " native = code.native"]
    for count in range(1, 5):
        if count == arity:
            lines.append(f" code.entry{count} = native")
            continue
        given = [f"x{i}" for i in range(count)]
        lines.append(f" def entry{count}(self, {', '.join(given)}):")
        if count < arity:
            passed = [f"x{i}" for i in range(arity)]
            for i in range(count - 1, arity - 1):
                lines.append(f"  x{i}, x{i + 1} = x{i}")
        else:
            packed = given[-1]
            for name in reversed(given[arity - 1 : -1]):
                packed = f"({name}, {packed})"
            passed = [*given[: arity - 1], packed]
        lines.append(f"  return native(self, {', '.join(passed)})")
        lines.append(f" code.entry{count} = entry{count}")
    return "\n".join(lines)


def await_first_call(code: Code) -> None:
    """Entries that compile the code and call again."""

    def native(*operands: Value) -> Value:
        compile_code(code)
        return code.native(*operands)

    def entry1(f: Value, a: Value) -> Value:
        compile_code(code)
        return code.entry1(f, a)

    def entry2(f: Value, a: Value, b: Value) -> Value:
        compile_code(code)
        return code.entry2(f, a, b)

    def entry3(f: Value, a: Value, b: Value, c: Value) -> Value:
        compile_code(code)
        return code.entry3(f, a, b, c)

    def entry4(f: Value, a: Value, b: Value, c: Value, d: Value) -> Value:
        compile_code(code)
        return code.entry4(f, a, b, c, d)

    code.native, code.entry1, code.entry2, code.entry3, code.entry4 = (
        native,
        entry1,
        entry2,
        entry3,
        entry4,
    )


def compile_code(code: Code) -> None:
    """Emit the code's function, and install it."""
    machine = code.machine
    machine.core_of(code)
    instrument = machine.instrument
    install(code, machine.emit(code) if instrument is None else instrument.emit(code))
    if code.primitive is not None and code.primitive.variadic and instrument is None:
        rule = machine.counted(code.primitive) if machine.metered else machine.rule(code.primitive)
        _add_fast_entry(code, machine.stepping(rule, 2) if machine.counting else rule)


def _add_fast_entry(code: Code, rule: Callable[..., Value]) -> None:
    """A variadic primitive on two reals, as `fold` calls it, without packing them into a tuple."""
    general = code.entry1

    def entry2(f: Value, a: Value, b: Value) -> Value:
        if type(a) is float and type(b) is float:
            return rule(a, b)
        return general(f, (a, b))

    code.entry2 = entry2


def emptied(code: Code, refuse: Callable[..., NoReturn]) -> None:
    """Reduce a code to its name, for references that remain; its entries call `refuse`."""
    if code.family is not None:
        code.family.close()
    code.native = code.entry1 = code.entry2 = code.entry3 = code.entry4 = refuse
    code.machine = code.family = code.lambda_ = code.make_lambda = None
    code.tail = code.forward = code.control = code.stepping = code.closed = None
    code.name, code.group = code.name or "λ", ()
    del code.base
