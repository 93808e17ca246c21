"""The report of `vlad check` on a program: the types of its definitions and expressions, and its errors.

In: the steps of a program.  Out: a Report. Called by session.py. Nothing is run: the program is analysed, and its first-order
code, before optimisation, is searched for errors that occur whenever they are reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from vlad.compile.analysis.abstract_interpreter import Instance, locate
from vlad.compile.analysis.fixpoint import Analysis
from vlad.compile.analysis.strategy import Settled, Strategy, best
from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Compute,
    Effect,
    End,
    Fail,
    Failure,
    Function,
    Invoke,
    Leaf,
    Program,
    Statement,
    Switch,
    TailInvoke,
    Unreachable,
    Yield,
    blocks,
    inner_blocks,
    statements,
)
from vlad.compile.ir.refusals import NOT_COMPILED, Unbounded, UnknownGlobal
from vlad.compile.ir.representation import Representation
from vlad.compile.ir.rewriting import leaf_kind
from vlad.compile.passes.order import has_thin, improved
from vlad.compile.programs.explained import as_a_run_has_it, of_parameter
from vlad.compile.programs.guards import caught_failure, is_guard
from vlad.compile.programs.noting import Noting, Typed
from vlad.compile.programs.whole import Defined, Step, Steps, Whole, check_order
from vlad.control.frame_stack import with_room
from vlad.core.names import operands, sub_bodies
from vlad.core.nodes import Binding, Body, GlobalReference, Lambda, Letrec, Rhs
from vlad.core.nodes import Result as CoreResult
from vlad.core.type_text import TypeText
from vlad.core.types import FROM_ALL, Type, Types
from vlad.data.errors import VladError, unbound_variable
from vlad.data.source import Source, Span, in_library
from vlad.data.values import NIL, UNSPECIFIED, Code, Role
from vlad.data.write import real_text
from vlad.evaluate.errors.miscounted import written_operands
from vlad.evaluate.limits import deep_recursion
from vlad.expand.arity import signature, wrong_number
from vlad.messages.hints import as_in_python
from vlad.primitives.control import SHOWING
from vlad.primitives.files import OF_FILES, Files

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

RAISED = (Failure.RAISED, Failure.REFUSED)
# Failures that are no type errors: raised by the program itself, or dependent on a value.
CHECKED = frozenset(
    [
        *RAISED,
        Failure.ENDED,
        Failure.VALUE,
        Failure.UNDEFINED,
        Failure.UNSUPPORTED,
        Failure.UNFIT,
        Failure.LENGTH,
    ]
)

UNKNOWN = "…"  # in an error's message: text that is known at run time only
NEVER = "never returns"
UNUSED = "not used"
ADDED = {"reverse": 1, "forward": 2}  # parameters that a transform adds, before those of the procedure
MOST_USES = 8  # lines of one procedure


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """The types of definitions and expressions at top level, the errors, and the reasons why parts are not compiled, each with a
    place. With `places`, the types of local variables, and of all expressions, by the last node of each place."""

    types: list[Typed]
    errors: list[VladError]
    refusals: list[tuple[Unbounded, Span]]
    variables: list[Typed] = field(default_factory=list)
    values: list[Typed] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Example arguments, for procedures that the program does not call itself: the values of `steps`, all given to a procedure.
    `wanted`: this one; None: all that the program does not use and that take so many."""

    steps: list[Step]
    wanted: Defined | None


def check(machine: Machine, steps: Steps, examples: Examples | None = None, places: bool = False) -> Report:
    """The types of a program's definitions and expressions, and the errors that occur whenever they are reached. Steps
    whose analysis does not terminate are left out. `places`: also the types of local variables and of all expressions.
    """
    files = Files()
    while True:
        with deep_recursion():  # texts of types, too, may be as deep as the program is
            report = with_room(
                lambda: best(
                    lambda strategy: _checked(machine, steps, strategy, files, examples, places),
                    leaves_out=True,
                )
            )
        if files.is_consistent():
            return report
        files.found.clear()  # now the files that the program writes are known


def _checked(
    machine: Machine,
    given: Steps,
    strategy: Strategy,
    files: Files,
    examples: Examples | None,
    places: bool,
) -> tuple[Report, Settled]:
    """Raises Unbounded."""
    left_out = {unbounded.part: unbounded for unbounded in strategy.left_out}
    steps = given if examples is None else replace(given, steps=[*given.steps, *examples.steps])
    bounded = [step for step in steps.steps if step not in left_out]
    missing = [step for step in steps.steps if step in left_out]
    kind = Noting if places else Analysis
    whole = Whole(machine, replace(steps, steps=bounded), strategy, missing, files, kind)
    called: list[Instance] = []
    refusals = [
        (left_out[step], step.span) for step in missing if not isinstance(left_out[step], UnknownGlobal)
    ]
    for defined in _targets(whole, steps, examples):
        operands = _operands(whole, defined, examples)
        if defined in left_out:
            refusals.append((left_out[defined], defined.span))
        elif operands is not None:
            called.append(whole.instance(defined.value, operands, defined))
    at = [Typed(step.span, _name(step), f"not known: {left_out[step].reason}") for step in missing]
    program = whole.program(*called)
    types = whole.analysis.types
    found = list(mistakes(machine, types, program, given.steps[-1].span.source if given.steps else None))
    abouts = {about for about, _ in found}
    errors = _each_once([*_unbound(machine, steps), *[error for _, error in found]])
    instances = {step: whole.instance_of(step) for step in bounded}
    if not errors:
        # for steps without value, unknown or never returning, nothing more is reported
        valueless = [*missing, *[step for step in bounded if instances[step].result is None]]
        try:
            check_order(whole, program, [step.cell for step in valueless if step.cell is not None])
        except VladError as error:
            errors.append(error)
    origins, hidden = {function.origin: function for function in program.functions}, _Hidden(steps)
    for step, instance in instances.items():
        if instance.result is None:
            refusal = caught_failure(origins[instance])
            if refusal is not None:
                refusal.part = step
                raise refusal
            endless, failures = endings(machine, origins[instance])
            result = hidden.text(endless, failures) or f"{NEVER}{why_never(endless, failures)}"
            if not endless:
                abouts |= {failure.fail.about for failure in failures}
                errors += certain(machine, types, failures)
        elif step.cell is None and not step.shown:
            continue
        else:
            result = _value_text(types, instance.result)
        is_reported = step.shown or (step.cell is not None and not step.is_import)
        if is_reported and (instance.result is None or instance.result.of is not UNSPECIFIED or step.cell):
            at.append(Typed(step.span, _name(step), result))
    used = [instance for instance in whole.analysis.instances if instance in origins]
    for defined in steps.defined:
        at += _signatures(whole, defined, used)
    spans = [step.span for step in steps.steps] + [defined.span for defined in steps.defined]
    order = {span.source: index for index, span in reversed(list(enumerate(spans)))}
    at = [one for one in at if not in_library(one.span)]  # of the library's modules, the errors only
    at.sort(key=lambda one: (order[one.span.source], one.span.start))
    errors = _each_once(errors)
    errors.sort(
        key=lambda one: (order.get(one.span.source, len(order)), one.span.start) if one.span else (0, 0)
    )
    is_short = bool(errors) or any(instance.result is None for instance in instances.values())
    is_taken = types.filled or (types.taken and Failure.UNLIKE in abouts)
    distinct = types.keep_zeros_distinct
    more = distinct + 1 if is_short and is_taken and distinct < FROM_ALL else None
    refusals += _refused_in(program, whole.layout, steps)
    report = Report(at, errors, refusals)
    if isinstance(whole.analysis, Noting):
        report.variables.extend(whole.analysis.types_of_variables())
        report.values.extend(whole.analysis.types_of_expressions())
    return report, Settled(more)


class _Hidden:
    """What is not known because a form with an error is left out."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.is_found = False

    def text(self, endless: Function | None, failures: list[_Failure]) -> str | None:
        """What stands for the result of a step that ends in such a failure, in the order of steps; None for others."""
        fail = failures[0].fail if failures and not endless else None
        if fail is not None and fail.name is not None and self.steps.may_be_hidden(fail.name):
            self.is_found = True
            return f"not known: {fail.name} may be defined by a form with an error"
        return "not known" if fail is not None and fail.about is Failure.UNDEFINED and self.is_found else None


def _refused_in(program: Program, layout: Representation, steps: Steps) -> Iterator[tuple[Unbounded, Span]]:
    """The refusals of what is analysed all the same: of what uses files of tensors, and of what only a pass finds."""
    yield from _files_used(program)
    if has_thin(program):
        try:
            improved(program, layout)
        except Unbounded as unbounded:
            yield unbounded.kept(), unbounded.span or steps.steps[0].span


def _files_used(program: Program) -> Iterator[tuple[Unbounded, Span]]:
    """The refusals of what reads or writes files of tensors, which only this analysis knows."""
    what, hint = OF_FILES
    for function in program.functions:
        for statement in statements(function.body):
            if type(statement) is Effect and statement.what == "file":
                refusal = Unbounded(f"{what} {NOT_COMPILED}", statement.span, hint=hint)
                locate(refusal, statement.span, function.origin)
                if refusal.span is not None:
                    yield refusal, refusal.span


def _targets(whole: Whole, steps: Steps, examples: Examples | None) -> list[Defined]:
    """The procedures that are given the example arguments."""
    if examples is None:
        return []
    if examples.wanted is not None:
        return [examples.wanted]
    used = {i.callee.base for i in whole.analysis.instances if type(i.callee) is Code}
    return [
        one
        for one in steps.defined
        if one.value[0] not in used
        and signature(whole.machine, one.value[0]).takes_as_many(len(examples.steps))
    ]


def _operands(whole: Whole, defined: Defined, examples: Examples | None) -> tuple[Type, ...] | None:
    """The types of the example arguments as operands of a procedure; None if one of them is not known."""
    assert examples is not None
    analysis, found = whole.analysis, list[Type]()
    for step in examples.steps:
        instance = analysis.find(step.thunk[0], (), (analysis.types.constant(NIL),))
        if instance.result is None:
            return None
        found.append(_without_constants(analysis.types, instance.result))
    arity = defined.value[0].arity
    *first, last = found
    for type_ in reversed(first[arity - 1 :]):
        last = analysis.types.pair(type_, last)
    operands = (*first[: arity - 1], last)
    return operands if len(operands) == arity else None


def _without_constants(types: Types, type_: Type) -> Type:
    """The type of a value of which an example is given: its numbers, booleans and strings are not known."""
    type_ = types.canonical(type_)
    if type_.kind == "constant":
        return {"real": types.real, "boolean": types.boolean, "string": types.string}.get(type_.head, type_)
    if type_.kind != "pair":
        return type_
    return types.like(type_, tuple([_without_constants(types, part) for part in type_.parts]))


def _each_once(errors: Iterable[VladError]) -> list[VladError]:
    """The first of several errors with the same message and place."""
    return [*{(error.message, str(error.span)): error for error in reversed([*errors])}.values()][::-1]


def _name(step: Step) -> str:
    """The name of a step in a report: the name that it defines, or its place."""
    return step.cell.name if step.cell is not None else f"{step.span.line}:{step.span.column}"


def _value_text(types: Types, type_: Type) -> str:
    """The text of a value's type. What its procedures have captured is displayed if there are tensors in it, whose shapes matter:
    those of a network, for example."""
    text = TypeText(types, captured=_captures_tensors(types, type_))
    return text.of(type_, is_part=False) + text.where()


def _captures_tensors(types: Types, type_: Type) -> bool:
    """Whether procedures within a type have captured tensors. Unions are not entered."""
    type_ = types.canonical(type_)
    if type_.kind == "closure" and type_.of.role is Role.PROCEDURE:
        return type_.mentions_tensor
    return type_.mentions_tensor and any(_captures_tensors(types, part) for part in type_.parts)


def _signatures(whole: Whole, defined: Defined, used: list[Instance]) -> Iterator[Typed]:
    """The types with which a procedure is used, one per line; or those with which its derivatives are used, or that it is
    unused."""
    code: Code = defined.value[0]
    found = [instance for instance in used if instance.callee is code]
    if not found:
        derived = [
            (len(i.callee.transforms), at, i)
            for at, i in enumerate(used)
            if type(i.callee) is Code and i.callee.base is code
        ]
        found = [instance for _, _, instance in sorted(derived)]  # those of the lowest order first
    types = whole.analysis.types
    uses = [_use(types, instance) for instance in found]
    texts = _lines(types, uses)
    name, span = defined.cell.name, defined.span
    if not texts:
        names = [parameter.name for parameter in whole.machine.core_of(code).parameters]
        yield Typed(span, name, f"{UNUSED} ({_counted(names)})" if names else UNUSED, of_procedure=True)
    for takes, gives in texts[:MOST_USES]:
        yield Typed(span, name, gives, takes, of_procedure=True)
    if len(texts) > MOST_USES:
        yield Typed(span, name, f"… and {len(texts) - MOST_USES} more", of_procedure=True)


def _counted(parameters: Sequence[str]) -> str:
    return f"parameter{'s' * (len(parameters) > 1)}: {' '.join(parameters)}"


def _lines(types: Types, uses: list[_Use]) -> list[tuple[tuple[str, ...], str]]:
    """The texts of the operands and results of the uses of a procedure, each once. What procedures among the operands have
    captured is displayed if that distinguishes uses with different results."""
    texts = dict.fromkeys(_texts(types, uses, captured=False))
    if len(texts) <= MOST_USES and len(dict.fromkeys([takes for takes, _ in texts])) < len(texts):
        texts = dict.fromkeys(_texts(types, uses, captured=True))
    return [*texts]


@dataclass(frozen=True, slots=True, eq=False)
class _Use:
    """The types of a use of a procedure. `tags`: the modes of its derivative, the outermost first, if that is used."""

    operands: list[Type]
    result: Type | None
    tags: tuple[str, ...]


def _use(types: Types, instance: Instance) -> _Use:
    """The use of a procedure by an instance, which may be one of a derivative: then the operands and the result are those of the
    procedure, each with a tag for each transform that made the derivative."""
    operands = [types.canonical(types.general(operand)) for operand in instance.operands]
    result = None if instance.result is None else types.canonical(types.general(instance.result))
    callee = instance.callee
    tags = callee.transforms if type(callee) is Code else ()
    for tag in tags:
        # before them come the rest of the reverse phase, or the tangents of the procedure and of its operands
        operands = operands[ADDED[tag] :]
        if result is not None and result.kind == "pair":  # the value, with its backpropagator or tangent
            result = types.canonical(result.parts[0])
    return _Use(operands, result, tags)


def _texts(types: Types, uses: list[_Use], captured: bool) -> list[tuple[tuple[str, ...], str]]:
    """The texts of operands and results."""
    texts = []
    for use in uses:
        text = TypeText(types, captured)
        takes = tuple([_tagged(text.of(operand), use.tags) for operand in use.operands])
        gives = NEVER if use.result is None else _tagged(text.of(use.result, bool(use.tags)), use.tags)
        texts.append((takes, gives + text.where()))
    return texts


def _tagged(text: str, tags: tuple[str, ...]) -> str:
    return f"{''.join([f'({tag} ' for tag in tags])}{text}{')' * len(tags)}"


def _unbound(machine: Machine, steps: Steps) -> Iterator[VladError]:
    """Unbound names in the text, including procedures that are never called."""
    known = {step.cell for step in steps.steps}
    lambdas = [machine.core_of(one.value[0]) for one in steps.defined]
    work: list[Body] = [
        one.body for one in (*lambdas, *[machine.core_of(step.thunk[0]) for step in steps.steps])
    ]
    for body in work:  # grows during the loop
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
                    yield unbound_variable(atom.cell.name, atom.span)


def mistakes(
    machine: Machine, types: Types, program: Program, text: Source | None = None
) -> Iterator[tuple[Failure, VladError]]:
    """Errors that occur whenever they are reached, for any members of the unions on the path. Some conditions are followed, and
    errors behind them are marked: comparisons of reals, and tests whether a list of unknown length has more elements. Only the
    first iteration of a loop is followed: in later ones, something that the condition does not test may have ended, such as a
    second list. What a guard catches is no mistake. `text`: the program's own, rather than a module's.
    """
    callers: _Callers = {}
    ways: dict[Function, _Way] = {}
    reached = list(program.entries)
    reported: set[tuple[str, str]] = set()
    for conditional in (False, True):  # first the errors that are certainly reached
        for function in reached:  # grows during the loop
            way = ways.setdefault(function, _Way(frozenset([_loop(function)]), frozenset()))
            for node, is_behind in _reached(function, conditional):
                if isinstance(node, Invoke | TailInvoke):
                    callee, before = node.function, way.entered if is_behind else way.before
                    if callee not in ways and _loop(callee) not in before and not is_guard(callee):
                        callers[callee] = function, node.span
                        entered = way.entered if conditional else frozenset[object]()
                        ways[callee] = _Way(entered | {_loop(callee)}, before)
                        reached.append(callee)
                elif type(node) is Fail and node.about not in CHECKED:
                    node = _of_call(machine, node, function, callers)
                    span = _own(function, node.span, callers, text)
                    if (node.what, str(span)) not in reported:
                        reported.add((node.what, str(span)))
                        hint = _where(node, span, conditional)
                        if node.about is Failure.UNBOUND:
                            error = VladError("unbound-variable", node.what, span, hint=hint, name=node.name)
                        else:
                            error = _type_error(machine, types, node, span, hint)
                            _of_parameter(machine, types, node, function, error, callers, text)
                        yield node.about, error


def _type_error(machine: Machine, types: Types, fail: Fail, span: Span | None, hint: str | None) -> VladError:
    """As a run has it, as far as the types are known. `hint`: of this program."""
    error = VladError("type-error", fail.what, span, hint=hint)
    found = as_a_run_has_it(machine, types, fail)
    if found is not None:
        if span is not None and span.source.is_python:
            as_in_python(found)
        error.irritants = found.irritants
        if found.hint:
            error.hint = found.hint if hint is None else f"{found.hint}; {hint}"
    return error


def _of_parameter(
    machine: Machine,
    types: Types,
    fail: Fail,
    function: Function,
    error: VladError,
    callers: _Callers,
    text: Source | None,
) -> None:
    """Show an error of a pattern among the parameters of a function at its call."""
    if of_parameter(machine, types, fail, function.origin, error):
        caller, call = callers.get(function, (function, None))
        error.span = _own(caller, call, callers, text) or error.span


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """A path to a function: the `entered` functions, and those entered `before` the last condition. (Functions certainly
    entered before the first condition are omitted, except the last: a loop may have many iterations.)
    """

    entered: frozenset[object]
    before: frozenset[object]


def _loop(function: Function) -> object:
    """A key shared by the iterations of a loop: the procedure, and the procedures that it is given."""
    origin: Instance = function.origin
    types = (*origin.fields, *origin.operands)
    return origin.callee, tuple([(i, one.of) for i, one in enumerate(types) if one.kind == "closure"])


def _where(fail: Fail, span: Span | None, conditional: bool) -> str | None:
    hints = []
    if span is not fail.span and fail.span is not None:
        library = "in the library, " if in_library(fail.span) else ""
        hints.append(f"it happens {library}at {fail.span}")
    if conditional:
        hints.append("whether the program comes there depends on values")
    return "; ".join(hints) or None


_Callers = dict[Function, tuple[Function, Span | None]]


def _reached(function: Function, conditional: bool) -> Iterator[tuple[Statement | End, bool]]:
    """The statements and ends that do not depend on a union's member, with or without those behind followed conditions;
    and whether each is behind one. A condition whose other arm fails does not count: both outcomes may end in an error.
    """
    work = [(function.body, False)]
    compared: set[Leaf] = set()
    has_more: dict[Leaf, Leaf] = {}  # results of tests if a list has more elements
    for block, is_behind in work:  # grows during the loop
        for node in (*block.statements, block.end):
            yield node, is_behind
            if type(node) is Compute:
                if all(leaf in compared or leaf_kind(leaf) == "d" for leaf in node.operands):
                    compared.add(node.slot)
            elif type(node) is Switch:
                has_more.update(_if_more(node))
            elif type(node) is Branch:
                arms = {True: node.consequent, False: node.alternative}
                for outcome, arm in arms.items():
                    if type(arms[not outcome].end) is Fail:
                        work.append((arm, is_behind))
                    elif conditional and (node.test in compared or has_more.get(node.test) is outcome):
                        work.append((arm, True))


def _if_more(switch: Switch) -> Iterator[tuple[Leaf, Leaf]]:
    """For a switch that tests whether a list has ended: what it yields if there are more elements."""
    cases = {member.name: block.end for member, block in switch.cases}
    if cases.keys() == {"empty", "pair"}:
        end = cases["pair"]
        yield from zip(switch.slots, end.leaves, strict=True) if type(end) is Yield else ()


def _text(function: Function) -> Source | None:
    return None if function.span is None else function.span.source


def _own(function: Function, span: Span | None, callers: _Callers, text: Source | None) -> Span | None:
    """The place in a text of the user's own that leads to a place in the library, or in a module."""

    def is_elsewhere(one: Span | None) -> bool:
        return one is None or in_library(one) or (text is not None and one.source is not text)

    own = span
    while is_elsewhere(own) and function in callers:
        function, own = callers[function]
    return span if is_elsewhere(own) else own


@dataclass(frozen=True, slots=True, eq=False)
class _Failure:
    """An error that ends a step that never returns: its message, and its place in the user's own text. It is one of `function`,
    to which the calls of `callers` lead."""

    fail: Fail
    words: str
    span: Span | None
    function: Function
    callers: _Callers


def _of_call(machine: Machine, fail: Fail, function: Function, callers: _Callers) -> Fail:
    """The error of the call, if a row fails on the operand in which a call with too many arguments packed them, or on () where a
    call has none."""
    while fail.given and function in callers:
        caller, span = callers[function]
        code, operands = function.origin.callee, function.origin.operands
        if type(code) is Code and not code.transforms and operands and operands[-1] in fail.given:
            taken, given = signature(machine, code), written_operands(span)
            are_packed = given is not None and operands[-1].kind == "pair" and given > taken.count
            are_missing = given == 0 and operands[-1].of == NIL and taken.count == 1
            if given is not None and not taken.rest and (are_packed or are_missing):
                error = wrong_number(taken, given)
                return replace(fail, what=f"{error.message}; {error.hint}", span=span)
        function = caller
    return fail


def endings(machine: Machine, function: Function) -> tuple[Function | None, list[_Failure]]:
    """The reason why a step never returns: a function with endless recursion, if there is one, with the errors that may occur;
    otherwise the errors, one of which ends the step.
    """
    callers: _Callers = {}
    onward: dict[Function, list[Function]] = {}
    work = [function]
    for one in work:  # grows during the loop
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
            fail = _of_call(machine, fail, one, callers)
            words = _words(block) if fail.about in RAISED else fail.what
            span = _own(one, fail.span, callers, _text(function))
            failures.append(_Failure(fail, words, span, one, callers))
    # type errors come first: an index, for example, may be out of range only if shapes match
    return endless, failures if endless else sorted(failures, key=lambda one: one.fail.about in CHECKED)


def _last_blocks(function: Function) -> list[tuple[Function, Block]]:
    """The last blocks of a function that neither returns nor recurses endlessly."""
    found: list[tuple[Function, Block]] = []
    work, entered = [(function, function.body)], {function}
    for one, block in work:  # grows during the loop
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
    """The message of an error, from the effects of its block; `…` for text known at run time only."""
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


def certain(machine: Machine, types: Types, failures: list[_Failure]) -> Iterator[VladError]:
    """The errors, one of which occurs; if there are type errors among them, only these."""
    is_one_of_several = len({(one.words, str(one.span)) for one in failures}) > 1
    for one in failures:
        about, hint = one.fail.about, _where(one.fail, one.span, is_one_of_several)
        if about in (Failure.UNDEFINED, Failure.ENDED) or (about in CHECKED) != (
            failures[0].fail.about in CHECKED
        ):
            continue
        if about in RAISED:
            yield VladError("user-error", one.words, one.span, hint=hint)
        else:
            error = _type_error(machine, types, one.fail, one.span, hint)
            _of_parameter(machine, types, one.fail, one.function, error, one.callers, None)
            yield error


def why_never(endless: Function | None, failures: list[_Failure]) -> str:
    """The reason after `never returns` in the line of a step."""
    reasons = [f"{endless.origin.callee.name or 'a procedure'} calls itself without end"] if endless else []
    for failure in failures[:1]:
        span = failure.span
        place = f", at {span.line}:{span.column}" if span is not None and not in_library(span) else ""
        raises = "it raises an error: " if failure.fail.about in RAISED else ""
        words = "it ends the program" if failure.fail.about is Failure.ENDED else failure.words
        reasons.append(f"{raises}{words}{place}")
    return ": " * bool(reasons) + ", or ".join(reasons)


def _calls(function: Function) -> list[Invoke | TailInvoke]:
    ends = [block.end for block in blocks(function.body)]
    return [node for node in [*statements(function.body), *ends] if isinstance(node, Invoke | TailInvoke)]


def _on_a_cycle(onward: dict[Function, list[Function]]) -> Function | None:
    """The first of these functions that can reach itself."""
    for function, following in onward.items():
        reached, work = set(following), list(following)
        for one in work:  # grows during the loop
            work += [other for other in onward[one] if other not in reached]
            reached.update(onward[one])
        if function in reached:
            return function
    return None
