"""The site as it is built: no dead link, no heading by mistake, programs in colours, and a search that finds each name; and in a
browser, where one is installed: nothing wider than the window, contrast on light and dark ground, what the search puts first."""

from __future__ import annotations

import html
import json
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit

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
    assert [name for name, _ in frames] == [
        f"explored/{one}.html" for one in ("curve-distance", "power-power", "fourfold-fourfold")
    ]
    for name, _ in frames:
        own = (site / name).read_text(encoding="utf-8")
        assert (
            '<script id="data" type="application/json">' in own
            and str(site.parent.parent) not in own
            and tempfile.gettempdir() not in own
        )


@pytest.mark.xdist_group("site")
def test_each_page_has_one_title(pages: dict[str, Page]) -> None:
    of_program = {name: page for name, page in pages.items() if name != "404.html"}
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
    """By the project's own lexer, the examples of the reference, too; its words have colours on light and on dark ground."""
    styles = (site / "site.css").read_text(encoding="utf-8")
    for name in ("tutorial.html", "library.html", "keywords.html"):
        assert {"nb", "k", "m"} <= pages[name].classes, name
        assert "site.css" in pages[name].links
    for kind in (
        "keyword",
        "name",
        "function",
        "special",
        "constant",
        "number",
        "string",
        "operator",
        "comment",
    ):
        assert len(re.findall(rf"--md-code-hl-{kind}-color: #", styles)) == 2, kind


@pytest.mark.xdist_group("site")
def test_the_search_finds_each_name(site: Path) -> None:
    """Each has a section of its own, which is tagged with the name as it is written; words are neither omitted nor stemmed."""
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    titles = {html.unescape(re.sub("</?code>", "", section["title"])) for section in index["docs"]}
    assert {entry.signature for entry in public()} <= titles
    separator = re.compile(index["config"]["separator"])
    tags = {tag for section in index["docs"] for tag in section.get("tags", [])}
    assert {html.unescape(tag).rstrip("\u2060") for tag in tags} >= {entry.name for entry in public()}
    assert [tag for tag in tags if separator.search(tag)] == []
    assert index["config"]["pipeline"] == []


# The entry that the search puts first, by what is written into it.
FOUND = {
    "list-ref": "(list-ref l k)",
    "sum": "(sum t #:axis … #:keep …)",
    "any": "(any test l)",
    "map": "(map f l ...)",
    "gradient": "((gradient f) x)",
    "j*": "(j* x)",
    "+": "(+ x …)",
    "<=": "(<= x …)",
    "let*": "(let* ((NAME E) ...) BODY ...)",
    "list->vector": "(list->vector l)",
    "vmap": "(vmap f #:axes …)",
    "Reduce": "(reduce f default l)",
}
SEEN = [
    "index",
    "tutorial",
    "vmap",
    "repl",
    "gallery",
    "faq",
    "complexity",
    "prompt-features",
    "papers",
    "python",
]


@pytest.mark.xdist_group("site")
def test_in_a_browser(site: Path, tmp_path: Path) -> None:
    """Ten pages in two widths, on light and dark ground; what a page fetches comes from the site."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium is installed")
    reports: queue.Queue[dict[str, Any]] = queue.Queue()
    searched: set[str] = set()  # has something in it from the page on in which words are searched

    class Handler(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            name = unquote(urlsplit(path).path).lstrip("/")
            searched.update(["searched"] if urlsplit(path).query == "searched" else [])
            if name == "search/search_index.json" and not searched:  # each page would index the site again
                name = "nothing"
            return str(Path(__file__).with_name(name) if name == "site_in_browser.html" else site / name)

        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            reports.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

    asked = urlencode([*(("page", f"{name}.html") for name in SEEN), *(("search", word) for word in FOUND)])
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path}",
            "--window-size=1300,1000",
        ]
        address = f"http://127.0.0.1:{server.server_port}/site_in_browser.html?{asked}"
        running = subprocess.Popen([browser, *options, address], stderr=subprocess.DEVNULL)
        try:
            report = reports.get(timeout=120)
        finally:
            running.terminate()
            running.wait()
            server.shutdown()
    assert report["faults"] == []
    assert report["found"] == FOUND
    assert report["texts"] > 1000
