"""A hook of the site's build by MkDocs (mkdocs.yml names this file): below each `$ vlad explore FILE …` of a page stands the page
that the command writes.

In: the Markdown of a page, whose programs are blocks that begin with `; FILE`.  Out: the Markdown with a frame behind each such
block, and the pages of the frames, in the site's folder explored/.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

from vlad.repl.explorer import explore

from vlad import Session

PROGRAM = re.compile(r"^```vlad\n; (\S+\.vlad)\n.*?^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^```console\n\$ vlad explore (.*)\n(\S+\.html)\n```$", re.MULTILINE)
FRAME = '\n\n<iframe class="explored" src="explored/{page}" title="The procedure {name}, explored" loading="lazy"></iframe>\n'
made: dict[str, str] = {}  # the pages of frames, by file


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_path != "explored.md":
        return markdown
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for program in PROGRAM.finditer(markdown):
            Path(program.group(1)).write_text(program.group().partition("\n")[2].removesuffix("```"))
        return COMMAND.sub(lambda command: command.group() + framed(command), markdown)


def framed(command: re.Match[str]) -> str:
    """A frame for the page that a command writes in the working folder."""
    file, name, _, arguments = shlex.split(command.group(1))
    output = Path(command.group(2))
    explore(Session(tier="evaluate"), file, name, arguments, str(output))
    made[output.name] = output.read_text(encoding="utf-8")
    return FRAME.format(page=output.name, name=name)


def on_post_build(config: Any, **_: Any) -> None:
    folder = Path(config["site_dir"]) / "explored"
    folder.mkdir(exist_ok=True)
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
