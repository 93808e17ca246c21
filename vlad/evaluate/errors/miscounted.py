"""Errors of the call: a number of arguments, or an argument, that does not match the procedure's parameter list.

In: an error as raised, and the frames of emitted code at that point.  Out: the underlying error, with the frames around
the call. Called by explain.py; the messages are in expand/arity.py and hints.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vlad.core.nodes import Apply, Atom, Binding, Call, Lambda, Variable
from vlad.data.errors import VladError
from vlad.data.source import Source, Span, in_library
from vlad.data.values import NIL, Code, Role, Value, look
from vlad.data.write import written_in_message
from vlad.evaluate.emit_python import MOST_OPERANDS, Operation
from vlad.evaluate.errors.continuations import continuation_in, takes_continuation
from vlad.evaluate.errors.replay import Beginning, Frames, Replay, emission_of, span_of
from vlad.evaluate.errors.tail_calls import Arrival, is_entered_again, is_of_library, lost_call
from vlad.expand.arity import arguments_in, as_written, of_row, signature, too_few, wrong_number
from vlad.expand.macros import ProcedureSpan
from vlad.messages.hints import describe_pattern
from vlad.reader.parser import Form, Keyword, Name, Syntax, read

if TYPE_CHECKING:
    from vlad.evaluate.code_machine import CodeMachine

MOST_ADAPTERS = 50  # searched for a call with a wrong number of arguments
MATCHING = ("match-car", "match-cdr", "expect-constant")  # primitives by which a pattern takes a value apart


class Counted:
    """An error, with the frames around its place, what the call there entered and the continuation that this was given, if any,
    and the place to show if no text contains the call.
    """

    __slots__ = ("error", "frames", "arrival", "otherwise", "continuation")

    def __init__(
        self,
        error: VladError,
        frames: Frames,
        arrival: Arrival | None = None,
        otherwise: Span | None = None,
        continuation: Value = None,
    ) -> None:
        self.continuation = continuation
        self.error = error
        self.frames = frames
        self.arrival = arrival
        self.otherwise = otherwise


def miscounted(
    machine: CodeMachine, found: VladError, frames: Frames, beginning: Beginning | None
) -> Counted | None:
    """The underlying error, if a procedure was called with too many arguments, too few, or one that does not match its
    parameter list; else None.
    """
    if (
        type(found) is not VladError
        or found.code in ("user-error", "wrong-number-of-arguments")
        or not frames
    ):
        return None
    return (
        _at_primitive(machine, found, frames)
        or _without_arguments(machine, found, frames, beginning)
        or _at_adapters(machine, found, frames, beginning)
        or _unmatched(machine, found, frames)
    )


def _at_adapters(
    machine: CodeMachine, found: VladError, frames: Frames, beginning: Beginning | None
) -> Counted | None:
    adapters = [index for index in reversed(range(len(frames))) if emission_of(frames[index][0]) is None]
    tried = (_at_adapter(machine, found, frames, index, beginning) for index in adapters[:MOST_ADAPTERS])
    return next(filter(None, tried), None)


def _at_primitive(machine: CodeMachine, found: VladError, frames: Frames) -> Counted | None:
    """In the innermost frame: a primitive was called with more operands than it takes, or one that folds with none; or a
    procedure without parameters was entered with an argument.
    """
    frame, line = frames[-1]
    emission = emission_of(frame)
    if emission is None:
        return None
    base, parameters = emission.code.base, machine.core_of(emission.code).parameters
    operations = emission.sites.get(line, [])
    replay = Replay(machine, emission, frame.f_locals)
    replay.do_again(operations, ("cons",))
    if base.primitive is not None and base.primitive.variadic and replay.value(parameters[-1]) == NIL:
        error = wrong_number(of_row(base.primitive), 0, found, is_placed=True)
        return Counted(error, frames[:-1], Arrival(emission.code))
    failed = _last(operations, found.span)
    if failed is None:
        return None
    if isinstance(failed.span, ProcedureSpan):
        given = arguments_in(replay.value(failed.operands[0]))
        return _without_parameters(machine, failed.span, given, found, frames)
    taken, count = of_row(failed.primitive), _written_operands(failed)
    if count is None or taken.rest or count == taken.count or 0 < count < taken.count:
        return None
    if count == len(
        failed.primitive.operands
    ):  # in a saved text all stand in their places, those with names, too
        return None
    if count > len(failed.primitive.operands):
        replay.error(operations)  # the packed operands may have been made on the same line
        if written_in_message(replay.value(failed.operands[-1]), 200) not in found.irritants:
            return None  # it takes any number of them, such as indices
    return Counted(wrong_number(taken, count, found, failed.span), frames)


def _without_arguments(
    machine: CodeMachine, found: VladError, frames: Frames, beginning: Beginning | None
) -> Counted | None:
    """In the innermost frame: the only parameter is () and did not match, and the procedure was called without arguments."""
    frame, line = frames[-1]
    emission = emission_of(frame)
    if emission is None or "()" not in found.irritants:
        return None
    failed, code = _last(emission.sites.get(line, []), found.span), emission.code
    if failed is None:
        return None
    taken = signature(machine, code)
    if (
        code.is_derived
        or taken.rest
        or taken.count != 1
        or machine.core_of(code).parameters[0] not in failed.operands
    ):
        return _in_place_of_its_call(failed, found, frames)
    call = _call_of(machine, code, frames, beginning)
    if call is None or len(_items(call)) != 1:
        return None
    return Counted(wrong_number(taken, 0, found, is_placed=True), frames[:-1], Arrival(code))


def _call_of(machine: CodeMachine, code: Code, frames: Frames, beginning: Beginning | None) -> Span | None:
    """The place of the call of the innermost procedure."""
    if len(frames) == 1:
        lost = None if beginning is None else lost_call(machine, *beginning, Arrival(code))
        return None if lost is None else lost[1]
    frame, line = frames[-2]
    emission = emission_of(frame)
    return None if emission is None else span_of(emission.sites.get(line, []))


def _items(span: Span | None) -> tuple[Syntax, ...]:
    """The items of the form at a place; none if a macro made it, or a translation, as its text is not what was called."""
    if type(span) is not Span:
        return ()
    try:
        form = next(iter(read(Source("", span.text))), None)
    except VladError:  # the text of a Python function
        return ()
    return form.items if isinstance(form, Form) and form.tail is None else ()


def _in_place_of_its_call(failed: Apply, found: VladError, frames: Frames) -> Counted | None:
    """The same for a lambda at the head of its call, as in ((lambda (x) (* 2 x))), which was inlined."""
    if type(failed.span) is not Span:
        return None
    operands = [item.symbol.name for item in _items(failed.span) if isinstance(item, Name)]
    for form in reversed(_forms_around(failed.span)):
        called = form.items[0] if len(form.items) == 1 else None
        if isinstance(called, Form) and len(called.items) > 2 and isinstance(called.items[1], Form):
            head, parameters = called.items[0], called.items[1]
            names = [item.symbol.name for item in parameters.items if isinstance(item, Name)]
            is_lambda = isinstance(head, Name) and head.symbol.name == "lambda" and parameters.tail is None
            if is_lambda and len(parameters.items) == len(names) == 1 and names[0] in operands:
                taken = as_written(ProcedureSpan(called.span, "", parameters))
                return Counted(wrong_number(taken, 0, found, form.span, is_placed=True), frames)
    return None


def _forms_around(span: Span) -> list[Form]:
    """The forms that contain a place, outermost first."""
    found: list[Form] = []
    inside: Iterable[Syntax] = read(span.source)
    while True:
        around = [form for form in inside if form.span.start <= span.start and span.end <= form.span.end]
        if not around or not isinstance(around[0], Form):
            return found
        found.append(around[0])
        inside = around[0].items


def _without_parameters(
    machine: CodeMachine, span: ProcedureSpan, given: int, found: VladError, frames: Frames
) -> Counted:
    emission = emission_of(frames[-1][0])
    assert emission is not None
    own = machine.core_of(emission.code.base).span
    error = wrong_number(as_written(span), given, found)
    if not isinstance(own, ProcedureSpan) or own.parameters is not span.parameters:
        error.span = span  # the procedure was inlined
        return Counted(error, frames)
    return Counted(
        error, _around(frames), Arrival(emission.code), continuation=continuation_in(machine, frames[-1][0])
    )


def _around(frames: Frames) -> Frames:
    """The frames around the innermost one, without its adapters."""
    count = len(frames) - 1
    while count and emission_of(frames[count - 1][0]) is None:
        count -= 1
    return frames[:count]


def _unmatched(machine: CodeMachine, found: VladError, frames: Frames) -> Counted | None:
    """In the innermost frame: a value did not match a pattern `(list x y)`. If that is a parameter, the call is wrong."""
    emission = emission_of(frames[-1][0])
    if emission is None or found.code not in ("no-matching-pair", "not-equivalent"):
        return None
    frame, line = frames[-1]
    operations = emission.sites.get(line, [])
    failed = _last(operations, found.span)
    if failed is None or failed.span is None or failed.primitive.name not in MATCHING:
        return None
    pattern, code = failed.span, emission.code
    procedure = machine.core_of(code.base).span
    whole = destructured_parameter(machine.core_of(code), failed)
    replay = Replay(machine, emission, frame.f_locals)
    replay.error(operations)
    value = None if whole is None else replay.value(whole)
    if (
        value is None
        or not isinstance(procedure, ProcedureSpan)
        or not procedure.parameters.span.contains(pattern)
    ):
        describe_pattern(found, pattern)  # the value that was taken apart may be gone
        return None
    if not describe_pattern(found, pattern, procedure.name, value):
        return None
    if is_entered_again(machine, replay.locals["self"]):
        return None  # the first caller may have passed another argument
    found.span = None
    return Counted(found, _around(frames), Arrival(code), pattern, continuation_in(machine, frame))


def destructured_parameter(core: Lambda, failed: Apply) -> Atom | None:
    """The value that a pattern takes apart, if that is an argument, or part of one."""
    made = {binding.variable: binding.rhs for binding in core.body.bindings if isinstance(binding, Binding)}
    whole = part = failed.operands[0]
    while isinstance(part, Variable) and isinstance(matched := made.get(part), Apply):
        if matched.primitive.name not in MATCHING:
            return None
        part = matched.operands[0]
        if matched.span == failed.span:
            whole = part
    return whole if part in core.parameters else None


def _at_adapter(
    machine: CodeMachine, found: VladError, frames: Frames, index: int, beginning: Beginning | None
) -> Counted | None:
    """A call with another number of operands than the procedure has parameters: whether it failed there, or whether a part
    that did not match there was wrong later.
    """
    frame = frames[index][0]
    operands = frame.f_locals
    native = operands["native"]
    code: Code = native.__globals__["FAMILY"].emissions[native.__name__].code
    taken = signature(machine, code)
    given = frame.f_code.co_argcount - 1  # the closure comes first
    parts = [operands[f"x{i}"] for i in range(max(given, code.arity)) if f"x{i}" in operands]
    more = code.arity - code.base.arity  # parameters of derivatives come first
    arrival = Arrival(code, given)
    k = parts[0] if takes_continuation(code) else None
    if len(parts) < code.arity:
        error = too_few(machine, code, len(parts), given, look(parts[-1]) == NIL)
        if error.code == "no-matching-pair":
            error.irritants.append(written_in_message(parts[-1], 200))
        return Counted(error, frames[:index], arrival, continuation=k)
    last = look(parts[-1])
    for part in reversed(parts[code.arity - 1 : -1]):
        last = (part, last)
    got = len(parts) - more
    # Python passes one argument, whatever the call
    of_python = index == 0 and beginning is not None and look(beginning[0])[0] is code
    if given <= code.arity or given == MOST_OPERANDS:  # then the last may be packed
        got += arguments_in(parts[-1]) - 1
        if given < code.arity and arguments_in(parts[-1]) == 1 and type(last) is tuple:
            if of_python:
                return None
            got = given - more  # a list, taken apart
    if taken.count <= got <= code.base.arity:
        is_destructured = given < code.arity and code.base.primitive is not None and index == len(frames) - 2
        if is_destructured and not of_python and written_in_message(parts[given - 1], 200) in found.irritants:
            found.reason = f"{taken.text} was given one pair for several parameters, and took it apart"
        return None
    is_hidden = is_of_library(machine, code) and (not code.base.name or code.role is Role.TAG)
    if (
        taken.rest
        or is_hidden
        or type(last) is not tuple
        or written_in_message(last, 200) not in found.irritants
    ):
        return None
    of_list = got == 1 and given < code.arity
    if of_list and _are_several(_caller(machine, frames[:index], arrival, beginning)):
        return None
    error = wrong_number(taken, got, found, of_list=of_list, is_placed=True)
    return Counted(error, frames[:index], arrival, continuation=k)


def _caller(
    machine: CodeMachine, frames: Frames, arrival: Arrival, beginning: Beginning | None
) -> Span | None:
    """The place of the user's call that led to an arrival."""
    for frame, line in reversed(frames):
        emission = emission_of(frame)
        if emission is None:
            continue
        span = span_of(emission.sites.get(line, []))
        if span is not None and not in_library(span):
            return span
        arrival = Arrival(emission.code)
    lost = None if beginning is None else lost_call(machine, *beginning, arrival)
    if beginning is None or lost is not None:
        return None if lost is None else lost[1]
    last = machine.core_of(look(beginning[0])[0]).body.result  # the tail call of the outermost procedure
    return last.span if isinstance(last, Call) else None


def _are_several(span: Span | None) -> bool:
    """Whether the result of a procedure was called with several arguments, as in ((gradient f) 1 '(2 3)), which f gets as one."""
    items = _items(span)
    return len(items) > 2 and isinstance(items[0], Form)


def _last(operations: list[Operation], span: Span | None) -> Apply | None:
    """The application at a place; without a place, the last application that has one."""
    for _, rhs in reversed(operations):
        if isinstance(rhs, Apply) and rhs.span is not None and span in (None, rhs.span):
            return rhs
    return None


def _written_operands(applied: Apply) -> int | None:
    """The number of positional operands in the text of a call of a primitive; None if the text has no such call."""
    items = _items(applied.span)
    head = items[0] if items else None
    if not isinstance(head, Name) or head.symbol.name != applied.primitive.name:
        return None
    return written_operands(applied.span)


def written_operands(call: Span | None) -> int | None:
    """The number of positional operands in the text of a call; None if there is no such text."""
    items = _items(call)
    named = sum([isinstance(operand, Keyword) for operand in items])
    return len(items) - 1 - 2 * named if items else None
