"""The words of the command line: what `vlad` can be asked to do, with which options.

In: the words after `vlad`.  Out: a `CommandLine`, or UsageError. command.py executes it; nothing here runs a program. The
words are parsed by hand: argparse would cost 10 ms per start, a tenth of a short program's run (measured).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from vlad import __version__
from vlad.messages.spelling import nearest

HELP = """\
vlad: a language in which differentiation is an operator like any other

  vlad [OPTION ...] FILE [ARG ...]      run a program; `.vlad` may be left out of FILE
  vlad [OPTION ...] run FILE [ARG ...]  the same
  vlad [OPTION ...] -e EXPR [ARG ...]   evaluate EXPR and print its value; -e may be repeated
  vlad [OPTION ...] < FILE              run the program on standard input
  vlad expand FILE                      print each top-level form as core, the intermediate language
  vlad show FILE [--stage STAGE] [--after PASS] [--raw] [--name PROCEDURE] [--with ARGUMENTS]
                                        print procedures: as core, as derivatives (reverse,
                                        forward; --raw: before simplification), as they run
                                        inside a reset (control) or checkpointed (stepping),
                                        as types, as first-order code or loops over tensors
                                        (after a pass of the compiler), or as c; from types
                                        on for reals, or for ARGUMENTS like (ones '(3 2))
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
  vlad profile [--speedscope FILE] [--folded FILE] FILE [ARG ...]
                                        run a program, and show the procedures and lines in which
                                        it spends its time; for speedscope and flame graphs, too
  vlad explore FILE [PROCEDURE] [--with ARGUMENTS] [-o PAGE] [--open]
                                        write a page that shows a procedure, its derivatives, types
                                        and C side by side; for ARGUMENTS, also each operation of
                                        its gradient; --open: show it in the browser
  vlad new NAME                         make a folder with a module, its test, and a pyproject.toml
                                        by which pip installs it and (import "NAME") finds it
  vlad kernel install|uninstall [--prefix FOLDER]
                                        notebooks in vlad: register its kernel with Jupyter
  vlad lsp                              the language server, which editors start
  vlad doctor [--json]                  what was found on this machine: compiler, libraries, GPU,
                                        packages, and what each is for
  vlad debug [--break PLACE ...] FILE [ARG ...]
                                        run a program step by step, or up to a place in it
  vlad                                  at a terminal: the prompt; so does `vlad repl`, anywhere

  -i                    start the prompt after FILE or -e, with their definitions
  --quiet               do not show the progress of training at a terminal, nor what was built
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
  --threads N           threads of compiled loops over rows and long tensors; by default one
                        for each processor
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

COMMANDS = (
    "run", "debug", "expand", "show", "check", "build", "cache", "doc", "repl", "format", "test", "doctor", "new", "profile",
    "explore", "kernel", "lsp",
)  # fmt: skip
WITHOUT_FILE = ("repl", "cache", "doctor", "doc", "test", "kernel", "lsp")
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
    "--quiet": "quiet",
    "--raw": "raw",
    "--check": "check",
    "--json": "json",
    "--open": "open",
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
    "profile": ("--speedscope", "--folded"),
    "kernel": ("--prefix",),
    "explore": ("--with", "-o", "--open"),
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
    "--speedscope",
    "--folded",
    "--prefix",
)
OPTIONS = (*INFORMATION, *FLAGS, *VALUED)
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
        self.no_init = self.quiet = self.raw = self.check = self.json = self.open = False
        self.traced: list[str] = []
        self.breakpoints: list[str] = []
        self.output: str | None = None
        self.junit: str | None = None
        self.speedscope: str | None = None
        self.folded: str | None = None
        self.prefix: str | None = None  # of the folder in which Jupyter is to find the kernel
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
            if line.command in ("", "run", "debug", "profile"):  # the rest belongs to the program
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
        *others, last = [f"`vlad {owner}`" for owner in owners]
        raise UsageError(f"{name} belongs to {', '.join(others)}{' and ' if others else ''}{last}")
    if name in FLAGS and not joined:
        setattr(line, FLAGS[name], True)
        return
    if word in INFORMATION:
        line.information = INFORMATION[word]
        return
    if name not in VALUED or (joined and name == "-e"):
        meant = _suggestion(name, OPTIONS) if len(name) > 2 else ""  # one letter says too little
        raise UsageError(f"unknown option: {word}{meant}")
    if not joined:
        if not rest:
            raise UsageError(f"{name} needs a value")
        value = rest.pop()
    _set(line, name, value)


def _suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?`, if a known word is similar."""
    near = nearest(word, known)
    return f"; did you mean `{near[0]}`?" if near else ""


def refuse_misspelt(word: str) -> None:
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
    elif name in ("--junit", "--speedscope", "--folded", "--prefix"):
        setattr(line, name[2:], value)
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
    if line.command in ("expand", "show", "check", "build", "profile", "explore") and (
        line.traced or line.find_nan
    ):
        raise UsageError(f"--trace and --find-nan go with programs that run, not with `vlad {line.command}`")
    if line.exports and not line.library:
        raise UsageError("--export and --export-value go with --lib")
    if line.library and not line.exports:
        raise UsageError("--lib needs the procedures to export: --export PROCEDURE")
    if line.command == "new" and len(line.words) > 1:
        raise UsageError(f"`vlad new` takes one name; too many: {' '.join(line.words[1:])}")
    if line.command == "explore" and len(line.words) > 2:
        raise UsageError(f"`vlad explore` takes a file and a procedure; too many: {' '.join(line.words[2:])}")
    if line.command in ("expand", "show", "check", "build") and len(line.words) > 1:
        raise UsageError(f"`vlad {line.command}` takes one file; too many: {' '.join(line.words[1:])}")


def _check_words(line: CommandLine) -> None:
    """Check the words of a command that needs none."""
    if line.command == "repl" and line.words:
        raise UsageError("`vlad repl` takes no file; `vlad -i FILE` runs one and stays")
    if line.command == "kernel" and line.words not in (["install"], ["uninstall"]):
        given = f"; not {' '.join(line.words)}" if line.words else ""
        raise UsageError(f"`vlad kernel` takes `install` or `uninstall`{given}")
    if line.command in ("doctor", "lsp") and line.words:
        raise UsageError(f"`vlad {line.command}` takes no file; not {' '.join(line.words)}")
    if line.command == "cache" and line.words not in ([], ["clear"]):
        raise UsageError(f"`vlad cache` takes `clear` or nothing; not {' '.join(line.words)}")
    if line.command == "test" and (line.traced or line.find_nan):
        raise UsageError("--trace and --find-nan go with programs that run, not with `vlad test`")
    if line.command == "doc" and line.words[1:]:
        raise UsageError(f"`vlad doc` takes one name; too many: {' '.join(line.words[1:])}")
