"""The `vlad` command.

In: a command line, as command_line.py parses it.  Out: the output of a program, and an exit status: 0, 1 for an error in the
program, 2 for wrong usage, 130 for an interrupt. A `Session` does the work; this module handles what surrounds a program: its
output, its end, and messages.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from vlad.command_line import CHOICES, CommandLine, UsageError, parse, refuse_misspelt
from vlad.compile.calling.notifier import nothing_compiled
from vlad.control.safe_import import package_of
from vlad.control.standard_streams import discard, read_line, same_everywhere, write_message
from vlad.data.errors import Exited, VladError
from vlad.evaluate.errors.replay import Beginning, Frames
from vlad.evaluate.limits import AsyncException, Limits
from vlad.session.files import not_read
from vlad.session.session import Session
from vlad.session.showing import OF_OPERANDS, OF_PASSES, TRANSFORMED

if TYPE_CHECKING:
    from vlad.debugging.commands import Commands
    from vlad.debugging.sampling import Sample
    from vlad.tools.progress import Line as ProgressLine

SUCCESS, PROGRAM_ERROR, WRONG_USAGE, INTERNAL_ERROR, BROKEN_PIPE = 0, 1, 2, 70, 141

INPUT = "<standard input>"


def execute(line: CommandLine) -> int:
    """Execute a command line; returns its exit status."""
    if line.information is not None:
        sys.stdout.write(line.information)
        return SUCCESS
    if line.command in WITHOUT_SESSION:
        return WITHOUT_SESSION[line.command](line)
    program = not line.expressions
    if program and not line.command and line.words and not line.path:
        refuse_misspelt(line.words[0])
    if line.command == "repl" or line.interactive or (program and not line.words and _at_terminal()):
        return _prompt(line)
    shown = _line_of_progress(line)
    session = _session(line, None if shown is None else shown.write)
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
    elif line.command == "explore":
        _explore(session, line)
    elif line.command == "profile":
        _profile(session, line)
    else:
        commands = _watching(session, line, _report) if line.traced or line.find_nan else None
        with _noting_tail_calls(session) if commands is None else nullcontext(), _shown(session, shown):
            status = _run(session, line)
        for name in () if commands is None else commands.unseen():
            _report(f"--trace {name}: there was no call of it")
        return status
    return SUCCESS


def _line_of_progress(line: CommandLine) -> ProgressLine | None:
    """Where a program shows its progress: at a terminal, on a line between what it writes."""
    runs = line.command in ("", "run") and not line.quiet
    if not (runs and sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")):
        return None
    from vlad.tools.progress import Line

    return Line(sys.stdout)


@contextmanager
def _shown(session: Session, shown: ProgressLine | None) -> Iterator[None]:
    """A context in which a program's progress is shown on a line, if there is one."""
    if shown is None:
        yield
        return
    from vlad.tools.progress import Progress

    def notify(notice: object) -> None:
        shown.wipe()
        _report(str(notice))

    session.tiers.notify = session.library.remark = session.machine.remark = notify
    session.watch(Progress(shown.show))
    try:
        yield
    finally:
        shown.wipe()


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
    session.tiers.notify = session.library.remark = session.machine.remark = lambda notice: _report(
        str(notice)
    )
    return session


def _at_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _prompt(line: CommandLine) -> int:
    from vlad.repl.loop import start  # 0.1 s, only for the prompt

    file = line.words[0] if line.words and not line.expressions else None
    status: int = start(
        lambda write: _session(line, write), file, line.expressions, init=not line.no_init, quiet=line.quiet
    )
    return status


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
        if reported is not None and reported[0] is error and not isinstance(error, Exited):
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
    session.tiers.notify = session.library.remark = (
        notices.append
    )  # they are printed after the types, as errors are
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
    except Exited:
        raise
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
    written = session.build(
        line.words[0], output, exports=line.exports, library=line.library, native=line.native
    )
    if not line.quiet:
        print(f"written: {' '.join(written)}")


def _cache(line: CommandLine) -> int:
    from vlad.compile.native import cache

    if line.words:
        print(f"removed: {cache.clear()}")
        return SUCCESS
    entries = cache.entries()
    print(f"folder: {cache.folder()}")
    print(f"entries: {len(entries)}")
    print(f"megabytes: {sum([entry.bytes for entry in entries]) / 1e6:.1f}")
    return SUCCESS


def _doc(line: CommandLine) -> int:
    from vlad.manual.help import documentation, listing  # not needed by programs

    print(documentation(*line.words) if line.words else listing())
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
    from vlad.tools.formatting import written_out  # not needed by programs
    from vlad.tools.testing import ENDING, files_with_tests, junit, outcomes, summary

    found = []
    for path in files_with_tests(line.words or ["."]):
        for outcome in outcomes(path, lambda write: _session(line, write), line.pattern):
            found.append(outcome)
            if outcome.failure:
                print(outcome)
    were_executed = any(outcome.failure is not None for outcome in found)
    if not found:
        print(f"no tests; in folders they are in files named NAME{ENDING}, and examples in modules")
    elif were_executed:
        print(summary(found))
    else:
        print(f"{summary(found)}; no name contains {line.pattern}")
    if line.junit is not None:
        written_out(line.junit, junit(found))
    return SUCCESS if were_executed and not any(outcome.failure for outcome in found) else PROGRAM_ERROR


def _profile(session: Session, line: CommandLine) -> None:
    """Run a program, and print where its time went, also if an error ended it."""
    from vlad.debugging.profile import folded, profile, speedscope, table  # not needed by programs
    from vlad.debugging.sampling import sampled
    from vlad.tools.formatting import written_out

    for path in (line.speedscope, line.folded):
        if path is not None:
            written_out(path, "")  # what cannot be written is an error now, not after the program
    samples: list[Sample] = []
    is_short = True
    try:
        with sampled(session) as samples:
            session.run(line.words[0])
        is_short = False
    finally:
        found = profile(samples, session.machine)
        # not of a file that was not found, or could not be read
        if not is_short or found.kinds.keys() - {"other"}:
            _report(table(found, is_short))
        if line.speedscope is not None:
            written_out(line.speedscope, speedscope(found, line.words[0]))
        if line.folded is not None:
            written_out(line.folded, folded(found))


def _explore(session: Session, line: CommandLine) -> None:
    """Write the page on a procedure."""
    from vlad.repl.explorer import explore  # not needed by programs

    name = line.words[1] if line.words[1:] else None
    written = explore(session, line.words[0], name, "\n".join(line.examples), line.output)
    print(written)
    if line.open:
        import webbrowser
        from pathlib import Path

        webbrowser.open(Path(written).resolve().as_uri())


def _lsp(line: CommandLine) -> int:
    try:
        from vlad.repl.language_server import main  # not needed by programs
    except ModuleNotFoundError as missing:
        raise VladError(
            "no-program",
            f"The language server needs the package {missing.name}, which is not installed",
            hint="`pip install pygls`",
        ) from None
    main()
    return SUCCESS


def _new(line: CommandLine) -> int:
    from vlad.tools.new import new  # not needed by programs

    _print_all(new(line.words[0]))
    return SUCCESS


def _kernel(line: CommandLine) -> int:
    from vlad.repl.kernel_files import install, uninstall  # not needed by programs

    if line.words == ["install"]:
        print(f"installed: {install(line.prefix)}")
    else:
        print(f"removed: {uninstall(line.prefix)}")
    return SUCCESS


def _doctor(line: CommandLine) -> int:
    from vlad.tools.doctor import as_json, findings, report  # not needed by programs

    found = list(findings())
    print(as_json(found) if line.json else report(found))
    return SUCCESS


WITHOUT_SESSION = {
    "cache": _cache,
    "doc": _doc,
    "doctor": _doctor,
    "format": _format,
    "kernel": _kernel,
    "lsp": _lsp,
    "new": _new,
    "test": _test,
}  # or with sessions of their own


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
    except Exited as exited:
        return exited.status
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
            f"vlad: the package {package_of(missing)} is not installed, which this needs: `pip install {package_of(missing)}`"
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
