"""One embedding of the language: its globals, modules, files and limits.

In: texts and paths.  Out: values, or what a program prints. The command and the public API stand on this; it drives
reader, expander and machine, one top-level form after the other, and decides nothing that they decide.
"""

from __future__ import annotations

import functools
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

from vlad.compile.calling.policy import POLICIES, Options, Tiers
from vlad.control.frame_stack import with_room
from vlad.control.standard_streams import read_line
from vlad.core.names import make_lambda
from vlad.core.nodes import Body, Call, GlobalReference, Lambda, Letrec, Variable
from vlad.core.text import print_core
from vlad.data.devices import CURRENT, device_named
from vlad.data.errors import NoCounterpart, VladError, WrongOption
from vlad.data.source import Source, Span, in_library, in_stdlib
from vlad.data.values import (
    NIL,
    UNSPECIFIED,
    Backtrace,
    Global,
    Primitive,
    Value,
    is_procedure,
    look,
    symbol,
)
from vlad.data.write import written
from vlad.evaluate.limits import Interrupted, Limits, deep_recursion
from vlad.evaluate.machine import Machine
from vlad.expand.arity import Signature, signature
from vlad.expand.forms import KEYWORDS, expand_form, made
from vlad.expand.items import Definition, Export, Expression, Import, Include, Item, top_level_forms
from vlad.expand.scope import Module
from vlad.messages.hints import clarify, show_call, speak_of_call, tell_number
from vlad.messages.spelling import nearest
from vlad.primitives.table import PROCEDURES, TABLE
from vlad.primitives.transforms import CODES, SYSTEM_PROCEDURES
from vlad.python.convert import Procedure, tuple_of
from vlad.python.procedure_docs import code_of
from vlad.reader.parser import Form, Name, Syntax, read
from vlad.session.library import the_library
from vlad.session.lifecycle import born, close, expect_open, is_gone
from vlad.session.namespace import Namespace
from vlad.session.session_lock import Turns

if TYPE_CHECKING:
    from vlad.compile.programs.whole import Steps

Answer = TypeVar("Answer")
Path: TypeAlias = str | os.PathLike[str]
F = TypeVar("F")

CAPABILITIES = ("files", "imports", "streams")
CONFINED: dict[str, Any] = {
    "fuel": None, "seconds": 5.0, "memory": 256.0, "depth": 100_000, "output": 1_000_000,
}  # fmt: skip


class Calls:
    """How Python calls procedures of a session: what `convert.Procedure` is handed."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.repeats = False
        # of derivatives.py: procedures, and what was made of them
        self.derived: dict[Any, tuple[Value, Value]] = {}
        self._host: Any = None  # host.Host, once there is something to make a procedure of

    def procedure(self, function: Callable[..., Any]) -> Value:
        """A Python function, or a primitive made of one, as a procedure of the session."""
        with self.session._lock:  # rules are tried
            if self._host is None:
                from vlad.python.host import Host

                self._host = Host(self.session.machine, self)
            return self._host.procedure(function)

    def with_names(self, row: Primitive, named: Mapping[str, Value]) -> Value:
        """A primitive as a procedure of operands with names, too (Machine.with_names)."""
        with self.session._lock:
            return self.session.machine.with_names(row, named)

    def __call__(self, procedure: Value, argument: Value, options: Options | None = None) -> Value:
        return self.session.apply(procedure, argument, options)

    def answer(self, procedure: Value, argument: Value, options: Options | None = None) -> Any:
        """What a call answers, as a Python value. The limits hold for both together."""
        session = self.session
        if session.machine.limits.are_watched:
            with session._lock:
                return session.machine.guarded(
                    lambda: session._as_python(session.apply(procedure, argument, options))
                )
        value = session.apply(procedure, argument, options)
        return value if type(value) is float else session._as_python(value)

    def quicken(self, procedure: Procedure) -> None:
        """Let a procedure call machine code without us, while that is up to date; if another thread has its turn, after a later
        call."""
        tiers, lock = self.session.tiers, self.session._lock
        if not isinstance(tiers, Tiers) or not tiers.knows(procedure) or not lock.acquire(False):
            return
        try:
            tiers.quicken(procedure)
        finally:
            lock.release()

    def prepare(self, procedure: Procedure, operands: tuple[Value, ...]) -> None:
        """Compile a procedure that has options for it. Raises VladError where that cannot be."""
        session, options = self.session, procedure.options
        assert options is not None
        with session._lock:
            session._suggesting(session.tiers.prepare, procedure.value, operands, options)
            session.tiers.quicken(procedure)

    def close(self) -> None:
        self._host = None
        self.derived.clear()

    def reduced(self, procedure: Value) -> tuple[Callable[[str], Any], tuple[str]]:
        """What pickle makes a procedure again with."""
        from vlad.python.dump import dumps

        return unpickled, (dumps(Procedure(procedure, self)),)


_unpickling = threading.RLock()


def unpickled(text: str) -> Any:
    """A procedure that pickle brings. All of a process belong to one session, as long as that is not closed."""
    with _unpickling:
        if _for_unpickled().closed:
            _for_unpickled.cache_clear()
            _read_again.cache_clear()
        return _read_again(text)


@functools.lru_cache(maxsize=8)  # a pool of processes sends the same procedure with each task
def _read_again(text: str) -> Any:
    from vlad.python.load import loads

    return loads(text, _for_unpickled())


@functools.cache
def _for_unpickled() -> Session:
    return Session()


def _alone() -> None:
    """In a process that was forked: the other threads are not there."""
    global _unpickling
    _unpickling = threading.RLock()


os.register_at_fork(after_in_child=_alone)


class Session(Namespace):
    """An evaluator with its own globals. Threads may share it; they take turns.

    path        folders in which `include` and `import` look after the file's own and the working folder
    arguments   what `(command-line-arguments)` answers
    limits      of each evaluation; see `Limits`
    capabilities  what programs may reach outside: any of "files" (to load and save data), "imports" (`import` and `include` of
                files; the library's modules are always there) and "streams" (standard input and output; a `write` or `read` that
                is given may be used without). Everything, without this
    metered     count primitive operations (`counts`), and print them in `run`
    tier        "auto": what runs long is compiled to C meanwhile; "compile": everything is, first; "evaluate": nothing.
                $VLAD_TIER by default, or else "auto"
    optimize    how hard the C compiler tries, 0 to 3
    fast_math   let it reorder sums and products: the last digits are no longer those of tier 0
    device      where tensors are made, "cpu" or "cuda"
    write       where output goes; standard output by default
    read        gives a line of input, "" at its end; standard input by default
    """

    path: list[str]
    capabilities: frozenset[str]
    machine: Any  # a Machine, while the session is open

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
            device_named(device)  # or an error, now
        self.machine = Machine(
            TABLE,
            CODES,
            {**PROCEDURES, **SYSTEM_PROCEDURES},
            limits=limits,
            metered=metered,
            write=write or self._write_out,
            read=read or self._read_in,
            permit=self._permit,
            arguments=arguments,
            find=self._find_data,
            device=device,
        )
        self.tiers = Tiers(self.machine, tier or os.environ.get("VLAD_TIER") or "auto", optimize, fast_math)
        self._steps: Steps | None = None  # of a program that is read, and not run
        self._calls = Calls(self)
        self._lock = Turns()
        self._library = the_library()
        self._loading: set[str] = set()
        self._including: list[str] = []
        self._modules: dict[str, Module] = {}
        self._imports: dict[tuple[str, str | None], Import] = {}  # of the program itself
        self.basis = Module("basis", None, TABLE)
        self.basis.autoload = self._load_basis
        self.library = Module("library", self.basis)
        self.library.autoload = self._load_library
        self.module = Module("main", self.library)
        self.module.on_redefine = self._redefined
        born(self)

    @classmethod
    def confined(cls, **columns: Any) -> Session:
        """A session for programs of people whom one does not know: they reach nothing outside, and every limit is set. `columns`
        as for `Session`; what is given there is given."""
        return cls(**{"limits": Limits(**CONFINED), "capabilities": (), **columns})

    # Its end.

    def close(self) -> None:
        """Give back all that the session holds: values, compiled libraries, the functions it was given. It waits until other
        threads have ended what they evaluate here. From then on the session, and each procedure of it, is a VladError to
        whoever uses it. To close again does nothing. Raises VladError within an evaluation of the session."""
        close(self)

    @property
    def closed(self) -> bool:
        """Was it closed?"""
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

        await to_thread(self.close)  # which waits for evaluations, while the event loop goes on

    def __repr__(self) -> str:
        return "<vlad session, closed>" if self.closed else f"<vlad session of {len(self)} definitions>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise NoCounterpart(
            "cannot-save", "Cannot be saved or copied: a session",
            hint="`vlad.dumps` saves procedures and other values of it; elsewhere make a session of the same texts",
        )  # fmt: skip

    def modules(self) -> list[Module]:
        """Its own and those of files."""
        return [self.basis, self.library, self.module, *self._modules.values()]

    def _permit(self, capability: str, what: str, span: Span | None = None) -> None:
        """Raises VladError where programs of this session may not do something."""
        if capability not in self.capabilities:
            raise VladError(
                "not-permitted",
                f"Programs of this session may not {what}",
                span,
                hint=f'the capability "{capability}" was not given to it',
            )

    def _write_out(self, text: str) -> None:
        self._permit("streams", "write to the standard output")
        if sys.stdout is not None:  # as `print` does
            sys.stdout.write(text)

    def _read_in(self) -> str:
        self._permit("streams", "read the standard input")
        try:
            return read_line()
        except (OSError, UnicodeDecodeError) as error:
            raise not_read(error) from None

    # Names that every program knows.

    def _load_basis(self, name: str) -> bool:
        row = TABLE.get(name)
        if row is not None and not row.hidden:
            cell = self.basis.define(name)
            cell.value, cell.primitive = self.machine.primitive_value(row), row
            return True
        if name == "J":
            cell = self.basis.define(name)
            cell.value, cell.primitive = self.machine.primitive_value(TABLE["*j"]), TABLE["*j"]
            return True
        if name in PROCEDURES:
            self.basis.define(name).value = self.machine.procedure_value(name)
            return True
        return False

    def _load_library(self, name: str) -> bool:
        if name in self._loading:
            return False
        source = self._library.definition(name)
        if source is None:
            return self._load_hidden(name)
        self._loading.add(name)
        steps, self._steps = self._steps, None
        try:
            for syntax in read(source):
                for item in expand_form(syntax, self.library):
                    self._execute(item, self.library, None)
            if name in KEYWORDS:  # `list` as a value; the word keeps its meaning in what is read from now on
                self.library.defined.pop(name, None)
        finally:
            self._loading.discard(name)
            self._steps = steps
        return True

    def _load_hidden(self, name: str) -> bool:
        """The library calls a hidden row `%NAME`, as it does its own helpers."""
        row = TABLE.get(name[1:]) if name.startswith("%") else None
        if row is None or not row.hidden:
            return False
        cell = self.library.define(name)
        cell.value, cell.primitive = self.machine.primitive_value(row), row
        return True

    # Evaluating.

    def eval(self, text: str, name: str = "<expression>", limits: Limits | None = None) -> Any:
        """Evaluate every form of a text; the value of the last one, as a Python value. Reading and converting count for the
        limits, too: the session's own, or `limits` for this call."""
        _expect_text(text)

        def evaluate() -> Any:
            value: Value = UNSPECIFIED
            for item in self._items(Source(name, text), self.module):
                value = self._execute(item, self.module, None)
            return self._as_python(value)

        with self.limited(limits):
            return self.machine.guarded(evaluate)

    @contextmanager
    def limited(self, limits: Limits | None) -> Iterator[None]:
        """`with session.limited(Limits(seconds=1)):` all that is evaluated inside has these limits (None: the session's own).
        Other threads wait."""
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
        """`eval`, awaited: it runs in a thread of its own while the event loop goes on. What is awaited of one session takes
        turns. Where the task is cancelled, the evaluation is interrupted, and the session may be used again."""
        from vlad.session.asynchronous import evaluated  # asyncio: 30 ms

        return await evaluated(self, lambda: self.eval(text, name), limits)

    async def acall(
        self, function: Callable[..., Answer], *arguments: Any, limits: Limits | None = None
    ) -> Answer:
        """What a procedure of the session, or a Python function that uses such, answers for arguments, awaited as `aeval` is."""
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
        self._run_file(path, self._print)

    def load(self, path: Path) -> None:
        """Evaluate a file's forms without printing their values."""
        self._run_file(path, None)

    def import_again(self) -> list[str]:
        """Evaluate the files of all modules anew, and give their names what they now mean; the paths that were imported."""
        with self._lock:
            self._modules.clear()
            imports = list(self._imports.values())
            for item in imports:
                self._import(item, self.module)
            return [item.path for item in imports]

    def _run_file(self, path: Path, show: Callable[[Value], None] | None) -> None:
        with self._lock:
            source = load(self._find(path, [""], None))
            with self._within(source.name):
                self._run(source, self.module, show)

    def run_text(
        self, text: str, name: str = "<expression>", show: Callable[[Value], None] | None = None
    ) -> None:
        """Run a text as `run` does a file; `show`, in place of printing, is given the value of each expression."""
        _expect_text(text)
        with self._lock:
            self._run(Source(name, text), self.module, show or self._print)

    @contextmanager
    def metering(self) -> Iterator[None]:
        """`with session.metering():` primitive operations are counted (`counts`), so nothing is compiled inside."""
        with self._lock, self.machine.metering(), self.tiers.paused():
            yield

    @property
    def counts(self) -> dict[str, int]:
        """How often each primitive was applied since the last top-level expression began; needs `metered`."""
        counts: dict[str, int] = self.machine.counts
        return counts

    @property
    def steps(self) -> int:
        """Procedure entries and loop turns so far; counted when `metered` or with fuel."""
        return int(self.machine.steps[0])

    def apply(self, procedure: Value, argument: Value, options: Options | None = None) -> Value:
        """Apply a procedure to its one argument (a tuple, for several), as values of the language. `options`: of vlad.compile."""
        with self._lock:
            machine = self.machine
            if machine.limits.are_watched:  # it is one evaluation, even if the tier changes
                return machine.guarded(self._suggesting, self.tiers.apply, procedure, argument, options)
            if CURRENT.get() != machine.device:
                return self._suggesting(self.tiers.apply, procedure, argument, options)
            try:  # as `_suggesting`, without a call in between
                return self.tiers.apply(procedure, argument, options)
            except VladError as error:
                self._suggest(error, None)
                raise

    def _replayed(self, procedure: Value, argument: Value, words: dict[int, str]) -> Value:
        """What an evaluation answered that was made before, evaluated again without its effects (compile/calling/policy.py)."""
        with self._lock:
            return self._suggesting(lambda: self.tiers.replayed(procedure, argument, words))

    def _items(self, source: Source, module: Module) -> Iterator[Item]:
        """The items of a text, each expanded after the one before was executed. The limits hold for reading, too, and for
        each expansion."""
        for syntax in self.machine.guarded(lambda: top_level_forms(read(source))):
            yield from self._expand(syntax, module)

    def _expand(self, syntax: Syntax, module: Module) -> list[Item]:
        def expand() -> list[Item]:
            with deep_recursion(self.machine.limits.depth):
                return expand_form(syntax, module)

        items: list[Item] = self.machine.guarded(expand)
        return items

    def _run(self, source: Source, module: Module, show: Callable[[Value], None] | None) -> None:
        for item in self._items(source, module):
            self._execute(item, module, show)

    def _execute(self, item: Item, module: Module, show: Callable[[Value], None] | None) -> Value:
        """Do one top-level form; `show` gets the value of an expression."""
        match item:
            case Definition() | Expression() if self._steps is not None:
                self._add_step(item, show is not None)
            case Definition():
                self._define(item.cell, self._evaluate(item.body, item.span))
            case Expression():
                self.machine.counts.clear()
                value = self._evaluate(item.body, item.span)
                if show is not None and not is_written(item.body):
                    show(value)
                return value
            case Include():
                self._include(item, module, show)
            case Import():
                self._import(item, module)
            case Export():
                module.exports = [*(module.exports or []), *item.names]
        return UNSPECIFIED

    def _redefined(self, cell: Global) -> None:
        """A name that meant a primitive means something else from now on."""
        self.machine.redefined(cell)
        self.tiers.redefined(cell, primitive=True)

    def _evaluate(self, body: Body, span: Span) -> Value:
        lambda_ = only_lambda(body)
        if lambda_ is not None:
            return self.machine.top_level(lambda_)
        thunk = self.machine.top_level(make_lambda((Variable("nothing"),), body, "", span))
        return with_room(self._suggesting, self.tiers.apply, thunk, NIL, span=span)

    def _suggesting(
        self, evaluate: Callable[..., Answer], *operands: Any, span: Span | None = None
    ) -> Answer:
        """What `evaluate` answers for operands, with tensors made on the session's device; an error has at least the form's
        position, an unbound variable the nearest known name."""
        device = self.machine.device
        before = None if CURRENT.get() == device else CURRENT.set(device)
        try:
            return evaluate(*operands)
        except VladError as error:
            self._suggest(error, span)
            raise
        except Interrupted:  # told once more, on the way of the error by which it was to end
            if self.machine.watch.reason is not None:
                self._suggest(self.machine.watch.reason, span)
            raise
        finally:
            if before is not None:
                CURRENT.reset(before)

    def _suggest(self, error: VladError, span: Span | None) -> None:
        if span is not None and (error.span in (None, error.entered) or in_library(error.span)):
            if error.span is not None and in_stdlib(error.span) and not error.backtrace:
                error.backtrace.append(Backtrace("the library", error.span))
            error.span = span
        if error.code == "not-a-procedure" or (error.code == "unbound-variable" and error.hint is None):
            clarify(error, self.known_names(), KEYWORDS, self._means_something)
        elif error.code in ("invalid-argument", "bundle-do-not-conform"):
            speak_of_call(error, self._is_of_library)
        is_counted = tell_number(error, self._signature_of, self._call_of)
        show_call(error, self._call_of, is_counted)

    def _means_something(self, name: str) -> bool:
        return name in KEYWORDS or self.module.macro(name) is not None or name in self

    def _is_of_library(self, name: str) -> bool:
        return self.module.is_inherited(name) and self._library.definition(name) is not None

    def _signature_of(self, name: str) -> Signature | None:
        """How a primitive or a procedure of the library is called; None of other names."""
        cell = self.module.lookup(name) if self.module.is_inherited(name) else None
        value = look(getattr(cell, "value", NIL))
        return signature(self.machine, code_of(value)) if is_procedure(value) else None

    def _call_of(self, name: str) -> str | None:
        """How a procedure of the library is called, as its doc comment says; None of other names."""
        return self._library.call(name) if self._is_of_library(name) else None

    def _print(self, value: Value) -> None:
        if value is not UNSPECIFIED:
            self.machine.guarded(lambda: self._write_line(value))
        if self.machine.metered:
            for name in TABLE:
                if self.machine.counts.get(name):
                    self.machine.write(f"{self.machine.counts[name]} {name}\n")

    def _write_line(self, value: Value) -> None:
        self.machine.write(written(value, self.machine.watch.room()) + "\n")

    # Files.

    def _include(self, item: Include, module: Module, show: Callable[[Value], None] | None) -> None:
        self._permit("imports", f"include files ({item.path})", item.span)
        found = self._find(item.path, self._folders(item.span), item.span)
        real = os.path.realpath(found)
        if real in self._including:
            raise VladError(
                "include-cycle",
                f"The file includes itself: {item.path}",
                item.span,
                hint="remove one of the includes",
            )
        with self._within(found):
            self._run(load(found, item.span), module, show)

    def _import(self, item: Import, module: Module) -> None:
        found = self._find_module(item)
        if module is self.module:
            self._imports[item.path, item.prefix] = item
        prefix = "" if item.prefix is None else item.prefix + ":"
        if os.path.dirname(found) == self._library.folder:
            self._import_library(os.path.basename(found), prefix, module)
            return
        imported = self._modules.get(found) or self._evaluated(found, item)
        for name in imported.handed_out():
            if name in imported.macros:
                module.define_macro(prefix + name, imported.macros[name])
            elif self._steps is not None and not hasattr(imported.cells[name], "value"):
                again = Body((), GlobalReference(imported.cells[name], item.span))
                self._add_step(Definition(module.define(prefix + name), again, item.span), False)
            else:
                self._define(module.define(prefix + name), self._exported(imported, name, item.span))

    def _import_library(self, file: str, prefix: str, module: Module) -> None:
        """Names of the library are known without import: only a prefix, or a name that the module gave away, needs anything."""
        for name in self._library.names_in(file):
            if prefix or not module.is_inherited(name):
                self._define(module.define(prefix + name), self.library.cell(name).value)

    def _evaluated(self, found: str, item: Import) -> Module:
        """The module of a file, which is evaluated once."""
        if found in self._including:
            raise VladError("import-cycle", f"The module imports itself: {item.path}", item.span)
        imported = Module(item.path, self.library)
        imported.on_redefine = self._redefined
        with self._within(found):
            self._run(load(found, item.span), imported, None)
        self._modules[found] = imported
        return imported

    def _exported(self, module: Module, name: str, span: Span) -> Value:
        cell = module.cells.get(name)
        if cell is None or not hasattr(cell, "value"):
            raise VladError(
                "unbound-variable", f"Unbound variable: {name}", span, hint="the module exports it"
            )
        return cell.value

    def _find_module(self, item: Import) -> str:
        own = item.path.removesuffix(".vlad") + ".vlad"
        # before looking: which files there are, is nobody's business either
        if own not in os.listdir(self._library.folder):
            self._permit("imports", f"import files ({item.path})", item.span)
        folders = [*self._folders(item.span), self._library.folder]
        return os.path.realpath(self._find(item.path, folders, item.span))

    def _folders(self, span: Span) -> list[str]:
        """Where to look for a file named in a text: the text's own folder, the working folder, `-I`."""
        return [os.path.dirname(span.source.name), "", *self.path]

    def _find(self, name: Path, folders: list[str], span: Span | None) -> str:
        name = os.fspath(name) if isinstance(name, os.PathLike) else name
        if not isinstance(name, str):
            raise NoCounterpart("invalid-argument", f"The path of a file is a string, not {name!r}")
        # what stands beside `fit.vlad` as `fit` may be the program that was built of it
        names = [name] if name.endswith(".vlad") else [name + ".vlad", name]
        return self._found(name, names, folders, span)

    def _find_data(self, name: str) -> str:
        """The path of a file that a running program names: in the working folder, where it writes; beside itself; in those of
        `-I`."""
        self._permit("files", "read files")
        beside = [os.path.dirname(self._including[0])] if self._including else []
        return self._found(name, [name], ["", *beside, *self.path], None)

    @staticmethod
    def _found(name: str, candidates: list[str], folders: list[str], span: Span | None) -> str:
        for candidate in candidates:
            for folder in [""] if os.path.isabs(name) else folders:
                path = os.path.join(folder, candidate)
                if is_readable(path):
                    return path
        where = ", ".join(dict.fromkeys([folder or "." for folder in folders]))
        meant = _misspelt(candidates[0], folders) if name == os.path.basename(name) else ""
        raise VladError("cannot-find", f"Cannot find: {name}", span, hint=f"looked in {where}{meant}")

    # A program as a whole.

    def _add_step(self, item: Definition | Expression, shown: bool) -> None:
        """Note what a form does, instead of doing it. Procedures are values at once."""
        from vlad.compile.programs.whole import Defined, Step

        assert self._steps is not None
        cell = item.cell if isinstance(item, Definition) else None
        if cell is not None:
            if self._steps.defines(cell):
                raise VladError(
                    "defined-twice",
                    f"{cell.name} is defined a second time",
                    item.span,
                    hint="a program that is checked or built as a whole defines each name once",
                )
            lambda_ = only_lambda(item.body)
            if lambda_ is not None:
                self._define(cell, self.machine.top_level(lambda_))
                self._steps.defined.append(Defined(cell, cell.value, item.span))
                return
        thunk = self.machine.top_level(make_lambda((Variable("nothing"),), item.body, "", item.span))
        shown = shown and cell is None
        self._steps.steps.append(Step(cell, thunk, item.span, shown, is_written(item.body)))

    def _read_whole(self, path: Path) -> tuple[Source, Steps]:
        """All that a file does, in order, without doing it."""
        from vlad.compile.programs.whole import Steps

        source = load(self._find(path, [""], None))
        self._steps = Steps([], [])
        try:
            with self._within(source.name):
                self._run(source, self.module, self._print)
            return source, self._steps
        finally:
            self._steps = None

    @contextmanager
    def _within(self, file: str) -> Iterator[None]:
        """Inside, it is the text of this file that names others."""
        self._including.append(os.path.realpath(file))
        try:
            yield
        finally:
            self._including.pop()

    def check(self, path: Path) -> tuple[list[str], list[VladError]]:
        """The types of a file's definitions and expressions, a line each, and the type errors in it. Nothing is run; files
        that it reads are looked at, where they are there."""
        from vlad.compile.programs.whole import check

        with self._lock:
            source, steps = self._read_whole(path)
            with self._within(source.name):
                report = check(self.machine, steps)
            for error in report.errors:
                if error.code == "unbound-variable" and error.hint is None:
                    self._suggest(error, None)
            return report.lines, list({str(error): error for error in report.errors}.values())

    def build(
        self,
        path: Path,
        output: Path,
        *,
        exports: Mapping[str, bool] | None = None,
        library: bool = False,
        native: bool = False,
    ) -> list[str]:
        """Make a program of a file that runs without Python; or a shared library, with a header beside it, of the
        procedures that are the keys of `exports`, with their derivatives where its value is true. The files that were
        written. Raises VladError."""
        from vlad.compile.emit.c_text import identifier
        from vlad.compile.ir.refusals import Unavailable
        from vlad.compile.native import toolchain
        from vlad.compile.programs import whole

        output = os.fspath(output)
        with self._lock:
            source, steps = self._read_whole(path)
            if os.path.realpath(output) == os.path.realpath(source.name):
                raise VladError(
                    "cannot-write", f"Cannot write: {output}", hint="it is the program that is to be built"
                )
            header = None
            if library:
                base = identifier(os.path.basename(output).partition(".")[0])
                wanted = [self._wanted(name, derivatives) for name, derivatives in (exports or {}).items()]
                text, header = whole.library_text(self.machine, steps, wanted, base)
            else:
                text = whole.program_text(self.machine, steps)
            written_to = [output]
            try:
                toolchain.build_executable(
                    text, output, optimize=self.tiers.optimize, fast_math=self.tiers.fast_math,
                    native=native, shared=library,
                )  # fmt: skip
                if header is not None:
                    beside = os.path.splitext(output)[0] + ".h"
                    written_to.append(beside)
                    with open(beside, "w", encoding="utf-8") as file:
                        file.write(header)
            except Unavailable as unavailable:
                raise VladError("no-compiler", f"Cannot build {source.name}: {unavailable}") from None
            except OSError as error:
                raise VladError(
                    "cannot-write", f"Cannot write: {output}", hint=error.strerror or ""
                ) from None
            return written_to

    def _wanted(self, name: str, derivatives: bool) -> Any:
        """A procedure that a library is to export, with the means to make others of it."""
        from vlad.compile.programs.whole import Wanted

        cell = self.module.cells.get(name)
        value: Value = getattr(cell, "value", NIL)
        if not is_procedure(value):
            raise VladError(
                "unbound-variable",
                f"No procedure of that name: {name}",
                hint="--export names one that the file defines",
            )

        def make(text: str) -> Value:
            procedure = self.procedure(["f"], Source("<export>", text), self.library)
            return self.machine.apply(procedure, value)

        return Wanted(name, value, self.machine.core_of(value[0]).span, make, derivatives)

    # Looking.

    def procedure(self, parameters: Iterable[str], source: Source, module: Module | None = None) -> Value:
        """The procedure with these parameters whose body is a text. Raises VladError where that is no expression."""
        forms = list(read(source))
        span = Span(source, 0, len(source.text))
        names = [Name(symbol(name), span) for name in parameters]
        lambda_ = made("lambda", span, Form(tuple(names), None, span), *forms)
        (item,) = self._expand(lambda_, self.module if module is None else module)
        assert isinstance(item, Expression)
        outer = only_lambda(item.body)
        assert outer is not None
        return self.machine.top_level(outer)

    def value_of(self, source: Source, variables: Mapping[str, Value]) -> Value:
        """The value of an expression among variables that hold these values."""
        with self._lock:
            procedure = self.procedure(list(variables), source)
            argument = tuple_of(list(variables.values()))
            return self._suggesting(self.machine.apply, procedure, argument)

    def expand(self, path: Path) -> Iterator[str]:
        """The core of each top-level form of a file."""
        return self.expand_source(load(self._find(path, [""], None)))

    def expand_source(self, source: Source) -> Iterator[str]:
        """The core of each top-level form of a text."""
        with self._lock:
            for item in self._items(source, self.module):
                if isinstance(item, Definition):
                    yield f"(define {item.cell.name} {self._core_text(only_lambda(item.body) or item.body)})"
                elif isinstance(item, Expression):
                    yield self._core_text(item.body)
                else:
                    self._execute(item, self.module, None)

    def show(self, path: Path, stage: str, name: str | None = None) -> Iterator[str]:
        """The code of a file's procedures at a stage: core, reverse, forward; types and c, compiled for real operands."""
        with self._lock:
            source = load(self._find(path, [""], None))
            for item in self._items(source, self.module):
                self._execute(item, self.module, lambda value: None) if not isinstance(
                    item, Expression
                ) else None
                if not isinstance(item, Definition) or name not in (None, item.cell.name):
                    continue
                if is_procedure(item.cell.value):
                    yield self.stage(item.cell.value, stage, item.cell.name)

    def stage(self, value: Value, stage: str, name: str = "", operands: tuple[Value, ...] = ()) -> str:
        """The code of a procedure at a stage, as the definition of a name if there is one; types and c for operands like
        these, or reals."""
        with self._lock:
            if stage in ("types", "c"):
                text: str = self.tiers.shown(look(value), stage, operands)
                return text
            core = self._core_text(self.core_at(value, stage))
            return f"(define {name} {core})" if name else core

    def _core_text(self, node: Lambda | Body) -> str:
        return print_core(node, self._is_redefined)

    def _is_redefined(self, cell: Global) -> bool:
        return any(module.redefines(cell) for module in (self.module, *self._modules.values()))

    def core_at(self, value: Value, stage: str) -> Lambda:
        """The lambda of a procedure: as it is (core), or as its derivative (reverse, forward)."""
        with self._lock:
            code = look(value)[0]
            if stage == "reverse":
                code = self.machine.tail_code(code)
            elif stage == "forward":
                code = self.machine.forward_code(code)
            lambda_: Lambda = self.machine.core_of(code)
            return lambda_


def _expect_text(text: object) -> None:
    if not isinstance(text, str):
        raise NoCounterpart(
            "invalid-argument", f"A program is a text; this is a Python {type(text).__name__}"
        )


def is_readable(path: str) -> bool:
    """A file, or a pipe as the shell's <(…) gives; no folder, and no device, which might never end."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISFIFO(mode)


def _misspelt(name: str, folders: Iterable[str]) -> str:
    """`; did you mean …?`, where there is a file of much the same name, with the same ending."""
    stem, ending = os.path.splitext(name)
    stems = [os.path.splitext(file)[0] for file in files_in(folders) if file.endswith(ending)]
    near = nearest(stem, stems)
    return f"; did you mean `{near[0]}{ending}`?" if near else ""


def files_in(folders: Iterable[str]) -> list[str]:
    """The names of the files in folders, as far as these can be listed."""
    found = []
    for folder in folders:
        with suppress(OSError):
            found += os.listdir(folder or ".")
    return found


def is_written(body: Body) -> bool:
    """Is a form a call of `write`, or does it end with one? Then its value has just been printed as it would be here."""
    call = body.result
    return (
        isinstance(call, Call)
        and isinstance(call.operator, GlobalReference)
        and call.operator.cell.primitive is TABLE["write"]
    )


def only_lambda(body: Body) -> Lambda | None:
    """The lambda, where a body does nothing but answer one."""
    if len(body.bindings) != 1:
        return None
    (binding,) = body.bindings
    if isinstance(binding, Letrec) or binding.variable is not body.result:
        return None
    return binding.rhs if isinstance(binding.rhs, Lambda) else None


def not_read(error: OSError | UnicodeDecodeError) -> VladError:
    """That standard input cannot be read."""
    if isinstance(error, UnicodeDecodeError):
        return VladError("not-text", f"Standard input is not a text in UTF-8: {error.reason}")
    return VladError("cannot-read", "Cannot read standard input", hint=error.strerror or "")


def load(path: str, span: Span | None = None) -> Source:
    """The text of a file. Raises VladError where it cannot be read or is no text."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        return Source(path, data.decode("utf-8-sig"))
    except OSError as error:
        raise VladError("cannot-read", f"Cannot read: {path}", span, hint=error.strerror or "") from None
    except UnicodeDecodeError as error:
        before = Source(path, data[: error.start].decode("utf-8-sig", "replace"))
        at = Span(before, len(before.text), len(before.text) + 1)
        raise VladError(
            "not-text",
            f"Not a text in UTF-8: {path}",
            at,
            hint="save the file as UTF-8; a program is plain text",
        ) from None
