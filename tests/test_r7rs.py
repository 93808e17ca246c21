"""The page on R7RS: up to date, complete, and true: what is there is used by programs, what is out has its hint."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

import vlad
from vlad.data.source import Source
from vlad.expand.forms import KEYWORDS
from vlad.messages.other_languages import other_language_hint
from vlad.reader.parser import Form, Name, Syntax, read

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tests" / "language"


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    """The module docs/make_r7rs.py, which is no package's."""
    spec = importlib.util.spec_from_file_location("make_r7rs", ROOT / "docs" / "make_r7rs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_r7rs"] = module
    spec.loader.exec_module(module)
    return module


def names(pages: ModuleType, chapter: str = "") -> list[str]:
    sections = {**pages.names_of(pages.FORMS), **pages.names_of(pages.PROCEDURES)}
    return [name for section, several in sections.items() if section.startswith(chapter) for name in several]


def test_the_page_is_up_to_date(pages: ModuleType) -> None:
    assert pages.PAGE.read_text(encoding="utf-8") == pages.page(), "run: python docs/make_r7rs.py"


def test_each_name_of_the_report_is_accounted_for(pages: ModuleType) -> None:
    """The names are those that R7RS lists, each once; it is there, or a hint names the way here. What differs is there."""
    text = (ROOT / "tests" / "words_of_others.txt").read_text(encoding="utf-8")
    listed = set(text.split("# R7RS-small\n")[1].split("\n\n")[0].split())
    own, known = names(pages), pages.known()
    assert len(own) == len(set(own)) > 330
    assert listed - set(own) == {"exact->inexact", "inexact->exact"}  # of R5RS
    assert [name for name in own if name not in known and not other_language_hint(name)] == []
    assert [name for name in pages.differences() if name not in known] == []


def test_what_is_out_has_the_hint_that_the_page_states(pages: ModuleType) -> None:
    session = vlad.Session()
    known = pages.known()
    for name in names(pages):
        if name not in known:
            with pytest.raises(vlad.VladError) as caught:
                session.eval(f"({name} 1)")
            assert caught.value.hint == other_language_hint(name), name


def test_programs_use_each_procedure_of_chapter_6(pages: ModuleType) -> None:
    used: set[str] = set()
    for path in PROGRAMS.rglob("*.vlad"):
        work: list[Syntax] = list(read(Source(str(path), path.read_text(encoding="utf-8"))))
        while work:
            item = work.pop()
            if isinstance(item, Form):
                work += item.items if item.tail is None else (*item.items, item.tail)
            elif isinstance(item, Name):
                used.add(item.symbol.name)
    known = vlad.Session().known_names() | set(KEYWORDS)
    assert [name for name in names(pages, "6.") if name in known and name not in used] == []
