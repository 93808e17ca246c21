"""The code of programs and procedures at the stages of `vlad show`.

In: a text, or a procedure, and the name of a stage.  Out: core as text; types and C, as the tiers show them. Called by
session.py, which holds the lock.
"""

from __future__ import annotations

from collections.abc import Iterator

from vlad.ad.rules import Rules
from vlad.core.names import lambdas_within, sub_bodies
from vlad.core.nodes import Binding, Body, Call, GlobalReference, Lambda, Letrec
from vlad.core.simplify import tidy
from vlad.core.text import print_core
from vlad.data.errors import WrongOption
from vlad.data.source import Source
from vlad.data.values import Code, Value, is_procedure, look
from vlad.evaluate.machine import Machine
from vlad.expand.items import Definition, Expression
from vlad.session.top_level import TopLevel, only_lambda

STAGES = ("core", "reverse", "forward", "control", "stepping", "types", "first-order", "loops", "c")
LOOPS = "loops"
OF_PASSES = ("first-order", LOOPS)
OF_OPERANDS = ("types", *OF_PASSES, "c")
TRANSFORMED = ("reverse", "forward", "control", "stepping")


def core_of_forms(top_level: TopLevel, source: Source) -> Iterator[str]:
    """The core of each top-level form of a text. Definitions and expressions are not evaluated."""
    for item in top_level.items(source, top_level.module):
        if isinstance(item, Definition):
            core = _text(top_level, only_lambda(item.body) or item.body)
            yield f"(define {item.cell.name} {core})"
        elif isinstance(item, Expression):
            yield _text(top_level, item.body)
        else:
            top_level.execute(item, top_level.module, None)


def procedures_at(
    top_level: TopLevel,
    source: Source,
    stage: str,
    wanted: str | None,
    after: str | None,
    arguments: str = "",
    raw: bool = False,
) -> Iterator[str]:
    """The code of each procedure that a text defines, or of the wanted one. Expressions are not evaluated. Stages that depend on
    operands are for those of the text `arguments`, for the procedures that take so many; without it for reals, and loops for
    operands like those with which the expressions call a procedure, where these have tensors. `raw`: as for `core_at`."""
    found: list[tuple[str, Value]] = []
    expressions: list[Expression] = []
    for item in top_level.items(source, top_level.module):
        if isinstance(item, Expression):
            expressions.append(item)
            continue
        top_level.execute(item, top_level.module, lambda value: None)
        if not isinstance(item, Definition) or wanted not in (None, item.cell.name):
            continue
        if is_procedure(item.cell.value):
            if stage == LOOPS or arguments:
                found.append((item.cell.name, item.cell.value))
            else:
                yield procedure_at(top_level, item.cell.value, stage, item.cell.name, (), after, raw)
    codes = [look(value)[0] for _, value in found]
    if arguments and codes:
        from vlad.session.examples import example_uses  # only with example arguments

        examples = example_uses(top_level, codes, arguments, wanted is not None)
        uses = {code: [operands] for code, operands in examples.items()}
        found = [(name, value) for name, value in found if look(value)[0] in uses]
    else:
        uses = _uses_of(top_level, codes, expressions) if codes else {}
    for name, value in found:
        for operands in uses.get(look(value)[0], [()]):
            yield procedure_at(top_level, value, stage, name, operands, after)


def _uses_of(
    top_level: TopLevel, codes: list[Code], expressions: list[Expression]
) -> dict[Code, list[tuple[Value, ...]]]:
    """By code: the operands, with tensors, with which expressions call a procedure."""
    from vlad.compile.programs.uses import uses_with_tensors  # the compiler's analysis
    from vlad.compile.programs.whole import Step

    steps = [Step(None, top_level.thunk(item.body, item.span), item.span) for item in expressions]
    return top_level.suggesting(uses_with_tensors, top_level.machine, steps, set(codes))


def procedure_at(
    top_level: TopLevel,
    value: Value,
    stage: str,
    name: str,
    operands: tuple[Value, ...],
    after: str | None = None,
    raw: bool = False,
) -> str:
    """The code of a procedure, as the definition of a name if there is one; types, first-order code, loops and c for operands
    like these, or reals. `after`: a pass over first-order code or loops. `raw`: as for `core_at`."""
    if stage not in STAGES:
        raise WrongOption("invalid-argument", f"No stage of that name: {stage}", hint=", ".join(STAGES))
    if after is not None and stage not in OF_PASSES:
        raise WrongOption(
            "invalid-argument",
            f"`after` is for the stages {' and '.join(OF_PASSES)}",
            hint=f"the stage is {stage}",
        )
    if raw and stage not in TRANSFORMED:
        raise WrongOption(
            "invalid-argument",
            f"`raw` is for the stages {', '.join(TRANSFORMED)}",
            hint=f"the stage is {stage}",
        )
    if stage in OF_OPERANDS:
        return top_level.tiers.shown(look(value), stage, operands, after)
    core = _text(top_level, core_at(top_level.machine, value, stage, raw))
    texts = [f"(define {name} {core})" if name else core]
    if stage == "control":
        for keyword, body in _bodies(top_level.machine, top_level.machine.core_of(look(value)[0])):
            place = "" if body.span is None else f" at {body.span.line}:{body.span.column}"
            texts.append(
                f"; the body of the {keyword}{place}\n{_text(top_level, _control_entry(top_level.machine, body))}"
            )
    return "\n\n".join(texts)


# Whose operands are run by their control entries, with the keyword that makes the call.
CONTROLLED = {"%reset": "reset", "%shift": "shift", "%attempt": "guard"}


def _bodies(machine: Machine, lambda_: Lambda) -> Iterator[tuple[str, Lambda]]:
    """The lambdas inside a lambda, at any depth, that stand for the bodies of `reset`, `shift` and `guard`, in order."""
    codes = {machine.codes[name]: keyword for name, keyword in CONTROLLED.items()}
    made: dict[object, Lambda] = {}
    work: list[Body] = [lambda_.body]
    while work:
        body = work.pop()
        made |= {
            one.variable: one.rhs for one in body.bindings if type(one) is Binding and type(one.rhs) is Lambda
        }
        for rhs in [*[one.rhs for one in body.bindings if type(one) is Binding], body.result]:
            if type(rhs) is Call and type(rhs.operator) is GlobalReference:
                called = look(getattr(rhs.operator.cell, "value", None))
                if is_procedure(called) and called[0] in codes and rhs.operands[0] in made:
                    yield codes[called[0]], made[rhs.operands[0]]
        later: list[Body] = []
        for one in body.bindings:
            if type(one) is Letrec:
                later += [member.body for _, member in one.members]
            elif type(one.rhs) is Lambda:
                later.append(one.rhs.body)
            else:
                later += sub_bodies(one.rhs)
        later += sub_bodies(body.result)
        work += reversed(later)


def _control_entry(machine: Machine, body: Lambda) -> Lambda:
    from vlad.ad.control import control_entry  # few programs have one

    entry = control_entry(body, body.free, machine.ad()[0])
    return tidy(entry, frozenset(lambdas_within(body.body)), body)


def core_at(machine: Machine, value: Value, stage: str, raw: bool = False) -> Lambda:
    """The lambda of a procedure: as it is (core), as its derivative (reverse, forward), as it runs in a `reset` (control),
    or step by step (stepping).
    `raw`: as the transform emits it for a procedure of reals, before it is simplified.
    """
    code = look(value)[0]
    if raw:
        return machine.untidied(code, stage, Rules(machine.ad()[0], of_reals=True))
    if stage == "reverse":
        code = machine.tail_code(code)
    elif stage == "forward":
        code = machine.forward_code(code)
    elif stage == "control":
        code = machine.control_code(code)
    elif stage == "stepping":
        code = machine.stepping_code(code)
    return machine.core_of(code)


def _text(top_level: TopLevel, node: Lambda | Body) -> str:
    return print_core(node, top_level.is_redefined)
