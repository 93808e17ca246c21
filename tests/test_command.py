"""The command, from outside: what each way of calling it prints, and the status with which it ends."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import command, interruptible
from vlad.repl.interrupts import Interrupts
from vlad.repl.shell import Shell
from vlad.repl.terminal import Terminal

from vlad import __all__, __version__
from vlad.command import quiet_finalizers
from vlad.evaluate.limits import Interrupted

ROOT = Path(__file__).parent.parent
COMMAND = [sys.executable, "-m", "vlad"]


def environment(**changes: str) -> dict[str, str]:
    """The environment of a user's shell: without the settings of the tests' runner, so that `vlad` is this checkout's."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VLAD"))}
    return {**own, "PYTHONPATH": str(ROOT), "VLAD_STARTUP": "", **changes}


def vlad(
    *words: str, stdin: str | bytes = "", folder: Path | None = None, **changes: str
) -> subprocess.CompletedProcess[str]:
    done = command(*words, text=stdin, cwd=folder or ROOT, environment=environment(**changes), timeout=120)
    assert "Traceback" not in done.stderr or "VLAD_DEBUG" in changes, done.stderr
    return done


def printed(*words: str, stdin: str | bytes = "", folder: Path | None = None, **changes: str) -> str:
    """The output of a run that must succeed."""
    done = vlad(*words, stdin=stdin, folder=folder, **changes)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "square.vlad"
    path.write_text("(define (square x) (* x x))\n(square 3)\n(cons 1 (square 0.5))\n")
    return path


class TestRunning:
    def test_a_file_prints_each_value_on_a_line(self, program: Path) -> None:
        assert printed(str(program)) == "9\n(1 . 0.25)\n"

    def test_run_is_the_same(self, program: Path) -> None:
        assert printed("run", str(program)) == "9\n(1 . 0.25)\n"

    def test_the_extension_may_be_left_out(self, program: Path) -> None:
        assert printed("square", folder=program.parent) == "9\n(1 . 0.25)\n"

    def test_a_file_whose_name_is_a_command(self, program: Path) -> None:
        program.rename(program.with_name("show.vlad"))
        assert printed("run", "show", folder=program.parent) == "9\n(1 . 0.25)\n"

    def test_words_behind_the_file_are_the_programs(self, tmp_path: Path) -> None:
        (tmp_path / "words.vlad").write_text("(command-line-arguments)")
        words = ["a", "--metered", "--help", "-e", "two words", "--", "λ"]
        expected = '("a" "--metered" "--help" "-e" "two words" "--" "λ")\n'
        assert printed("words", *words, folder=tmp_path) == expected
        assert printed("run", "words", *words, folder=tmp_path) == expected

    def test_without_words_there_are_none(self) -> None:
        assert printed("-e", "(command-line-arguments)") == "()\n"

    def test_definitions_alone_print_nothing(self) -> None:
        assert printed("-e", "(define x 3)") == ""

    def test_a_program_reads_standard_input(self) -> None:
        assert printed("-e", "(+ (read-real) (read-real))", stdin="40\n2") == "42\n"


class TestExpressions:
    def test_the_value_is_printed(self) -> None:
        assert printed("-e", "(+ 1 2)") == "3\n"

    def test_several_share_their_definitions(self) -> None:
        assert printed("-e", "(define x 3)", "-e", "(* x x)", "-e", "x 'x") == "9\n3\nx\n"

    def test_words_behind_it_are_the_programs(self) -> None:
        assert printed("-e", "(command-line-arguments)", "run", "b") == '("run" "b")\n'

    def test_two_dashes_end_the_options(self) -> None:
        assert printed("-e", "(command-line-arguments)", "--", "-e") == '("-e")\n'

    def test_the_paper_in_one_line(self) -> None:
        assert printed("-e", "(cdr ((cdr ((J (lambda (x) (* x x x))) (J 2))) 1))") == "12\n"


class TestStandardInput:
    def test_a_program_from_standard_input(self, program: Path) -> None:
        assert printed(stdin=program.read_text()) == "9\n(1 . 0.25)\n"

    def test_a_dash_stands_for_it_so_that_words_may_follow(self) -> None:
        assert printed("-", "a", stdin="(command-line-arguments)") == '("a")\n'

    def test_its_errors_name_it(self) -> None:
        done = vlad(stdin="1\n(car 5)")
        assert done.returncode == 1
        assert done.stdout == "1\n"
        assert done.stderr.startswith("<standard input>:2:1: Error: Argument to car is invalid\n")

    def test_bytes_that_are_no_text(self) -> None:
        done = vlad(stdin=b"(+ 1 \xff 2)")
        assert done.returncode == 1
        assert "UTF-8" in done.stderr

    @pytest.mark.parametrize(
        "missing, words, message, status",
        [
            (
                "numpy",
                ["-e", "(exp #[1 2])"],
                "vlad: the package numpy is not installed, which this needs: `pip install numpy`",
                1,
            ),
            ("numpy", ["-e", "(+ 1 2)"], "", 0),
            (
                "_cffi_backend",
                ["--tier", "compile", "-e", "(let loop ((i 0)) (if (< i 3) (loop (+ i 1)) i))"],
                "Note: Nothing is compiled: the package cffi is not installed\n  hint: `pip install cffi`",
                0,
            ),
            ("platformdirs", ["cache"], "vlad: the package platformdirs is not installed", 1),
        ],
    )
    def test_packages_that_are_not_installed(
        self, missing: str, words: list[str], message: str, status: int
    ) -> None:
        elsewhere = "sys.platform = 'freebsd14'; " if missing == "platformdirs" else ""  # Linux needs none
        text = (
            f"import sys; sys.modules[{missing!r}] = None; from vlad.command import main; {elsewhere}"
            f"sys.exit(main({words!r}))"
        )
        named = {key: value for key, value in environment().items() if key != "VLAD_CACHE_DIR"}
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, env=named, text=True, timeout=60
        )
        lines = len(message.splitlines())
        assert (done.returncode, len(done.stderr.splitlines())) == (status, lines), done.stderr
        assert message in done.stderr and done.stdout == ("" if status else "3\n")

    def test_nothing_is_a_program_too(self) -> None:
        assert printed(stdin="") == ""

    def test_a_person_at_a_terminal_gets_the_prompt(self) -> None:
        """A plain one here, as the output is no terminal."""
        ours, theirs = pty.openpty()
        try:
            os.write(ours, b"(+ 1 2)\n,quit\n")
            done = subprocess.run(COMMAND, stdin=theirs, capture_output=True, env=environment(), timeout=60)
        finally:
            os.close(ours)
            os.close(theirs)
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"Ctrl-D to leave\n1> 3\n2> " in done.stdout


class TestLooking:
    def test_expand_prints_the_core_of_each_form(self, program: Path) -> None:
        lines = printed("expand", str(program)).splitlines()
        assert lines[0].startswith("(define square (lambda (x)")
        assert "(#global:square 3)" in lines
        assert "9" not in lines  # nothing is run

    @pytest.mark.parametrize("order", ["behind", "before"])
    def test_show_prints_the_reverse_transform(self, program: Path, order: str) -> None:
        options = ["--stage", "reverse", "--name", "square"]
        words = [str(program), *options] if order == "behind" else [*options, str(program)]
        text = printed("show", *words)
        assert text.startswith("(define square (lambda (k x)")
        assert ".sensitivity" in text

    def test_stages_differ(self, program: Path) -> None:
        texts = {
            printed("show", str(program), "--stage", stage)
            for stage in ("core", "reverse", "forward", "control", "stepping")
        }
        assert len(texts) == 5
        assert printed("show", str(program)) == printed("show", str(program), "--stage=core")

    def test_show_prints_the_bodies_of_control_as_they_run(self, tmp_path: Path) -> None:
        path = tmp_path / "it.vlad"
        path.write_text(
            "(define (f x) (guard (e (#t 1)) (reset (+ x (shift k (* 2 (k x)))))))\n(define (g x) x)\n"
        )
        text = printed("show", str(path), "--stage", "control")
        heads = [line for line in text.splitlines() if line.startswith(";")]
        assert heads == [
            "; the body of the guard at 1:15", "; the body of the reset at 1:33", "; the body of the shift at 1:45",
        ]  # fmt: skip
        reset, shift = text.split("; the body of the ")[2:]
        assert "(control-entry %shift)" in reset and "(+ x " in reset and "(control-entry k" in shift
        assert ";" not in printed("show", str(path), "--stage", "control", "--name", "g")

    def test_raw_transforms(self, tmp_path: Path) -> None:
        """A product that is computed twice, and no shapes."""
        path = tmp_path / "it.vlad"
        path.write_text("(define (f x y) (* x y y))")
        for stage in ("reverse", "forward"):
            assert "shape" not in printed("show", str(path), "--stage", stage, "--raw")
        assert "shape" in printed("show", str(path), "--stage", "reverse")
        path.write_text("(define (f x) (let ((y (sin x))) (* y y)))")
        twice = "(* result.sensitivity y)"
        for options, times in (([], 1), (["--raw"], 2)):
            assert printed("show", str(path), "--stage", "reverse", *options).count(twice) == times
        wrong = vlad("show", str(path), "--raw")
        assert (wrong.returncode, wrong.stdout) == (2, "") and "--raw is for the stages" in wrong.stderr

    def test_a_file_beside_the_program_is_found(self, tmp_path: Path) -> None:
        """By every command that executes definitions."""
        (tmp_path / "part").mkdir()
        (tmp_path / "part" / "numbers.csv").write_text("1,2\n3,4\n")
        path = tmp_path / "part" / "sums.vlad"
        path.write_text('(define table (load-csv "numbers.csv"))\n(define (f x) (* x (sum table)))\n(f 1)\n')
        for words in (["run", path], ["show", path], ["show", path, "--stage", "loops"]):
            assert printed(*map(str, words), folder=tmp_path) != ""
        checked = vlad("check", str(path), folder=tmp_path)
        assert checked.stdout.startswith("table : tensor (2 2)\n") and checked.returncode == 0

    def test_a_procedure_that_is_not_there(self, program: Path) -> None:
        done = vlad("show", str(program), "--name", "cube")
        assert done.returncode == 1
        assert "cube" in done.stderr

    def test_what_is_shown_does_not_depend_on_hash_seed_locale_or_folder(self, program: Path) -> None:
        texts = {
            subprocess.run(
                [*COMMAND, "show", str(program), "--stage", "reverse"], capture_output=True, cwd=folder, check=True,
                env=environment(PYTHONHASHSEED=seed, LC_ALL=locale), timeout=60,
            ).stdout
            for seed, locale, folder in (("0", "C", ROOT), ("1", "C.UTF-8", program.parent), ("77", "POSIX", ROOT))
        }  # fmt: skip
        assert len(texts) == 1


class TestOptions:
    @pytest.mark.parametrize("joined", [False, True])
    def test_folders_to_search(self, tmp_path: Path, joined: bool) -> None:
        (tmp_path / "parts").mkdir()
        (tmp_path / "parts" / "part.vlad").write_text("(define part 7)")
        (tmp_path / "whole.vlad").write_text('(include "part") part')
        folders = ["-Ielsewhere", "-Iparts"] if joined else ["-I", "elsewhere", "-I", "parts"]
        assert printed(*folders, "whole", folder=tmp_path) == "7\n"
        missing = vlad("whole", folder=tmp_path)
        assert missing.returncode == 1
        assert "Cannot find: part" in missing.stderr

    def test_metered_counts_primitives_in_the_order_of_the_table(self) -> None:
        text = "(define (f x) (sin (* x (+ x x)))) (f 0) 5 (* (f 0) (sin (f 0)))"
        assert printed("--metered", "-e", text) == "0\n1 +\n1 *\n1 sin\n5\n0\n2 +\n3 *\n3 sin\n"

    @pytest.mark.parametrize("tier", ["auto", "compile", "evaluate"])
    def test_tiers(self, tier: str) -> None:
        assert printed("--tier", tier, "-e", "(+ 1 2)") == "3\n"
        assert printed(f"--tier={tier}", "-e", "(+ 1 2)") == "3\n"

    @pytest.mark.parametrize(
        ("option", "amount", "text", "reason"),
        [
            ("--max-seconds", "0.2", "(define (f n) (f (+ n 1))) (f 0)", "longer than 0.2 seconds"),
            ("--max-depth", "1000", "(define (f n) (+ 1 (f (+ n 1)))) (f 0)", "too deep"),
            (
                "--max-memory",
                "200",
                "(define (f n l) (if (< n 0) (apply + l) (f (+ n 1) (cons n l)))) (f 0 '())",
                "more than 200",
            ),
            ("--fuel", "1000", "(define (f n) (f (+ n 1))) (f 0)", "out of fuel"),
        ],
    )
    def test_limits(self, option: str, amount: str, text: str, reason: str) -> None:
        done = vlad(option, amount, "-e", "(+ 1 2)", "-e", text)
        assert done.returncode == 1
        assert done.stdout == "3\n"
        assert reason in done.stderr
        assert option.lstrip("-").removeprefix("max-") in done.stderr  # the hint names the limit

    @pytest.mark.parametrize(
        "words", [["--help"], ["-h"], ["--metered", "--help"], ["show", "--help"], ["repl", "--help"]]
    )
    def test_help(self, words: list[str]) -> None:
        text = printed(*words)
        for word in (
            "run",
            "expand",
            "show",
            "-e",
            "-I",
            "--metered",
            "--tier",
            "--device",
            "--max-seconds",
            "--version",
            "130",
        ):
            assert word in text
        assert max(map(len, text.splitlines())) <= 100

    def test_version(self) -> None:
        assert printed("--version") == f"vlad {__version__}\n"


WRONG = {
    "unknown option: --fast": ["--fast", "x.vlad"],
    "unknown option: -x\n": ["-x"],
    "unknown option: -v\n": ["test", "-v"],
    "unknown option: --meterd; did you mean `--metered`?": ["--meterd", "x.vlad"],
    "unknown option: --tire=auto; did you mean `--tier`?": ["--tire=auto", "x.vlad"],
    "unknown option: --stag; did you mean `--stage`?": ["show", "x.vlad", "--stag", "c"],
    "no such command, and no such file: chek; did you mean `check`?": ["chek", "x.vlad"],
    "no such command, and no such file: buidl; did you mean `build`?": ["buidl", "x.vlad", "-o", "x"],
    "unknown option: --metered=yes": ["--metered=yes", "-e", "1"],
    "-e needs a value": ["-e"],
    "-I needs a value": ["-I"],
    "--fuel needs a value": ["--fuel"],
    "--fuel needs a positive whole number; not 1.5": ["--fuel", "1.5", "-e", "1"],
    "--fuel needs a positive whole number; not 0": ["--fuel", "0", "-e", "1"],
    "--max-seconds needs a positive number; not nan": ["--max-seconds", "nan", "-e", "1"],
    "--max-memory needs a positive number; not much": ["--max-memory", "much", "-e", "1"],
    "--max-depth needs a positive whole number; not 99999999999": ["--max-depth", "99999999999", "-e", "1"],
    "--tier is one of auto, compile, evaluate; not fast": ["--tier", "fast", "-e", "1"],
    "--device is one of cpu, cuda; not tpu": ["--device", "tpu", "-e", "1"],
    "--stage is one of core, reverse, forward, control, stepping, types, first-order, loops, c; not graph": [
        "show",
        "x.vlad",
        "--stage",
        "graph",
    ],
    "`vlad cache` takes `clear` or nothing; not all": ["cache", "all"],
    "--name belongs to `vlad show`": ["--name", "f", "x.vlad"],
    "`vlad run` needs a file": ["run"],
    "`vlad expand` needs a file": ["expand"],
    "`vlad show` needs a file": ["show", "--name", "f"],
    "`vlad expand` takes one file; too many: b.vlad": ["expand", "a.vlad", "b.vlad"],
    "-e does not go with `vlad run`": ["run", "-e", "1"],
    "`vlad repl` takes no file; `vlad -i FILE` runs one and stays": ["repl", "some.vlad"],
    "-i does not go with `vlad check`": ["-i", "check", "some.vlad"],
    "--lib needs the procedures": ["build", "x.vlad", "--lib"],
    "--export and --export-value go with --lib": ["build", "x.vlad", "--export", "f"],
    "--lib belongs to `vlad build`": ["--lib", "x.vlad"],
    "`vlad check` needs a file": ["check"],
}


class TestEnding:
    def test_a_tier_of_the_environment(self) -> None:
        done = vlad("-e", "1", VLAD_TIER="fast")
        assert (
            done.returncode == 2 and "$VLAD_TIER is one of auto, compile, evaluate; not fast" in done.stderr
        )

    @pytest.mark.parametrize("message", WRONG)
    def test_wrong_usage(self, message: str) -> None:
        done = vlad(*WRONG[message])
        assert done.returncode == 2
        assert done.stdout == ""
        assert message in done.stderr
        assert "vlad --help" in done.stderr

    def test_an_error_in_the_program(self, tmp_path: Path) -> None:
        (tmp_path / "wrong.vlad").write_text("(define (f x) (car x))\n(+ 1 1)\n(f 5)\n(+ 2 2)\n")
        done = vlad("wrong.vlad", folder=tmp_path)
        assert done.returncode == 1
        assert done.stdout == "2\n"  # what came before stands; nothing after
        first, excerpt, caret = done.stderr.splitlines()[:3]
        assert first == "wrong.vlad:1:15: Error: Argument to car is invalid"
        assert excerpt == "    1 | (define (f x) (car x))"
        assert caret == "      |               ^^^^^^^"

    @pytest.mark.parametrize("tier", ["auto", "compile", "evaluate"])
    def test_an_error_behind_tail_calls(self, tmp_path: Path, tier: str) -> None:
        (tmp_path / "loop.vlad").write_text(
            "(define (down n) (if (= n 0) (car n) (down (- n 1))))\n"
            '(define (start n) (display "once ") (down n))\n(* 2 (start 20))\n(start 1)'
        )
        done = vlad("--tier", tier, "loop.vlad", folder=tmp_path)
        assert (done.returncode, done.stdout) == (1, "once ")
        assert done.stderr.endswith(
            "\n  in down at loop.vlad:1:30\n  in the top level at loop.vlad:3:6\n"
            "  the last 16 tail calls, the latest first:\n    down at loop.vlad:1:38, 16 times\n"
        )
        assert vlad("--tier", tier, "-e", "(define (f x) (car x))", "-e", "(f 5)").stderr.endswith(
            "\n  in f at <expression>:1:15\n"
        )

    def test_a_search_for_tail_calls_takes_a_moment_only(self) -> None:
        loop = "(define (down n) (if (= n 0) (car n) (down (- n 1))))"
        done = vlad("-e", loop, "-e", "(down 2000000)")
        assert done.returncode == 1 and "tail calls" not in done.stderr

    @pytest.mark.parametrize("text", ["(5 5)", "('() 1)", '("f" 1)', "(car 5)", "(if (5 5) 1 2)"])
    def test_the_message_is_all_there_is(self, text: str) -> None:
        """Python warns about such code, too; users must not get these warnings."""
        done = vlad("-e", text)
        assert done.returncode == 1
        assert done.stderr.startswith("<expression>:1:")
        assert "Warning" not in done.stderr

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        done = vlad("missing", folder=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert "Cannot find: missing" in done.stderr

    def test_a_file_that_is_misspelt(self, tmp_path: Path) -> None:
        (tmp_path / "first.vlad").write_text("(+ 1 1)")
        for name in ("firts", "firts.vlad"):
            assert "did you mean `first.vlad`?" in vlad(name, folder=tmp_path).stderr
        for name in ("elsewhere.vlad", "nope.vlad", "first.txt"):  # an ending in common is no likeness
            assert "did you mean" not in vlad(name, folder=tmp_path).stderr

    def test_help_is_an_option(self, tmp_path: Path) -> None:
        done = vlad("help", folder=tmp_path)
        assert done.returncode == 2 and "`vlad --help`" in done.stderr

    def test_a_file_that_is_named_almost_like_a_command(self, tmp_path: Path) -> None:
        (tmp_path / "chek.vlad").write_text("(+ 1 1)")
        assert vlad("chek", folder=tmp_path).stdout == "2\n"
        done = vlad("./chek.vla", folder=tmp_path)
        assert done.returncode == 1 and "Cannot find" in done.stderr and "did you mean" not in done.stderr

    def test_a_folder_is_no_file(self, tmp_path: Path) -> None:
        done = vlad(str(tmp_path))
        assert done.returncode == 1
        assert "Cannot find" in done.stderr

    def test_a_file_that_is_no_text(self, tmp_path: Path) -> None:
        (tmp_path / "binary.vlad").write_bytes(b"\x7fELF\xff\xfe\x00")
        done = vlad("binary", folder=tmp_path)
        assert done.returncode == 1
        assert "UTF-8" in done.stderr

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("(write 5)", "5\n"), ("(begin (display 1) (write 'a))", "1a\n"), ("(let ((x 2)) (write x))", "2\n"),
            ("(write 5) 5 (write (list 1 2))", "5\n5\n(1 2)\n"), ("(list (write 1))", "1\n(1)\n"),
            ("(define (f x) (write x)) (f 3)", "3\n3\n"), ("(define (write x) x) (write 3)", "3\n"),
            ("(write-real 3)", "3\n3\n"), ("(display 3) (newline)", "3\n"),
        ],
    )  # fmt: skip
    def test_what_is_written_is_printed_once(
        self, tmp_path: Path, text: str, expected: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """By scripts, -e, Session.run and the prompt."""
        (tmp_path / "it.vlad").write_text(text, encoding="utf-8")
        from vlad import Session

        Session().run(tmp_path / "it.vlad")
        assert capsys.readouterr().out == expected
        Session().run_text(text)
        assert capsys.readouterr().out == expected
        shell = Shell(lambda write: Session(write=write), Terminal(), Interrupts())
        shell.evaluate(text)
        assert capsys.readouterr().out == expected
        assert Session(write=lambda text: None).eval("(write 5)") == 5.0

    def test_messages_come_after_what_was_printed(self) -> None:
        text = "(write-real 1) (write-real 2) (car 3)"
        done = subprocess.run(
            [*COMMAND, "-e", text],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(),
            timeout=60,
        )
        lines = done.stdout.decode().splitlines()
        assert lines[:4] == ["1", "1", "2", "2"]
        assert "Error: Argument to car is invalid" in lines[4]

    @pytest.mark.parametrize(
        "text",
        [
            "(define (f n) (f (+ n 1))) (write-real 1) (f 0)",
            "(define (f n) (if (= n 0) 0 (+ 1 (f (- n 1))))) (define (g) (f 1000) (g)) (write-real 1) (g)",
            "(define (f x) (f (cdr ((cdr ((J sin) (J x))) 1)))) (write-real 1) (f 0.3)",
            "(write-real 1) (read-real)",
        ],
        ids=["loop", "recursion", "derivatives", "reading"],
    )
    def test_an_interrupt(self, text: str) -> None:
        with interruptible(
            [*COMMAND, "-e", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(PYTHONUNBUFFERED="1"),
        ) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == b"1\n"
            time.sleep(0.3)  # into the loop
            running.send_signal(signal.SIGINT)
            begun = time.monotonic()
            _, errors = running.communicate(timeout=60)
        assert running.returncode == 130
        assert errors == b"Interrupted\n"
        assert time.monotonic() - begun < 2  # 0.1 s on a machine that does nothing else

    def test_a_reader_that_has_seen_enough(self) -> None:
        text = "(define (f n) (write-real n) (f (+ n 1))) (f 0)"
        running = subprocess.Popen(
            [*COMMAND, "-e", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        )
        assert running.stdout is not None and running.stderr is not None
        assert running.stdout.readline() == b"0\n"
        running.stdout.close()
        assert running.stderr.read() == b""
        running.stderr.close()
        assert running.wait(60) == 141

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux' full device")
    def test_output_that_cannot_be_written(self) -> None:
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [*COMMAND, "-e", "1"], stdout=full, stderr=subprocess.PIPE, env=environment(), timeout=60
            )
        assert done.returncode == 1
        assert done.stderr.decode().startswith("vlad: cannot write the output: ")
        assert len(done.stderr.splitlines()) == 1

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux' full device")
    @pytest.mark.parametrize(
        ("words", "streams", "expected"),
        [
            ("-e '(display 1)'", "<&-", (0, "1", "")),
            ("-e '(display 1)'", ">&-", (1, "", "cannot write the output: Bad file descriptor")),
            ("-e '(display 1)'", "<&- >&- 2>&-", (1, "", "")),
            ("-e '(display 1)'", ">/dev/full 2>&-", (1, "", "")),
            ("-e '(display 1)'", ">/dev/full 2>/dev/full", (1, "", "")),
            ("-e '(define x 1)'", ">&- 2>&-", (0, "", "")),
            ("-e '(display 1)' -e '(car 5)'", "2>&-", (1, "1", "")),
            ("-e '(display 1)' -e '(car 5)'", "2>/dev/full", (1, "1", "")),
            ("-e '(display 1)' -e '(car 5)'", "2>&1 >&-", (1, "Argument to car is invalid", "")),
            ("-e '(display 1)' -e '(car 5)'", ">/dev/full", (1, "", "Argument to car is invalid")),
            ("-e '(read-real)'", "<&-", (1, "", "The input has ended")),
            ("-e '(read-real)'", "0>/dev/null", (1, "", "Cannot read standard input")),
            ("-e '(read-real)'", "<not-text", (1, "", "Standard input is not a text in UTF-8")),
            ("", "<&-", (2, "", "no file, and no standard input")),
            ("", "0>/dev/null", (1, "", "Cannot read standard input")),
            ("--nonsense", "2>&-", (2, "", "")),
            ("--nonsense", "2>/dev/full", (2, "", "")),
            ("repl", "<&- >&- 2>&-", (0, "", "")),
            ("repl", "<input >&-", (1, "", "cannot write the output: Bad file descriptor")),
            ("repl", "<input >/dev/full", (1, "", "cannot write the output: No space left on device")),
            ("check program", ">&-", (1, "", "cannot write the output: Bad file descriptor")),
            ("check wrong", "2>&-", (1, "never returns", "")),
            ("doc sin", "<&- >/dev/full", (1, "", "cannot write the output: No space left on device")),
            ("--quiet build program -o made", "<&- >&- 2>&-", (0, "", "")),
            ("build missing -o made", ">&- 2>&-", (1, "", "")),
            ("debug program", "<&- >&-", (1, "", "cannot write the output: Bad file descriptor")),
        ],
    )
    def test_streams_that_are_closed_or_full(
        self, tmp_path: Path, words: str, streams: str, expected: tuple[int, str, str]
    ) -> None:
        """Output goes to the right streams, and the status is right. (The expected output may be a part of it.)"""
        (tmp_path / "input").write_text("(+ 1 1)\n")
        (tmp_path / "not-text").write_bytes(b"\xff\xfe\n")
        (tmp_path / "program.vlad").write_text("(+ 1 1)\n")
        (tmp_path / "wrong.vlad").write_text("(car 5)\n")
        command = " ".join([*[f"'{word}'" for word in COMMAND], words, streams])
        done = subprocess.run(
            command,
            shell=True,
            capture_output=True,
            cwd=tmp_path,
            env=environment(PYTHONIOENCODING="utf-8:strict"),
            timeout=60,
        )
        status, *outputs = expected
        found = [done.stdout.decode(), done.stderr.decode()]
        assert done.returncode == status, found
        for text, part in zip(found, outputs, strict=True):
            assert part in text and bool(text) == bool(part) and "Traceback" not in text

    def test_an_error_is_reported_if_the_output_is_not_read(self) -> None:
        script = f"""'{"' '".join(COMMAND)}' -e '(display 1)' -e '(car 5)' | true; exit ${{PIPESTATUS[0]}}"""
        done = subprocess.run(["bash", "-c", script], capture_output=True, env=environment(), timeout=60)
        assert done.returncode == 1 and b"Argument to car is invalid" in done.stderr

    @pytest.mark.parametrize(
        "module",
        [
            "vlad.control.standard_streams",
            "vlad.command",
            "vlad.data.tensors",
            "vlad.primitives.control",
            "vlad.session.library",
        ],
    )
    def test_a_signal_while_modules_are_read(self, module: str) -> None:
        """From the first statement of ours: nothing but the word, and the status."""
        script = f"""
import os, signal, sys
class Interrupts:
    def find_spec(self, name, *_):
        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)
import vlad.__main__
sys.meta_path.insert(0, Interrupts())
sys.argv = ["vlad", "-e", "1"]
vlad.__main__.process()
"""
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, env=environment(), timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"Interrupted\n")

    @pytest.mark.parametrize("place", ["in a finalizer", "at the end", "twice"])
    def test_a_signal_in_an_awkward_moment(self, place: str) -> None:
        script = f"""
import os, signal, sys, threading, vlad.__main__
from vlad import command
usual = command.execute
class Finalized:
    def __del__(self): os.kill(os.getpid(), signal.SIGINT)
def execute(line):
    print("begun", flush=True)
    if {place!r} == "in a finalizer":
        Finalized()
        while True: pass
    if {place!r} == "twice":
        try: os.kill(os.getpid(), signal.SIGINT); print("not reached")
        finally: os.kill(os.getpid(), signal.SIGINT); print("not reached")
    threading.Thread(target=lambda: threading.Event().wait(100)).start()
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    return 0
command.execute = execute
vlad.__main__.process()
"""
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, env=environment(), timeout=60
        )
        assert (done.returncode, done.stdout) == (130, b"begun\n")
        assert done.stderr == (b"" if place == "twice" else b"Interrupted\n")

    @pytest.mark.parametrize("watched", ["", "sys.setprofile(lambda *_: None)"])
    def test_the_end_of_the_process(self, watched: str) -> None:
        """Threads are joined, exit functions called, streams written. Only if it is looked at is what is left destroyed."""
        script = f"""
import atexit, sys, threading, time, vlad.__main__
from os import write
from vlad import command
class Left:
    def __del__(self): write(1, b"destroyed\\n")
left = Left()
def work(): time.sleep(0.2); sys.stdout.write("thread\\n"); sys.stderr.write("no newline")
def execute(line):
    threading.Thread(target=work).start()
    atexit.register(print, "exit function")
    return 3
command.execute = execute
{watched}
vlad.__main__.process()
"""
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, env=environment(), timeout=60
        )
        destroyed = b"destroyed\n" if watched else b""
        assert (done.returncode, done.stderr) == (3, b"no newline")
        assert done.stdout == b"thread\nexit function\n" + destroyed

    def test_whoever_ignores_the_signal_goes_on(self) -> None:
        loop = "(define (f n) (if (= n 0) 7 (f (- n 1))))"
        words = " ".join([f"'{word}'" for word in [*COMMAND, "-e", loop, "-e", "(f 3000000)"]])
        script = f"trap '' INT; {words} & sleep 0.1; kill -INT $!; wait $!"
        done = subprocess.run(["bash", "-c", script], capture_output=True, env=environment(), timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"7\n", b"")

    def test_an_interrupt_while_modules_are_read(self) -> None:
        script = """
import sys
class Interrupts:
    def find_spec(self, name, *_):
        if name == "vlad.session.session": raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupts())
from vlad.__main__ import main
sys.exit(main(["-e", "1"]))
"""
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, env=environment(), timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"Interrupted\n")

    @pytest.mark.parametrize("debug", [False, True])
    def test_an_error_of_ours(self, debug: bool) -> None:
        script = """
import sys
from vlad import command
def broken(*_, **__): raise KeyError("lost")
command.Session = broken
sys.exit(command.main(["-e", "1"]))
"""
        changes = {"VLAD_DEBUG": "1"} if debug else {}
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, env=environment(**changes), timeout=60
        )
        assert done.returncode == 70
        assert b"internal error, please report it: KeyError: 'lost'" in done.stderr
        assert (b"Traceback" in done.stderr) == debug


class TestText:
    @pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
    def test_output_is_utf8_in_every_locale(self, locale: str) -> None:
        changes = {"LC_ALL": locale, "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
        assert printed(stdin='"λ → 𝒥"', **changes) == '"λ → 𝒥"\n'

    def test_words_that_are_no_text(self) -> None:
        done = subprocess.run(
            [*map(os.fsencode, COMMAND), b"-e", b"(command-line-arguments)", b"\xff"],
            capture_output=True,
            env=environment(),
            timeout=60,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b'("\\xdcff;")\n', b"")


class TestStartUp:
    UNWANTED = (
        "numpy",
        "prompt_toolkit",
        "pygments",
        "cffi",
        "argparse",
        "asyncio",
        "platformdirs",
        "ctypes",
    )

    def loaded(self, statement: str) -> set[str]:
        script = f"{statement}\nimport sys; print(*sys.modules)"
        done = subprocess.run(
            [
                sys.executable,
                "-S",
                "-c",
                script,
            ],  # -S: imports of an installed package's start-up file do not count
            capture_output=True,
            text=True,
            check=True,
            env=environment(),
            timeout=60,
        )
        return set(done.stdout.split())

    def test_heavy_modules_stay_out(self) -> None:
        loaded = self.loaded("import vlad.__main__; vlad.__main__.main(['-e', '(+ 1 2)'])")
        assert loaded.isdisjoint(self.UNWANTED)

    def test_importing_the_package_loads_nothing(self) -> None:
        loaded = self.loaded("import vlad")
        # the compiler's empty package, whose name is then free for the function
        assert {name for name in loaded if name.split(".")[0] == "vlad"} == {"vlad", "vlad.compile"}
        assert loaded.isdisjoint({"typing", "dataclasses", "re", "inspect", "pathlib"})

    def test_public_names_are_available_on_access(self) -> None:
        script = (
            "import vlad; names = vlad.__all__; "
            "print([getattr(vlad, name) is not None for name in names], dir(vlad) == sorted(names))"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env=environment(),
            timeout=60,
        )
        assert done.stdout == f"{[True] * len(__all__)} True\n"
        with pytest.raises(AttributeError, match="nonsense"):
            getattr(__import__("vlad"), "nonsense")  # noqa: B009 - a constant name, on purpose

    def test_an_expression_costs_little_over_python_itself(self) -> None:
        """Counted, for seconds depend on the machine: calls of Python's functions, those that read modules among them."""
        script = """
import sys

calls = 0


def count(frame, event, argument):
    global calls
    calls += event == "call"


sys.setprofile(count)
from vlad.__main__ import main

status = main(["-e", "(+ 1 2)"])
sys.setprofile(None)
print(calls)
"""
        done = subprocess.run(
            [sys.executable, "-S", "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env=environment(),
            timeout=60,
        )
        answer, calls = done.stdout.split()
        assert answer == "3" and int(calls) < 35_000


class TestCompiling:
    PROGRAM = "(define (twice x) (* 2 x))\n(define (numbers n) (if (= n 0) '() (cons n (numbers (- n 1)))))\n"

    def test_types_and_c_of_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "p.vlad"
        path.write_text(self.PROGRAM, encoding="utf-8")
        types = printed("show", str(path), "--stage", "types").splitlines()
        assert types == ["twice : real -> real", "numbers : real -> (list of real)"]
        text = printed("show", str(path), "--stage", "c", "--name", "twice")
        assert "static double v0_twice(double x_1)" in text and "p.vlad:1" in text

    def test_loops_are_shown_for_the_tensors_of_expressions(self, tmp_path: Path) -> None:
        path = tmp_path / "p.vlad"
        definitions = "(define n 300) (define (dot a b) (sum (* a b))) (define (halves a) (* 0.5 a)) (define (same x) x)"
        uses = "(dot (arange n) (ones (list n))) (halves (as-type (zeros '(3 4)) 'float32)) (halves 3) (display (car '()))"
        path.write_text(f"{definitions}\n{uses}\n", encoding="utf-8")
        text = printed("show", str(path), "--stage", "loops")
        assert [line for line in text.splitlines() if line.startswith(";")] == [
            "; dot : tensor (300) tensor (300)",
            "; halves : tensor (3 4) float32",
            "; same : real",
        ]
        assert "var result_1: float64 = 0.0\ndo\n  for i0 from 0 below 300" in text
        assert "new result_1: float32, 6 words\ndo\n" in text
        only = printed("show", str(path), "--stage", "loops", "--name", "halves", "--after", "scaling")
        assert only.startswith("; halves : tensor (3 4) float32\n\nnew ") and "unrolled" not in only

    def test_the_cache_is_listed_and_cleared(self, tmp_path: Path) -> None:
        kept = str(tmp_path / "kept")

        def listed(*words: str) -> str:
            return printed(*words, VLAD_CACHE_DIR=kept)

        assert listed("cache").splitlines() == [f"folder: {kept}", "entries: 0", "megabytes: 0.0"]
        assert listed("--tier", "compile", "-e", "((lambda (x) (sin x)) (real 0))") == "0\n"
        assert "entries: 2" in listed("cache")  # the library, and what call it is of
        assert listed("cache", "clear") == "removed: 2\n"
        assert "entries: 0" in listed("cache")


def test_an_exception_in_a_finalizer_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is dropped there, and raised again; other errors of finalisers are printed as usual."""
    printed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: printed.append(dropped.exc_type))

    class Ends:
        def __init__(self, error: type[BaseException]) -> None:
            self.error = error

        def __del__(self) -> None:
            raise self.error

    with quiet_finalizers():
        Ends(Interrupted)
        Ends(ValueError)
    Ends(Interrupted)
    assert printed == [ValueError, Interrupted]
