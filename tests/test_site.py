"""The site as it is built: no dead link, no heading by mistake, programs in colours, and a search that finds each name."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from vlad.manual.help import LIBRARY, ROOMS, public

ROOT = Path(__file__).resolve().parent.parent


class Page(HTMLParser):
    """The links of a page, its anchors, its headings, and the classes of the words in its programs."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.headings: list[tuple[str, str]] = []
        self.classes: set[str] = set()
        self._heading: list[str] | None = None
        self._is_permalink = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.links += [found[name] for name in ("href", "src") if name in found]
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        self._is_permalink = found.get("class") == "headerlink"
        if re.fullmatch("h[1-6]", tag):
            self._heading = []
        if tag == "span":
            self.classes |= set(found.get("class", "").split())

    def handle_data(self, data: str) -> None:
        if self._heading is not None and not self._is_permalink:
            self._heading.append(data)

    def handle_endtag(self, tag: str) -> None:
        if re.fullmatch("h[1-6]", tag) and self._heading is not None:
            self.headings.append((tag, "".join(self._heading)))
            self._heading = None
        self._is_permalink = False

    def titles(self, tag: str) -> list[str]:
        return [text for found, text in self.headings if found == tag]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    return {path.name: Page(path.read_text(encoding="utf-8")) for path in site.glob("*.html")}


@pytest.mark.xdist_group("site")
def test_no_link_is_dead(site: Path, pages: dict[str, Page]) -> None:
    """Within the site; an anchor is in the page that it is looked for in."""
    dead = []
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or name == "404.html":
                continue
            target = (site / unquote(parts.path)).resolve() if parts.path else site / name
            is_there = target.is_relative_to(site.resolve()) and target.exists()
            if not is_there or (parts.fragment and unquote(parts.fragment) not in pages[target.name].anchors):
                dead.append(f"{name}: {link}")
    assert dead == []
    assert sum(len(page.links) for page in pages.values()) > 2000


@pytest.mark.xdist_group("site")
def test_what_is_explored_stands_below_its_program(site: Path) -> None:
    text = (site / "explored.html").read_text(encoding="utf-8")
    frames = re.findall(r'<iframe class="explored" src="(explored/[^"]+)" title="([^"]+)"', text)
    assert [name for name, _ in frames] == [f"explored/{one}.html" for one in ("curve", "power", "fourfold")]
    for name, _ in frames:
        own = (site / name).read_text(encoding="utf-8")
        assert '<script id="data" type="application/json">' in own and str(site) not in own


@pytest.mark.xdist_group("site")
def test_each_page_has_one_title(pages: dict[str, Page]) -> None:
    of_program = {name: page for name, page in pages.items() if name not in ("404.html", "search.html")}
    assert {name: page.titles("h1") for name, page in of_program.items() if len(page.titles("h1")) != 1} == {}
    assert {tag for page in of_program.values() for tag, _ in page.headings} == {"h1", "h2", "h3"}


@pytest.mark.xdist_group("site")
def test_the_headings_of_the_reference_are_meant(pages: dict[str, Page]) -> None:
    rooms = list(dict.fromkeys(ROOMS.values()))
    for name, themes in [
        ("primitives.html", rooms),
        ("library.html", [f"Library: {file}" for file in LIBRARY]),
    ]:
        signatures = [entry.signature for entry in public() if entry.theme in themes]
        assert Counter(pages[name].titles("h3")) == Counter(signatures)
        assert pages[name].titles("h2") == [theme.removeprefix("Library: ") for theme in themes]


@pytest.mark.xdist_group("site")
def test_programs_have_colours(site: Path, pages: dict[str, Page]) -> None:
    """By the project's own lexer, the examples of the reference, too; the classes of its words have colours."""
    styles = (site / "site.css").read_text(encoding="utf-8")
    for name in ("tutorial.html", "library.html", "keywords.html"):
        assert {"nb", "k", "m"} <= pages[name].classes, name
        assert "site.css" in pages[name].links
    for kind in ("k", "nb", "nf", "m", "s2", "c", "o", "kc"):
        assert re.search(rf"\.codehilite \.{kind} \{{[^}}]*color", styles), kind
    assert "overflow-x: auto" in styles


@pytest.mark.xdist_group("site")
def test_the_search_finds_each_name(site: Path) -> None:
    """Each has a section of its own, which is found by the name as it is written: common words of English are not left out."""
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    titles = {html.unescape(section["title"]) for section in index["docs"]}
    assert {entry.signature for entry in public()} <= titles
    separator = re.compile(index["config"]["separator"])
    words = {word for title in titles for word in separator.split(title.lower())}
    assert {entry.name.lower() for entry in public()} <= words
    worker = (site / "search" / "worker.js").read_text(encoding="utf-8")
    assert "this.pipeline.reset()" in worker and "boost" in worker
