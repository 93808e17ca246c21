"""Names of programs in emitted code: no name is misread by C or C++, in comments, strings, identifiers and headers."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import cffi
import pytest

import vlad
from vlad.compile.emit import c_names, cuda_unit
from vlad.compile.emit.c_text import comment, identifier, within_comment
from vlad.compile.runtime.functions import MARKS, ONE, OTHER, TWO, _definitions, marked, needed
from vlad.compile.runtime.sections import sections

HOSTILE = [
    "*/ int evil; /*", "*/", "/*", "a*/", "/.", "*.", "//", "1", "2d", "--", "a\nb", "a\\", "??/", '"', "'", "%d", "λ", "∂x/∂y",
    "é", "\u202e", "\u200b", "NULL", "EOF", "I", "M_PI", "PRId64", "errno", "stdin", "linux", "new", "class", "int", "main",
    "exp", "index", "read", "vlad_run", "vlad_data_0", "vlad_static_0", "vlad_place", "g0_k", "v0_f", "t", "results", "rows",
    "status", "in", "out", "a-b", "a_b", "a+b", "f", "f_jvp", "f-rows", "_", "__x", "x_", "BUFSIZ", "y1", "memcpy", "it_error",
    "L" * 99 + "1", "L" * 99 + "2",
]  # fmt: skip

EXPORTED = [
    "*/ int evil; /*", "1", "2d", "a\nb", "λ", "∂x/∂y", "\u202e", "NULL", "I", "PRId64", "errno", "linux", "new", "main", "exp",
    "index", "vlad_run", "g0_k", "results", "a-b", "a_b", "a+b", "f", "f_jvp", "f-rows", "_", "BUFSIZ", "memcpy", "x3_error",
    "L" * 99 + "1", "L" * 99 + "2",
]  # fmt: skip


def word(name: str) -> str:
    """A name as a program has it, between bars."""
    escapes = {"\n": "\\n", "\\": "\\\\", "|": "\\|"}
    return f"|{''.join([escapes.get(c, c) for c in name])}|"


def program(names: list[str]) -> str:
    """A procedure of each name, of a parameter that is called much like it."""
    texts = [
        f"(define ({word(name)} x {word(name + '!')}) (+ (* x {word(name + '!')}) {{}}))" for name in names
    ]
    return "\n".join([text.format(number) for number, text in enumerate(texts)])


HEADERS = """
assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h limits.h locale.h math.h setjmp.h signal.h stdarg.h stdbool.h
stddef.h stdint.h stdio.h stdlib.h string.h strings.h time.h wchar.h wctype.h unistd.h fcntl.h sys/stat.h sys/types.h
sys/socket.h pthread.h
"""
CPP_HEADERS = (
    "algorithm cmath complex cstdio cstdlib cstring functional iostream string vector "
    + HEADERS.replace("complex.h", "")
)


def left_over(text: str) -> str:
    """C text without its comments and strings, as a compiler reads it."""
    tokens = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
    return tokens.sub(" ", text)


@pytest.mark.parametrize("name", HOSTILE)
def test_comments_and_identifiers(name: str) -> None:
    for text in (name, name + "/", "*" + name, name * 100):
        assert left_over(f"/*{comment(text)}*/ /*{within_comment(text)}*/").strip() == ""
        assert comment(text).isprintable() and "\\" not in comment(text)
        assert re.fullmatch("[A-Za-z][A-Za-z0-9_]*", identifier(text))


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    made = vlad.Session(tier="evaluate")
    made.eval(program(HOSTILE))
    return made


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_shown_is_c(session: vlad.Session, name: str) -> None:
    text = session.tiers.shown(session.module.cells[name].value, "c")
    head, _, rest = text.partition("\n")
    assert left_over(head).strip() == "" and "int evil" not in left_over(rest)
    assert head == f"/* {comment(name)} */"


@pytest.mark.parametrize("name", HOSTILE)
def test_the_part_of_python_in_a_text_for_cuda_is_a_comment(name: str) -> None:
    host = f"def f0(v0):\n  raise Failed({'Unbound variable: ' + name!r})\n"
    assert left_over(cuda_unit.Emission(host, "", (), {}, ()).text).strip() == ""


@pytest.mark.parametrize("text", ["(error {0!r})", "({1} 1)", "(car (if (> x 0) x {1}))"])
def test_texts_of_errors_are_harmless(text: str) -> None:
    """In the program that `vlad build` makes, and in shown code."""
    name = "*/ int evil; /*"
    session = vlad.Session(tier="evaluate")
    session.eval(
        f"(define ({word('f' + name)} x) (if (> x 1) x {text.format(name, word(name)).replace(chr(39), chr(34))}))"
    )
    shown = session.tiers.shown(session.module.cells["f" + name].value, "c")
    assert "int evil" not in left_over(shown)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    (folder / "it.vlad").write_text(program(EXPORTED), encoding="utf-8")
    vlad.Session().build(
        folder / "it.vlad", folder / "é 3.so", exports=dict.fromkeys(EXPORTED, False), library=True
    )
    return folder


def declared(library: Path) -> list[tuple[str, list[str]]]:
    """The declarations of a header, with the names of the parameters."""
    text = left_over((library / "é 3.h").read_text(encoding="utf-8"))
    found = re.findall(r"^int (\w+)\(((?:double \w+, )+)double \*results\);$", text, re.MULTILINE)
    return [(name, re.findall(r"double (\w+)", takes)) for name, takes in found]


def test_a_library_has_a_procedure_for_each_name(library: Path) -> None:
    ffi = cffi.FFI()
    found = declared(library)
    assert len({name for name, _ in found}) == len(found) == len(EXPORTED)
    ffi.cdef("\n".join([f"int {name}(double, double, double *);" for name, _ in found]))
    made = ffi.dlopen(str(library / "é 3.so"))
    results = ffi.new("double[1]")
    for number, (name, _) in enumerate(found):
        assert getattr(made, name)(2.0, 3.0, results) == 0 and results[0] == 6.0 + number


def test_a_header_lists_changed_names(library: Path) -> None:
    text = (library / "é 3.h").read_text(encoding="utf-8")
    for changed in (
        "x2d is 2d, x2d is 2d!. ",
        "NULL_ is NULL, NULL_ is NULL!. ",
        "exp_ is exp, exp is exp!. ",
        "a_b___ is a+b, a_b is a+b!. ",
        "x_y is ∂x/∂y, x_y is ∂x/∂y!. ",
        "int_evil is * / int evil; / * , int_evil",
    ):
        assert f"/* In the program, {changed}" in text


@pytest.mark.parametrize("before", ["", "everything"])
@pytest.mark.parametrize("compiler", ["cc -std=c99 -pedantic", "cc -std=gnu17", "c++ -x c++"])
def test_compilers_take_the_header(library: Path, compiler: str, before: str) -> None:
    """After all headers of C and of C++, too."""
    command, *options = compiler.split()
    if shutil.which(command) is None:
        pytest.skip(f"there is no {command} on this machine")
    headers = CPP_HEADERS if command == "c++" else HEADERS
    includes = [f"#include <{name}>" for name in headers.split() if before]
    (library / "use.c").write_text("\n".join([*includes, '#include "é 3.h"', ""]), encoding="utf-8")
    words = [command, *options, "-Wall", "-Werror", "-fsyntax-only", "use.c"]
    done = subprocess.run(words, cwd=library, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_name_of_a_unit_is_left_to_libraries() -> None:
    """What the run-time declares outside functions: its own names, and those of the C library."""
    names = [*ONE, *TWO, *OTHER, "fma"]
    parts = [*sections().values(), needed([*names, *[f"{name}f" for name in names], *_definitions()])]
    text = "\n".join([marked(part, kind) for part in parts for kind in MARKS])
    heads = re.findall(r"^(?!typedef|static const|#|/|\s|\})[^{;\n]*", text, re.MULTILINE)
    declared = {name for head in heads for name in re.findall(r"\b([a-z]\w*)\(", head)} - {"simd", "unused"}
    assert {"munmap", "madvise", "vlad_fail", "exp", "expf"} <= declared
    for name in declared:
        assert identifier(name) != name if name.startswith("vlad_") else not c_names.may_be_exported(name)
    assert c_names.may_be_exported("f") and not c_names.may_be_exported("index")


def test_words_in_the_run_time_that_are_no_declarations_are_free() -> None:
    assert all(map(c_names.may_be_exported, ["routine", "procedure", "defined", "room", "words"]))
