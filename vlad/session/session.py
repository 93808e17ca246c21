"""The public class of the embedding: one evaluator with its own globals, modules, files and limits.

In: texts, paths, and Python values.  Out: values, or a program's output. The command, the prompt and the public names
use it. This module has the lock, limits, capabilities and the public methods; each subject has a module, which is called from
here: forms and modules (top_level.py), calls from Python (calls.py), whole programs (programs.py), the code at each stage
(showing.py), globals as items and attributes (namespace.py).
"""

from __future__ import annotations

import functools
import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from vlad.compile.calling.policy import POLICIES, Tiers
from vlad.compile.calling.variants import Options
from vlad.control import processors
from vlad.control.safe_import import import_safely
from vlad.control.standard_streams import read_line
from vlad.core.nodes import Lambda
from vlad.data.devices import CURRENT, device_named
from vlad.data.errors import NoCounterpart, VladError, WrongOption
from vlad.data.source import Origin, Source, Span
from vlad.data.values import NIL, Value
from vlad.evaluate.limits import Limits, deep_recursion
from vlad.evaluate.machine import Machine
from vlad.expand.scope import Module
from vlad.primitives.table import CODES, ON_A_GPU, PROCEDURES, SYSTEM_PROCEDURES, TABLE
from vlad.python.convert import to_python
from vlad.python.structures import tuple_of
from vlad.session import showing
from vlad.session.calls import Calls
from vlad.session.files import Path, find, load, not_read
from vlad.session.library import the_library
from vlad.session.lifecycle import born, close, expect_open, is_gone
from vlad.session.namespace import Namespace
from vlad.session.session_lock import SessionLock
from vlad.session.top_level import TopLevel

if TYPE_CHECKING:
    from typing import ParamSpec

    from vlad.evaluate.machine import Machine
    from vlad.python.functions import Function

    Parameters = ParamSpec("Parameters")
    Result = TypeVar("Result")
Answer = TypeVar("Answer")

CAPABILITIES = ("files", "imports", "streams")
CONFINED: dict[str, Any] = {
    "fuel": None, "seconds": 5.0, "memory": 256.0, "depth": 100_000, "output": 1_000_000,
}  # fmt: skip


class Session(Namespace):
    """An evaluator with its own globals. Threads may share it; they take turns.

    path        folders in which `include` and `import` search after the file's own and the working folder
    arguments   the result of `(command-line-arguments)`
    limits      of each evaluation; see `Limits`
    capabilities  what programs may access outside: any of "files" (load and save data), "imports" (`import` and `include` of
                files; the library's modules are always available) and "streams" (standard input and output; a given `write` or
                `read` may be used without it). By default everything
    metered     count primitive operations (`counts`), and print them in `run`
    tier        "auto": long computations are compiled to C in the background; "compile": everything is, first; "evaluate":
    nothing.
                By default $VLAD_TIER, or else "auto"
    optimize    optimisation level of the C compiler, 0 to 3
    fast_math   allow it to reorder sums and products: the last digits may differ from tier 0's
    device      where tensors are made, "cpu" or "cuda"
    threads     how many of them compiled loops over rows may use: by default $VLAD_THREADS, or else the number of processors
    executor    the workers of `parallel-map`: a number of processes, or whatever has `submit` or `map`, such as a pool of
                concurrent.futures or a client of Dask. Without them it is `map`
    write       called with output; standard output by default
    read        returns a line of input, "" at its end; standard input by default
    """

    path: list[str]
    capabilities: frozenset[str]
    machine: Machine  # a Machine, while the session is open

    def __init__(
        self,
        path: Iterable[Path] = (),
        *,
        arguments: Iterable[str] = (),
        limits: Limits | None = None,
        capabilities: Iterable[str] = CAPABILITIES,
        metered: bool = False,
        tier: str | None = None,
        optimize: int = 2,
        fast_math: bool = False,
        device: str = "cpu",
        threads: int | None = None,
        executor: Any = None,
        write: Callable[[str], object] | None = None,
        read: Callable[[], str] | None = None,
    ) -> None:
        if isinstance(path, str | os.PathLike):
            raise WrongOption(
                "invalid-argument", f"path is a list of folders, not {path!r}", hint=f"path=[{path!r}]"
            )
        if isinstance(capabilities, str):
            raise WrongOption(
                "invalid-argument", f"capabilities are a list of names, not {capabilities!r}",
                hint=f"capabilities=[{capabilities!r}]",
            )  # fmt: skip
        if tier not in (None, *POLICIES):
            raise WrongOption("invalid-argument", f"tier is one of {', '.join(POLICIES)}; not {tier!r}")
        if limits is not None and not isinstance(limits, Limits):
            raise WrongOption("invalid-argument", f"limits are vlad.Limits, not {limits!r}")
        if optimize not in range(4):
            raise WrongOption("invalid-argument", f"optimize is one of 0, 1, 2, 3; not {optimize!r}")
        self.path = [os.fspath(folder) for folder in path]
        self.capabilities = frozenset(capabilities)
        for name in sorted(self.capabilities - set(CAPABILITIES)):
            raise VladError(
                "invalid-argument",
                f"There is no capability {name}",
                hint=f"capabilities are {', '.join(CAPABILITIES)}",
            )
        if device != "cpu":
            device_named(device)  # raises now if there is no such device
        self.machine = Machine(
            TABLE,
            CODES if device == "cpu" else ON_A_GPU,
            {**PROCEDURES, **SYSTEM_PROCEDURES},
            limits=limits,
            metered=metered,
            write=write or self._write_out,
            read=read or self._read_in,
            permit=self._permit,
            arguments=arguments,
            find=lambda name: self._top_level.find_data(name),
            device=device,
        )
        self.machine.threads = _threads(threads)
        if executor is not None:
            parallel = import_safely("vlad.session.parallel")
            self.machine.spread = functools.partial(parallel.spread, self, parallel.executor_of(executor))
        self.machine.import_onnx = lambda path: import_safely("vlad.session.models").pair_of(self, path)
        tier = tier or os.environ.get("VLAD_TIER") or "auto"
        self.tiers = Tiers(self.machine, tier, optimize, fast_math)
        self._settings: Settings = (tuple(sorted(self.capabilities)), tier, optimize, fast_math)
        self._calls = Calls(self, unpickled)
        self.machine.outward = lambda value: to_python(value, self._calls)
        self._functions: Any = None  # functions.Functions, made with the first function
        self._lock = SessionLock()
        self._library = the_library()
        self._top_level = TopLevel(
            self.machine, self.tiers, self._library, permit=self._permit, path=lambda: self.path
        )
        self.basis, self.library, self.module = self._top_level.modules()
        self.tiers.write_value = functools.partial(_written, self.machine, self.library)
        self.machine.apart = lambda f: self.tiers.apply(f, NIL)
        self.machine.save = lambda value: self.tiers.write_value(value, math.inf)
        self.machine.restore = functools.partial(_restored, _Known(self.machine, self.library))
        born(self)

    @classmethod
    def confined(cls, **columns: Any) -> Session:
        """A session for untrusted programs: they have no capabilities, and every limit is set. `columns`
        as for `Session` override these settings.
        """
        return cls(**{"limits": Limits(**CONFINED), "capabilities": (), "threads": 1, **columns})

    # Lifetime.

    def close(self) -> None:
        """Release everything that the session holds: values, compiled libraries, the functions it was given. Waits until other
        threads have finished evaluating here. Afterwards any use of the session, or of a procedure of it, raises VladError.
        Closing twice has no effect. Raises VladError within an evaluation of the session.
        """
        close(self)

    @property
    def closed(self) -> bool:
        """Whether the session is closed."""
        return is_gone(self)

    def __enter__(self) -> Session:
        expect_open(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Session:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        from asyncio import to_thread

        await to_thread(self.close)  # it waits for evaluations, while the event loop runs

    def __repr__(self) -> str:
        return "<vlad session, closed>" if self.closed else f"<vlad session of {len(self)} definitions>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise NoCounterpart(
            "cannot-save", "Cannot be saved or copied: a session",
            hint="`vlad.dumps` saves procedures and other values of it; elsewhere make a session of the same texts",
        )  # fmt: skip

    def modules(self) -> list[Module]:
        """Its own and those of files."""
        return self._top_level.modules()

    def _permit(self, capability: str, what: str, span: Span | None = None) -> None:
        """Raise VladError if programs of this session lack a capability."""
        if capability not in self.capabilities:
            raise VladError(
                "not-permitted",
                f"Programs of this session may not {what}",
                span,
                hint=f'the capability "{capability}" was not given to it',
            )

    def watch(self, progress: Callable[[float, float, float], int | None]) -> None:
        """Show the progress of training by a function of the number of a step, how many there are, or 0 if that is not known, and
        the value there. It may return how many steps need not be shown. This is for programs that are read from now on.
        """
        self.machine.progress = progress
        self.module.library().watched = True

    def _write_out(self, text: str) -> None:
        self._permit("streams", "write to the standard output")
        if sys.stdout is not None:  # like `print`
            sys.stdout.write(text)

    def _read_in(self) -> str:
        self._permit("streams", "read the standard input")
        try:
            return read_line()
        except (OSError, UnicodeDecodeError) as error:
            raise not_read(error) from None

    # Python functions.

    def function(self, f: Callable[Parameters, Result]) -> Function[Parameters, Result]:
        """A Python function as a procedure of this session, as `vlad.function` makes one. Usable as a decorator."""
        with self._lock:
            if self._functions is None:
                functions = import_safely("vlad.session.functions")
                self._functions = functions.Functions(self._top_level, self._calls)
            return cast("Function[Parameters, Result]", self._functions.function(f))

    # Evaluating.

    def eval(self, text: str, name: str = "<expression>", limits: Limits | None = None) -> Any:
        """Evaluate every form of a text; returns the value of the last one, as a Python value. Reading and conversion count
        towards the limits, too: the session's own, or `limits` for this call.
        """
        _expect_text(text)
        try:
            with self.limited(limits):
                return self._evaluated(Source(name, text))
        except VladError as error:
            error.leave()
            raise

    def _evaluated(self, source: Source) -> Any:
        def evaluate() -> Any:
            return self._as_python(self._top_level.value(source))

        return self.machine.guarded(evaluate)

    def _operator(self, text: str) -> Any:
        """The value of a text of the system's own: an operator on derivatives (derivatives.py)."""
        with self.limited(None):
            return self._evaluated(Source("<derivative>", text, Origin.SYSTEM))

    @contextmanager
    def limited(self, limits: Limits | None) -> Iterator[None]:
        """`with session.limited(Limits(seconds=1)):` all evaluations inside have these limits (None: the session's own).
        Other threads wait.
        """
        with self._lock:
            if limits is None:
                yield
                return
            if not isinstance(limits, Limits):
                raise WrongOption("invalid-argument", f"limits are vlad.Limits, not {limits!r}")
            counting = self.machine.counting
            with self.tiers.unhurried(), self.machine.limited(limits):
                if self.machine.counting and not counting:
                    self.tiers.forget()
                yield

    async def aeval(self, text: str, name: str = "<expression>", limits: Limits | None = None) -> Any:
        """`eval`, awaited: it runs in a thread of its own while the event loop runs. Evaluations of one session take
        turns. If the task is cancelled, the evaluation is interrupted, and the session remains usable.
        """
        from vlad.session.asynchronous import evaluated  # asyncio: 30 ms

        return await evaluated(self, lambda: self.eval(text, name), limits)

    async def acall(
        self, function: Callable[..., Answer], *arguments: Any, limits: Limits | None = None
    ) -> Answer:
        """Call a procedure of the session, or a Python function that uses it, with arguments, awaited like `aeval`; returns the
        result.
        """
        from vlad.session.asynchronous import evaluated

        if getattr(function, "session", self) is not self:
            raise VladError(
                "other-session",
                f"{function!r} is a procedure of another session",
                hint="let that one call it",
            )
        return await evaluated(self, lambda: function(*arguments), limits)

    def run(self, path: Path) -> None:
        """Run a file as a program: the value of each top-level expression is printed on a line of its own."""
        self._run(path, self._top_level.print)

    def load(self, path: Path) -> None:
        """Evaluate a file's forms without printing their values."""
        self._run(path, None)

    def _run(self, path: Path, show: Callable[[Value], None] | None) -> None:
        try:
            with self._lock:
                self._top_level.run_file(path, show)
        except VladError as error:
            error.leave()
            raise

    def import_again(self) -> list[str]:
        """Evaluate the files of all modules again, and update the values of their names; returns the imported paths."""
        with self._lock:
            return self._top_level.import_again()

    def run_text(
        self, text: str, name: str = "<expression>", show: Callable[[Value], None] | None = None
    ) -> None:
        """Run a text as `run` runs a file; `show`, if given, is called with the value of each expression instead
        of printing it.
        """
        _expect_text(text)
        with self._lock:
            self._top_level.run(Source(name, text), self.module, show or self._top_level.print)

    @contextmanager
    def metering(self) -> Iterator[None]:
        """`with session.metering():` primitive operations are counted (`counts`), so nothing is compiled inside."""
        with self._lock, self.machine.metering(), self.tiers.paused():
            yield

    @property
    def counts(self) -> dict[str, int]:
        """Number of applications of each primitive since the last top-level expression began; needs `metered`."""
        counts: dict[str, int] = self.machine.counts
        return counts

    @property
    def steps(self) -> int:
        """Number of procedure entries and loop iterations so far; counted if `metered` or with fuel."""
        return int(self.machine.steps[0])

    def apply(self, procedure: Value, argument: Value, options: Options | None = None) -> Value:
        """Apply a procedure to its one argument (a tuple, for several), as values of the language. `options`: of vlad.compile."""
        with self._lock:
            machine = self.machine
            if machine.limits.are_watched:  # it is one evaluation, even if the tier changes
                return machine.guarded(
                    self._top_level.suggesting, self.tiers.apply, procedure, argument, options
                )
            if CURRENT.get() != machine.device:
                return self._top_level.suggesting(self.tiers.apply, procedure, argument, options)
            try:  # `suggesting`, inlined
                return self.tiers.apply(procedure, argument, options)
            except VladError as error:
                self._top_level.suggestions.suggest(error)
                raise

    def _replayed(self, procedure: Value, argument: Value, words: dict[int, str]) -> Value:
        """The result of an evaluation that is repeated without its effects (compile/calling/effects.py)."""
        with self._lock:
            return self._top_level.suggesting(lambda: self.tiers.replayed(procedure, argument, words))

    # Whole programs.

    def check(
        self, path: Path, *, arguments: str = "", name: str | None = None
    ) -> tuple[list[str], list[VladError]]:
        """The types of a file's definitions and expressions, a text each, and the type errors in it. Nothing is run; files
        that it reads are inspected, if they exist. Notice is given of what runs on tier 0. `arguments`: a text of example
        arguments, for the procedure `name`, or without it for all that take so many and that the file does not use itself.
        """
        from vlad.session.programs import Program  # the compiler's analysis

        with self._lock:
            return Program(self._top_level, path).check(arguments, name)

    def build(
        self,
        path: Path,
        output: Path,
        *,
        exports: Mapping[str, bool] | None = None,
        library: bool = False,
        native: bool = False,
    ) -> list[str]:
        """Build a program that runs without Python from a file; or a shared library, with a header, of the
        procedures that are the keys of `exports`, with their derivatives if the value is true. Returns the written
        files. Raises VladError.
        """
        from vlad.session.programs import Program

        output = os.fspath(output)
        with self._lock:
            return Program(self._top_level, path).build(output, exports or {}, library, native)

    # Inspection.

    def procedure(self, parameters: Iterable[str], source: Source, module: Module | None = None) -> Value:
        """The procedure with these parameters whose body is a text. Raises VladError if that is no expression."""
        return self._top_level.procedure(parameters, source, self.module if module is None else module)

    def value_of(self, source: Source, variables: Mapping[str, Value]) -> Value:
        """The value of an expression with variables that have these values."""
        with self._lock:
            procedure = self.procedure(list(variables), source)
            argument = tuple_of(list(variables.values()))
            return self._top_level.suggesting(self.machine.apply, procedure, argument)

    def expand(self, path: Path) -> Iterator[str]:
        """The core of each top-level form of a file."""
        return self.expand_source(load(find(path, [""])))

    def expand_source(self, source: Source) -> Iterator[str]:
        """The core of each top-level form of a text."""
        with self._lock:
            yield from showing.core_of_forms(self._top_level, source)

    def show(
        self,
        path: Path,
        stage: str,
        name: str | None = None,
        after: str | None = None,
        *,
        arguments: str = "",
        raw: bool = False,
    ) -> Iterator[str]:
        """The code of a file's procedures at a stage: core, reverse, forward, control; types, first-order and c, compiled for
        real operands; loops, for operands with tensors as the file's expressions have them, or reals. `after`: first-order code
        or loops as the compiler's pass of that name leaves them. `arguments`: a text of expressions whose values replace the
        operands of procedures that take so many. `raw`: transforms before they are simplified, for procedures of reals. Raises
        WrongOption if there is no such pass, or `raw` is given for another stage.
        """
        file = find(path, [""])
        with self._lock, self._top_level.within(file):
            yield from showing.procedures_at(self._top_level, load(file), stage, name, after, arguments, raw)

    def stage(self, value: Value, stage: str, name: str = "", operands: tuple[Value, ...] = ()) -> str:
        """The code of a procedure at a stage, as a definition if `name` is given; types, first-order and c for operands
        like these, or reals.
        """
        with self._lock:
            return showing.procedure_at(self._top_level, value, stage, name, operands)

    def core_at(self, value: Value, stage: str) -> Lambda:
        """The lambda of a procedure: as it is (core), or as its derivative (reverse, forward)."""
        with self._lock:
            return showing.core_at(self.machine, value, stage)


def _threads(given: int | None) -> int:
    """The number of threads of compiled code that a user gave, or the default."""
    found = processors.threads() if given is None else given
    if type(found) is not int or found < 1:
        what, value = (
            ("threads", given) if given is not None else ("$VLAD_THREADS", os.environ.get("VLAD_THREADS"))
        )
        raise WrongOption("invalid-argument", f"{what} is a positive whole number, not {value!r}")
    return min(found, processors.MOST)


def _expect_text(text: object) -> None:
    if not isinstance(text, str):
        raise NoCounterpart(
            "invalid-argument", f"A program is a text; this is a Python {type(text).__name__}"
        )


class _Known:
    """What dump.py needs of a session. (A reference to the session would be a cycle, which only Python's collector frees.)"""

    def __init__(self, machine: Machine, library: Module) -> None:
        self.machine = machine
        self.library = library


def _written(machine: Machine, library: Module, value: Value, most_entries: float) -> str:
    """The text of a value of a session. Raises VladError."""
    dump = import_safely("vlad.python.dump")
    with deep_recursion():
        text: str = dump.write_value(value, _Known(machine, library), most_entries)
    return text


def _restored(known: _Known, text: str) -> Value:
    """The value of a text that `_written` made. Raises VladError."""
    load = import_safely("vlad.python.load")
    with deep_recursion():
        value: Value = load.read_value(text, known)
    return value


# Unpickling.

_unpickling = threading.RLock()


Settings = tuple[tuple[str, ...], str | None, int, bool]  # capabilities, tier, optimize, fast_math
DEFAULT: Settings = (CAPABILITIES, None, 2, False)


def unpickled(text: str, settings: Settings = DEFAULT, places: bytes = b"") -> Any:
    """Restore a pickled procedure. All of a process whose sessions had the same settings belong to one session, until that is
    closed.
    """
    with _unpickling:
        if _for_unpickled(settings).closed:
            _for_unpickled.cache_clear()
            _read_again.cache_clear()
        return _read_again(text, places, settings)


@functools.lru_cache(maxsize=8)  # a pool of processes sends the same procedure with each task
def _read_again(text: str, places: bytes, settings: Settings) -> Any:
    from vlad.python.load import loads_with_places

    return loads_with_places(text, places, _for_unpickled(settings))


@functools.cache
def _for_unpickled(settings: Settings) -> Session:
    capabilities, tier, optimize, fast_math = settings
    return Session(capabilities=capabilities, tier=tier, optimize=optimize, fast_math=fast_math)


def _reset_after_fork() -> None:
    """Reset the state in a forked child: the other threads do not exist there."""
    global _unpickling
    _unpickling = threading.RLock()


os.register_at_fork(after_in_child=_reset_after_fork)
