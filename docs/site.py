"""Hooks of the site's build by MkDocs (mkdocs.yml names this file): highlighting of programs, and a search that supports names.

Blocks of `scheme`, which GitHub highlights, are in this language. The search of MkDocs omits common words of English
(`any`, `let`), reduces others to their stems, and splits at hyphens; here those are names of procedures. A word is indexed
unchanged, and `list-ref` by each of its parts, too; a name in a heading ranks higher than one in a text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority

FIELDS = "this.field('title');\n"
NAMES_FIELDS = """this.pipeline.reset();
      this.searchPipeline.reset();
      this.pipeline.add(function (token) {
        var word = token.toString(), parts = word.split(/[-.?!'*]+/).filter(Boolean);
        return parts.length > 1 || parts[0] !== word
          ? [token].concat(parts.map(function (part) { return token.clone(function () { return part; }); }))
          : token;
      });
      this.field('title', { boost: 10 });
"""


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace("\n```scheme\n", "\n```vlad\n")


@event_priority(-100)  # when the search has written its files
def on_post_build(config: Any, **_: Any) -> None:
    worker = Path(config["site_dir"]) / "search" / "worker.js"
    text = worker.read_text(encoding="utf-8")
    if FIELDS not in text:
        raise ValueError("search/worker.js is not as MkDocs 1.6 has it")
    worker.write_text(text.replace(FIELDS, NAMES_FIELDS), encoding="utf-8")
