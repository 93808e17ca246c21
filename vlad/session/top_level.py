"""Top-level forms, one after the other: definitions, expressions, includes, imports. Modules, and their names.

In: texts and files, and the module that they are read in.  Out: their definitions there, and the values of their expressions.
Called by session.py, which handles the lock and limits; by programs.py and showing.py, which read a program for other purposes.
It drives reader, expander and machine, and makes none of their decisions.

Forms and modules are one subject: importing a file, and using a name of the library for the first time, executes forms.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar

from vlad.compile.calling.policy import Tiers
from vlad.control.frame_stack import with_room
from vlad.control.surroundings import setting
from vlad.core.names import make_lambda
from vlad.core.nodes import Body, Call, GlobalReference, Lambda, Letrec, Variable
from vlad.data.devices import CURRENT
from vlad.data.errors import VladError, unbound_variable
from vlad.data.source import Origin, Source, Span, is_internal
from vlad.data.values import NIL, UNSPECIFIED, Global, Value, symbol
from vlad.data.write import written
from vlad.evaluate.limits import Interrupted, deep_recursion
from vlad.evaluate.machine import Machine
from vlad.expand.forms import KEYWORDS, expand_form
from vlad.expand.items import Definition, Export, Expression, Import, Include, Item, top_level_forms
from vlad.expand.macros import made
from vlad.expand.scope import Module
from vlad.messages.hints import hint_at_choice
from vlad.primitives.reentry import CAPTURING
from vlad.primitives.table import CODES, PROCEDURES, TABLE
from vlad.reader.parser import Form, Name, Syntax, read
from vlad.session.files import Path, find, found, load
from vlad.session.installed import installed_module, installed_with_similar_name
from vlad.session.library import Library
from vlad.session.repeated import RepeatedTexts
from vlad.session.suggestions import Suggestions

Answer = TypeVar("Answer")
Show: TypeAlias = Callable[[Value], None] | None  # called with the value of each expression
Note: TypeAlias = Callable[[Definition | Expression, bool], None]


class TopLevel:
    """The modules of a session, and the execution of forms in them.

    permit      raises VladError if programs lack a capability
    path        returns the folders of `-I`
    note        if set: called with each definition and expression, which is not executed; and whether its value would be shown
    """

    def __init__(
        self,
        machine: Machine,
        tiers: Tiers,
        stdlib: Library,
        permit: Callable[..., None],
        path: Callable[[], list[str]],
    ) -> None:
        self.machine = machine
        self.tiers = tiers
        self.permit = permit
        self.path = path
        self.note: Note | None = None
        self.note_import: Callable[[Global, Span], None] | None = None
        self._stdlib = stdlib
        self._loading: set[str] = set()
        self._including: list[str] = []
        self._files: dict[str, Module] = {}  # the modules of files, by path
        self._imports: dict[tuple[str, str | None], Import] = {}  # the program's own
        self.basis = Module("basis", None, TABLE)
        self.basis.autoload = self._load_basis
        self.library = Module("library", self.basis)
        self.library.autoload = self._load_library
        self.module = Module("main", self.library)
        self.module.on_redefine = self._redefined
        self.suggestions = Suggestions(machine, self.module, stdlib)
        self._repeated = RepeatedTexts(self.module)

    def modules(self) -> list[Module]:
        """Its own and those of files."""
        return [self.basis, self.library, self.module, *self._files.values()]

    # Standard names.

    def _load_basis(self, name: str) -> bool:
        row = TABLE.get(name)
        if row is not None and not row.hidden:
            cell = self.basis.define(name)
            cell.value, cell.primitive = self.machine.system.primitive_value(row), row
            return True
        if name == "J":
            cell = self.basis.define(name)
            cell.value, cell.primitive = self.machine.system.primitive_value(TABLE["*j"]), TABLE["*j"]
            return True
        if name in PROCEDURES:
            self.basis.define(name).value = self.machine.system.procedure_value(name)
            return True
        if name in CODES and is_internal(name):  # keywords expand to its calls
            self.basis.define(name).value = self.machine.codes[name].closed
            return True
        return False

    def _load_library(self, name: str) -> bool:
        if name in self._loading:
            return False
        if name not in self._stdlib.index():
            return self._load_hidden(name)
        if self._is_late(name):
            self._define_late(name)
        else:
            self._define_now(name)
        return True

    def _is_late(self, name: str) -> bool:
        return name not in KEYWORDS and self._stdlib.arity(name) is not None

    def _define_now(self, name: str) -> None:
        """Define a value of the library, a procedure whose parameters are patterns, or `list`."""
        self._loading.add(name)
        note, self.note = self.note, None
        try:
            for item in self._library_items(name):
                self.execute(item, self.library, None)
            if name in KEYWORDS:  # `list` as a value; the keyword keeps its meaning in texts read from now on
                self.library.defined.pop(name, None)
        finally:
            self._loading.discard(name)
            self.note = note

    def _define_late(self, name: str) -> None:
        """Define a procedure of the library that is expanded when it is first needed: few of those that it mentions are called.
        The compiler's thread may need it, and must not evaluate: so all that is mentioned, directly or not, is defined now.
        """
        work = [name]
        while work:
            name = work.pop()
            cell = self.library.cells.get(name)
            if name in self._loading or name in KEYWORDS or (cell is not None and hasattr(cell, "value")):
                continue
            if not self._is_late(name):
                self._define_now(name)
                continue
            cell, arity = self.library.define(name), self._stdlib.arity(name)
            assert arity is not None
            with self.machine.making:
                if not hasattr(cell, "value"):
                    cell.value = self.machine.top_level_later(
                        name, arity, partial(self._library_lambda, name)
                    )
                    self.machine.of_library.add(cell.value[0])
                    if name in CAPTURING:
                        self.machine.capturing.add(cell.value[0])
            work += self._stdlib.mentioned(name)
            if self._stdlib.uses_cells(name):  # before a derivative is taken in which it is expanded
                self.machine.begin_cells()

    def _library_lambda(self, name: str) -> Lambda:
        with deep_recursion(self.machine.limits.depth):
            (item,) = self._library_items(name)
        assert isinstance(item, Definition)
        lambda_ = only_lambda(item.body)
        assert lambda_ is not None
        return lambda_

    def _library_items(self, name: str) -> list[Item]:
        items = self._stdlib.expanded(name, self.library)
        if items is None:
            items = [item for syntax in self._stdlib.data(name) for item in expand_form(syntax, self.library)]
            self._stdlib.keep(name, items)
        return items

    def _load_hidden(self, name: str) -> bool:
        """The library calls a hidden row `%NAME`, like its own helpers."""
        row = TABLE.get(name[1:]) if is_internal(name) else None
        if row is None or not row.hidden:
            return False
        cell = self.library.define(name)
        cell.value, cell.primitive = self.machine.system.primitive_value(row), row
        return True

    # Forms.

    def items(self, source: Source, module: Module) -> Iterator[Item]:
        """The items of a text, each expanded after the previous one was executed. The limits hold for reading, too, and for
        each expansion.
        """
        self.tiers.reads(source.text)
        for syntax in self.machine.guarded(lambda: top_level_forms(read(source))):
            yield from self.expanded(syntax, module)

    def library_names(self) -> Container[str]:
        """The names that the library defines."""
        return self._stdlib.index().keys()

    def expanded(self, syntax: Syntax, module: Module) -> list[Item]:
        """The items of a top-level form."""

        def expand() -> list[Item]:
            with deep_recursion(self.machine.limits.depth):
                return expand_form(syntax, module)

        try:
            items: list[Item] = self.machine.guarded(expand)
        except VladError as error:
            hint_at_choice(error)
            raise
        return items

    def value(self, source: Source) -> Value:
        """Execute a text in the program's own module; returns the value of the last form."""
        if self._repeated.has(source):
            return self._value_again(source)
        value, items = UNSPECIFIED, []
        for item in self.items(source, self.module):
            items.append(item)
            value = self.execute(item, self.module, None)
        if self.note is None and len(items) == 1 and _may_be_repeated(items[0]):
            self._repeated.keep(source, None)
        return value

    def _value_again(self, source: Source) -> Value:
        """The value of a text of one expression, which was executed before."""
        kept = self._repeated.get(source)
        if kept is None:
            (item,) = self.items(source, self.module)
            assert isinstance(item, Expression)
            kept = self.thunk(item.body, item.span), item.span
            self._repeated.keep(source, kept)
        self.machine.counts.clear()
        thunk, span = kept
        return with_room(self.suggesting, self.tiers.apply, thunk, NIL, span=span)

    def run(self, source: Source, module: Module, show: Show) -> None:
        """Execute a text."""
        for item in self.items(source, module):
            self.execute(item, module, show)

    def run_file(self, path: Path, show: Show) -> Source:
        """Execute a file; returns its text."""
        source = load(find(path, [""]))
        with self.within(source.name):
            self.run(source, self.module, show)
        return source

    def execute(self, item: Item, module: Module, show: Show) -> Value:
        """Execute one top-level form; `show` is called with the value of an expression."""
        match item:
            case Definition() | Expression() if self.note is not None:
                self.note(item, show is not None)
            case Definition():
                try:
                    self.define(item.cell, self._evaluate(item.body, item.span))
                except BaseException:  # interrupts, too
                    module.undefine(item.cell.name)
                    raise
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

    def define(self, cell: Global, value: Value) -> None:
        """Give a global its value. Compiled code that relied on another one is discarded."""
        if hasattr(cell, "value"):
            self.tiers.redefine(cell, lambda: setattr(cell, "value", value))
        else:
            cell.value = value
        self.machine.changed_global(cell)

    def _redefined(self, cell: Global) -> None:
        """Invalidate code that relied on a name's primitive."""
        self.machine.redefined(cell)
        self.tiers.forget()  # uses of primitives are not recorded in what is compiled
        cell.dependents = (
            None  # last: if an interrupt comes before, the next definition of the name repeats all of it
        )

    def is_redefined(self, cell: Global) -> bool:
        """Whether its name means something else in a program here than its standard meaning."""
        return any(module.redefines(cell) for module in (self.module, *self._files.values()))

    def procedure(self, parameters: Iterable[str], source: Source, module: Module) -> Value:
        """The procedure with these parameters whose body is a text. Raises VladError if that is no expression."""
        forms = list(read(source))
        span = Span(source, 0, len(source.text))
        names = [Name(symbol(name), span) for name in parameters]
        lambda_ = made("lambda", span, Form(tuple(names), None, span), *forms)
        (item,) = self.expanded(lambda_, module)
        assert isinstance(item, Expression)
        outer = only_lambda(item.body)
        assert outer is not None
        return self.machine.top_level(outer)

    # Evaluating.

    def _evaluate(self, body: Body, span: Span) -> Value:
        lambda_ = only_lambda(body)
        if lambda_ is not None:
            return self.machine.top_level(lambda_)
        evaluate = partial(self.tiers.apply, once=True)
        return with_room(self.suggesting, evaluate, self.thunk(body, span), NIL, span=span)

    def thunk(self, body: Body, span: Span) -> Value:
        """A procedure without arguments."""
        return self.machine.top_level(make_lambda((Variable("nothing"),), body, "", span))

    def suggesting(self, evaluate: Callable[..., Answer], *operands: Any, span: Span | None = None) -> Answer:
        """Call `evaluate` on operands, with tensors made on the session's device; an error has at least the form's
        position, an unbound variable the nearest known name.
        """
        device = self.machine.device
        before = None if CURRENT.get() == device else CURRENT.set(device)
        try:
            return evaluate(*operands)
        except VladError as error:
            self.suggestions.suggest(error, span)
            raise
        except Interrupted:  # raised again, during the unwinding of the error that ends it
            if self.machine.watch.reason is not None:
                self.suggestions.suggest(self.machine.watch.reason, span)
            raise
        finally:
            if before is not None:
                CURRENT.reset(before)

    def print(self, value: Value) -> None:
        """Print the value of an expression on a line, and the counts, if the session is metered."""
        if value is not UNSPECIFIED:
            self.machine.guarded(lambda: self._write_line(value))
        if self.machine.metered:
            for name in TABLE:
                if self.machine.counts.get(name):
                    self.machine.write(f"{self.machine.counts[name]} {name}\n")

    def _write_line(self, value: Value) -> None:
        self.machine.write(written(value, self.machine.watch.room()) + "\n")

    # Files.

    def _include(self, item: Include, module: Module, show: Show) -> None:
        self.permit("imports", f"include files ({item.path})", item.span)
        path = find(item.path, self._folders(item.span), item.span)
        if os.path.realpath(path) in self._including:
            raise VladError(
                "include-cycle",
                f"The file includes itself: {item.path}",
                item.span,
                hint="remove one of the includes",
            )
        with self.within(path), _leading("the include", item.span):
            self.run(load(path, item.span), module, show)

    def import_again(self) -> list[str]:
        """Evaluate the files of all modules again, and update the values of their names; returns the imported paths."""
        self._files.clear()
        imports = list(self._imports.values())
        for item in imports:
            self._import(item, self.module)
        return [item.path for item in imports]

    def _import(self, item: Import, module: Module) -> None:
        path = self._find_module(item)
        if module is self.module:
            self._imports[item.path, item.prefix] = item
        prefix = "" if item.prefix is None else item.prefix + ":"
        if os.path.dirname(path) == self._stdlib.folder:
            self._import_library(os.path.basename(path), prefix, module, item)
            return
        imported = self._files.get(path) or self._evaluated(path, item)
        for name, type_ in imported.record_types.items():
            if imported.exports is None or name in imported.exports:
                module.record_types[prefix + name] = type_
        for name in imported.handed_out():
            if name in imported.macros:
                module.define_macro(prefix + name, imported.macros[name])
            elif self.note is not None and not hasattr(imported.cells[name], "value"):
                again = Body((), GlobalReference(imported.cells[name], item.span))
                self.note(Definition(module.define(prefix + name), again, item.span, is_import=True), False)
            else:
                self._define_imported(
                    module.define(prefix + name), _exported(imported, name, item.span), item
                )
            module.imported[prefix + name] = item.path

    def _import_library(self, file: str, prefix: str, module: Module, item: Import) -> None:
        """Names of the library need no import: only a prefix, or a name that the module redefined, has an effect."""
        for name in self._stdlib.names_in(file):
            if prefix or not module.is_inherited(name):
                self._define_imported(module.define(prefix + name), self.library.cell(name).value, item)

    def _define_imported(self, cell: Global, value: Value, item: Import) -> None:
        if self.note_import is not None:
            self.note_import(cell, item.span)
        self.define(cell, value)

    def _evaluated(self, path: str, item: Import) -> Module:
        """The module of a file, which is evaluated once."""
        if path in self._including:
            raise VladError("import-cycle", f"The module imports itself: {item.path}", item.span)
        imported = Module(item.path, self.library)
        imported.on_redefine = self._redefined
        with self.within(path):
            source = load(path, item.span)
            if os.path.dirname(path) == self._stdlib.modules:
                source = Source(f"stdlib/modules/{os.path.basename(path)}", source.text, Origin.LIBRARY)
            with _leading("the import", item.span):
                self.run(source, imported, None)
        self._files[path] = imported
        return imported

    def _find_module(self, item: Import) -> str:
        own = item.path.removesuffix(".vlad") + ".vlad"
        folders = [self._stdlib.folder, self._stdlib.modules]
        is_shipped = any(own in os.listdir(folder) for folder in folders)
        # before searching: the existence of files is protected, too
        try:
            self.permit("imports", f"import files ({item.path})", item.span)
        except VladError:
            if not is_shipped:
                raise
        else:  # a file of one's own goes before one of the library
            folders = [*self._folders(item.span), *folders]
        try:
            return os.path.realpath(find(item.path, folders, item.span))
        except VladError as error:
            path = installed_module(item.path)
            if path is None:
                for near in installed_with_similar_name(item.path):
                    error.add_hint(f"did you mean the installed module `{near}`?")
                raise
            return os.path.realpath(path)

    def _folders(self, span: Span) -> list[str]:
        """The folders to search for a file named in a text: the text's own folder, the working folder, `-I`, $VLAD_PATH."""
        named = [folder for folder in (setting("VLAD_PATH") or "").split(os.pathsep) if folder]
        return [os.path.dirname(span.source.name), "", *self.path(), *named]

    def find_data(self, name: str) -> str:
        """The path of a file that a running program names: in the working folder, where it writes; beside itself; in those of
        `-I`.
        """
        self.permit("files", "read files")
        beside = [os.path.dirname(self._including[0])] if self._including else []
        return found(name, [name], ["", *beside, *self.path()])

    @contextmanager
    def within(self, file: str) -> Iterator[None]:
        """A context in which the names of files are relative to this file."""
        self._including.append(os.path.realpath(file))
        try:
            yield
        finally:
            self._including.pop()


@contextmanager
def _leading(what: str, span: Span) -> Iterator[None]:
    """A context whose errors name a form that leads there."""
    try:
        yield
    except VladError as error:
        error.lead_here(what, span)
        raise


def _exported(module: Module, name: str, span: Span) -> Value:
    cell = module.cells.get(name)
    if cell is None or not hasattr(cell, "value"):
        raise unbound_variable(name, span, "the module exports it")
    return cell.value


def is_written(body: Body) -> bool:
    """Whether a form is a call of `write`, or ends with one. Then its value has just been printed as it would be here."""
    call = body.result
    return (
        isinstance(call, Call)
        and isinstance(call.operator, GlobalReference)
        and call.operator.cell.primitive is TABLE["write"]
    )


def _may_be_repeated(item: Item) -> bool:
    """Whether it is an expression; each evaluation of a lambda makes another procedure."""
    return isinstance(item, Expression) and only_lambda(item.body) is None


def only_lambda(body: Body) -> Lambda | None:
    """The lambda, if a body only returns one."""
    if len(body.bindings) != 1:
        return None
    (binding,) = body.bindings
    if isinstance(binding, Letrec) or binding.variable is not body.result:
        return None
    return binding.rhs if isinstance(binding.rhs, Lambda) else None
