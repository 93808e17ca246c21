"""What `editors/` says of the language, compared with the reader: words of programs get the colours that they have at the prompt.

The TextMate grammar is run by a small engine (`Grammar`), Vim's syntax and the Emacs mode by the editors, where these are
installed.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from shipped import EXAMPLES
from vlad.repl.words import classed

from vlad.tools.formatting import formatted_text

ROOT = Path(__file__).parent.parent.parent
EDITORS = ROOT / "editors"
ALL = """\
#!/usr/bin/env vlad
; a comment; and "no string"
#| a block #| within |# "still" |# (define (f x . rest) #;() (* x 2.5e-3 -1/2 .5 +inf.0 #xff #e1.5))
(define ((curried a) b) a) (define constant #t) (define-record-type point (make-point x) point? (x point-x))
(let* ((s "a \\"quoted\\" \\\\ text; #| no comment |#") (c #\\space) (p #\\() (|odd name| 'x)) (sum s #:axis 0))
(f1 +x 1+ - -a 1a let-values2 if? sin sins #[1 2] #(1 2) `(a ,b ,@c) #false #tt) (J f) (list->vector '(else)) "two
lines ; of text" (lambda (λ) λ)
"""
# what is too unlike for the patterns of an editor: a word that begins with `#` and means nothing
UNKNOWN = ("wrong",)


class Word(NamedTuple):
    start: int
    text: str
    class_: str


def words(text: str) -> Iterator[Word]:
    """The words of a program with their classes at the prompt."""
    for token, word, class_ in classed(text):
        if class_ not in ("space", "bracket", *UNKNOWN):
            yield Word(token.start, word, class_)


def programs() -> list[tuple[str, str]]:
    paths = [*EXAMPLES, *sorted((ROOT / "stdlib").rglob("*.vlad"))]
    return [("ALL", ALL), *[(str(path), path.read_text(encoding="utf-8")) for path in paths]]


def test_the_names_are_those_of_today() -> None:
    done = subprocess.run(
        [sys.executable, str(EDITORS / "make.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), "run editors/make.py"


# The TextMate grammar.

CLASSES = {
    "comment": "comment",
    "punctuation.definition.comment": "comment",
    "string": "string",
    "constant.character": "string",
    "constant.numeric": "number",
    "constant.language": "boolean",
    "variable.parameter": "operand",
    "keyword.operator": "quote",
    "keyword.control": "keyword",
    "support.function": "builtin",
    "entity.name.function": "defined",
    "variable.other": "name",
}


class Grammar:
    """The rules `match`, `begin` and `end`, `captures` and `include` of TextMate grammars: line by line, the rule that matches
    first in the line, and of several the first one."""

    def __init__(self, path: Path) -> None:
        self.whole = json.loads(path.read_text(encoding="utf-8"))

    def rules(self, patterns: list[dict[str, Any]]) -> list[dict[str, Any]]:
        names = self.whole["repository"]
        return [names[one["include"][1:]] if "include" in one else one for one in patterns]

    def scopes(self, text: str) -> dict[int, str]:
        """The innermost scope of each character that has one."""
        found: dict[int, str] = {}
        stack: list[dict[str, Any]] = []
        start = 0
        for number, line in enumerate(text.split("\n")):
            at = 0
            next_of: dict[str, re.Match[str] | None] = {}  # of each pattern, its next match in this line
            while at <= len(line):
                patterns = stack[-1].get("patterns", []) if stack else self.whole["patterns"]
                match, rule = self.first(line, at, self.rules(patterns), stack, number, next_of)
                until = match.start() if match is not None else len(line)
                if stack:
                    found.update(dict.fromkeys(range(start + at, start + until), stack[-1]["name"]))
                if match is None:
                    break
                name = rule.get("name", "")
                found.update(dict.fromkeys(range(start + match.start(), start + match.end()), name))
                for group, capture in rule.get("captures", {}).items():
                    places = range(start + match.start(int(group)), start + match.end(int(group)))
                    found.update(dict.fromkeys(places, capture["name"]))
                if stack and rule is stack[-1] and match.re.pattern == rule["end"]:
                    stack.pop()
                elif "begin" in rule:
                    stack.append(rule)
                assert match.end() > at, (line, rule)
                at = match.end()
            start += len(line) + 1
        return found

    def first(
        self,
        line: str,
        at: int,
        rules: list[dict[str, Any]],
        stack: list[dict[str, Any]],
        number: int,
        next_of: dict[str, re.Match[str] | None],
    ) -> tuple[re.Match[str] | None, dict[str, Any]]:
        tried = [(stack[-1]["end"], stack[-1])] if stack else []
        tried += [(one.get("match") or one["begin"], one) for one in rules]
        best: tuple[re.Match[str] | None, dict[str, Any]] = (None, {})
        for pattern, rule in tried:
            if pattern.startswith(r"\A") and number:
                continue
            match = next_of.get(pattern)
            if pattern not in next_of or (match is not None and match.start() < at):
                match = next_of[pattern] = re.compile(pattern).search(line, at)
            if match is not None and (best[0] is None or match.start() < best[0].start()):
                best = match, rule
        return best


def class_of_scope(scope: str) -> str:
    return next((class_ for prefix, class_ in CLASSES.items() if scope.startswith(prefix)), scope)


def test_the_grammar_of_textmate() -> None:
    grammar = Grammar(EDITORS / "vscode/syntaxes/vlad.tmLanguage.json")
    wrong = []
    for name, text in programs():
        scopes = grammar.scopes(text)
        for word in words(text):
            for at in (word.start, word.start + len(word.text) - 1):
                class_ = class_of_scope(scopes.get(at, "none"))
                if class_ != word.class_:
                    wrong.append((name, word, class_))
    assert not wrong, "\n".join(map(str, wrong[:20]))


# Vim and Emacs.

GROUPS = {
    "vladKeyword": "keyword",
    "vladStandard": "builtin",
    "vladDefined": "defined",
    "vladNumber": "number",
    "vladBoolean": "boolean",
    "vladCharacter": "string",
    "vladOperand": "operand",
    "vladString": "string",
    "vladEscape": "string",
    "vladComment": "comment",
    "vladDatumComment": "comment",
    "vladName": "name",
    "vladBar": "name",
    "": "quote",
}
DUMP = """
set encoding=utf-8 nomore
set runtimepath^={folder}
syntax on
filetype plugin on
let found = []
for place in readfile('{places}')
  let [path, line, column] = split(place, '\\t')
  if path !=# expand('%:p')
    execute 'edit' fnameescape(path)
  endif
  call add(found, synIDattr(synID(str2nr(line), str2nr(column), 1), 'name'))
endfor
call writefile(found + [&filetype, &lispwords], '{output}')
quitall!
"""


def some_programs(folder: Path) -> list[Path]:
    everything = folder / "all.vlad"
    everything.write_text(ALL, encoding="utf-8")
    return [everything, EXAMPLES[0], ROOT / "stdlib/prelude.vlad"]


def run(folder: Path, *words: str) -> None:
    done = subprocess.run(
        [*words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("editor", ["vim", "nvim"])
def test_vim(editor: str, tmp_path: Path) -> None:
    if shutil.which(editor) is None:
        pytest.skip(f"{editor} is not installed")
    expected, places = [], []
    for path in some_programs(tmp_path):
        text = path.read_text(encoding="utf-8")
        for word in words(text):
            line = text.count("\n", 0, word.start) + 1
            column = len(text[text.rfind("\n", 0, word.start) + 1 : word.start].encode()) + 1
            places.append(f"{path}\t{line}\t{column}")
            expected.append((path.name, line, word))
    (tmp_path / "places").write_text("\n".join(places) + "\n")
    script = DUMP.format(folder=EDITORS / "vim", places=tmp_path / "places", output=tmp_path / "found")
    (tmp_path / "dump.vim").write_text(script)
    run(tmp_path, editor, "-u", "NONE", "-N", "-i", "NONE", "-es", "-S", "dump.vim")
    *groups, kind, lisp = (tmp_path / "found").read_text().split("\n")[:-1]
    assert kind == "vlad" and "let" in lisp.split(",")
    assert len(groups) == len(expected)
    wrong = [
        (one, group) for one, group in zip(expected, groups, strict=True) if GROUPS[group] != one[2].class_
    ]
    assert not wrong, "\n".join(map(str, wrong[:20]))


FACES = {
    "font-lock-comment-face": "comment",
    "font-lock-comment-delimiter-face": "comment",
    "font-lock-string-face": "string",
    "font-lock-keyword-face": "keyword",
    "font-lock-builtin-face": "builtin",
    "font-lock-function-name-face": "defined",
    "font-lock-constant-face": "number",
}
ELISP = """
(add-to-list 'load-path "{folder}")
(require 'vlad-mode)
(dolist (path '({paths}))
  (find-file path)
  (unless (eq major-mode 'vlad-mode) (error "The mode is %s" major-mode))
  (font-lock-ensure)
  (let ((at (point-min)))
    (while (< at (point-max))
      (let ((face (get-text-property at 'face)) (next (or (next-single-property-change at 'face) (point-max))))
        (when face (princ (format "%s\\t%d\\t%d\\t%s\\n" path (1- at) (1- next) (if (consp face) (car face) face))))
        (setq at next)))))
(find-file "{rough}")
(indent-region (point-min) (point-max))
(save-buffer)
"""
ROUGH = """\
(define (f x)
(let* ((y (* x
x))
(z 2))
(if (< x y)
z
(fold + 0
(list x y)))))
"""


def test_emacs(tmp_path: Path) -> None:
    if shutil.which("emacs") is None:
        pytest.skip("Emacs is not installed")
    paths = some_programs(tmp_path)
    (tmp_path / "rough.vlad").write_text(ROUGH)
    script = ELISP.format(
        folder=EDITORS / "emacs", rough=tmp_path / "rough.vlad", paths=" ".join(f'"{path}"' for path in paths)
    )
    (tmp_path / "dump.el").write_text(script)
    with (tmp_path / "found").open("w", encoding="utf-8") as output:
        subprocess.run(
            ["emacs", "-Q", "--batch", "-l", "dump.el"], stdout=output, timeout=120, check=True, cwd=tmp_path
        )
    faces: dict[tuple[str, int], str] = {}
    for line in (tmp_path / "found").read_text(encoding="utf-8").splitlines():
        path, first, last, face = line.split("\t")
        faces.update({(path, at): face for at in range(int(first), int(last))})
    wrong = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for word in words(text):
            class_ = FACES.get(faces.get((str(path), word.start), ""), "name")
            wanted = {"boolean": "number", "operand": "builtin", "quote": "name"}.get(
                word.class_, word.class_
            )
            wanted = "string" if word.text.startswith("|") else wanted  # as in Emacs' mode for Scheme
            if class_ != wanted and word.text != "#;":
                wrong.append((path.name, text.count("\n", 0, word.start) + 1, word, class_))
    assert not wrong, "\n".join(map(str, wrong[:20]))
    assert (tmp_path / "rough.vlad").read_text() == formatted_text(ROUGH, "rough.vlad")


def test_the_extension_has_what_it_names() -> None:
    folder = EDITORS / "vscode"
    package = json.loads((folder / "package.json").read_text())
    (language,), (grammar,) = package["contributes"]["languages"], package["contributes"]["grammars"]
    assert language["extensions"] == [".vlad"] and grammar["language"] == language["id"]
    for name in (package["main"], language["configuration"], grammar["path"]):
        assert (folder / name).is_file(), name
    source = (folder / package["main"]).read_text()
    for command in package["contributes"]["commands"]:
        assert f'registerCommand("{command["command"]}"' in source
    for setting in package["contributes"]["configuration"]["properties"]:
        assert f'.get("{setting.removeprefix("vlad.")}")' in source
    json.loads((folder / language["configuration"]).read_text())
