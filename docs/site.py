"""Hooks of the site's build by MkDocs (mkdocs.yml names this file): highlighting of programs, and a search that supports names.

Blocks of `scheme`, which GitHub highlights, are in this language. The theme's search, by lunr, reads `*`, `+`, `-`, `^`, `~`
and `:` in a query as operators, and ranks a word that only begins with the query as high as the word itself; here those are parts
of names. So a name is a word as it is written; `list-ref` is found by each of its parts, too; and each entry of the reference is
tagged with its name, which ranks higher than the same word in a heading or a text.
"""

from __future__ import annotations

import functools
import html
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.plugins import CombinedEvent, event_priority
from pygments.formatters import HtmlFormatter

REFERENCE = ("keywords.html", "primitives.html", "library.html")
LONG = 100  # a table of contents with more entries shows the sections only
WHOLE = "\u2060"  # ends a tag: the name is not indexed by its parts

# Parts of the theme's search/worker.js, and what they are replaced by. `named` spells a word without lunr's operators.
NAMES = """
const spelled = { "*": "∗", "+": "＋", "-": "−", "^": "＾", "~": "～", "\\\\": "＼" };
const named = (word) => word.replace(/[-*+^~\\\\]/g, (one) => spelled[one]);
const words = (query) => query.split(/[\\s":]+/).map(named).join(" ");
const read = (text) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
const indexed = (token) => {
  const word = read(token.toString());
  const whole = word.endsWith("WHOLE");
  const parts = whole ? [] : word.split(/[-.?!'*]+/).filter((part) => part && part !== word);
  return [whole ? word.slice(0, -1) : word, ...parts].map((one) => token.clone(() => named(one)));
};
""".replace("WHOLE", WHOLE)
PATCHES = [
    (r"this\.b\(0\)", r"\g<0>,lunr.Pipeline.registerFunction(indexed,'indexed'),this.pipeline.add(indexed)"),
    (r"let (\w+)=(\w+)\.data;try", r"let \1=words(\2.data);try"),
    (r"`\$\{(\w+)\}\*`", r"`${\1}^100 ${\1}*`"),
    (
        r"(\w+)\.push\((\.\.\.\w+\[\w+\]\.position)\)",
        r"\1.splice(0,1/0,...new Set([...\1,\2]))",
    ),  # a part stands where its name does
]


@functools.cache
def _formatter(**options: Any) -> HtmlFormatter[str]:
    """One for each kind of options: to make one takes as long as to highlight a program."""
    return HtmlFormatter(**options)


def on_config(config: Any, **_: Any) -> Any:
    config["mdx_configs"]["codehilite"]["pygments_formatter"] = _formatter
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace("\n```scheme\n", "\n```vlad\n")


@event_priority(100)
def _before_the_search(context: Any, page: Any, **_: Any) -> Any:
    """The search reads a page without the colours of its programs, in half the time."""
    context["coloured"] = page.content
    page.content = re.sub("</?span[^>]*>", "", page.content)
    return context


@event_priority(-100)
def _after_the_search(context: Any, page: Any, **_: Any) -> Any:
    page.content = context.pop("coloured")
    sections = [section for title in page.toc for section in title.children]
    if sum(len(section.children) for section in sections) > LONG:
        for section in sections:
            section.children = []
    return context


on_page_context = CombinedEvent(_before_the_search, _after_the_search)


@event_priority(-100)  # when the search has written its files
def on_post_build(config: Any, **_: Any) -> None:
    site = Path(config["site_dir"])
    index = site / "search" / "search_index.json"
    data = json.loads(index.read_text(encoding="utf-8"))
    for section in data["docs"]:
        name = re.match(r"<code>\(*([^\s()<]+)", section["title"])
        if section["location"].startswith(REFERENCE) and name:
            section["tags"] = [html.escape(html.unescape(name[1]), quote=False) + WHOLE]
    index.write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    (worker,) = (site / "assets" / "javascripts" / "workers").glob("search.*.min.js")
    text = worker.read_text(encoding="utf-8")
    for pattern, replacement in PATCHES:
        text, count = re.subn(pattern, replacement, text)
        if count != 1:
            raise ValueError(f"{worker.name} is not as mkdocs-material 9.8 has it: {pattern}")
    worker.write_text(NAMES + text, encoding="utf-8")
