"""What an error in emitted code means, and where: Python's exception → the language's error.

In: an exception that left emitted code.  Out: a VladError with position and backtrace.  Called by calls.py at the border of an
evaluation, never before: checks cost nothing while nothing is wrong. The line that raised stands for core operations
(emit_python.Emission); doing them again by the rows' complete rules says which one is at fault, and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FrameType, TracebackType
from typing import Any

from vlad.budget import NoRoom, NoTime
from vlad.core.nodes import Apply, Binding, Body, Call, Constant, GlobalReference, If, Variable
from vlad.devices import is_failure
from vlad.errors import VladError
from vlad.evaluate.emit_python import MOST_OPERANDS, Emission, Operation
from vlad.evaluate.limits import out_of_memory, out_of_time, too_deep
from vlad.evaluate.tail_calls import Arrival, is_of_library, lost_call
from vlad.expand.arity import NO_PAIR, arguments_in, as_written, of_row, signature, too_few, wrong_number
from vlad.expand.patterns import ProcedureSpan
from vlad.hints import way_into
from vlad.primitives.numbers import invalid
from vlad.reader.parser import Form, Keyword, Name, Syntax, read
from vlad.source import Source, Span, in_library, is_ours
from vlad.tensors import NoCondition
from vlad.values import NIL, Backtrace, Code, Global, Primitive, Value, is_procedure, look
from vlad.write import written

LONGEST_BACKTRACE = 12
MOST_ADAPTERS = 50  # that are asked whether a wrong number of arguments went through them
MOST_NESTED = 50  # applications on one line
RAISING = False  # on in the tests: a fault of the evaluator itself is an error
# The host's functions that a program writes and reads by: what they raise is theirs.
HANDS = ("Machine._counting_writer.<locals>.counted", "Machine.read_word")
FAULTS = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, AssertionError)
Frames = list[tuple[FrameType, int]]
Beginning = tuple[Value, Value]  # of an evaluation: the procedure, and its argument


def explained(machine: Any, error: Exception, beginning: Beginning | None = None) -> VladError:
    """The error of the language that a Python exception in emitted code stands for."""
    frames = emitted_frames(error.__traceback__)
    if isinstance(error, VladError):
        found = _of_rule(machine, error, frames)
    elif isinstance(error, RecursionError):
        found = too_deep()
    elif isinstance(error, MemoryError):
        found = out_of_memory(machine.limits.memory if isinstance(error, NoRoom) else None)
    elif isinstance(error, NoTime):
        found = out_of_time(machine.limits.seconds, "would take")
    elif is_failure(error):
        found = VladError("device-failed", f"The device cuda failed: {type(error).__name__}: {error}")
    else:
        found = _meaning(machine, error, frames)
    counted = _miscounted(machine, found, frames, beginning) or Counted(found, frames)
    error.__traceback__ = None
    return placed(machine, counted, beginning)


def located(found: VladError, error: BaseException) -> VladError:
    """Add the position and the backtrace to an error that came from outside."""
    counted = Counted(found, emitted_frames(error.__traceback__))
    error.__traceback__ = None
    return placed(None, counted, None)


def placed(machine: Any, counted: Counted, beginning: Beginning | None) -> VladError:
    """The error, with the place in the user's text, if any, and the backtrace."""
    found, arrival = counted.error, counted.arrival
    for frame, line in reversed(counted.frames):
        emission = emission_of(frame)
        if emission is None:
            continue
        operations = emission.sites.get(line, [])
        if arrival is not None and machine is not None and _wants_place(found):
            _add_lost_call(
                machine, found, Replay(machine, emission, frame.f_locals).beginning(operations), arrival
            )
        span = span_of(operations)
        if span is not None and (found.span is None or (in_library(found.span) and not in_library(span))):
            found.span = span
        _extend(found.backtrace, emission.code, span)
        arrival = Arrival(emission.code)
    if arrival is not None and machine is not None and _wants_place(found):
        _add_lost_call(machine, found, beginning, arrival)
    found.__traceback__ = None
    return found


def _wants_place(found: VladError) -> bool:
    return found.span is None or in_library(found.span)


def _add_lost_call(machine: Any, found: VladError, beginning: Beginning | None, arrival: Arrival) -> None:
    """The place of the tail call by which one frame became another."""
    lost = None if beginning is None else lost_call(machine, *beginning, arrival)
    if lost is not None:
        code, found.span = lost
        _extend(found.backtrace, code, found.span)


def _meaning(machine: Any, error: Exception, frames: Frames) -> VladError:
    if not frames:
        raise error
    if isinstance(error, FAULTS) and _is_of_host(error.__traceback__):
        raise error
    frame, line = frames[-1]
    emission = emission_of(frame)
    if emission is None:  # an adapter
        return VladError("no-matching-pair", NO_PAIR)
    if isinstance(error, NoCondition):
        return VladError(
            "not-a-condition",
            "A tensor of booleans is no condition",
            hint="choose entry by entry with `where`, or ask about one number, such as a `sum`",
        )
    try:
        found = Replay(machine, emission, frame.f_locals).error(emission.sites.get(line, []))
    except FAULTS as again:
        return _fault(again)
    return _fault(error) if found is None else found


def _of_rule(machine: Any, error: VladError, frames: Frames) -> VladError:
    """What a primitive's own rule raised, with its place, if the line has but one for that primitive."""
    emission = emission_of(frames[-1][0]) if frames else None
    if emission is None or type(error) is not VladError or error.span is not None:
        return error
    frame, line = frames[-1]
    words = error.message.split()
    named = [
        rhs
        for _, rhs in emission.sites.get(line, [])
        if isinstance(rhs, Apply) and rhs.span is not None and rhs.primitive.name in words
    ]
    if len({rhs.span for rhs in named}) == 1:
        error.span = named[0].span
    elif named:
        error.span = _place_of(machine, error, emission, frame, line)
    if "forward" in emission.code.derived:
        return _of_primal(machine, error, emission, Replay(machine, emission, frame.f_locals), named)
    return error


def _place_of(machine: Any, error: VladError, emission: Emission, frame: FrameType, line: int) -> Span | None:
    """Which of several operations on a line refused its operand: the first that does again, with the same words."""
    try:
        found = Replay(machine, emission, frame.f_locals).error(emission.sites.get(line, []))
    except FAULTS:
        return None
    same = found is not None and (found.message, found.irritants) == (error.message, error.irritants)
    return found.span if found is not None and same else None


def _of_primal(
    machine: Any, error: VladError, emission: Emission, replay: Replay, named: Iterable[Apply]
) -> VladError:
    """In forward code a tangent may be computed before the primal, and fail for the same reason. People know the primal."""
    for failed in named:
        before = _before(machine.core_of(emission.code).body, failed) or {}
        for variable, applied in reversed(before.items()):
            if _is_tangent_of(failed, applied):
                replay.make(variable, before)
                found = replay.failed
                return found if found is not None and found.message == error.message else error
    return error


def _is_tangent_of(tangent: Apply, primal: Apply) -> bool:
    """Does one application stand for the other with one operand's tangent in the place of that operand?"""
    if tangent.primitive is not primal.primitive or tangent.span != primal.span:
        return False
    pairs = zip(tangent.operands, primal.operands, strict=True)
    return [one is other for one, other in pairs].count(False) == 1


def _before(body: Body, place: Apply) -> dict[Variable, Apply] | None:
    """The applications of primitives before a place in the same body; None where it is in another."""
    bodies = [body]
    for one in bodies:
        found: dict[Variable, Apply] = {}
        for binding in one.bindings:
            rhs = binding.rhs if isinstance(binding, Binding) else None
            if rhs is place:
                return found
            if isinstance(rhs, Apply) and isinstance(binding, Binding):
                found[binding.variable] = rhs
            elif isinstance(rhs, If):
                bodies += [rhs.consequent, rhs.alternative]
        if isinstance(one.result, If):
            bodies += [one.result.consequent, one.result.alternative]
    return None


def _is_of_host(traceback: TracebackType | None) -> bool:
    while traceback is not None:
        if traceback.tb_frame.f_code.co_qualname in HANDS:
            return True
        traceback = traceback.tb_next
    return False


def _fault(error: Exception) -> VladError:
    """What should not have been raised, as an error of ours; of a text from a stranger (restoring.py), it may be its intent."""
    if RAISING or not isinstance(error, FAULTS):
        raise error
    what = " ".join(f"{type(error).__name__}: {error}".split())
    found = VladError("internal-error", f"The evaluator failed: {what}", hint="please report it")
    found.__cause__ = error
    return found


# Numbers of arguments.


class Counted:
    """An error, with the frames around the place that it is about, and what the call there entered."""

    __slots__ = ("error", "frames", "arrival")

    def __init__(self, error: VladError, frames: Frames, arrival: Arrival | None = None) -> None:
        self.error = error
        self.frames = frames
        self.arrival = arrival


def _miscounted(
    machine: Any, found: VladError, frames: Frames, beginning: Beginning | None
) -> Counted | None:
    """What an error really is, if it is that a procedure was given too many arguments or too few."""
    if (
        type(found) is not VladError
        or found.code in ("user-error", "wrong-number-of-arguments")
        or not frames
    ):
        return None
    counted = _at_primitive(machine, found, frames) or _without_arguments(machine, found, frames, beginning)
    asked = 0
    for index in range(len(frames) - 1, -1, -1):
        if counted is not None or asked == MOST_ADAPTERS:
            return counted
        if emission_of(frames[index][0]) is None:
            counted = _at_adapter(machine, found, frames, index, beginning)
            asked += 1
    return counted


def _at_primitive(machine: Any, found: VladError, frames: Frames) -> Counted | None:
    """In the innermost frame: a primitive was called with more operands than it takes, or one that folds with none; or a
    procedure without parameters was entered with an argument."""
    frame, line = frames[-1]
    emission = emission_of(frame)
    if emission is None:
        return None
    base, parameters = emission.code.base, machine.core_of(emission.code).parameters
    operations = emission.sites.get(line, [])
    replay = Replay(machine, emission, frame.f_locals)
    replay.do_again(operations, ("cons",))
    if base.primitive is not None and base.primitive.variadic and replay.value(parameters[-1]) == NIL:
        error = wrong_number(of_row(base.primitive), 0, _reason(found))
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
    is_packed = count > len(failed.primitive.operands)
    if is_packed and written(replay.value(failed.operands[-1]), 200) not in found.irritants:
        return None  # it is meant to take as many as there are, such as indices
    return Counted(wrong_number(taken, count, found.message, failed.span), frames)


def _without_arguments(
    machine: Any, found: VladError, frames: Frames, beginning: Beginning | None
) -> Counted | None:
    """In the innermost frame: the only parameter is () and did not fit, and the procedure was called without arguments."""
    frame, line = frames[-1]
    emission = emission_of(frame)
    if emission is None or "()" not in found.irritants:
        return None
    failed, code = _last(emission.sites.get(line, []), found.span), emission.code
    if failed is None:
        return None
    taken = signature(machine, code)
    if (
        code.derived
        or taken.rest
        or taken.count != 1
        or machine.core_of(code).parameters[0] not in failed.operands
    ):
        return _in_place_of_its_call(failed, found, frames)
    call = _call_of(machine, code, frames, beginning)
    if call is None or len(_items(call)) != 1:
        return None
    return Counted(wrong_number(taken, 0, _reason(found)), frames[:-1], Arrival(code))


def _call_of(machine: Any, code: Code, frames: Frames, beginning: Beginning | None) -> Span | None:
    """Where the innermost procedure was called."""
    if len(frames) == 1:
        lost = None if beginning is None else lost_call(machine, *beginning, Arrival(code))
        return None if lost is None else lost[1]
    frame, line = frames[-2]
    emission = emission_of(frame)
    return None if emission is None else span_of(emission.sites.get(line, []))


def _items(span: Span | None) -> tuple[Syntax, ...]:
    """What the form at a place is made of; nothing where a macro made it: its text is not what was called."""
    if type(span) is not Span:
        return ()
    form = next(iter(read(Source("", span.text))), None)
    return form.items if isinstance(form, Form) and form.tail is None else ()


def _in_place_of_its_call(failed: Apply, found: VladError, frames: Frames) -> Counted | None:
    """The same of a lambda at the head of its call, as in ((lambda (x) (* 2 x))), which is no procedure any more."""
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
                return Counted(wrong_number(taken, 0, _reason(found), form.span), frames)
    return None


def _forms_around(span: Span) -> list[Form]:
    """The forms that a place is in, the outermost first."""
    found: list[Form] = []
    inside: Iterable[Syntax] = read(span.source)
    while True:
        around = [form for form in inside if form.span.start <= span.start and span.end <= form.span.end]
        if not around or not isinstance(around[0], Form):
            return found
        found.append(around[0])
        inside = around[0].items


def _without_parameters(
    machine: Any, span: ProcedureSpan, given: int, found: VladError, frames: Frames
) -> Counted:
    emission = emission_of(frames[-1][0])
    assert emission is not None
    own = machine.core_of(emission.code.base).span
    error = wrong_number(as_written(span), given, found.message)
    if not isinstance(own, ProcedureSpan) or own.parameters is not span.parameters:
        error.span = span  # the procedure was put in the place of its call
        return Counted(error, frames)
    around = len(frames) - 1
    while around and emission_of(frames[around - 1][0]) is None:  # adapters
        around -= 1
    return Counted(error, frames[:around], Arrival(emission.code))


def _at_adapter(
    machine: Any, found: VladError, frames: Frames, index: int, beginning: Beginning | None
) -> Counted | None:
    """A call with another number of operands than the procedure has parameters: did it fail there, or is what did not fit
    there what was wrong later?"""
    frame = frames[index][0]
    operands = frame.f_locals
    native = operands["native"]
    code: Code = native.__globals__["FAMILY"].emissions[native.__name__].code
    taken = signature(machine, code)
    given = int(frame.f_code.co_name[-1:])
    parts = [operands[f"x{i}"] for i in range(max(given, code.arity)) if f"x{i}" in operands]
    more = code.arity - code.base.arity  # parameters of derivatives come first
    arrival = Arrival(code, given)
    if len(parts) < code.arity:
        error = too_few(machine, code, len(parts), given, look(parts[-1]) == NIL)
        if error.code == "no-matching-pair":
            error.irritants.append(written(parts[-1], 200))
        return Counted(error, frames[:index], arrival)
    last = look(parts[-1])
    for part in reversed(parts[code.arity - 1 : -1]):
        last = (part, last)
    got = len(parts) - more
    if given <= code.arity or given == MOST_OPERANDS:  # then the last may be packed
        got += arguments_in(parts[-1]) - 1
        if given < code.arity and arguments_in(parts[-1]) == 1 and type(last) is tuple:
            if index == 0 and beginning is not None and look(beginning[0])[0] is code:
                return None  # Python hands over one argument, whatever it was called with
            got = given - more  # a list, taken apart
    if taken.count <= got <= code.base.arity:
        taken_apart = given < code.arity and code.base.primitive is not None and index == len(frames) - 2
        if taken_apart and written(parts[given - 1], 200) in found.irritants:
            found.reason = f"{taken.text} was given one pair for several parameters, and took it apart"
        return None
    is_hidden = is_of_library(machine, code) and (not code.base.name or code.derived == "tag")
    if taken.rest or is_hidden or type(last) is not tuple or written(last, 200) not in found.irritants:
        return None
    of_list = got == 1 and given < code.arity
    if of_list and _are_several(_caller(machine, frames[:index], arrival, beginning)):
        return None
    return Counted(wrong_number(taken, got, _reason(found), of_list=of_list), frames[:index], arrival)


def _caller(machine: Any, frames: Frames, arrival: Arrival, beginning: Beginning | None) -> Span | None:
    """Where the user's text called what led to a place."""
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
    last = machine.core_of(look(beginning[0])[0]).body.result  # with which what was begun went on
    return last.span if isinstance(last, Call) else None


def _are_several(span: Span | None) -> bool:
    """Was what a procedure answered called with several arguments, as in ((gradient f) 1 '(2 3))? They come to f as one."""
    items = _items(span)
    return len(items) > 2 and isinstance(items[0], Form)


def _reason(found: VladError) -> str:
    return found.message if found.span is None else f"{found.message}, at {found.span}"


def _last(operations: list[Operation], span: Span | None) -> Apply | None:
    """The application at a place; without one, the last that has a place."""
    for _, rhs in reversed(operations):
        if isinstance(rhs, Apply) and rhs.span is not None and span in (None, rhs.span):
            return rhs
    return None


def _written_operands(applied: Apply) -> int | None:
    """How many operands a call of a primitive has in the text, not counting those by name; None where it does not stand there."""
    items = _items(applied.span)
    if not items:
        return None
    head, *operands = items
    if not isinstance(head, Name) or head.symbol.name != applied.primitive.name:
        return None
    named = sum([isinstance(operand, Keyword) for operand in operands])
    return len(operands) - 2 * named


def not_a_procedure(value: Value, span: Span | None = None) -> VladError:
    return VladError(
        "not-a-procedure",
        "Target is not a procedure",
        span,
        hint=f"only procedures can be called{way_into(value)}",
        irritants=(value,),
    )


def unbound(cell: Global, span: Span | None) -> VladError:
    return VladError("unbound-variable", f"Unbound variable: {cell.name}", span)


def tell(code: Code) -> str:
    """A procedure as people know it."""
    prefix = "" if code.derived in ("tag", "backpropagator") else code.derived
    return prefix + (code.name or "an anonymous procedure")


def emission_of(frame: FrameType) -> Emission | None:
    family = frame.f_globals.get("FAMILY")
    return None if family is None else family.emissions.get(frame.f_code.co_name)


def emitted_frames(traceback: TracebackType | None) -> Frames:
    """Frames of emitted code and adapters, outermost first; of a very deep stack the two ends."""
    frames: Frames = []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename in ("<vlad>", "<vlad adapter>"):
            frames.append((traceback.tb_frame, traceback.tb_lineno))
            if len(frames) > 4000:
                del frames[1000:2000]
        traceback = traceback.tb_next
    return frames


def span_of(operations: list[Operation]) -> Span | None:
    for _, rhs in reversed(operations):
        span = getattr(rhs, "span", None)
        if span is not None:
            found: Span = span
            return found
    return None


def _extend(backtrace: list[Backtrace], code: Code, span: Span | None) -> None:
    """A line for each procedure; one that calls itself over and over is told once."""
    if len(backtrace) >= LONGEST_BACKTRACE:
        return
    if code.derived in ("tag", "backpropagator") or not (code.name or code.derived):
        return
    if code.name.startswith("%"):  # the library's own helpers
        return
    if span is None and getattr(code.lambda_, "span", None) is None:  # a primitive, which the message names
        return
    if span is not None and is_ours(span):
        return
    name = tell(code)
    if not backtrace or backtrace[-1].procedure != name:
        backtrace.append(Backtrace(name, span))


def _is_quick(row: Primitive) -> bool:
    """Does it make a list, or is it one of the reals' own, which take no time?"""
    return row.name in ("cons", "car", "cdr") or (bool(row.python) and row.type.startswith("real"))


class Replay:
    """Does again, by the rows' complete rules, what a line of emitted code did, until one says what is wrong."""

    def __init__(self, machine: Any, emission: Emission, locals: Mapping[str, Any]) -> None:
        self.machine = machine
        self.emission = emission
        self.locals = locals
        self.again: dict[Variable, Value] = {}
        self.failed: VladError | None = None  # what `make` could not make

    def make(self, variable: Variable, made: Mapping[Variable, Apply], most: int = MOST_NESTED) -> bool:
        """Compute a value that a line not reached yet would have computed, if its operands are known, or lists of what is known.
        False where they are not, or where that fails."""
        if self.value(variable) is not None:
            return True
        applied = made.get(variable)
        if (
            applied is None
            or not most
            or self.machine.table.get(applied.primitive.name) is not applied.primitive
        ):
            return False
        unknown = [x for x in applied.operands if isinstance(x, Variable) and self.value(x) is None]
        if not all(
            x in made and _is_quick(made[x].primitive) and self.make(x, made, most - 1) for x in unknown
        ):
            return False
        self.failed = self._one(variable, applied)
        return self.failed is None

    def value(self, atom: object) -> Value:
        if isinstance(atom, Constant):
            return atom.value
        if isinstance(atom, GlobalReference):
            return getattr(atom.cell, "value", None)
        assert isinstance(atom, Variable)
        if atom in self.again:
            return self.again[atom]
        name = self.emission.locals.get(atom)
        if name is not None and name in self.locals:
            return self.locals[name]
        closure = self.locals["self"]
        if atom in self.emission.code.environment:
            return closure[self.emission.code.environment.index(atom) + 1]
        for member, lambda_ in self.emission.code.group:
            if member is atom:
                return (self.machine.code_of(lambda_, self.emission.code.family), *closure[1:])
        return None

    def beginning(self, operations: list[Operation]) -> Beginning | None:
        """What a line that calls a procedure called, and with which argument."""
        if not operations or not isinstance(operations[-1][1], Call):
            return None
        call = operations[-1][1]
        self.do_again(operations, self.machine.entry_rows)
        *first, argument = [self.value(operand) for operand in call.operands]
        for operand in reversed(first):
            argument = (operand, argument)
        return self.value(call.operator), argument

    def do_again(self, operations: list[Operation], names: Iterable[str]) -> None:
        """The applications of these primitives, so that their values are known: on the line they may have none yet."""
        for variable, rhs in operations:
            if isinstance(rhs, Apply) and rhs.primitive.name in names:
                self._one(variable, rhs)

    def error(self, operations: list[Operation]) -> VladError | None:
        for variable, rhs in operations:
            found = self._one(variable, rhs)
            if found is not None:
                return found
        return None

    def _one(self, variable: Variable | None, rhs: object) -> VladError | None:
        match rhs:
            case GlobalReference() if not hasattr(rhs.cell, "value"):
                return unbound(rhs.cell, rhs.span)
            case GlobalReference() | Variable() | Constant():
                if variable is not None:
                    self.again[variable] = self.value(rhs)
            case Apply():
                try:
                    result = self.machine.rule(rhs.primitive)(*[self.value(a) for a in rhs.operands])
                except VladError as error:
                    error.span = error.span or rhs.span
                    return error
                except FAULTS:
                    if not rhs.primitive.hidden:
                        raise
                    operands = [self.value(a) for a in rhs.operands]  # those that no program gives it
                    wrong = invalid(rhs.primitive.name, "what the system itself gives it", *operands)
                    wrong.span = rhs.span
                    return wrong
                if variable is not None:
                    self.again[variable] = result
            case Call():
                target = self.value(rhs.operator)
                if not is_procedure(target) and target is not None:
                    return not_a_procedure(target, rhs.span)
        return None
