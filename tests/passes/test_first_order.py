"""Passes over first-order code as text: tests/passes/first-order/PASS/what-it-shows.txt holds operands, first-order code, `---`,
and what the pass makes of it. `pytest --update` rewrites the lower halves; git shows the difference.

Both codes are compiled and run on the operands: a pass changes nothing but cost.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import vlad
from vlad.compile.emit import c_unit
from vlad.compile.ir.check import check
from vlad.compile.ir.parse import read_program
from vlad.compile.ir.program import Program
from vlad.compile.ir.text import program_text
from vlad.compile.native import toolchain
from vlad.compile.native.abi import FIRST_FAILURE, ffi
from vlad.compile.native.blas import lapack
from vlad.compile.passes.order import FUSE, NAMES, PASSES
from vlad.core.passes import observing, run_pass
from vlad.data.errors import VladError
from vlad.data.values import look

HERE = Path(__file__).parent / "first-order"
CASES = sorted(HERE.glob("*/*.txt"))
PROGRAMS = sorted(HERE.glob("*/*.vlad"))
SESSION = vlad.Session(tier="evaluate")
ROWS = SESSION.machine.table


def results(program: Program, operands: list[float | list[float]]) -> list[object]:
    """What a program returns that takes reals and arrays of reals, and returns such, or booleans."""
    unit = c_unit.emit(program)
    words = ffi.new("union vlad_word[]", unit.words.count + 1)
    results = ffi.new("union vlad_word[]", unit.words.fuel_left + 1)
    arrays = [ffi.new("double[]", operand) for operand in operands if isinstance(operand, list)]
    waiting = iter(arrays)
    for index, operand in enumerate(operands):
        if isinstance(operand, list):
            words[index].p = next(waiting)
        else:
            words[index].d = operand
    library = toolchain.build(unit.text, optimize=0)
    if unit.words.decomposes:
        routines = lapack()
        table = ffi.new("void *[]", [ffi.cast("void *", one) for one in routines.addresses])
        words[unit.words.routines].p, words[unit.words.routines + 1].i = table, routines.is_wide
    if unit.words.counts:
        words[unit.words.fuel].i = 1_000_000
    status = library.vlad_call(words, results)
    if status:
        assert status >= FIRST_FAILURE
        return [unit.failures[status - FIRST_FAILURE].what]
    (entry,) = program.entries
    found: list[object] = []
    for index, (kind, cell) in enumerate(zip(entry.results, entry.result_cells, strict=True)):
        if kind != "p":
            found.append(results[index].d if kind == "d" else bool(results[index].i))
            continue
        assert cell is not None
        (member,) = program.members[cell]
        found += list(ffi.cast("double *", results[index].p)[0 : member.entries])
    return found


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_pass(path: Path, request: pytest.FixtureRequest) -> None:
    before, _, expected = path.read_text(encoding="utf-8").partition("\n---\n")
    head, _, code = before.partition("\n")
    operands = SESSION.eval(f"(list {head.lstrip('; ')})")
    given = [operand if isinstance(operand, float) else operand.reshape(-1).tolist() for operand in operands]
    program = read_program(code, ROWS)
    check(program)
    assert program_text(program) == code  # so are cases written
    wanted = results(read_program(code, ROWS), given)
    PASSES[path.parent.name](program)
    check(program, path.parent.name)
    text = program_text(program)
    assert results(program, given) == wanted
    if request.config.getoption("--update"):
        path.write_text(f"{before}\n---\n{text}\n", encoding="utf-8")
        return
    assert text + "\n" == expected


def test_every_pass_has_a_case() -> None:
    assert {path.parent.name for path in CASES} == set(PASSES)
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_text_is_read_back(path: Path, request: pytest.FixtureRequest) -> None:
    """As every pass leaves it. A program defines f; its code after `fuse-derivatives`, which needs what the analysis knows, is
    part of the case. C is the same, but for comments and numbers in names."""
    program, _, expected = path.read_text(encoding="utf-8").partition("\n---\n")
    session = vlad.Session(tier="evaluate")
    session.run_text(program)
    seen: dict[str, str] = {}

    def observe(name: str, result: object) -> None:
        if type(result) is Program:
            text = seen[name] = program_text(result)
            again = read_program(text, ROWS)
            check(again, name)
            assert program_text(again) == text
            if name == NAMES[-1]:
                assert _plain(c_unit.emit(again).text) == _plain(c_unit.emit(result).text)

    f = look(session["f"].value)
    with observing(observe):
        session.tiers.shown(f, "first-order")
    assert seen.keys() == set(NAMES)
    if path.parent.name == FUSE:
        if request.config.getoption("--update"):
            path.write_text(f"{program.rstrip()}\n---\n{seen[FUSE]}\n", encoding="utf-8")
            return
        assert seen[FUSE] + "\n" == expected


def _plain(c: str) -> list[str]:
    """The lines of C without comments, with the names of each function numbered in their order."""
    without = re.sub(r"/\*.*?\*/", "", c, flags=re.DOTALL)
    lines = []
    numbers: dict[str, str] = {}
    for line in without.splitlines():
        if line.startswith("}"):
            numbers.clear()
        if line.strip():
            named = re.sub(
                r"[A-Za-z_]\w*?_\d+\b", lambda name: numbers.setdefault(name[0], f"n{len(numbers)}"), line
            )
            lines.append(named.rstrip())
    return lines


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("(function f_0 (x:d) (d) (return y))", "`y` is not bound"),
        ("(function f_0 (x:d) (d) (y:d (sinus x)) (return y))", "`sinus` is no primitive"),
        ("(function f_0 (x:d) (d) (y:d (sin x)))", "`y:d` does not end a block"),
        ("(union u0 (end)) (function f_0 () (u0) (p:p (box u0 pair 1)) (return p))", "u0 has no member pair"),
        ("(procedure f_0 () ())", "`procedure` is no form of a program"),
        (
            "(function f_0 () (d) (return (data float64 (99) …)))",
            "the entries of this tensor are not in the text",
        ),
    ],
)
def test_other_text_is_an_error_at_its_place(text: str, error: str) -> None:
    with pytest.raises(VladError, match=re.escape(error)) as caught:
        read_program(text, ROWS)
    assert caught.value.span is not None


def test_a_pass_that_breaks_the_grammar_is_named() -> None:
    program = read_program("(function f_0 (x:d) (d)\n  (y:d (sin x))\n  (return y))", ROWS)

    def broken(program: Program) -> Program:
        program.functions[0].body.statements.clear()
        return program

    with pytest.raises(AssertionError, match="y:d is not bound in f after broken"):
        run_pass("broken", broken, program, check, program_text, in_place=True)
