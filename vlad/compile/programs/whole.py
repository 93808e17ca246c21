"""A program as a whole: all that its top level does, analysed and compiled as one, for `vlad check` and `vlad build`.

In: the steps of a program in order, as session/programs.py notes them; its procedures are values by then.  Out: what is known
of them, or a program or library that stands alone. A global that is no procedure is computed when the program runs: it is stored
once, and loaded where it is used. Raises VladError where a program cannot stand alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vlad.compile.analysis.abstract_interpreter import AbstractInterpreter, Instance, Result
from vlad.compile.analysis.fixpoint import Analysis
from vlad.compile.analysis.specialize import UNSOLVED, Specializer
from vlad.compile.calling.pipeline import UNLIKE, Fit, fitting, improved
from vlad.compile.emit import c_unit
from vlad.compile.emit.c_names import may_be_exported, may_be_parameter
from vlad.compile.emit.c_text import comment, identifier
from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Compute,
    Effect,
    End,
    Fail,
    Function,
    Invoke,
    Leaf,
    Load,
    Program,
    Statement,
    Store,
    Switch,
    TailInvoke,
    Unreachable,
    Yield,
    blocks,
    inner_blocks,
    statements,
)
from vlad.compile.ir.refusals import Unbounded, Unsettled
from vlad.compile.ir.rewriting import callees, leaf_kind
from vlad.compile.passes.optimize import returning_functions
from vlad.control.frame_stack import with_room
from vlad.core.names import operands, sub_bodies
from vlad.core.nodes import Binding, Body, GlobalReference, Lambda, Letrec, Rhs
from vlad.core.nodes import Result as CoreResult
from vlad.core.types import (
    FROM_ALL,
    FROM_NOTHING,
    FROM_STRUCTURES,
    Known,
    Recursion,
    TooLarge,
    Type,
    described,
)
from vlad.data.errors import VladError
from vlad.data.source import Span, in_library
from vlad.data.values import NIL, UNSPECIFIED, Code, Global, Value
from vlad.data.write import real_text
from vlad.evaluate.limits import deep_recursion
from vlad.primitives.control import SHOWING, WRITTEN
from vlad.primitives.files import Files
from vlad.primitives.indexing import OUT_OF_RANGE
from vlad.primitives.linear_algebra import NOT_DEFINITE, SINGULAR
from vlad.primitives.random import NO_KEY, NO_RANGE
from vlad.primitives.strings import BEYOND, OUTSIDE
from vlad.primitives.tensors import NO_INTEGER

# Failures that are no mistake in the types: what the program itself says, or depends on a value.
CHECKED = (
    "error", "Argument is not an equivalent value", UNSOLVED, OUTSIDE, BEYOND, *OUT_OF_RANGE.values(), *NO_KEY.values(),
    NO_RANGE.format("uniform"), *SINGULAR.values(), NOT_DEFINITE, *[NO_INTEGER.format(kind) for kind in ("int64", "int32")],
)  # fmt: skip


UNBOUND = "Unbound variable: "
UNKNOWN = "…"  # of what an error says: what only the running program knows


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A top-level form that does something: gives a global its value, or answers one, which may be `shown`, unless the form has
    `written` it itself. `thunk` is a procedure of no argument."""

    cell: Global | None
    thunk: Value
    span: Span
    shown: bool
    written: bool


@dataclass(frozen=True, slots=True, eq=False)
class Defined:
    """A top-level procedure."""

    cell: Global
    value: Value
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """All of a program."""

    steps: list[Step]
    defined: list[Defined]

    def defines(self, cell: Global) -> bool:
        return any(step.cell is cell for step in self.steps) or any(one.cell is cell for one in self.defined)


# Its meaning.


def _show(w: AbstractInterpreter, x: Known) -> Result:
    def one(x: Known) -> Result:
        if x.type.of is UNSPECIFIED:
            return x
        return w.recursive(WRITTEN, x) and w.effect("text", text="\n") and w.effect("out") and w.unspecified

    return w.each(x, one)


def _step(step: Step) -> Recursion:
    """A step as a procedure of its own, so that what it allocates is free when it is done."""
    shown = Recursion("show", _show)

    def rule(w: AbstractInterpreter) -> Result:
        w.span = step.span
        value = w.invoke(step.thunk[0], (), [w.constant(NIL)], False)
        if value is None or step.cell is not None:
            return value
        return w.recursive(shown, value) if step.shown and not step.written else w.unspecified

    return Recursion(step.cell.name if step.cell is not None else "expression", rule)


def _main(whole: Whole, going_on: bool) -> Recursion:
    """All steps in order; `going_on` behind one that never answers, to see what else is wrong."""
    parts = [(step, _step(step)) for step in whole.steps.steps]

    def rule(w: AbstractInterpreter) -> Result:
        for index, (step, part) in enumerate(parts):
            whole.at = step
            whole.analysis.follow_certain_calls(step in whole.unroll_certain_calls)
            w.key, w.span = ("step", index), step.span
            value = w.invoke(part, (), [], False)
            if value is None and not going_on:
                return None
            if value is not None and step.cell is not None:
                w.define(step.cell, value)
        return w.unspecified

    return Recursion("main", rule)


class Whole:
    """The analysis of a program. Raises Refused where it has no end. `left_out`: what is not looked at; then, too, steps behind
    one that never answers are. `unroll`: where the analysis follows certain calls; `distinct`: it is Types.keep_zeros_distinct;
    `files`: what was found in those that it reads, if they are looked at."""

    def __init__(
        self,
        machine: Any,
        steps: Steps,
        left_out: list[Step] | None,
        unroll: frozenset[Step],
        distinct: int,
        files: Files | None,
    ) -> None:
        self.machine = machine
        self.steps = steps
        self.analysis = Analysis(machine, unroll=bool(unroll), distinct=distinct)
        self.analysis.tells, self.analysis.files = True, files
        self.analysis.devices = ("cpu",)
        self.analysis.counting = False  # what stands alone has no limits
        self.analysis.variables = {
            step.cell: None for step in (*steps.steps, *(left_out or ())) if step.cell is not None
        }
        self.analysis.unknown = frozenset([step.cell for step in left_out or () if step.cell is not None])
        self.unroll_certain_calls = unroll
        self.at: Step | None = None  # the step that is being analysed
        main = _main(self, left_out is not None)
        self.main = self._solved(lambda: self.analysis.solve(main), None)

    @staticmethod
    def of(
        machine: Any,
        steps: Steps,
        left_out: list[Step] | None = None,
        distinct: int = FROM_NOTHING,
        files: Files | None = None,
    ) -> Whole:
        """With as much patience as is needed."""
        unroll: frozenset[Step] = frozenset()
        while True:
            try:
                return Whole(machine, steps, left_out, unroll, distinct, files)
            except Refused as refused:
                if not refused.unsettled or refused.step is None or refused.step in unroll:
                    raise
                unroll |= {refused.step}

    def _solved(self, solve: Callable[[], Instance], span: Span | None) -> Instance:
        try:
            with deep_recursion():
                return with_room(solve)
        except Unbounded as unbounded:
            refused = _refused(unbounded.reason, unbounded.span or span, self.at)
            refused.unsettled = isinstance(unbounded, Unsettled)
            raise refused from None
        except (TooLarge, RecursionError):
            refused = _refused("its types grow without bound", span, self.at)
            refused.unsettled = True
            raise refused from None

    def solve(self, f: Value, operands: tuple[Type, ...], span: Span | None) -> Instance:
        """One more procedure, on operands of these types."""
        code: Code = f[0]
        fields = tuple([self.analysis.value(value).type for value in f[1 : 1 + len(code.environment)]])
        return self._solved(lambda: self.analysis.solve(code, fields, operands), span)

    def program(self, *others: Instance) -> Program:
        """First-order code: the steps, then the other entries."""

        def again(other: Instance) -> Instance:  # what came last may have changed what came before
            return self._solved(lambda: self.analysis.solve(other.callee, other.fields, other.operands), None)

        main = again(self.main) if others else self.main
        entries = [again(other) for other in others]
        specializer = Specializer(self.analysis)
        self.layout = specializer.layout
        return specializer.program(main, *entries)


class Refused(VladError):
    """The analysis has no end: of which step, and why."""

    step: Step | None = None
    reason = ""
    unsettled = False


def _refused(reason: str, span: Span | None, step: Step | None) -> Refused:
    error = Refused(
        "not-compiled",
        f"This cannot be compiled: {reason}",
        step.span if step is not None and (span is None or in_library(span)) else span,
        hint="`vlad FILE` runs the program all the same",
    )
    error.step, error.reason = step, reason
    return error


def check_order(program: Program, stored: Iterable[Global] = ()) -> None:
    """A global is used only behind its definition; some are taken as `stored`. Raises VladError."""
    stored = set(stored)

    def look_through(function: Function) -> None:
        reached = {function: None}
        work = [function]
        for one in work:
            for statement in statements(one.body):
                if type(statement) is Load and statement.cell not in stored:
                    raise VladError(
                        "unbound-variable",
                        f"{UNBOUND}{statement.cell.name}",
                        statement.span,
                        hint="it is used here before the place where it is defined",
                    )
            for callee in callees(one):
                if callee not in reached:
                    reached[callee] = None
                    work.append(callee)

    for statement in statements(program.entries[0].body):
        if type(statement) is Store:
            stored.add(statement.cell)
        elif type(statement) is Invoke:
            look_through(statement.function)


# Looking at it.


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What `vlad check` says: a line for each definition and expression, and what is wrong."""

    lines: list[str]
    errors: list[VladError]
    left_out: frozenset[Step]


def check(machine: Any, steps: Steps) -> Report:
    """The types of a program's definitions and expressions, and the errors that will happen wherever it comes to them. Steps
    whose analysis has no end are left out."""
    files = Files()
    while True:
        report, may_differ = _checked(machine, steps, FROM_NOTHING, files)
        if files.is_consistent():
            break
        files.found.clear()  # what the program writes is known now
    for distinct in (FROM_STRUCTURES, FROM_ALL):
        if may_differ:
            other, may_differ = _checked(machine, steps, distinct, files)
            if other.left_out <= report.left_out:
                report = other
    return report


def _checked(machine: Any, steps: Steps, distinct: int, files: Files) -> tuple[Report, bool]:
    """And whether more may answer where zeros are taken for fewer others (`Types.keep_zeros_distinct`)."""
    at: list[tuple[Span, str]] = []
    bounded, left_out = list(steps.steps), list[Step]()
    while True:
        try:
            whole = Whole.of(machine, Steps(bounded, steps.defined), left_out, distinct, files)
            break
        except Refused as refused:
            assert refused.step is not None
            bounded.remove(refused.step)
            left_out.append(refused.step)
            at.append((refused.step.span, f"{_name(refused.step)} : not known, for {refused.reason}"))
    program = whole.program()
    errors = _each_once([*_unbound(machine, steps), *_mistakes(program)])
    types = whole.analysis.types
    instances = {step: whole.analysis.find(step.thunk[0], (), (types.constant(NIL),)) for step in bounded}
    if not errors:
        # of what has no value, for it is not known or never answers, nothing more is told
        valueless = [*left_out, *[step for step in bounded if instances[step].result is None]]
        try:
            check_order(program, [step.cell for step in valueless if step.cell is not None])
        except VladError as error:
            errors.append(error)
    origins = {function.origin: function for function in program.functions}
    for step, instance in instances.items():
        if instance.result is None:
            endless, failures = _endings(origins[instance])
            result = f"never answers{_why_never(endless, failures)}"
            errors += [] if endless else _certain(failures)
        elif step.cell is None and not step.shown:
            continue
        else:
            result = described(types.canonical(instance.result))
        is_told = step.cell is not None or step.shown
        if is_told and (instance.result is None or instance.result.of is not UNSPECIFIED or step.cell):
            at.append((step.span, f"{_name(step)} : {result}"))
    used = [instance for instance in whole.analysis.instances if instance in origins]
    for defined in steps.defined:
        at += [(defined.span, text) for text in _signatures(whole, defined, used)]
    spans = [step.span for step in steps.steps] + [defined.span for defined in steps.defined]
    order = {span.source: index for index, span in reversed(list(enumerate(spans)))}
    at.sort(key=lambda one: (order[one[0].source], one[0].start))
    errors = _each_once(errors)
    errors.sort(
        key=lambda one: (order.get(one.span.source, len(order)), one.span.start) if one.span else (0, 0)
    )
    is_short = bool(errors) or any(instance.result is None for instance in instances.values())
    is_taken = types.filled or (types.taken and any(error.message.endswith(UNLIKE) for error in errors))
    return Report([text for _, text in at], errors, frozenset(left_out)), is_short and is_taken


def _each_once(errors: Iterable[VladError]) -> list[VladError]:
    """Of those that say the same of the same place, the first."""
    return [*{(error.message, str(error.span)): error for error in reversed([*errors])}.values()][::-1]


def _name(step: Step) -> str:
    """What a step is called in a report: the name it defines, or its place."""
    return step.cell.name if step.cell is not None else f"{step.span.line}:{step.span.column}"


def _signatures(whole: Whole, defined: Defined, used: list[Instance]) -> Iterator[str]:
    """How a procedure is used, a line for each choice of types; or that it is not."""
    code: Code = defined.value[0]
    types = whole.analysis.types
    found = [instance for instance in used if instance.callee is code]
    texts: dict[str, None] = {}
    for instance in found:
        takes = " ".join([_short(types.canonical(types.general(operand))) for operand in instance.operands])
        result = (
            "never answers"
            if instance.result is None
            else described(types.canonical(types.general(instance.result)))
        )
        texts[f"{defined.cell.name} : {takes} -> {result}"] = None
    if not found:
        derived = any(type(i.callee) is Code and i.callee is not code and i.callee.base is code for i in used)
        names = " ".join([parameter.name for parameter in whole.machine.core_of(code).parameters])
        texts[
            f"{defined.cell.name} : {names} -> {'only its derivatives are used' if derived else 'not used'}"
        ] = None
    yield from texts


def _short(type_: Type) -> str:
    text = described(type_)
    return f"({text})" if "  where  " in text else text


def _unbound(machine: Any, steps: Steps) -> Iterator[VladError]:
    """Names in the text that nothing bears: that much is known of a procedure that nobody calls, too."""
    known = {step.cell for step in steps.steps}
    lambdas = [machine.core_of(one.value[0]) for one in steps.defined]
    work: list[Body] = [
        one.body for one in (*lambdas, *[machine.core_of(step.thunk[0]) for step in steps.steps])
    ]
    for body in work:  # grows
        found: list[Rhs | CoreResult] = [body.result]
        for binding in body.bindings:
            if type(binding) is Letrec:
                found += [member for _, member in binding.members]
            else:
                assert type(binding) is Binding
                found.append(binding.rhs)
        for rhs in found:
            if type(rhs) is Lambda:
                work.append(rhs.body)
                continue
            work += sub_bodies(rhs)
            for atom in operands(rhs):
                if (
                    type(atom) is GlobalReference
                    and not hasattr(atom.cell, "value")
                    and atom.cell not in known
                ):
                    yield VladError("unbound-variable", f"{UNBOUND}{atom.cell.name}", atom.span)


def _mistakes(program: Program) -> Iterator[VladError]:
    """Errors that happen whenever the program comes to them, whichever members the unions on the way have. Some conditions are
    followed, and the errors behind them say so: by how reals compare, and that there is more of a list of unknown length. A loop
    is followed into its first turn only: in a later one something else may have come to its end, which keeps step with what
    the condition asks about, as two lists do."""
    callers: _Callers = {}
    ways: dict[Function, _Way] = {}
    reached = list(program.entries)
    told: set[tuple[str, str]] = set()
    for conditional in (False, True):  # first what is sure to be reached
        for function in reached:  # grows
            way = ways.setdefault(function, _Way(frozenset([_loop(function)]), frozenset()))
            for node, is_behind in _reached(function, conditional):
                if isinstance(node, Invoke | TailInvoke):
                    callee, before = node.function, way.entered if is_behind else way.before
                    if callee not in ways and _loop(callee) not in before:
                        callers[callee] = function, node.span
                        entered = way.entered if conditional else frozenset[object]()
                        ways[callee] = _Way(entered | {_loop(callee)}, before)
                        reached.append(callee)
                elif type(node) is Fail and node.what not in CHECKED:
                    span = _own(function, node.span, callers)
                    if (node.what, str(span)) not in told:
                        told.add((node.what, str(span)))
                        hint = _where(node, span, conditional)
                        if node.what.startswith(UNBOUND):
                            yield VladError("unbound-variable", node.what, span, hint=hint)
                        else:
                            yield VladError("type-error", node.what, span, hint=hint)


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """How one comes to a function: what has been `entered`, and of that, what `before` the last condition. (What is sure to be
    entered before the first condition is left out, but for the last: there may be many turns of a loop.)"""

    entered: frozenset[object]
    before: frozenset[object]


def _loop(function: Function) -> object:
    """What another turn has in common with this one: the procedure, and the procedures that it is given."""
    origin: Instance = function.origin
    types = (*origin.fields, *origin.operands)
    return origin.callee, tuple([(i, one.of) for i, one in enumerate(types) if one.kind == "closure"])


def _where(fail: Fail, span: Span | None, conditional: bool) -> str | None:
    hints = []
    if span is not fail.span and fail.span is not None:
        hints.append(f"it happens in the library, at {fail.span}")
    if conditional:
        hints.append("whether the program comes there depends on values")
    return "; ".join(hints) or None


_Callers = dict[Function, tuple[Function, Span | None]]


def _reached(function: Function, conditional: bool) -> Iterator[tuple[Statement | End, bool]]:
    """The statements and ends that do not depend on a union's member; with those behind conditions that are followed, or without.
    And whether each is behind one. What an error alone keeps it from is not: it ends with one in either case."""
    work = [(function.body, False)]
    compared: set[Leaf] = set()
    has_more: dict[Leaf, Leaf] = {}  # what a test answers if there is more of a list
    for block, is_behind in work:  # grows
        for node in (*block.statements, block.end):
            yield node, is_behind
            if type(node) is Compute:
                if all(leaf in compared or leaf_kind(leaf) == "d" for leaf in node.operands):
                    compared.add(node.slot)
            elif type(node) is Switch:
                has_more.update(_if_more(node))
            elif type(node) is Branch:
                arms = {True: node.consequent, False: node.alternative}
                for answer, arm in arms.items():
                    if type(arms[not answer].end) is Fail:
                        work.append((arm, is_behind))
                    elif conditional and (node.test in compared or has_more.get(node.test) is answer):
                        work.append((arm, True))


def _if_more(switch: Switch) -> Iterator[tuple[Leaf, Leaf]]:
    """Where this is about a list, which has an end or more: what it yields if there is more."""
    cases = {member.name: block.end for member, block in switch.cases}
    if cases.keys() == {"empty", "pair"}:
        end = cases["pair"]
        yield from zip(switch.slots, end.leaves, strict=True) if type(end) is Yield else ()


def _own(function: Function, span: Span | None, callers: _Callers) -> Span | None:
    """The place in the user's own text from which a place in the library was come to."""
    own = span
    while (own is None or in_library(own)) and function in callers:
        function, own = callers[function]
    return span if own is None or in_library(own) else own


@dataclass(frozen=True, slots=True, eq=False)
class _Failure:
    """An error in which something ends that never answers: what it says, and where in the user's own text it happens."""

    fail: Fail
    words: str
    span: Span | None


def _endings(function: Function) -> tuple[Function | None, list[_Failure]]:
    """How something ends that never answers: one of the functions that call themselves without end, if there is one, and the
    errors that may happen; if there is none, those in one of which it ends."""
    callers: _Callers = {}
    onward: dict[Function, list[Function]] = {}
    work = [function]
    for one in work:  # grows
        calls = [call for call in _calls(one) if call.function.origin.result is None]
        onward[one] = [call.function for call in calls]
        for call in calls:
            if call.function not in onward and call.function not in callers:
                callers[call.function] = one, call.span
                work.append(call.function)
    endless = _on_a_cycle(onward)
    ends = [(one, block) for one in work for block in blocks(one.body)] if endless else _last_blocks(function)
    failures = []
    for one, block in ends:
        fail = block.end
        if type(fail) is Fail:
            words = _words(block) if fail.what == "error" else fail.what
            failures.append(_Failure(fail, words, _own(one, fail.span, callers)))
    # what is wrong with the types comes first: an index, say, may be out of range only where shapes fit
    return endless, failures if endless else sorted(failures, key=lambda one: one.fail.what in CHECKED)


def _last_blocks(function: Function) -> list[tuple[Function, Block]]:
    """The blocks with which a function ends that never answers and does not go on without end."""
    found: list[tuple[Function, Block]] = []
    work, entered = [(function, function.body)], {function}
    for one, block in work:  # grows
        last = (
            block.end if type(block.end) is not Unreachable or not block.statements else block.statements[-1]
        )
        if isinstance(last, Invoke | TailInvoke):
            if last.function not in entered:
                entered.add(last.function)
                work.append((last.function, last.function.body))
        elif isinstance(last, Branch | Switch):
            work += [(one, inner) for inner in inner_blocks(last)]
        else:
            found.append((one, block))
    return found


def _words(block: Block) -> str:
    """What an error says, as its block has put it into the line; `…` for what only the running program knows."""
    words: list[str] = []
    for statement in reversed(block.statements):
        if type(statement) is Invoke and statement.function.origin.callee in SHOWING:
            words.append(UNKNOWN)
        elif type(statement) is Effect and statement.what == "text":
            words.append(statement.text)
        elif type(statement) is Effect and statement.what in ("real", "boolean"):
            (leaf,) = statement.operands
            known = real_text(leaf) if type(leaf) is float else UNKNOWN
            words.append(("#f", "#t")[leaf] if type(leaf) is bool else known)
        elif type(statement) is Effect and statement.what == "tensor":
            words.append(f"[{UNKNOWN}]")
        elif type(statement) is not Box:
            break
    return "".join(reversed(words))


def _certain(failures: list[_Failure]) -> Iterator[VladError]:
    """The errors in one of which something ends; where mistakes in the types are among them, only these."""
    is_one_of_several = len({(one.words, str(one.span)) for one in failures}) > 1
    for one in failures:
        what, hint = one.fail.what, _where(one.fail, one.span, is_one_of_several)
        if what == UNSOLVED or (what in CHECKED) != (failures[0].fail.what in CHECKED):
            continue
        if what == "error":
            yield VladError("user-error", one.words, one.span, hint=hint)
        else:
            yield VladError("type-error", what, one.span, hint=hint)


def _why_never(endless: Function | None, failures: list[_Failure]) -> str:
    """Behind what is told of a step without an answer."""
    reasons = [f"{endless.origin.callee.name or 'a procedure'} calls itself without end"] if endless else []
    for failure in failures[:1]:
        span = failure.span
        place = f", at {span.line}:{span.column}" if span is not None and not in_library(span) else ""
        raises = "it raises an error: " if failure.fail.what == "error" else ""
        reasons.append(f"{raises}{failure.words}{place}")
    return ": " * bool(reasons) + ", or ".join(reasons)


def _calls(function: Function) -> list[Invoke | TailInvoke]:
    ends = [block.end for block in blocks(function.body)]
    return [node for node in [*statements(function.body), *ends] if isinstance(node, Invoke | TailInvoke)]


def _on_a_cycle(onward: dict[Function, list[Function]]) -> Function | None:
    """The first of these functions from which one comes back to it."""
    for function, following in onward.items():
        reached, work = set(following), list(following)
        for one in work:  # grows
            work += [other for other in onward[one] if other not in reached]
            reached.update(onward[one])
        if function in reached:
            return function
    return None


# Standing alone.


def _told(fail: Fail) -> str:
    """An error as the program will say it, with a character 1 where its own words go."""
    if fail.what == "error":
        return str(VladError("user-error", "\1", fail.span))
    hint = "read-real takes a number" if fail.what == "Value read is not real" else None
    return str(VladError("failed", fail.what, fail.span, hint=hint))


def _name_places(program: Program) -> None:
    """Give the errors in the library's procedures, and in primitives that are called as values, the place in the program from
    which they are come to, where there is but one."""
    calls: dict[Function, dict[str, tuple[Function, Span | None]]] = {}
    for function in program.functions:
        for block in blocks(function.body):
            for node in (*block.statements, block.end):
                if isinstance(node, Invoke | TailInvoke):
                    calls.setdefault(node.function, {})[str(node.span)] = function, node.span
    for function in program.functions:
        for block in blocks(function.body):
            if type(block.end) is Fail:
                block.end.span = _only_place(function, block.end.span, calls)


def _only_place(
    function: Function,
    span: Span | None,
    calls: Mapping[Function, Mapping[str, tuple[Function, Span | None]]],
) -> Span | None:
    own, seen = span, {function}
    while own is None or in_library(own):
        found = [*calls.get(function, {}).values()]
        if len(found) != 1 or found[0][0] in seen:
            return span
        function, own = found[0]
        seen.add(function)
    return own


def program_text(machine: Any, steps: Steps) -> str:
    """The C text of a program that stands alone. Raises VladError."""

    def text(distinct: int) -> tuple[str, Fit]:
        whole = Whole.of(machine, steps, distinct=distinct)
        program = whole.program()
        check_order(program)
        _name_places(program)
        program = _improved(program, whole)
        return c_unit.emit_program(program, _told), Fit(program, whole.analysis.types)

    return fitting(text, VladError)


def _improved(program: Program, whole: Whole) -> Program:
    try:
        return improved(program, whole.layout)
    except Unbounded as unbounded:
        raise _refused(unbounded.reason, unbounded.span, None) from None


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """A procedure that a library exports. `make` turns a text with `f` free into a procedure."""

    name: str
    f: Value
    span: Span | None
    make: Callable[[str], Value]
    derivatives: bool  # too?


def library_text(machine: Any, steps: Steps, wanted: list[Wanted], name: str) -> tuple[str, str]:
    """The C text and the header of a library with these procedures and their derivatives. Raises VladError."""
    used = Steps([step for step in steps.steps if step.cell is not None], steps.defined)
    return fitting(
        lambda distinct: _library(Whole.of(machine, used, distinct=distinct), wanted, name),
        VladError,
    )


def _library(whole: Whole, wanted: list[Wanted], name: str) -> tuple[tuple[str, str], Fit]:
    """And how well operands fit."""
    machine = whole.machine
    real = whole.analysis.types.real
    instances, exports, owners, header = [], [], [], [_HEAD.format(name=name, guard=name.upper())]
    taken = {f"{name}_error"}  # what C calls something already
    for one in wanted:
        own_parameters = [parameter.name for parameter in machine.core_of(one.f[0]).parameters]
        parameters = _free_names(own_parameters, [])
        value = whole.solve(one.f, tuple([real] * len(parameters)), one.span).result
        if value is None:
            raise _no_export(one, "it never answers when it is given reals")
        shape = _Shape(whole.analysis, value, one)
        base, family = _exported_name(one, taken)
        taken |= family
        changed = _named(base, parameters, one, own_parameters)
        if changed:
            header.append(f"/* In the program, {changed}. */")
        for suffix, more, text, told in _variants(parameters, shape, one.derivatives):
            f = one.make(text)
            names = (*parameters, *more)
            instance = whole.solve(f, tuple([real] * len(names)), one.span)
            if instance.result is None:
                raise _no_export(one, "its derivative never answers")
            instances.append(instance)
            exports.append(c_unit.Export(base + suffix, names))
            owners.append(one)
            takes = ", ".join([f"double {parameter}" for parameter in names])
            header.append(f"/* {told} */\nint {base}{suffix}({takes}, double *results);")
            header.append(f"int {base}{suffix}_rows(long rows, const double *arguments, double *results);\n")
    program = whole.program(*instances)
    check_order(program)
    _name_places(program)
    program = _improved(program, whole)
    returning = returning_functions(program.functions)
    for entry, one in zip(program.entries[1:], owners, strict=True):
        if entry not in returning:
            raise _no_export(one, "it fails whatever reals it is given")
    text = c_unit.emit_library(program, exports, _told, name)
    return (text, "\n".join(header) + _FOOT), Fit(program, whole.analysis.types)


_HEAD = """\
/* {name}: procedures of the language vlad and their derivatives, made by `vlad build --lib`.
   Each answers 0, and its results in order; otherwise {name}_error says what went wrong. The form ..._rows does it for so
   many rows of arguments, one behind the other. One thread at a time. */
#ifndef VLAD_{guard}_H
#define VLAD_{guard}_H
#ifdef __cplusplus
extern "C" {{
#endif

const char *{name}_error(int status);
"""

_FOOT = """
#ifdef __cplusplus
}
#endif
#endif
"""

_UNIT = frozenset({"results", "in", "out", "status", "rows", "arguments"})  # within what is exported
LONGEST_EXPORT = 60  # characters; compilers need to tell no more than 63 apart


def _exported_name(wanted: Wanted, taken: set[str]) -> tuple[str, set[str]]:
    """What C calls a procedure: much as the program does, but longer where a name of its family is not to be had. And the
    family."""
    suffixes = ("", "_jvp", "_vjp") if wanted.derivatives else ("",)
    base = identifier(wanted.name)[:LONGEST_EXPORT]
    while True:
        own = {base + suffix + rows for suffix in suffixes for rows in ("", "_rows")}
        if own.isdisjoint(taken | _UNIT | c_unit.own_names()) and all(map(may_be_exported, own)):
            return base, own
        base += "_"


def _named(base: str, parameters: list[str], wanted: Wanted, own: list[str]) -> str:
    """What of the names of a procedure and its parameters is not as in the program; "" where all is."""
    changed = [
        (one, name) for one, name in zip([base, *parameters], [wanted.name, *own], strict=True) if one != name
    ]
    return ", ".join([f"{one} is {comment(name)}" for one, name in changed])


def _free_names(wanted: list[str], taken: list[str]) -> list[str]:
    """These names as identifiers, or longer ones where they are not to be had: taken, or a word of C or of the unit."""
    names: list[str] = []
    for name in wanted:
        name = identifier(name)[:LONGEST_EXPORT]
        while name in taken or name in names or name in _UNIT or not may_be_parameter(name):
            name += "_"
        names.append(name)
    return names


class _Shape:
    """The reals in a result, as texts over what they are in. Raises VladError where their number is not known."""

    def __init__(self, analysis: Analysis, type_: Type, wanted: Wanted) -> None:
        self.types = analysis.types
        self.wanted = wanted
        self.count = 0
        self.sensitivity = self._sensitivity(type_, "v")
        self._type = type_

    def reals(self, of: str) -> list[str]:
        found: list[str] = []
        self._reals(self._type, of, found)
        return found

    def _reals(self, type_: Type, path: str, found: list[str]) -> None:
        type_ = self.types.canonical(type_)
        if type_.kind == "pair":
            self._reals(type_.parts[0], f"(car {path})", found)
            self._reals(type_.parts[1], f"(cdr {path})", found)
        elif type_.head == "real":
            found.append(f"(real {path})")

    def _sensitivity(self, type_: Type, path: str) -> str:
        type_ = self.types.canonical(type_)
        if type_.kind == "pair":
            left = self._sensitivity(type_.parts[0], f"(car {path})")
            return f"(cons {left} {self._sensitivity(type_.parts[1], f'(cdr {path})')})"
        if type_.head == "real":
            self.count += 1
            return f"s{self.count}"
        if type_.kind == "constant":
            return f"(zero {path})"
        what = "a procedure" if type_.kind == "closure" else "a structure whose size is not known"
        if type_.kind == "boolean":
            what = "a boolean"
        elif type_.kind == "union" and all(member.kind != "pair" for member in self.types.members(type_)):
            what = "now of one kind, now of another"
        raise _no_export(self.wanted, f"its result is {what}")


def _no_export(wanted: Wanted, reason: str) -> VladError:
    return VladError(
        "not-exported",
        f"`{wanted.name}` cannot be exported: {reason}",
        wanted.span,
        hint="a procedure of a library takes reals, and answers a real or a structure of so many; "
        "around one that takes a list, export (define (g a b) (f (list a b)))",
    )


def _variants(
    parameters: list[str], shape: _Shape, derivatives: bool
) -> Iterator[tuple[str, list[str], str, str]]:
    """Suffix, further parameters, text and description of what is exported of a procedure."""
    xs = [f"x{index}" for index in range(1, len(parameters) + 1)]
    ds = [f"d{index}" for index in range(1, len(parameters) + 1)]
    ss = [f"s{index}" for index in range(1, shape.count + 1)]
    tangents = _free_names([f"d_{name}" for name in parameters], parameters)
    sensitivities = _free_names(["s"] if shape.count == 1 else ss, parameters)
    x, d = _tuple(xs), _tuple(ds)
    count = len(shape.reals("v"))
    values = f"results[0..{count - 1}]: its value" if count > 1 else "results[0]: its value"
    yield (
        "",
        [],
        f"(lambda ({' '.join(xs)}) (let ((v (f {' '.join(xs)}))) {_list_text(shape.reals('v'))}))",
        values,
    )
    if not derivatives:
        return
    yield (
        "_jvp",
        tangents,
        f"(lambda ({' '.join(xs + ds)}) (let ((y (jvp-F f {x} {d})))"
        f" {_list_text(shape.reals('(car y)') + shape.reals('(cdr y)'))}))",
        f"{values}; then its derivative along {', '.join(tangents)}",
    )
    places = []
    for index in range(len(xs)):
        path = "(cdr " * index + "g" + ")" * index
        places.append(f"(real (car {path}))" if index + 1 < len(xs) else f"(real {path})")
    yield (
        "_vjp",
        sensitivities,
        f"(lambda ({' '.join(xs + ss)}) (let* ((y (vjp-R f {x})) (v (car y)) (g ((cdr y) {shape.sensitivity})))"
        f" {_list_text(shape.reals('v') + places)}))",
        f"{values}; then the sensitivities of {', '.join(parameters)} to the value times {', '.join(sensitivities)}",
    )


def _tuple(names: list[str]) -> str:
    text = names[-1]
    for name in reversed(names[:-1]):
        text = f"(cons {name} {text})"
    return text


def _list_text(reals: list[str]) -> str:
    return _tuple([*reals, "'()"])
