"""Documentation beside the code: every name has a text and examples, which are run; the generated pages are up to date."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import vlad
from vlad.__main__ import main
from vlad.debugging.instrumented import Instrument
from vlad.expand.forms import KEYWORDS
from vlad.manual.help import ALIASES, Entry, documentation, entries, entry_of, kinds, listing, public, themes
from vlad.manual.public import members, public_names
from vlad.primitives.table import TABLE

ROOT = Path(__file__).resolve().parent.parent


def _pages() -> Any:
    """The module docs/make_reference.py, which is no package's."""
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "docs" / "make_reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_reference"] = module
    spec.loader.exec_module(module)
    return module


pages = _pages()


def test_every_public_name_is_documented() -> None:
    known = vlad.Session().known_names() | set(KEYWORDS)
    assert {entry.name for entry in public()} | set(ALIASES) == known
    assert set(TABLE) <= set(entries())


@pytest.mark.parametrize("entry", public(), ids=lambda entry: entry.name)
def test_an_entry_is_complete(entry: Entry) -> None:
    assert entry.examples, "no example"
    assert entry.text and entry.text[0], "not explained"
    assert entry.text[-1].rstrip()[-1] in ".?:…)", "the explanation ends in the middle of a sentence"
    head = entry.signature.lstrip("(").split(" ")[0].rstrip(")")
    assert head == entry.name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the files that examples use."""
    (tmp_path / "numbers.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "shapes.vlad").write_text("(define (area side) (* side side))\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("theme", themes())
def test_the_examples_of_a_theme(theme: str, folder: Path) -> None:
    """Examples do not depend on each other, so all of a theme share a session; only those of keywords define anything."""
    output: list[str] = []
    session: vlad.Session | None = None
    for entry in [entry for entry in public() if entry.theme == theme]:
        if session is None or entry.kind == "keyword":
            session = vlad.Session(
                [str(folder)], write=output.append, read=lambda: "3\n", arguments=("a", "b")
            )
        for example in entry.examples:
            output.clear()
            try:
                session.run_text(example.call)
            except vlad.VladError as error:
                output.append(f"Error: {error.message}")
            assert tuple("".join(output).splitlines()) == example.shown, f"{entry.name}: {example.call}"


@pytest.mark.parametrize("name", pages.PAGES)
def test_a_page_is_up_to_date(name: str) -> None:
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert text == pages.page(name), "run: python docs/make_reference.py"


def test_the_documentation_of_a_primitive() -> None:
    text = documentation("atan")
    assert "(atan y x)" in text and "(atan 0 1)  ⇒ 0" in text
    assert "by y  (let ((v (binary-scale x y))) (* (* t v) (inversion (* v x) (* v y))))" in text
    assert "vlad/primitives/numbers.py" in text
    assert "zero: the result does not vary" in documentation("null?")
    assert "where s is the sensitivity of the result" in documentation("cons")


def test_the_documentation_of_the_library_and_of_keywords() -> None:
    assert "stdlib/prelude.vlad:" in documentation("fold") and "(define (fold f start l)" in documentation(
        "fold"
    )
    assert "(if TEST THEN ELSE)" in documentation("if")
    assert "kind of error" in documentation("unbound-variable")
    assert documentation("tier").endswith(
        "\n\n  one of the two ways in which programs run: tier 0 is the evaluator, tier 1 the compiler"
    )
    assert documentation("cell").endswith(" `ref` makes one, `set-ref!` changes its content")
    entry = entry_of("J")
    assert entry is not None and entry.name == "J" and entry.signature == "(J x)"


def test_items_of_a_list_are_wrapped_each() -> None:
    """In the text of `define-record-type`, whose items begin lines, and have further, indented ones."""
    lines = documentation("define-record-type").splitlines()
    items = [line for line in lines if line.startswith("  - ")]
    assert [re.findall("#:[a-z]+", item)[0] for item in items] == ["#:tangent", "#:zero", "#:plus"]
    text = lines[: lines.index("Examples")]
    assert max(map(len, text[1:])) <= 102


def test_a_hidden_row_is_documented_but_not_listed() -> None:
    assert "1 / cos² x." in documentation("sec-squared")
    assert documentation("sec-squared").startswith("Programs cannot use this name")
    assert "write `(guard" in documentation("catch").split("\n\n")[0]
    assert "Programs cannot" not in documentation("guard")
    assert " sec-squared" not in listing()
    assert all(f" {name}" in listing() for name in ("sqrt", "if", "fold", "J", "out-of-fuel", "tier"))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("squrt", "sqrt"), ("lamdba", "lambda"), ("unbound-varable", "unbound-variable"), ("teir", "tier")],
)
def test_the_error_of_an_unknown_name_has_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(vlad.VladError) as caught:
        documentation(wrong)
    assert caught.value.hint is not None and f"`{right}`" in caught.value.hint


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doc", "cons"]) == 0
    assert capsys.readouterr().out == documentation("cons") + "\n"
    assert main(["doc"]) == 0
    assert capsys.readouterr().out == listing() + "\n"
    assert main(["doc", "squrt"]) == 1
    assert "did you mean `sqrt`?" in capsys.readouterr().err
    assert main(["doc", "car", "cdr"]) == 2


def test_the_documentation_of_a_kind_of_error() -> None:
    text = documentation("out-of-fuel")
    assert text.startswith("out-of-fuel    kind of error: Limits")
    assert "`fuel` sets the limit" in text and "`report` calls its argument" in text and "```" not in text


def test_an_interactive_error_shows_its_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["-e", "(car 5)"]) == 1
    assert "vlad doc" not in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["-e", "(car 5)"]) == 1
    assert capsys.readouterr().err.endswith("\n  `vlad doc invalid-argument` explains it\n")


def test_the_kinds_have_texts() -> None:
    for kind in kinds().values():
        assert kind.lines[0] and kind.group


PYTHON = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
RUN = "".join(
    re.findall(r"^```python\n(.*?)^```$", PYTHON, re.MULTILINE | re.DOTALL)
)  # by tests/test_documentation.py


@pytest.mark.parametrize("name", vlad.__all__)
def test_a_public_name_of_python_is_documented(name: str) -> None:
    value = getattr(vlad, name)
    assert isinstance(value, str) or inspect.getdoc(value)
    assert f"vlad.{name}" in PYTHON
    assert re.search(rf"\bvlad\.{name}\b", RUN)


MEMBERS = [name for name in dir(vlad.Session) if not name.startswith("_")]


@pytest.mark.parametrize("name", MEMBERS)
def test_a_public_member_of_a_session_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(vlad.Session, name))
    assert re.search(rf"[sS]ession(\(\))?\.{name}\b", PYTHON)
    assert re.search(rf"\.{name}\b", RUN)


def test_names_of_python_are_documented() -> None:
    text = documentation("vlad.grad")
    assert text.startswith(
        "vlad.grad(f, argnums=None, *, has_aux=False)    Python: a function\n\n  The gradient of a procedure"
    )
    assert documentation("vlad.compile").startswith(
        "vlad.compile(f, *examples, optimize=None, fast_math=None)    Python"
    )
    text = documentation("vlad.Session")
    assert text.startswith("vlad.Session(path=(), *, arguments=()") and "    Python: a class\n" in text
    assert "\n  vlad.Session.close " in text and "_lock" not in text
    assert "Evaluate every form of a text" in documentation("vlad.Session.eval")
    assert "vlad.jacobian " in documentation("vlad") and "vlad.grad" in listing().split()
    assert documentation("vlad.VladError").splitlines()[0].endswith("    Python: an exception")
    for name in (*public_names(), *members("vlad.Session")):
        assert len(documentation(name).splitlines()) > 2


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("vlad.gard", "vlad.grad"), ("vlad.Session.evl", "vlad.Session.eval"), ("vlad.Sesion", "vlad.Session")],
)
def test_the_error_of_an_unknown_name_of_python_has_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(vlad.VladError) as caught:
        documentation(wrong)
    assert caught.value.hint is not None and f"`{right}`" in caught.value.hint


OTHERS = [name for each in ("Limits", "Opaque", "Procedure") for name in members(f"vlad.{each}")]


@pytest.mark.parametrize("name", OTHERS)
def test_a_public_member_of_a_smaller_class_is_documented(name: str) -> None:
    assert len(documentation(name).splitlines()) > 2
    used = name.rpartition(".")[2]
    assert re.search(rf"\.{used}\b|Limits\([^)]*\b{used}=", RUN)


def test_what_other_libraries_have_has_a_way() -> None:
    for way, names in vlad._WAYS.items():
        for name in names.split():
            with pytest.raises(AttributeError, match=re.escape(f"no attribute '{name}'; {way}")):
                getattr(vlad, name)


@pytest.mark.parametrize("name", vlad._ELSEWHERE)
def test_a_name_from_elsewhere_is_documented(name: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; there is `vlad.") as caught:
        getattr(vlad, name)
    meant = vlad._ELSEWHERE[name]
    assert meant in (f"vlad.{public}" for public in vlad.__all__) or hasattr(
        vlad.Session, meant.rpartition(".")[2]
    )
    assert (caught.value.name, caught.value.obj) == (
        name,
        vlad,
    )  # from which Python finds similar spellings


def test_internal_members_are_not_documented() -> None:
    assert "quicks" not in documentation("vlad.Procedure") and "are_watched" not in documentation(
        "vlad.Limits"
    )
    assert set(members("vlad.Debugger")) == {f"vlad.Debugger.{name}" for name in WATCHING}


# What of a debugger is for its users: the rest is what instrumented code calls.
WATCHING = sorted({name for name in vars(vlad.Debugger) if not name.startswith("_")} - set(dir(Instrument)))


@pytest.mark.parametrize("name", WATCHING)
def test_a_public_member_of_a_debugger_is_documented(name: str) -> None:
    page = (ROOT / "docs" / "debugging.md").read_text(encoding="utf-8")
    run = "".join(re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    assert inspect.getdoc(getattr(vlad.Debugger, name))
    assert f"debugger.{name}(" in run
