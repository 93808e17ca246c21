"""The distributed project: the wheel, the source archive, an editable install, a bare checkout.

Each runs the same program from a folder of its own, in an empty environment: no other package is
installed, as the language itself needs Python alone. Nothing is fetched from the network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

import pytest

from vlad import __version__

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# One worker does all of this file, so that the wheel is built once.
pytestmark = pytest.mark.xdist_group("packaging")

PROGRAM = """\
(define (cube x) (* x x x))
(define (slope f x) (cdr ((cdr ((J f) (J x))) 1)))
(slope cube 2)
(map (lambda (x) (slope (lambda (y) (slope cube y)) x)) '(1 2 3))
(car (command-line-arguments))
"""
USE = "import vlad; print(vlad.Session().eval('(square 3)'))"
SETTING_UP = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAFELY = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.4
PRINTED = '12\n(6 12 18)\n"word"\n'


def run(*words: str | Path, folder: Path, **changes: str) -> str:
    """Run a command in a folder, without what our own environment would lend it; its output."""
    own = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        words,
        cwd=folder,
        env={**own, **changes},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=280,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(kind: str, project: Path, folder: Path, mode: str | None = None) -> Path:
    """Build a "wheel", an "editable" wheel or an "sdist" as pip does: by the back end's hooks, in the project's folder."""
    folder.mkdir(exist_ok=True)
    settings = {"editable_mode": mode} if mode else None
    hook = f"backend.build_{kind}({str(folder)!r}, {settings!r})"
    script = f"import setuptools.build_meta as backend; print(); print({hook})"
    return folder / run(sys.executable, "-c", script, folder=project).splitlines()[-1]


def empty_environment(folder: Path) -> Path:
    """A virtual environment with Python alone, not even pip; its folder of commands."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, folder=folder.parent)
    return folder / "bin"


def pip(binaries: Path, *words: str | Path) -> None:
    """Use our pip for another environment; for that we need neither the network nor a pip over there."""
    ours = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]
    run(*ours, "--python", binaries / "python", *words, folder=binaries)


def install(binaries: Path, wheel: Path) -> None:
    pip(binaries, "install", "--no-index", "--no-deps", wheel)


def elsewhere(folder: Path) -> Path:
    """A folder with a program in it, far from the project."""
    folder.mkdir()
    (folder / "cube.vlad").write_text(PROGRAM, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project's files, so that building leaves nothing in ours, and takes nothing stale from it."""
    copy = tmp_path_factory.mktemp("checkout") / "vlad-lang"
    stale = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "venv")
    shutil.copytree(ROOT, copy, ignore=stale)
    return copy


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> Path:
    return build("wheel", checkout, checkout.parent / "wheel")


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The commands of an environment in which the wheel is installed."""
    binaries = empty_environment(wheel.parent.parent / "installed")
    install(binaries, wheel)
    return binaries


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return HeaderParser().parsestr(archive.read(name).decode())


def in_wheel(path: Path) -> str:
    """Where a file of the project is in the wheel."""
    inside = path.relative_to(ROOT)
    return str(inside if inside.parts[0] == "vlad" else "vlad" / inside)


def test_the_wheel_holds_every_file_of_the_language_and_no_other(wheel: Path) -> None:
    files = [
        path for room in ("vlad", "repl", "stdlib") for path in (ROOT / room).rglob("*") if path.is_file()
    ]
    expected = {
        in_wheel(path) for path in files if path.suffix in (".py", ".vlad", ".typed", ".c", ".md", ".html")
    }
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert found == expected
    assert {"vlad/py.typed", "vlad/stdlib/prelude.vlad", "vlad/repl/__init__.py"} <= found
    assert wheel.stat().st_size < 1_800_000  # the sources, compressed to a third; nothing large beside them


def test_the_wheels_metadata(wheel: Path) -> None:
    facts = metadata(wheel)
    assert (facts["Name"], facts["Version"], facts["Requires-Python"]) == ("vlad-lang", __version__, ">=3.11")
    assert facts["License-Expression"] == "MIT"
    needed = [line for line in facts.get_all("Requires-Dist", []) if "extra ==" not in line]
    names = {line.partition(">")[0] for line in needed}
    assert names == {"numpy", "cffi", "prompt-toolkit", "pygments", "platformdirs"}
    assert set(facts.get_all("Provides-Extra", [])) == set(PROJECT["project"]["optional-dependencies"])


def test_the_installed_command(installed: Path, tmp_path: Path) -> None:
    folder = elsewhere(tmp_path / "elsewhere")
    assert run(installed / "vlad", "cube", "word", folder=folder) == PRINTED
    assert run(installed / "python", "-m", "vlad", "cube", "word", folder=folder) == PRINTED
    assert run(installed / "vlad", "--version", folder=folder) == f"vlad {__version__}\n"


def test_the_installed_package(installed: Path, tmp_path: Path) -> None:
    """The library is inside the package; the folders `stdlib` and `repl` do not become packages of their own."""
    script = """
import importlib.util as util, vlad, vlad.repl, vlad.stdlib
print(util.find_spec("stdlib"), util.find_spec("repl"), len(vlad.__path__))
print(vlad.Session().eval("(fold + 0 '(1 2 3))"))
"""
    assert run(installed / "python", "-c", script, folder=tmp_path) == "None None 1\n6.0\n"


def test_no_other_package_was_needed(installed: Path, tmp_path: Path) -> None:
    script = "import importlib.metadata as m; print(*sorted(d.name for d in m.distributions()))"
    assert run(installed / "python", "-c", script, folder=tmp_path) == "vlad-lang\n"
    assert "it needs the package cffi\n" in run(installed / "vlad", "doctor", folder=tmp_path)


def test_a_module_of_the_language_is_installed_by_pip(installed: Path, tmp_path: Path) -> None:
    """That of `vlad new`, as it is made."""
    run(installed / "vlad", "new", "two-fold", folder=tmp_path)
    wheel = build("wheel", tmp_path / "two-fold", tmp_path / "built")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    words = ["-e", '(import "two-fold")', "-e", "(twice 4)"]
    missing = subprocess.run([installed / "vlad", *words], cwd=folder, capture_output=True, text=True)
    assert "Cannot find: two-fold" in missing.stderr
    install(installed, wheel)
    try:
        assert run(installed / "vlad", *words, folder=folder) == "8\n"
    finally:
        pip(installed, "uninstall", "--yes", "two-fold")


def test_removing_it_leaves_nothing(wheel: Path, tmp_path: Path) -> None:
    binaries = empty_environment(tmp_path / "environment")
    install(binaries, wheel)
    pip(binaries, "uninstall", "--yes", "vlad-lang")
    assert list((tmp_path / "environment").rglob("*vlad*")) == []


@pytest.mark.parametrize("mode", ["lenient", "strict"])
def test_an_editable_install(checkout: Path, tmp_path: Path, mode: str) -> None:
    copy = tmp_path / "project"
    shutil.copytree(checkout, copy, ignore=shutil.ignore_patterns("*.egg-info", "build"))
    binaries = empty_environment(tmp_path / "environment")
    install(binaries, build("editable", copy, tmp_path / "built", mode))
    folder = elsewhere(tmp_path / "elsewhere")
    assert run(binaries / "vlad", "cube", "word", folder=folder) == PRINTED
    assert run(binaries / "python", "-c", "import vlad.repl, vlad.stdlib", folder=folder) == ""
    edited = copy / "vlad" / "__init__.py"
    edited.write_text(edited.read_text().replace(f'__version__ = "{__version__}"', '__version__ = "9.9"'))
    assert run(binaries / "vlad", "--version", folder=folder) == "vlad 9.9\n"


def test_an_editable_install_is_a_plain_path_entry(checkout: Path, tmp_path: Path) -> None:
    """It is found from everywhere, from the folder that holds the clone too, where `vlad` is also the name of a folder without
    an `__init__.py`; and by type checkers, which read path entries and no import hooks."""
    clone = tmp_path / "vlad"
    shutil.copytree(checkout, clone, ignore=shutil.ignore_patterns("*.egg-info", "build"))
    wheel = build("editable", clone, tmp_path / "built")
    with zipfile.ZipFile(wheel) as archive:
        (entry,) = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert (entry.endswith(".pth"), archive.read(entry).decode()) == (True, f"{clone}\n")
    binaries = empty_environment(clone / ".venv")
    install(binaries, wheel)
    (tmp_path / "script.py").write_text(USE, encoding="utf-8")
    (tmp_path / "cube.vlad").write_text(PROGRAM, encoding="utf-8")
    for folder in (tmp_path, clone, elsewhere(tmp_path / "elsewhere")):
        assert run(binaries / "python", "-c", USE, folder=folder) == "9.0\n"
        assert run(binaries / "python", tmp_path / "script.py", folder=folder) == "9.0\n"
        assert run(binaries / "python", "-m", "vlad", tmp_path / "cube", "word", folder=folder) == PRINTED
        assert run(binaries / "vlad", tmp_path / "cube", "word", folder=folder) == PRINTED


def test_every_folder_is_a_package_of_the_wheel() -> None:
    """The wheel itself takes seconds to build."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"][
        "packages"
    ]
    folders = {file.parent.relative_to(ROOT) for file in (ROOT / "vlad").rglob("__init__.py")}
    assert {".".join(folder.parts) for folder in folders} <= set(listed)


def test_how_to_cite_it() -> None:
    """CITATION.cff is of this version and licence, and refers to the papers of docs/papers.md."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^(\S+): (.+)$", text, re.MULTILINE))
    assert (fields["version"], fields["license"]) == (__version__, PROJECT["project"]["license"])
    papers = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## .*\(\d{4}\)\n\n\*(.+?)\*", papers, re.MULTILINE)
    assert len(titles) == 6
    assert re.findall(r'^ +(?:- )?title: "(.+)"$', text, re.MULTILINE) == titles


def test_the_first_command_installs_what_users_need() -> None:
    """README's first command leaves the packages for tests, many times as large, to the second."""
    first, second = SETTING_UP.findall((ROOT / "README.md").read_text(encoding="utf-8"))[0].splitlines()
    assert re.findall(r"pip install (.*?) &&", first) == ["-e ."]
    assert re.findall(r"pip install (.*?) &&", second) == ["-e '.[test]'"] and second.endswith("-m pytest")


def test_a_bare_checkout(checkout: Path, tmp_path: Path) -> None:
    binaries = empty_environment(tmp_path / "environment")
    folder = elsewhere(tmp_path / "elsewhere")
    program = str(folder / "cube.vlad")
    assert run(binaries / "python", "-m", "vlad", program, "word", folder=checkout) == PRINTED
    assert (
        run(binaries / "python", "-m", "vlad", "cube", "word", folder=folder, PYTHONPATH=str(checkout))
        == PRINTED
    )
    assert run(binaries / "python", "-c", "import vlad.repl, vlad.stdlib", folder=checkout) == ""


def contents(wheel: Path) -> dict[str, int]:
    """The names and check sums of the files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {file.filename: file.CRC for file in archive.infolist()}


def test_the_source_archive_builds_and_can_be_tested(wheel: Path, checkout: Path, tmp_path: Path) -> None:
    """From it the same wheel is built, to the last bit."""
    archive = build("sdist", checkout, tmp_path / "built")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, **SAFELY)
    unpacked = tmp_path / archive.name.removesuffix(".tar.gz")
    wanted = [
        path.relative_to(checkout)
        for room in ("vlad", "repl", "stdlib", "tests", "docs", "examples")
        for path in (checkout / room).rglob("*")
        if path.is_file() and path.suffix in (".py", ".vlad", ".md", ".core", ".txt", ".c")
    ]
    missing = [str(path) for path in wanted if not (unpacked / path).is_file()]
    assert missing == []
    assert contents(build("wheel", unpacked, tmp_path / "built")) == contents(wheel)
