"""Compiling a call: a procedure and operands become a callable.

In: a procedure and operands.  Out: `Compiled`, from the cache if the same call was compiled before (code_cache.py), else from the
compiler, which is imported only then. The tier policy (policy.py) decides what is compiled, and when.

The C compiler takes seconds for a long text. If a call waits for such code, it gets the library that the same compiler makes
without optimising, in a third of the time, and `Later` makes the other one (finishing.py). Both give the same results, since the
code is plain (c_unit.py), and the toolchain keeps the C compiler from computing what the C library computes. (tcc would take
hundredths of a second, but rounds the results of constants twice, and takes no calls of more than 512 arguments.)
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from vlad.compile.analysis.sizes import Shapes, Sizes, shapes_of, sizes_between
from vlad.compile.analysis.static_operands import Places, needed, whole_numbers, with_fixed
from vlad.compile.analysis.strategy import Strategy, lengths, with_and_without_unrolling
from vlad.compile.analysis.trees import Tree
from vlad.compile.calling.cache_key import Identity, Nameless, identity
from vlad.compile.calling.code_cache import NotKept, kept_call, store_call, store_refusal
from vlad.compile.calling.executable import Compiled, Later, Launched
from vlad.compile.calling.libraries import QUICKLY, built, quickly_built, rejection_entry
from vlad.compile.ir.refusals import Rejected, Unbounded
from vlad.compile.native import cache, toolchain
from vlad.compile.native.reserve import is_narrow
from vlad.control.frame_stack import with_room
from vlad.control.safe_import import import_safely
from vlad.data.devices import device_named
from vlad.data.values import NIL, String, Symbol, Value, is_pair, look
from vlad.evaluate.limits import deep_recursion

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

LONG_TEXT = 400_000  # characters of C, for which gcc takes a second


def compile_call(
    machine: Machine,
    f: Value,
    operands: tuple[Value, ...],
    optimize: int = 2,
    fast_math: bool = False,
    variants: int = 0,
    fixed: Places = (),
    zeros_distinct: int | None = None,
    keeps_apart: bool = False,
    trees: Container[int] = (),
    earlier: Sequence[Shapes] = (),
    only_kept: bool = False,
    early: bool = False,
    exhausted: tuple[str, ...] = (),
) -> Compiled | Launched:
    """Compile a procedure for operands like these, when it has `variants` variants already. `earlier`: the shapes for which it
    was compiled; lengths that differ from them become sizes. `fixed`: the positions of numbers that had to be constants in
    operands of the same form. `zeros_distinct`, `exhausted`: as of `attempts` in analysis/strategy.py; `keeps_apart`: as of
    `Guards` in core/extents.py. `trees`: the operands whose shapes do not matter. `early`: a call waits for it, so that a long
    text need not be optimised; then there is a `later`. Raises Unbounded or Unavailable; NotKept if it must be kept (`only_kept`)
    and is not.
    """

    def compiled(given: tuple[Value | Tree, ...], longest: int, sizes: Sizes) -> Compiled | Launched:
        sizes.guards.keeps_apart = keeps_apart
        options = optimize, fast_math, zeros_distinct, exhausted, sizes, only_kept, early and not is_narrow()
        made = with_room(_compile, machine, f, given, longest, *options)
        made.shapes = shapes_of(given)
        return made

    found, places = in_each_way(machine, f, operands, compiled, variants, fixed, trees, earlier, only_kept)
    found.fixed = places
    return found


Made = TypeVar("Made")


def in_each_way(
    machine: Machine,
    f: Value,
    operands: tuple[Value, ...],
    make: Callable[[tuple[Value | Tree, ...], int, Sizes], Made],
    variants: int = 0,
    fixed: Places = (),
    trees: Container[int] = (),
    earlier: Sequence[Shapes] = (),
    only_kept: bool = False,
) -> tuple[Made, Places]:
    """What `make` returns for the operands of a call, the length up to which lists are unrolled, and the sizes; and the positions
    of the numbers that had to be constants. Tries what it takes, in order, until nothing is unbounded; parameters as of
    `compile_call`. Raises Unbounded.
    """
    with deep_recursion():
        known: dict[int, int] = {}
        chains = [longest_chain(x, known) for index, x in enumerate(operands) if index not in trees]
        length = max(chains, default=0)
        named = max(map(named_parts, operands), default=0)
        counted: dict[int, int] = {}
        most = max([atoms(x, counted) for index, x in enumerate(operands) if index not in trees], default=0)
    *first, last = lengths(length, variants, most, is_named=bool(named) and length <= named + 1)

    def made(places: Places, of_numbers: bool = False) -> Made:
        given = tuple([Tree(x) if n in trees else x for n, x in enumerate(with_fixed(operands, places))])
        sizes = replace(sizes_between(earlier, given), of_numbers=of_numbers)
        for limit in first:
            with contextlib.suppress(Unbounded):
                return make(given, limit, sizes)
        return make(given, last, sizes)

    if not set(fixed) <= set(whole_numbers(operands)):
        fixed = ()
    try:
        return made(fixed), fixed
    except Unbounded as unbounded:
        if not unbounded.for_number:
            raise
        fixed = _shaping(machine, f, operands, last, fixed, only_kept)
        try:
            return made(fixed, of_numbers=not fixed), fixed
        except Unbounded:
            if fixed:
                raise
            raise unbounded from None


def _shaping(
    machine: Machine, f: Value, operands: tuple[Value, ...], longest: int, but: Places, only_kept: bool
) -> Places:
    """The positions of numbers that must be constants for shapes to be known, if that suffices; not those in `but`.
    Raises NotKept."""
    places = whole_numbers(operands)
    if not places:
        return ()
    key: str | None = None
    with contextlib.suppress(Nameless):
        if cache.is_used():
            # with the actual numbers: one is a length, and another may be too large
            known = with_fixed(operands, places)
            key = identity(machine, f, known, longest, "shaping", machine.device).digest
    kept = None if key is None else cache.lookup(key, cache.CALL)
    if kept is not None:
        found = tuple(json.loads(kept))
    elif only_kept:
        raise NotKept(key is not None)
    else:
        settles = import_safely("vlad.compile.calling.pipeline").settles
        environment = f[1 : 1 + len(f[0].environment)]

        def is_enough(places: Places, strategy: Strategy) -> bool:
            given = with_fixed(operands, places)
            return bool(with_room(settles, machine, f[0], environment, given, strategy))

        found = ()
        for strategy in with_and_without_unrolling(longest):
            if is_enough(places, strategy):
                found = needed(places, partial(is_enough, strategy=strategy))
                break
        if key is not None:
            cache.store(key, json.dumps(found).encode(), cache.CALL)
    return found if found != but else ()


def named_parts(value: Value) -> int:
    """The number of parts if a value is a list of pairs of a name and a part, perhaps behind a mark, as a dict is; else 0."""
    count, value = 0, look(value)
    if is_pair(value) and type(look(value[0])) is Symbol:
        value = look(value[1])
    while is_pair(value):
        part = look(value[0])
        if not is_pair(part) or type(look(part[0])) not in (String, Symbol):
            return 0
        count, value = count + 1, look(value[1])
    return count


def longest_chain(value: Value, known: dict[int, int]) -> int:
    """The length of the longest chain of pairs or captured values in a value. `known`: lengths found before."""
    given, length, longest = value, 0, 0
    if id(given) in known:
        return known[id(given)]
    while True:
        value = look(value)
        if type(value) is not tuple or len(value) <= 1:
            known[id(given)] = longest = max(length, longest)
            return longest
        width = 1 if len(value) == 2 else len(value[0].environment)
        for part in value[len(value) != 2 : width]:
            if type(part) is not float:
                longest = max(longest, longest_chain(part, known))
        value = value[width]
        length += 1


def atoms(value: Value, known: dict[int, int]) -> int:
    """The number of atoms in a value's pairs and captured values, each as often as it occurs. `known`: those found before."""
    given, total = value, 0
    if id(given) in known:
        return known[id(given)]
    while True:
        value = look(value)
        if type(value) is not tuple or len(value) <= 1:
            known[id(given)] = total = total + (value is not NIL)
            return total
        width = 1 if len(value) == 2 else len(value[0].environment)
        for part in value[len(value) != 2 : width]:
            total += 1 if type(part) is float else atoms(part, known)
        value = value[width]


def _compile(
    machine: Machine,
    f: Value,
    operands: tuple[Value | Tree, ...],
    longest: int,
    optimize: int,
    fast_math: bool,
    zeros_distinct: int | None,
    exhausted: tuple[str, ...],
    sizes: Sizes,
    only_kept: bool,
    early: bool,
) -> Compiled | Launched:
    call: Identity | None = None
    if cache.is_used() and not machine.placed:  # the cache is independent of places
        with contextlib.suppress(Nameless):
            more = (
                str(optimize),
                str(fast_math),
                str(zeros_distinct),
                *exhausted,
                str(machine.counting),
                machine.device,
                toolchain.signature(),
            )
            call = identity(
                machine,
                f,
                operands,
                longest,
                *more,
                str(sizes.of_numbers),
                str(sizes.guards.keeps_apart),
                shapes=sizes.shapes,
            )
            kept = kept_call(machine, call, early)
            if kept is not None:
                return kept
    if only_kept:
        raise NotKept(call is not None)
    # 13 ms, only for a call that is not cached
    made = import_safely("vlad.compile.calling.pipeline").made
    environment = f[1 : 1 + len(f[0].environment)]
    try:
        with deep_recursion():  # no cyclic garbage is collected before most of it is freed by `close`
            unit = made(machine, f[0], environment, operands, longest, zeros_distinct, sizes, exhausted)
            unit.close()
    except Unbounded as unbounded:
        if call is not None:
            store_refusal(call, unbounded)
        raise
    if unit.cuda is not None:
        xp = device_named(machine.device).xp
        kernels = import_safely("vlad.compile.emit.cuda_unit").loaded(unit.cuda, xp)
        return Launched(unit.interface, unit.cells, kernels, xp)
    is_long = unit.is_plain and len(unit.text) >= LONG_TEXT and optimize > 0 and not fast_math
    options: dict[str, Any] = {"optimize": optimize, "fast_math": fast_math, "repeatable": is_long}
    key, digest = toolchain.address(unit.text, **options)
    early = early and not machine.placed
    library = quickly_built(unit.text, key, digest) if early and is_long else None
    later = None
    if library is not None:
        later = Later(unit.text, options, toolchain.address(unit.text, **QUICKLY)[0])
    else:
        try:
            library = built(unit.text, options)
        except Rejected as rejected:
            if call is not None:
                cache.store(call.digest, rejection_entry(rejected), cache.CALL)
            raise
    if call is not None:
        store_call(call, unit, key, digest, later)
    compiled = Compiled(machine, unit.interface, unit.cells, library, unit.given)
    compiled.sites = unit.sites
    if later is not None:
        compiled.improve(later)
    return compiled
