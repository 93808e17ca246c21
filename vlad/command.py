"""The `vlad` command.

In: the words of a command line.  Out: the output of a program, and an exit status: 0, 1 for an error in the program, 2 for
wrong usage, 130 for an interrupt. A `Session` does the work; this module handles the words, and what surrounds a
program: its output, its end, and messages. The words are parsed by hand: argparse would cost 10 ms
per start, a tenth of a short program's run (measured).

The file is long because options, help and their implementation stand together.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from vlad import __version__
from vlad.compile.calling.notifier import nothing_compiled
from vlad.control.safe_import import package_of
from vlad.control.standard_streams import discard, read_line, same_everywhere, write_message
from vlad.data.errors import VladError
from vlad.evaluate.errors.replay import Beginning, Frames
from vlad.evaluate.limits import AsyncException, Limits
from vlad.messages.spelling import nearest
from vlad.session.files import not_read
from vlad.session.session import Session
from vlad.session.showing import OF_OPERANDS, OF_PASSES, TRANSFORMED

if TYPE_CHECKING:
    from vlad.debugging.commands import Commands

HELP = """\
vlad: a language in which differentiation is an operator like any other

  vlad [OPTION ...] FILE [ARG ...]      run a program; `.vlad` may be left out of FILE
  vlad [OPTION ...] run FILE [ARG ...]  the same
  vlad [OPTION ...] -e EXPR [ARG ...]   evaluate EXPR and print its value; -e may be repeated
  vlad [OPTION ...] < FILE              run the program on standard input
  vlad expand FILE                      print each top-level form as core, the intermediate language
  vlad show FILE [--stage STAGE] [--after PASS] [--raw] [--name PROCEDURE] [--with ARGUMENTS]
                                        print procedures: as core, as derivatives (reverse,
                                        forward; --raw: before simplification), as types, as
                                        first-order code or loops over tensors (after a pass
                                        of the compiler), or as c; from types on for reals,
                                        or for ARGUMENTS like (ones '(3 2))
  vlad doc [NAME]                       explain a name of the language, or the code of an
                                        error; without one, list all names by theme
  vlad cache [clear]                    show the cache of compiled code, or empty it
  vlad check FILE [--with ARGUMENTS] [--name PROCEDURE]
                                        print types, and find type errors, without running
  vlad build FILE [-o NAME] [--native]  make a program that runs without Python
  vlad build FILE --lib [--export PROCEDURE ...] [--export-value PROCEDURE ...] [-o NAME]
                                        make a shared library and its C header: procedures with
                                        their derivatives, or their values only
  vlad format FILE ... [--check]        lay out programs: indentation, and lines of at most 100
                                        characters; folders stand for the programs in them, - for
                                        standard input; --check only names the files to change
  vlad test [PATH ...] [-k WORDS] [--junit FILE]
                                        run the tests in programs; in folders, those in files whose
                                        names end in -test.vlad; -k: those whose names contain WORDS
  vlad new NAME                         make a folder with a module, its test, and a pyproject.toml
                                        by which pip installs it and (import "NAME") finds it
  vlad doctor [--json]                  what was found on this machine: compiler, libraries, GPU,
                                        packages, and what each is for
  vlad debug [--break PLACE ...] FILE [ARG ...]
                                        run a program step by step, or up to a place in it
  vlad                                  at a terminal: the prompt; so does `vlad repl`, anywhere

  -i                    start the prompt after FILE or -e, with their definitions
  --no-init             a prompt without the start-up file
  -I DIR                search DIR, too, for included and imported files; may be repeated
  --metered             after each value, print how often each primitive was applied
  --trace PROCEDURE     print each call of a procedure and its result; may be repeated
  --find-nan            find the first operation that returns an infinity or a NaN
  --tier auto|compile|evaluate
                        compile long computations to C (the default), everything first, or nothing
  --optimize 0|1|2|3    optimisation level of the C compiler; 2 by default
  --device cpu|cuda     where tensors are made: in memory, or on the GPU (needs CuPy)
  --fast-math           allow it to reorder sums and products, at the cost of the last digits
  --threads N           threads of compiled loops over rows; by default one for each processor
  --workers N|ADDRESS   the workers of `parallel-map`: N processes, or those of a Dask scheduler
  --max-seconds N       end the program with an error after N seconds,
  --max-memory N        when it grows by more than N megabytes,
  --max-depth N         when N calls are nested,
  --fuel N              or after N calls and loop iterations
  --help, --version     print this, print the version

Options go before FILE; everything after FILE belongs to the program: `(command-line-arguments)`.
Exit status: 0; 1 for an error in the program; 2 for wrong usage; 130 for an interrupt.
"""

INFORMATION = {"--help": HELP, "-h": HELP, "--version": f"vlad {__version__}\n"}

SUCCESS, PROGRAM_ERROR, WRONG_USAGE, INTERNAL_ERROR, BROKEN_PIPE = 0, 1, 2, 70, 141

COMMANDS = (
    "run", "debug", "expand", "show", "check", "build", "cache", "doc", "repl", "format", "test", "doctor", "new",
)  # fmt: skip
WITHOUT_FILE = ("repl", "cache", "doctor", "doc", "test")
CHOICES = {
    "--tier": ("auto", "compile", "evaluate"),
    "--stage": ("core", "reverse", "forward", "control", "stepping", "types", "first-order", "loops", "c"),
    "--optimize": ("2", "0", "1", "3"),
    "--device": ("cpu", "cuda"),
}
FLAGS = {
    "-i": "interactive",
    "--metered": "metered",
    "--fast-math": "fast_math",
    "--lib": "library",
    "--native": "native",
    "--find-nan": "find_nan",
    "--no-init": "no_init",
    "--raw": "raw",
    "--check": "check",
    "--json": "json",
}
LIMITS = {"--max-seconds": "seconds", "--max-memory": "memory", "--max-depth": "depth", "--fuel": "fuel"}
OPTIONS_OF = {
    "debug": ("--break",),
    "show": ("--stage", "--after", "--raw", "--name", "--with"),
    "check": ("--name", "--with"),
    "build": ("-o", "--lib", "--export", "--export-value", "--native"),
    "format": ("--check",),
    "test": ("-k", "--junit"),
    "doctor": ("--json",),
}  # options of this command only
VALUED = (
    "-I",
    "-e",
    "-o",
    *CHOICES,
    *LIMITS,
    "--name",
    "--after",
    "--with",
    "--export",
    "--export-value",
    "--trace",
    "--break",
    "--threads",
    "--workers",
    "-k",
    "--junit",
)
OPTIONS = (*INFORMATION, *FLAGS, *VALUED)
INPUT = "<standard input>"
LARGEST = 2_000_000_000  # Python's recursion limit is a C int


class UsageError(Exception):
    """The command line is invalid; the text is the reason."""


class CommandLine:
    """A parsed command line. `words` are the file and its arguments; `command` is "" if there is none."""

    def __init__(self) -> None:
        self.command = ""
        self.words: list[str] = []
        self.expressions: list[str] = []
        self.path: list[str] = []
        self.interactive = self.metered = self.fast_math = self.library = self.native = self.find_nan = False
        self.no_init = self.raw = self.check = self.json = False
        self.traced: list[str] = []
        self.breakpoints: list[str] = []
        self.output: str | None = None
        self.junit: str | None = None
        self.pattern = ""
        self.exports: dict[str, bool] = {}  # whether with derivatives
        self.information: str | None = None  # for --help and --version, which do nothing else
        self.choices = {name: allowed[0] for name, allowed in CHOICES.items()}
        self.choices["--tier"] = ""  # $VLAD_TIER, or auto
        self.name: str | None = None
        self.after: str | None = None
        self.examples: list[str] = []
        self.threads: int | None = None
        self.workers: int | str | None = None  # processes, or the address of a scheduler
        self.limits: dict[str, Any] = {}  # by name, as for Limits

    @property
    def is_bare(self) -> bool:
        """Whether nothing is given to run. At a terminal that starts the prompt."""
        return not (self.command or self.words or self.expressions)


def parse(words: list[str]) -> CommandLine:
    """Parse a command line. Raises UsageError."""
    line = CommandLine()
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word == "--":
            line.words += reversed(rest)
            break
        if word.startswith("-") and word != "-":
            _option(line, word, rest)
        elif word in COMMANDS and not (line.command or line.words or line.expressions):
            line.command = word
        else:
            line.words.append(word)
            if line.command in ("", "run", "debug"):  # the rest belongs to the program
                line.words += reversed(rest)
                break
    _check(line)
    return line


def _option(line: CommandLine, word: str, rest: list[str]) -> None:
    name, joined, value = word.partition("=")
    if word.startswith("-I") and word != "-I":
        name, joined, value = "-I", "joined", word[2:]
    owners = [command for command, options in OPTIONS_OF.items() if name in options]
    if owners and line.command not in owners:
        raise UsageError(f"{name} belongs to {' and '.join([f'`vlad {owner}`' for owner in owners])}")
    if name in FLAGS and not joined:
        setattr(line, FLAGS[name], True)
        return
    if word in INFORMATION:
        line.information = INFORMATION[word]
        return
    if name not in VALUED or (joined and name == "-e"):
        raise UsageError(f"unknown option: {word}{_suggestion(name, OPTIONS)}")
    if not joined:
        if not rest:
            raise UsageError(f"{name} needs a value")
        value = rest.pop()
    _set(line, name, value)


def _suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?`, if a known word is similar."""
    near = nearest(word, known)
    return f"; did you mean `{near[0]}`?" if near else ""


def _refuse_misspelt(word: str) -> None:
    """Raise UsageError if the first word is no file but similar to a command."""
    if not any(os.path.exists(name) for name in (word, word + ".vlad")):
        if word == "help":
            raise UsageError(
                "no such command: help; `vlad --help` lists them, `vlad doc NAME` explains a name"
            )
        suggestion = "" if os.path.dirname(word) or "." in word else _suggestion(word, COMMANDS)
        if suggestion:
            raise UsageError(f"no such command, and no such file: {word}{suggestion}")


def _set(line: CommandLine, name: str, value: str) -> None:
    if name == "-I":
        line.path.append(value)
    elif name == "-e":
        line.expressions.append(value)
    elif name == "--name":
        line.name = value
    elif name == "--after":
        line.after = value
    elif name == "--with":
        if not value.strip():
            raise UsageError("--with needs an expression, such as (ones '(3 2))")
        line.examples.append(value)
    elif name == "--trace":
        line.traced.append(value)
    elif name == "--break":
        line.breakpoints.append(value)
    elif name == "-k":
        line.pattern = value
    elif name == "--junit":
        line.junit = value
    elif name == "-o":
        line.output = value
    elif name == "--threads":
        line.threads = int(_amount(name, value))
    elif name == "--workers":
        line.workers = value if "://" in value else int(_amount(name, value))
    elif name in ("--export", "--export-value"):
        line.exports[value] = name == "--export"
    elif name in CHOICES:
        if value not in CHOICES[name]:
            raise UsageError(f"{name} is one of {', '.join(CHOICES[name])}; not {value}")
        line.choices[name] = value
    else:
        line.limits[LIMITS[name]] = _amount(name, value)


def _amount(name: str, text: str) -> float:
    """A limit, or a number of workers: positive, and whole but for seconds and megabytes. Raises UsageError."""
    whole = name in ("--max-depth", "--fuel", "--threads", "--workers")
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        number = 0
    if not 0 < number <= LARGEST:  # also rejects nan
        raise UsageError(f"{name} needs a positive {'whole number' if whole else 'number'}; not {text}")
    return number


def _check(line: CommandLine) -> None:
    if line.information is not None:
        return
    if line.command and line.expressions:
        raise UsageError(f"-e does not go with `vlad {line.command}`")
    if line.interactive and (line.command not in ("", "run", "repl")):
        raise UsageError(f"-i does not go with `vlad {line.command}`")
    if (line.interactive or line.command == "repl") and (line.traced or line.find_nan):
        raise UsageError(
            "--trace and --find-nan go with programs; at the prompt, `,trace` and `,nan on` do that"
        )
    if line.no_init and not (line.interactive or line.command == "repl" or line.is_bare):
        raise UsageError("--no-init goes with the prompt")
    if line.command in WITHOUT_FILE:
        _check_words(line)
        return
    if line.command and not line.words:
        raise UsageError(f"`vlad {line.command}` needs a {'name' if line.command == 'new' else 'file'}")
    if line.command in ("expand", "show", "check", "build") and (line.traced or line.find_nan):
        raise UsageError(f"--trace and --find-nan go with programs that run, not with `vlad {line.command}`")
    if line.exports and not line.library:
        raise UsageError("--export and --export-value go with --lib")
    if line.library and not line.exports:
        raise UsageError("--lib needs the procedures to export: --export PROCEDURE")
    if line.command == "new" and len(line.words) > 1:
        raise UsageError(f"`vlad new` takes one name; too many: {' '.join(line.words[1:])}")
    if line.command in ("expand", "show", "check", "build") and len(line.words) > 1:
        raise UsageError(f"`vlad {line.command}` takes one file; too many: {' '.join(line.words[1:])}")


def _check_words(line: CommandLine) -> None:
    """Check the words of a command that needs none."""
    if line.command == "repl" and line.words:
        raise UsageError("`vlad repl` takes no file; `vlad -i FILE` runs one and stays")
    if line.command == "doctor" and line.words:
        raise UsageError(f"`vlad doctor` takes no file; not {' '.join(line.words)}")
    if line.command == "cache" and line.words not in ([], ["clear"]):
        raise UsageError(f"`vlad cache` takes `clear` or nothing; not {' '.join(line.words)}")
    if line.command == "test" and (line.traced or line.find_nan):
        raise UsageError("--trace and --find-nan go with programs that run, not with `vlad test`")
    if line.command == "doc" and line.words[1:]:
        raise UsageError(f"`vlad doc` takes one name; too many: {' '.join(line.words[1:])}")


def execute(line: CommandLine) -> int:
    """Execute a command line; returns its exit status."""
    if line.information is not None:
        sys.stdout.write(line.information)
        return SUCCESS
    if line.command == "cache":
        return _cache(clear=bool(line.words))
    if line.command == "doc":
        return _doc(*line.words)
    if line.command == "format":
        return _format(line)
    if line.command == "test":
        return _test(line)
    if line.command == "doctor":
        return _doctor(line)
    if line.command == "new":
        return _new(line.words[0])
    program = not line.expressions
    if program and not line.command and line.words and not line.path:
        _refuse_misspelt(line.words[0])
    if line.command == "repl" or line.interactive or (program and not line.words and _at_terminal()):
        return _prompt(line)
    session = _session(line)
    watching = _watchers(line)
    if watching and line.choices["--tier"] == "compile":
        session.tiers.give_notice(nothing_compiled(f"only tier 0 supports {' and '.join(watching)}"))
    if line.command == "debug":
        return _debug(session, line)
    if line.command == "expand":
        _print_all(session.expand(line.words[0]))
    elif line.command == "show":
        return _show(session, line)
    elif line.command == "check":
        return _check_file(session, line)
    elif line.command == "build":
        _build(session, line)
    else:
        commands = _watching(session, line, _report) if line.traced or line.find_nan else None
        with _noting_tail_calls(session) if commands is None else nullcontext():
            status = _run(session, line)
        for name in () if commands is None else commands.unseen():
            _report(f"--trace {name}: there was no call of it")
        return status
    return SUCCESS


def _watchers(line: CommandLine) -> list[str]:
    """What makes a program run on tier 0, on the command line."""
    watchers = {"--trace": line.traced, "--find-nan": line.find_nan, "the debugger": line.command == "debug"}
    return [watcher for watcher, is_used in watchers.items() if is_used]


def _session(line: CommandLine, write: Callable[[str], object] | None = None) -> Session:
    session = Session(
        line.path,
        arguments=line.words if line.expressions else [] if line.command == "test" else line.words[1:],
        limits=Limits(**line.limits),
        metered=line.metered,
        tier=_tier(line),
        optimize=int(line.choices["--optimize"]),
        fast_math=line.fast_math,
        device=line.choices["--device"],
        threads=line.threads,
        executor=line.workers,
        write=write,
    )
    session.tiers.notify = lambda notice: _report(str(notice))
    return session


def _at_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _prompt(line: CommandLine) -> int:
    from vlad.repl.loop import start  # 0.1 s, only for the prompt

    file = line.words[0] if line.words and not line.expressions else None
    start(lambda write: _session(line, write), file, line.expressions, init=not line.no_init)
    return SUCCESS


@contextmanager
def _noting_tail_calls(session: Session) -> Iterator[None]:
    """A context in which an error gets a note with the tail calls that led to it, if they are found quickly."""
    reported: tuple[VladError, Beginning, dict[int, str]] | None = None

    def failed(error: VladError, frames: Frames, beginning: Beginning | None) -> None:
        nonlocal reported
        if beginning is not None:
            reported = error, beginning, session.tiers.words_read()

    session.machine.failed = failed
    session.tiers.keep_effects()
    try:
        yield
    except VladError as error:
        if reported is not None and reported[0] is error:
            from vlad.debugging.commands import way_text  # not needed by programs
            from vlad.debugging.retracing import A_MOMENT, Failure, tail_calls_before

            with suppress(KeyboardInterrupt):
                before = tail_calls_before(session, Failure(*reported), A_MOMENT)
                if before and way_text(before):
                    error.add_note(way_text(before))
        raise


def _run(session: Session, line: CommandLine) -> int:
    """Run a program, or evaluate the expressions of -e."""
    for expression in line.expressions:
        session.run_text(expression)
    if line.expressions:
        return SUCCESS
    if not line.words or line.words[0] == "-":
        return _standard_input(session)
    session.run(line.words[0])
    return SUCCESS


def _print_all(texts: Iterable[str]) -> int:
    """Print texts as they are produced; returns their number."""
    count = 0
    for text in texts:
        sys.stdout.write(text + "\n")
        count += 1
    return count


def _tier(line: CommandLine) -> str | None:
    """--tier, or else $VLAD_TIER; None if neither is set."""
    named = line.choices["--tier"] or os.environ.get("VLAD_TIER") or None
    if named is not None and named not in CHOICES["--tier"]:
        raise UsageError(f"$VLAD_TIER is one of {', '.join(CHOICES['--tier'])}; not {named}")
    return named


def _show(session: Session, line: CommandLine) -> int:
    stage = line.choices["--stage"]
    if line.after is not None and stage not in OF_PASSES:
        raise UsageError(f"--after is for --stage {' or '.join(OF_PASSES)}")
    if line.examples and stage not in OF_OPERANDS:
        raise UsageError(f"--with is for the stages {', '.join(OF_OPERANDS)}")
    if line.raw and stage not in TRANSFORMED:
        raise UsageError(f"--raw is for the stages {', '.join(TRANSFORMED)}")
    arguments = "\n".join(line.examples)
    shown = _print_all(
        session.show(line.words[0], stage, line.name, line.after, arguments=arguments, raw=line.raw)
    )
    if line.name is not None and not shown:
        from vlad.session.examples import no_procedure  # only for this error

        raise no_procedure(line.name, line.words[0])
    return SUCCESS


def _check_file(session: Session, line: CommandLine) -> int:
    if line.name is not None and not line.examples:
        raise UsageError("--name of `vlad check` goes with --with")
    notices: list[VladError] = []
    session.tiers.notify = notices.append  # they are printed after the types, as errors are
    lines, errors = session.check(line.words[0], arguments="\n".join(line.examples), name=line.name)
    _print_all(lines)
    for found in (*errors, *notices):
        _report(str(found))
    return PROGRAM_ERROR if errors else SUCCESS


def _watching(session: Session, line: CommandLine, write: Callable[[str], object]) -> Commands:
    """The debugger, observing what the command line names."""
    from vlad.debugging.commands import Commands  # not needed by programs

    commands = Commands(session, _ask, write)
    commands.trace(" ".join(line.traced), later=True)
    commands.break_at(" ".join(line.breakpoints), later=True)
    if line.find_nan:
        commands.nan("on")
    return commands


def _debug(session: Session, line: CommandLine) -> int:
    """Run a program in the debugger; after an error the debugger opens at its place."""
    commands = _watching(session, line, print)
    try:
        with nullcontext() if line.breakpoints else commands.stepping(lasting=True):
            session.run(line.words[0])
    except VladError as error:
        if error.code == "abandoned":
            return PROGRAM_ERROR  # it was ended by `quit`, which needs no message
        if commands.debugger.error is None:
            raise
        commands.debug()
        return PROGRAM_ERROR
    for name in commands.unseen():
        print(f"there was no call of {name}")
    return SUCCESS


def _ask(prompt: str) -> str:
    """Read a line from the user; it is echoed unless it comes from a terminal."""
    sys.stdout.write(prompt)
    sys.stdout.flush()
    line = read_line()
    if not _at_terminal():
        sys.stdout.write(line or "\n")
    return line


def _build(session: Session, line: CommandLine) -> None:
    base = os.path.basename(line.words[0]).removesuffix(".vlad")
    output = line.output or (f"lib{base}.so" if line.library else base)
    session.build(line.words[0], output, exports=line.exports, library=line.library, native=line.native)


def _cache(clear: bool) -> int:
    from vlad.compile.native import cache

    if clear:
        print(f"removed: {cache.clear()}")
        return SUCCESS
    entries = cache.entries()
    print(f"folder: {cache.folder()}")
    print(f"entries: {len(entries)}")
    print(f"megabytes: {sum([entry.bytes for entry in entries]) / 1e6:.1f}")
    return SUCCESS


def _doc(name: str | None = None) -> int:
    from vlad.manual.help import documentation, listing  # not needed by programs

    print(listing() if name is None else documentation(name))
    return SUCCESS


def _standard_input(session: Session) -> int:
    """Run the program on standard input."""
    session.run_text(_input_text(), INPUT)
    return SUCCESS


def _input_text() -> str:
    """What is on standard input."""
    if sys.stdin is None:
        raise UsageError("no file, and no standard input")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise not_read(error) from None


def _format(line: CommandLine) -> int:
    """Lay out files; a wrong one is reported, and the others are laid out."""
    from vlad.tools.formatting import formatted, formatted_text, programs  # not needed by programs

    status = SUCCESS
    for path in programs(line.words):
        try:
            if path == "-":
                text = _input_text()
                laid_out = formatted_text(text, INPUT)
                is_changed = text != laid_out
                sys.stdout.write("" if line.check else laid_out)
            else:
                is_changed = formatted(path, line.check)
        except VladError as error:
            _report(str(error))
            status = PROGRAM_ERROR
            continue
        if is_changed and (line.check or path != "-"):
            print(INPUT if path == "-" else path)
        if is_changed and line.check:
            status = PROGRAM_ERROR
    return status


def _test(line: CommandLine) -> int:
    """Execute the tests of files, each in a session of its own."""
    from vlad.tools.formatting import programs, written_out  # not needed by programs
    from vlad.tools.testing import ENDING, junit, outcomes, summary

    found = []
    for path in programs(line.words or ["."], ENDING):
        for outcome in outcomes(path, lambda write: _session(line, write), line.pattern):
            found.append(outcome)
            if outcome.failure:
                print(outcome)
    print(summary(found) if found else f"no tests; in folders they are in files named NAME{ENDING}")
    if line.junit is not None:
        written_out(line.junit, junit(found))
    return PROGRAM_ERROR if not found or any(outcome.failure for outcome in found) else SUCCESS


def _new(name: str) -> int:
    from vlad.tools.new import new  # not needed by programs

    _print_all(new(name))
    return SUCCESS


def _doctor(line: CommandLine) -> int:
    from vlad.tools.doctor import as_json, findings, report  # not needed by programs

    found = list(findings())
    print(as_json(found) if line.json else report(found))
    return SUCCESS


def _report(message: str) -> None:
    """Print a message to the user, after the program's output."""
    with suppress(OSError):  # it is tried again at the end, which reports the failure
        sys.stdout.flush()
    write_message(message)


@contextmanager
def quiet_finalizers() -> Iterator[None]:
    """An exception raised by another thread may arrive in a finaliser, where Python drops and prints it.
    It is raised again, so nothing is printed.
    """
    usual = sys.unraisablehook

    def unraised(dropped: Any) -> None:
        if not isinstance(dropped.exc_value, AsyncException):
            usual(dropped)

    sys.unraisablehook = unraised
    try:
        yield
    finally:
        sys.unraisablehook = usual


def _guarded(words: list[str]) -> int:
    """Parse and execute; every outcome except an interrupt becomes an exit status."""
    try:
        return execute(parse(words))
    except UsageError as error:
        _report(f"vlad: {error}\nTry `vlad --help`.")
        return WRONG_USAGE
    except VladError as error:
        _report("\n".join([str(error), *getattr(error, "__notes__", ())]))
        if sys.stderr is not None and sys.stderr.isatty():  # an interactive user may want details
            _report(f"  `vlad doc {error.code}` explains it")
        return PROGRAM_ERROR
    except MemoryError:
        _report("Error: The program needs more memory than there is")
        return PROGRAM_ERROR
    except ModuleNotFoundError as missing:  # in a folder of packages that are not installed
        if missing.name is None or missing.name.startswith("vlad"):
            raise
        _report(
            f"vlad: the package {package_of(missing)} is not installed, which this needs; `pip install vlad-lang` brings it along"
        )
        return PROGRAM_ERROR
    except OSError:  # output failed; any other error of a file is one of the program
        raise
    except Exception as error:
        return _internal(error)


def _internal(error: Exception) -> int:
    _report(f"vlad: internal error, please report it: {type(error).__name__}: {error}")
    if os.environ.get("VLAD_DEBUG") == "1":
        import traceback  # 10 ms, only for an internal error

        write_message("".join(traceback.format_exception(error)).rstrip("\n"))
    else:
        write_message("Set VLAD_DEBUG=1 to see where.")
    return INTERNAL_ERROR


def _unwritten(error: OSError, status: int) -> int:
    """The exit status if output failed, unless `status` is worse."""
    discard(sys.stdout)
    if isinstance(error, BrokenPipeError):  # the reader of the output has closed it
        return status or BROKEN_PIPE
    write_message(f"vlad: cannot write the output: {error.strerror}")
    return status or PROGRAM_ERROR


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit status. `argv` are the words after `vlad`."""
    words = sys.argv[1:] if argv is None else argv
    same_everywhere()
    status = SUCCESS
    try:
        with quiet_finalizers():
            status = _guarded(words)
        sys.stdout.flush()
        return status
    except OSError as error:
        return _unwritten(error, status)
