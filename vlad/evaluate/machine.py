"""The machine: codes, their transforms, and application of procedures.

In: core, and a procedure and its argument.  Out: codes and closures; the result, under the limits and with errors explained. The
only module that depends on both code and J: it makes the code of a transform on demand, from the output of `ad/`, once per
code. Called by session/; rows that call procedures get this machine as an argument. Entries of codes are in entries.py.

Depth: emitted functions call each other directly, Python to Python, without using the C stack, so depth is bounded by memory and
by the limit of limits.py.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Protocol
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from vlad.control.budget import NoRoom, NoTime
from vlad.control.safe_import import import_safely
from vlad.core.cells import promote
from vlad.core.check import check
from vlad.core.names import lambdas_within
from vlad.core.nodes import Lambda, Variable
from vlad.core.passes import run_pass
from vlad.core.resolve import resolve
from vlad.core.simplify import simplify, tidy
from vlad.data.errors import (
    Abandoned,
    EndedContinuation,
    ExitedAtOnce,
    LimitExceeded,
    Notice,
    OutsideStep,
    Thrown,
    VladError,
)
from vlad.data.source import in_library
from vlad.data.tables import vector_of
from vlad.data.tensors import Booleans, condition, holds
from vlad.data.values import (
    CONTROL,
    FALSE,
    FILLED,
    NIL,
    STEPPING,
    TRUE,
    UNSPECIFIED,
    ZERO,
    Code,
    Global,
    Primitive,
    Reference,
    Role,
    String,
    SystemCode,
    TangentSpace,
    Value,
    is_procedure,
    list_of,
    look,
)
from vlad.evaluate.emit_python import Family, emit
from vlad.evaluate.entries import NOTHING, Register, await_first_call, emptied, make_bounce
from vlad.evaluate.errors.explain import caught, explained, located
from vlad.evaluate.errors.replay import Beginning, Frames, emitted_frames, not_a_procedure
from vlad.evaluate.limits import (
    AsyncException,
    Interrupted,
    Limits,
    Watch,
    default_depth,
    out_of_fuel,
    too_deep,
)
from vlad.evaluate.system_procedures import SystemCodes, SystemProcedures

if TYPE_CHECKING:
    from vlad.ad.rules import Basis, Rules
    from vlad.evaluate.transforms import Transforms

MOST_UNSEEN = 64  # calls of `check_depth` before the first look at a chain of continuations


class Overtaken(Protocol):
    """An evaluation that another thread may restart compiled, from `begin` to `end`."""

    def begin(self) -> None: ...

    def end(self) -> None: ...


class Machine:
    """An evaluator: codes, transforms on demand, limits. It runs one evaluation at a time."""

    selectors = {"car": "car", "match-car": "car", "cdr": "cdr", "match-cdr": "cdr"}
    entry_rows = {
        "tail-entry": "tail",
        "forward-entry": "forward",
        "control-entry": "control",
        "stepping-entry": "stepping",
    }

    def __init__(
        self,
        table: Mapping[str, Primitive],
        codes: Mapping[str, SystemCode],
        procedures: Mapping[str, str],
        write: Callable[[str], object],
        read: Callable[[], str],
        limits: Limits | None = None,
        metered: bool = False,
        arguments: Iterable[str] = (),
        find: Callable[[str], str] = str,
        permit: Callable[[str, str], object] = lambda capability, what: None,
        device: str = "cpu",
    ) -> None:
        self.table = table
        self.device = device
        self.threads = 1  # of compiled code
        self.limits = limits or Limits()
        self.metered = metered
        self.counting = metered or self.limits.fuel is not None
        self.counts: dict[str, int] = {}
        self.steps: list[float] = [0, float("inf")]
        self.write = self._counting_writer(write)
        self.read = read
        self.read_word: Callable[[], str] = self._next_word  # a variable, as `write`: a policy replaces both
        self.find = find  # resolves a file name of a program to a path
        self.permit = permit  # raises if the program lacks a capability
        # shows how far a loop is, and returns how many steps need not be shown; None if progress is not shown
        self.progress: Callable[[float, float, float], int | None] | None = None
        self.remark: Callable[[Notice], object] | None = (
            None  # called with what a run notes, where someone reads it
        )
        self.arguments = list_of(
            [String(word) for word in arguments]
        )  # one value, so that it is analysed once
        self.spread: Callable[[Value, Value], Value] | None = None
        self.import_onnx: Callable[[str], Value] = _no_models  # the session's, which has the library
        self.save: Callable[[Value], str] = (
            _no_texts  # values as texts and back: the session's, which has the library
        )
        self.restore: Callable[[str], Value] = _no_texts
        self.apart: Callable[[Value], Value] = lambda f: self.apply(f, NIL)  # a session's: by either tier
        self._pending_words: list[str] = []
        self.outward: Callable[[Value], Any] = lambda value: value
        self._bound: dict[str, Callable[..., Value]] = {}
        self._counted: dict[str, Callable[..., Value]] = {}
        self.making = (
            threading.RLock()
        )  # codes are made once, although the compiler reads them in another thread
        self.T = Register()
        self.bounce = make_bounce(self.T)
        self._shared = {
            "T": self.T,
            "bounce": self.bounce,
            "TRUE": TRUE,
            "FALSE": FALSE,
            "ZERO": ZERO,
            "BOOLEANS": Booleans({True: TRUE, False: FALSE}),
            "condition": condition,
            "holds": holds,
            "S": self.steps,
            "exhausted": self._exhausted,
        }
        self.system = SystemProcedures(self, procedures, codes)
        self.codes: Mapping[str, Code] = SystemCodes(self)
        self.makers = {
            "tail": self.tail_code,
            "forward": self.forward_code,
            "control": self.control_code,
            "stepping": self.stepping_code,
        }
        self.closure_makers = {
            kind: partial(self.entry_closure, derive=derive) for kind, derive in self.makers.items()
        }
        self._transforms: Transforms | None = None
        self.uses_cells = False
        self._promoting: set[Code] = set()  # in which cells are becoming variables now
        self.shadows: tuple[Any, Any] | None = None
        self.rules: tuple[float, Any, Any, Callable[[Value], VladError]] | None = None
        self.visits: list[tuple[Reference, Value]] = []
        self.handlers: tuple[Reference | None, Any] | None = None
        self.frames: Any = None
        self.capturing: set[Code] = set()  # the library's `call/cc`, if a program has mentioned it
        self.reach: Any = (
            None  # what procedures are known to reach (prompts.py), once one may reach `call/cc`
        )
        self.of_library: WeakSet[Code] = (
            WeakSet()
        )  # codes of its procedures, which call none of those but by arguments
        self.changed = math.inf
        # A call that may be started again is asked before a cell that is older than this changes.
        self.kept_until = -math.inf
        self.will_change: Callable[[], None] = _nothing
        self.caught = 0  # errors that guards have caught
        self._until_look = MOST_UNSEEN  # calls of `check_depth`
        self.watch = Watch(self.limits, self.steps)
        self._made: WeakSet[Code] = WeakSet()  # all codes, as counting may begin later
        self._written: WeakKeyDictionary[Code, Lambda] = (
            WeakKeyDictionary()
        )  # in which cells are variables now
        # the codes of types of records, which the forms that make records and those that read them share
        self.record_codes: dict[Lambda, Code] = {}
        # the marks of those that were saved, by which a text that comes back has the same types, and the codes by mark
        self.record_marks: WeakKeyDictionary[Code, str] = WeakKeyDictionary()
        self.marked: WeakValueDictionary[str, Code] = WeakValueDictionary()
        # identities of the functions of Python that codes are given or translated from
        self.ids_in_python: WeakKeyDictionary[Code, object] = WeakKeyDictionary()
        self.emit: Callable[[Code], Callable[..., Value]] = (
            emit  # a code's function, while there is no instrument
        )
        self.placed = False  # does compiled code say where it is?
        self.instrument: Any = None  # debugging/instrumented.py's, while an evaluation is observed
        # called with errors, their frames, and the procedure and argument of the evaluation
        self.failed: Callable[[VladError, Frames, Beginning | None], object] | None = None
        self._frames: Frames = []

    # Codes.

    def family(self) -> Family:
        return Family(self, self._shared)

    def make_code(
        self,
        family: Family,
        arity: int,
        make_lambda: Callable[[], Lambda],
        *,
        name: str = "",
        environment: tuple[Variable, ...] = (),
        group: tuple[tuple[Variable, Lambda], ...] = (),
        base: Code | None = None,
        role: Role = Role.PROCEDURE,
        transforms: tuple[str, ...] = (),
        backpropagator_of: str | None = None,
        counts: bool = True,
    ) -> Code:
        """A code that compiles itself on its first call."""
        code = Code()
        code.machine, code.family, code.lambda_, code.make_lambda = self, family, None, make_lambda
        code.name, code.arity, code.environment, code.group = name, arity, environment, group
        code.base, code.primitive = base or code, None
        code.role, code.transforms, code.backpropagator_of = role, transforms, backpropagator_of
        code.tail = code.forward = code.control = code.stepping = None
        code.counts = counts
        code.closed, code.space = None if environment else (code,), None
        await_first_call(code)
        self._made.add(code)
        return code

    def code_of(
        self,
        lambda_: Lambda,
        family: Family,
        group: tuple[tuple[Variable, Lambda], ...] = (),
        environment: tuple[Variable, ...] | None = None,
    ) -> Code:
        """The code of a lambda inside another; the same one each time."""
        code = family.codes.get(lambda_)
        if code is None:
            with self.making:
                code = family.codes.get(lambda_) or self.record_codes.get(lambda_)
                if code is None:
                    code = self.make_code(
                        family,
                        len(lambda_.parameters),
                        lambda: lambda_,
                        name=lambda_.name,
                        environment=lambda_.free if environment is None else environment,
                        group=group,
                        backpropagator_of=lambda_.backpropagator_of,
                        role=Role.PROCEDURE if lambda_.fields is None else Role.RECORD,
                        counts=family.counts and not lambda_.is_continuation,
                    )
                if lambda_.fields is not None:
                    self.record_codes[lambda_] = code
                    code.space = code.space or self.space_of(lambda_)
                family.codes[lambda_] = code
        return code

    def top_level(self, lambda_: Lambda) -> Value:
        """A closure of a top-level lambda. It is resolved and simplified on first use, and again after a
        primitive it relied on is redefined.
        """
        return self.top_level_later(lambda_.name, len(lambda_.parameters), lambda: lambda_)

    def top_level_later(self, name: str, arity: int, written: Callable[[], Lambda]) -> Value:
        """As `top_level`, of a lambda of that name and number of parameters, which `written` makes when it is first needed."""
        family = self.family()

        def prepared() -> Lambda:
            def relied_on(cell: Global) -> None:
                if cell.dependents is None:
                    cell.dependents = (
                        WeakSet()
                    )  # an expression that was evaluated once need not be kept alive
                cell.dependents.add(code)

            lambda_ = written()
            assert not lambda_.free and len(lambda_.parameters) == arity, f"{name}: {lambda_.free}, {arity}"
            resolved = run_pass(
                "resolve", lambda it: resolve(it, relied_on, self.table, self._literal), lambda_, check
            )
            if self.instrument is not None:  # debuggers show the code as written
                return resolved
            return run_pass("simplify", simplify, resolved, check)

        code = family.outermost = self.make_code(family, arity, prepared, name=name)
        return code.closed

    def _literal(self, cell: Global, constant: Value) -> Value | None:
        """The vector that a literal stands for."""
        f = getattr(cell, "value", None)
        if (
            type(f) is not tuple
            or type(f[0]) is not Code
            or f[0].name != FILLED
            or f[0] is not self.codes[FILLED]
        ):
            return None
        elements = []
        while type(constant) is tuple and len(constant) == 2:
            elements.append(constant[0])
            constant = constant[1]
        return vector_of(elements, self.codes) if constant == NIL else None

    def space_of(self, owner: Lambda) -> TangentSpace | None:
        """The procedures that a type of records states of its tangents."""
        if owner.space is None:
            return None
        return TangentSpace(*[None if rule is None else self.top_level(rule) for rule in owner.space.rules()])

    def redefined(self, cell: Global) -> None:
        """The name of a cell no longer means its primitive: codes that relied on it are recompiled."""
        for code in cell.dependents or ():
            code.lambda_ = code.tail = code.forward = code.control = code.stepping = None
            code.family = self.family()
            await_first_call(code)

    def changed_global(self, cell: Global) -> None:
        """A global has got a value."""
        if self.reach is not None:
            self.reach.forget(cell)

    def begin_cells(self) -> None:
        """Make all transforms anew: where programs have cells, a call without tangents may have a derivative."""
        with self.making:
            if not self.uses_cells:
                self.uses_cells = True
                for code in list(self._made):
                    for kind in self.makers:
                        derived = getattr(code, kind)
                        if derived is not None and derived.transforms:  # not written by hand
                            setattr(code, kind, None)
                self.emit_again()

    def level_of(self, code: Code) -> int | None:
        """In how many levels of differentiation a code runs: one for each forward transform, and one if it is of a
        backpropagator. None if there are no cells.
        """
        if not self.uses_cells:
            return None
        return code.transforms.count("forward") + (code.backpropagator_of is not None)

    def core_of(self, code: Code) -> Lambda:
        """The lambda that the code evaluates."""
        if code.lambda_ is None:
            with self.making:
                if code.lambda_ is None:
                    assert code.make_lambda is not None
                    made = code.make_lambda()
                    code.family.codes[made] = code
                    if self.uses_cells and self.instrument is None and not code.transforms:
                        made = self._without_cells(code, made)
                    code.lambda_ = made
        lambda_: Lambda = code.lambda_
        return lambda_

    def _without_cells(self, code: Code, written: Lambda) -> Lambda:
        """A lambda in which cells are variables, as far as they can be. `written` is kept for the control entry."""
        copied: list[Global] = []
        members = _members(code)
        self._promoting.add(code)
        try:
            promoted = run_pass(
                "promote-cells",
                lambda it: promote(it, self.table, partial(self._copyable, copied)),
                written,
                partial(check, group=members),
            )
        finally:
            self._promoting.discard(code)
        if promoted is written:
            return written
        for cell in copied:
            cell.dependents = WeakSet() if cell.dependents is None else cell.dependents
            cell.dependents.add(code)
        kept = frozenset(lambdas_within(written.body))
        tidied = run_pass("tidy", lambda it: tidy(it, kept, it), promoted, partial(check, group=members))
        code.family.codes[tidied] = code
        self._written[code] = written
        return tidied

    def _copyable(self, copied: list[Global], cell: Global) -> Lambda | None:
        """The lambda of a procedure of the library, which may be copied into the one whose cells are promoted; such globals are
        noted. A procedure of the program is not: checks would not see its calls.
        """
        value: Value = getattr(cell, "value", None)
        if value is None or not is_procedure(value):
            return None
        callee: Code = value[0]
        if callee.environment or callee.group or callee.transforms or callee.primitive is not None:
            return None
        if callee.machine is not self or callee in self._promoting:
            return None
        found: Lambda = self.core_of(callee)
        if found.span is None or not in_library(found.span):
            return None
        copied.append(cell)
        return found

    # The transforms.

    def transforms(self) -> Transforms:
        if self._transforms is None:
            # many programs have none, so these modules are imported in the middle of an evaluation
            self._transforms = import_safely("vlad.evaluate.transforms").Transforms(self)
            assert self._transforms is not None
        return self._transforms

    def ad(self) -> tuple[Basis, Rules]:
        found = self.transforms()
        return found.basis, found.rules

    def tail_code(self, code: Code) -> Code:
        if code.tail is None:
            with self.making:
                if code.tail is None:
                    code.tail = self._derive(code, 1, "reverse")
        return code.tail

    def forward_code(self, code: Code) -> Code:
        if code.forward is None:
            with self.making:
                if code.forward is None:
                    code.forward = self._derive(code, 2, "forward")
        return code.forward

    def derived_code(self, code: Code, kind: str) -> Code:
        return self.makers[kind](code)

    def control_code(self, code: Code) -> Code:
        if code.control is None:
            with self.making:
                if code.control is None:
                    code.control = self._derive(code, 1, CONTROL)
        return code.control

    def stepping_code(self, code: Code) -> Code:
        if code.stepping is None:
            with self.making:
                if code.stepping is None:
                    code.stepping = self._derive(code, 2, STEPPING)
        return code.stepping

    def untidied(self, code: Code, word: str, rules: Rules) -> Lambda:
        """The output of a transform, "reverse", "forward", "control" or "stepping", as it is before it is tidied."""
        return self.transforms().applied(code, word, self._source(code, word), self.level_of(code), rules)

    def _source(self, code: Code, word: str) -> Lambda:
        """What a transform of a code gets."""
        source = self.core_of(code)
        return self._written.get(code, source) if word == CONTROL else source

    def _derive(self, code: Code, more: int, word: str) -> Code:
        def make_lambda() -> Lambda:
            source = self._source(code, word)
            transformed = self.untidied(code, word, self.ad()[1])
            kept = frozenset(lambdas_within(source.body)) | {self.core_of(code.base)}
            members = _members(code)
            return run_pass(
                "tidy",
                lambda it: tidy(it, kept, source),
                transformed,
                lambda it, after: check(it, after, members),
            )

        return self.make_code(
            code.family,
            code.arity + more,
            make_lambda,
            name=code.name,
            environment=code.environment,
            group=code.group,
            base=code.base,
            transforms=(word, *code.transforms),
            counts=code.family.counts,
            backpropagator_of=code.backpropagator_of,
        )

    def check_depth(self, k: Value) -> Value:
        """As the limit of depth for calls that take a frame each; raises LimitExceeded. It is called once in 1024 such calls, and
        looks at the chain again after twice as many calls as that was long, which keeps the cost of each constant.
        """
        self._until_look -= 1
        if self._until_look > 0:
            return UNSPECIFIED
        continuation_of = import_safely("vlad.ad.control").continuation_of  # few programs have one
        most, length = self.limits.depth or default_depth(), 0
        places: dict[Code, int | None] = {}  # in closures of a code: where the continuation after it is
        while length < most:
            code = k[0]
            if code not in places:
                after = continuation_of(self.core_of(code))
                places[code] = None if after is None else code.environment.index(after) + 1
            place = places[code]
            if place is None:
                self._until_look = max(MOST_UNSEEN, length // 512)
                return UNSPECIFIED
            k, length = look(k[place]), length + 1
        raise too_deep()

    def tail_closure(self, f: Value) -> Value:
        return self.entry_closure(f, self.tail_code)

    def forward_closure(self, f: Value) -> Value:
        return self.entry_closure(f, self.forward_code)

    def control_closure(self, f: Value) -> Value:
        return self.entry_closure(f, self.control_code)

    def stepping_closure(self, f: Value) -> Value:
        return self.entry_closure(f, self.stepping_code)

    def entry_closure(self, f: Value, derive: Callable[[Code], Code]) -> Value:
        seen = look(f)
        if seen is ZERO:
            return ZERO
        if not is_procedure(seen):
            raise not_a_procedure(seen)
        return (derive(seen[0]), *seen[1:])

    def attempt(self, f: Value) -> tuple[Value, VladError | None]:
        """The result of a procedure of no argument, or its error. Limits and interrupts pass."""
        shadows, rules, handlers, changed = self.shadows, self.rules, self.handlers, self.changed
        frames = self.frames
        pending = None if self.instrument is None else self.instrument.pending()
        first = next(Reference.births) if self.uses_cells else 0
        self.changed = math.inf
        try:
            result = f[0].entry1(f, NIL)
            return (self.bounce() if result is self.T else result), None
        except (
            LimitExceeded,
            EndedContinuation,
            Abandoned,
            ExitedAtOnce,
            RecursionError,
            MemoryError,
            SystemError,
            NoRoom,
            NoTime,
        ):
            raise
        except Exception as error:
            self.watch.raise_if_interrupted()  # the interrupt was lost in the error
            if isinstance(error, OutsideStep) and rules is not None:
                raise
            self.shadows, self.rules, self.handlers, self.frames = shadows, rules, handlers, frames
            if self.instrument is not None:
                self.instrument.caught(pending)
            found = caught(self, error, (f, NIL))  # drops the traceback, and so its frames
            found.has_changed_cells = self.changed < first
            self.caught += 1
            return None, found
        finally:
            self.changed = min(changed, self.changed)

    def attempt_but(
        self, f: Value, takes: Callable[[Any, Any, Value], bool], place: Any
    ) -> tuple[Value, Value | None]:
        """The result of a procedure of no argument, or what it raised, if `takes` is true of the machine, the place and that.
        All else passes.
        """
        shadows, rules, handlers = self.shadows, self.rules, self.handlers
        pending = None if self.instrument is None else self.instrument.pending()
        try:
            result = f[0].entry1(f, NIL)
            return (self.bounce() if result is self.T else result), None
        except Thrown as error:
            self.watch.raise_if_interrupted()
            if not takes(self, place, error.held):
                raise
            self.shadows, self.rules, self.handlers = shadows, rules, handlers
            if self.instrument is not None:
                self.instrument.caught(pending)
            return None, error.held

    # The rules of rows.

    def bound(self, row: Primitive) -> Callable[..., Value]:
        """The value rule of a row that takes the machine, bound to this one. One object per row."""
        found = self._bound.get(row.name)
        if found is None:
            found = self._bound[row.name] = _bind(row.value, self, len(row.operands))
        return found

    def rule(self, row: Primitive) -> Callable[..., Value]:
        return self.bound(row) if row.needs_machine else row.value

    def counted(self, row: Primitive) -> Callable[..., Value]:
        """The row's rule, counting its calls: `--metered`."""
        found = self._counted.get(row.name)
        if found is None:
            found = self._counted[row.name] = _count(self.rule(row), self.counts, row.name)
        return found

    def stepping(self, rule: Callable[..., Value], count: int) -> Callable[..., Value]:
        """A rule that counts as `count` entries of procedures."""
        steps = self.steps

        def stepped(*operands: Value) -> Value:
            for _ in range(count):
                steps[0] += 1
                if steps[0] > steps[1]:
                    self._exhausted()
            return rule(*operands)

        return stepped

    def _next_word(self) -> str:
        """The next word of the input, '' at its end."""
        while not self._pending_words:
            line = self.read()
            if not line:
                return ""
            self._pending_words = line.split()[::-1]
        return self._pending_words.pop()

    def _counting_writer(self, write: Callable[[str], object]) -> Callable[[str], object]:
        def counted(text: str) -> object:
            self.watch.writes(text)
            return write(text)

        return counted

    def _exhausted(self) -> None:
        raise out_of_fuel()

    # Applying, from outside.

    def apply(self, f: Value, argument: Value, job: Overtaken | None = None) -> Value:
        """Apply a procedure to its one argument (a tuple, for several). Errors are VladErrors with positions."""
        if type(f) is not tuple or len(f) in (0, 2):
            f = look(f)
            if not is_procedure(f):
                raise not_a_procedure(f)
        beginning = (f, argument)
        if job is None:
            return self._guarded(self._entered, beginning, None, beginning)

        def evaluate() -> Value:
            job.begin()
            try:
                return self._entered(f, argument)
            finally:
                job.end()

        return self._guarded(evaluate, (), None, beginning)

    def _entered(self, f: Value, argument: Value) -> Value:
        if self.capturing:
            return import_safely("vlad.evaluate.prompts").apply(self, f, argument)
        result = f[0].entry1(f, argument)
        return self.bounce() if result is self.T else result

    @contextmanager
    def limited(self, limits: Limits) -> Iterator[None]:
        """A context with other limits than the machine's own; not for an evaluation that has begun."""
        before = self.limits
        if limits.fuel is not None and not self.counting:
            self._count_from_now_on()
        self.limits = self.watch.limits = limits
        try:
            yield
        finally:
            self.limits = self.watch.limits = before

    def _count_from_now_on(self) -> None:
        """Switch to code that counts its steps."""
        self.counting = True
        self.emit_again()

    def made(self) -> list[Code]:
        """All codes so far."""
        return list(self._made)

    def emit_again(self) -> None:
        """Discard emitted code; it is emitted again on the next call."""
        for code in list(self._made):
            await_first_call(code)

    @contextmanager
    def metering(self) -> Iterator[None]:
        """A context in which applications of primitives are counted; not for an evaluation that has begun."""
        before = self.metered, self.counting
        self.metered = self.counting = True
        self.counts.clear()
        self.emit_again()
        try:
            yield
        finally:
            self.metered, self.counting = before
            self.emit_again()

    def close(self, refuse: Callable[..., NoReturn]) -> None:
        """Release everything. Codes and machine, functions and globals form cycles, which must not wait
        for Python's collector. Procedures that are still referenced call `refuse` from here on.
        """
        for code in list(self._made):
            emptied(code, refuse)
        watch = self.watch
        vars(self).clear()
        self.watch = watch  # contexts that began before end in it (`limited`)

    def guarded(
        self,
        run: Callable[..., Value],
        *operands: Any,
        stop: Callable[[], object] | None = None,
    ) -> Value:
        """Call `run` on operands, under this machine's limits and with its errors. When a limit is reached, `stop` is
        called, in another thread: it stops code that is not Python.
        """
        return self._guarded(run, operands, stop, None)

    def _guarded(
        self,
        run: Callable[..., Value],
        operands: tuple[Any, ...],
        stop: Callable[[], object] | None,
        beginning: Beginning | None,
    ) -> Value:
        """`beginning`: the procedure and the argument of the call, for explaining errors."""
        if self.instrument is not None and not self.watch.active:
            self.instrument.begin(beginning)
        watch = self.watch
        before, shadows, rules, visits = watch.stop, self.shadows, self.rules, len(self.visits)
        handlers, frames = self.handlers, self.frames
        self.frames = None
        # a finaliser or a signal handler may evaluate during a tail call; T is cleared at the end
        T = self.T
        on_its_way = T.kept() if watch.active else NOTHING
        try:
            watch.enter()
            level = watch.active
            try:
                watch.stop = stop
                return run(*operands)
            finally:
                watch.stop, self.shadows, self.rules = before, shadows, rules
                self.handlers, self.frames = handlers, frames
                late: BaseException | None = None
                while watch.active >= level:
                    try:
                        while len(self.visits) > visits:
                            cell, held = self.visits[-1]
                            cell.content = held
                            del self.visits[-1]
                        if T.e is not None:
                            T.take_back(on_its_way)
                        watch.leave(level)
                    except (AsyncException, KeyboardInterrupt) as error:
                        late = error if late is None or isinstance(late, AsyncException) else late
                if late is not None:
                    _reraise_late(watch, late)
        except Interrupted as interrupted:
            if watch.reason is None:  # an enclosing evaluation, of another session, must end
                raise
            self._keep_frames(interrupted)
            raise self._reported(located(watch.reason, interrupted), beginning) from None
        except KeyboardInterrupt:
            raise
        except Exception as error:
            self._keep_frames(error)
            if not watch.active and watch.reason is not None and not isinstance(error, LimitExceeded):
                # the interrupt was lost in the error
                raise self._reported(located(watch.reason, error), beginning) from None
            found = self._reported(explained(self, error, beginning), beginning)
            raise found from found.__cause__  # an exception of a Python function that the program called

    def _keep_frames(self, error: BaseException) -> None:
        """Save the frames of an error before its explanation releases them, if they are needed. (Not in a local variable of the
        caller, which the error's traceback would keep.)
        """
        if self.failed is not None:
            self._frames = emitted_frames(error.__traceback__)

    def _reported(self, found: VladError, beginning: Beginning | None) -> VladError:
        frames, self._frames = self._frames, []
        if self.failed is not None:
            self.failed(found, frames, beginning)
        return found


def _no_models(path: str) -> Value:
    """`import_onnx` of a machine without a session."""
    raise VladError("not-permitted", f"There is no session that imports {path}")


def _no_texts(value: Any) -> Any:
    """`save` and `restore` of a machine without a session."""
    raise VladError("not-permitted", "There is no session that saves values")


def _nothing() -> None:
    """What is asked before a cell changes while no call may be started again."""


def _members(code: Code) -> list[Variable]:
    return [variable for variable, _ in code.group]


def _reraise_late(watch: Watch, late: BaseException) -> None:
    """Raise what arrived while an evaluation was left: Ctrl-C always; an exception of another thread if it still matters."""
    if not isinstance(late, AsyncException):
        raise late
    watch.raise_if_interrupted()


def _bind(rule: Callable[..., Value], machine: Machine, count: int) -> Callable[..., Value]:
    """`rule` with the machine as first argument; written out for each count, to avoid the C stack."""
    if count == 1:
        return lambda a: rule(machine, a)
    if count == 2:
        return lambda a, b: rule(machine, a, b)
    if count == 3:
        return lambda a, b, c: rule(machine, a, b, c)
    return lambda *operands: rule(machine, *operands)


def _count(rule: Callable[..., Value], counts: dict[str, int], name: str) -> Callable[..., Value]:
    def counted(*operands: Value) -> Value:
        counts[name] = counts.get(name, 0) + 1
        return rule(*operands)

    return counted
