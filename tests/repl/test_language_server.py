"""The language server, by its messages: those that an editor sends are written to `vlad lsp`, and its replies are read."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import command
from shipped import EXAMPLES
from vlad.repl.analysis import Document, Explanation
from vlad.repl.checking_process import At, Typing

import vlad
from vlad.session.files import load
from vlad.session.survey import survey

pytest.importorskip("pygls", reason="pip install -e '.[test]'")

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """\
; the square of a number
(define (square-of x)
  (let ((y x))
    (* y x)))
(define 𝛂 3) (define seven 7)
(map square-of (list 𝛂 seven))
(fold + 0 '(1 2))
"""


class Editor:
    """Sends messages to a server, and reads its own."""

    def __init__(
        self, folder: Path, encodings: tuple[str, ...] = (), types: bool = False, markdown: bool = False
    ) -> None:
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.unexpected = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the server writes to it
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vlad", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.unexpected, cwd=folder, env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        self.uri = (folder / "p.vlad").as_uri()
        self.folder = folder
        self.numbers, self.versions = itertools.count(1), itertools.count(1)
        able: dict[str, Any] = {"general": {"positionEncodings": encodings}} if encodings else {}
        if markdown:
            able["textDocument"] = {"hover": {"contentFormat": ["markdown", "plaintext"]}}
        asked = {"processId": None, "rootUri": None, "capabilities": able}
        reply = self.ask("initialize", {**asked, "initializationOptions": {"types": types}})
        self.able = reply["capabilities"]
        self.encoding = self.able.get("positionEncoding", "utf-16")
        self.tell("initialized", {})

    def tell(self, method: str, params: Any, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        body = json.dumps(message if number is None else {**message, "id": number}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline().strip()) != b"":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return message

    def ask(self, method: str, params: Any) -> Any:
        message = self.reply(method, params)
        assert "error" not in message, message
        return message["result"]

    def reply(self, method: str, params: Any) -> dict[str, Any]:
        number = next(self.numbers)
        self.tell(method, params, number)
        while (message := self.hear()).get("id") != number:
            pass
        return message

    def at(self, feature: str, line: int, character: int) -> Any:
        place = {"line": line, "character": character}
        return self.ask(f"textDocument/{feature}", {"textDocument": {"uri": self.uri}, "position": place})

    def diagnostics(self) -> list[dict[str, Any]]:
        while (message := self.hear()).get("method") != "textDocument/publishDiagnostics":
            pass
        found: list[dict[str, Any]] = message["params"]["diagnostics"]
        return found

    def typed(self) -> list[dict[str, Any]]:
        """The errors of types, which are published after those of the survey."""
        assert self.diagnostics() == []
        return self.diagnostics()

    def open(self, text: str) -> list[dict[str, Any]]:
        self.text = text
        document = {"uri": self.uri, "languageId": "vlad", "version": next(self.versions), "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        return self.diagnostics()

    def close(self) -> None:
        self.tell("textDocument/didClose", {"textDocument": {"uri": self.uri}})
        assert self.diagnostics() == []

    def leave(self) -> None:
        self.ask("shutdown", None)
        self.tell("exit", None)
        assert self.process.wait(20) == 0
        self.unexpected.seek(0)
        assert b"Traceback" not in self.unexpected.read()
        self.unexpected.close()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()

    def change(self, changes: list[dict[str, Any]]) -> None:
        document = {"uri": self.uri, "version": next(self.versions)}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": changes})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    editor = Editor(tmp_path_factory.mktemp("program"))
    yield editor
    editor.leave()


@pytest.fixture
def editor(server: Editor) -> Iterator[Editor]:
    """A server without open documents."""
    yield server
    with contextlib.suppress(AssertionError):
        server.close()


def where(found: dict[str, Any]) -> tuple[int, int, int, int]:
    start, end = found["range"]["start"], found["range"]["end"]
    return start["line"], start["character"], end["line"], end["character"]


def test_errors_of_all_forms(editor: Editor) -> None:
    found = editor.open(
        "(define (f l) (lenght l) (g l))\n(lambda)\n(define y (𝛂 (crash)))\n(define (g x)\n  (f x y))\n(display 1 2 3)\n"
    )
    assert sorted((where(one), one["code"], one["message"].split("\n")[0]) for one in found) == [
        ((0, 15, 0, 21), "unbound-variable", "Unbound variable: lenght"),
        ((1, 0, 1, 8), "invalid-expression", "Invalid expression: (lambda)"),
        ((2, 11, 2, 13), "unbound-variable", "Unbound variable: 𝛂"),
        ((2, 15, 2, 20), "unbound-variable", "Unbound variable: crash"),
    ]
    assert {one["severity"] for one in found} == {1}
    assert "did you mean `length`?" in next(one["message"] for one in found if "lenght" in one["message"])


def test_warnings(editor: Editor) -> None:
    """Of a value that is not used, and of a name without a meaning that a file which is not found may define."""
    found = editor.open('(define (area x) x * x)\n(lenght 3)\n(unlike-any 2)\n(import "no-file")\n')
    assert [(where(one), one["severity"], one["code"]) for one in found] == [
        ((3, 0, 3, 18), 1, "cannot-find"),
        ((0, 17, 0, 18), 2, "unused-value"),
        ((1, 1, 1, 7), 2, "unbound-variable"),
    ]
    assert found[2]["message"].endswith("unless no-file defines it\ndid you mean `length`?")


def test_a_program_is_not_run(editor: Editor) -> None:
    assert editor.open('(define x (car 5))\n(save-tensor "f" #[1])\n(let loop () (loop))\nx\n') == []
    assert sorted(path.name for path in editor.folder.iterdir()) == []


def test_changes_are_followed(editor: Editor) -> None:
    assert editor.open(PROGRAM) == []
    insertion = {
        "range": {"start": {"line": 4, "character": 14}, "end": {"line": 4, "character": 14}},
        "text": "(wrong)",
    }
    editor.change([insertion])
    (one,) = editor.diagnostics()
    assert where(one) == (4, 15, 4, 20)
    editor.change([{"text": "(define (f x)\n  (+ x\n\n(define (g y) (lenght y))\n(f 1)\n"}])
    one, other = editor.diagnostics()
    assert where(other) == (3, 15, 3, 21) and "did you mean `length`?" in other["message"]
    assert one["code"] == "unclosed" or "never closed" in one["message"]
    # what was known of the text stays known until it can be read again
    assert [
        one["name"]
        for one in editor.ask("textDocument/documentSymbol", {"textDocument": {"uri": editor.uri}})
    ]
    editor.change([{"text": "(define (f x) x)\n"}])
    assert editor.diagnostics() == []


def test_documentation(editor: Editor) -> None:
    editor.open(PROGRAM)

    def hover(line: int, character: int) -> str:
        return editor.at("hover", line, character)["contents"]["value"]  # type: ignore[no-any-return]

    assert hover(5, 8).startswith("(square-of x)") and "the square of a number" in hover(5, 8)
    assert hover(6, 2).startswith("(fold f start l)")
    assert hover(2, 4).startswith("(let ")
    assert hover(3, 7).split("\n") == ["y", "bound in line 3"] and hover(3, 9).endswith("bound in line 2")
    assert editor.at("hover", 6, 15) is None


def test_definitions(editor: Editor) -> None:
    (editor.folder / "other.vlad").write_text("; a module\n(define (elsewhere x) x)\n")
    assert editor.open('(import "other")\n' + PROGRAM + "(elsewhere 1)\n") == []
    here = editor.at("definition", 6, 8)
    assert here["uri"] == editor.uri and where(here)[:2] == (2, 0)
    assert where(editor.at("definition", 4, 7)) == (3, 9, 3, 10)
    assert where(editor.at("definition", 6, 21))[:2] == (5, 0)
    other = editor.at("definition", 8, 3)
    assert other["uri"].endswith("/other.vlad") and where(other)[0] == 1
    library = editor.at("definition", 7, 2)
    path = Path(library["uri"].removeprefix("file://"))
    assert "(define (fold f start l)" in path.read_text().split("\n")[where(library)[0]]
    assert editor.at("definition", 7, 6) is None  # +, which is no text of the language
    (editor.folder / "other.vlad").unlink()


def test_completion(editor: Editor) -> None:
    editor.open(PROGRAM + "(define (g velocity)\n  (+ velo square- grad\n")
    found = editor.at("completion", 8, 9)["items"]
    assert [(one["label"], one["kind"]) for one in found] == [("velocity", 6)]  # a variable
    (one,) = editor.at("completion", 8, 17)["items"]
    assert one["label"] == "square-of" and one["detail"].startswith("(square-of x)")
    assert one["kind"] == 3  # a function
    assert where({"range": one["textEdit"]["range"]}) == (8, 10, 8, 17)
    assert "gradient" in [one["label"] for one in editor.at("completion", 8, 22)["items"]]


def test_signatures(editor: Editor) -> None:
    editor.open(PROGRAM)
    found = editor.at("signatureHelp", 6, 10)
    assert found["signatures"][0]["label"] == "(fold f start l)" and found["activeParameter"] == 2
    assert editor.at("signatureHelp", 0, 3) is None


BOUND = """\
(define (f x y)
  (let ((x (* x y)))
    (map (lambda (y) (+ x y)) '(x y))
    (f x y)))
(define (g f) (f 1))
(f 1 2)
(define (h x) (match x ((list h) h)))
(do ((i 0 (+ i 1))) ((= i 3)) (let* ((i 1) (j i)) j))
"""


def test_occurrences_have_the_same_meaning(editor: Editor) -> None:
    editor.open(BOUND)

    def places(line: int, character: int) -> list[tuple[int, int]]:
        found = editor.ask(
            "textDocument/references",
            {
                "textDocument": {"uri": editor.uri},
                "position": {"line": line, "character": character},
                "context": {"includeDeclaration": True},
            },
        )
        return [where(one)[:2] for one in found]

    assert places(0, 9) == [(0, 9), (3, 5), (5, 1)]  # f, which is a parameter of g in line 5
    assert places(4, 11) == [(4, 11), (4, 15)]
    assert places(2, 24) == [(1, 9), (2, 24), (3, 7)] and places(1, 14) == [(0, 11), (1, 14)]
    assert places(2, 18) == [(2, 18), (2, 26)]
    assert places(7, 13) == [(7, 6), (7, 13), (7, 24)] and places(7, 46) == [(7, 38), (7, 46)]
    assert places(2, 31) == [] and places(0, 0) == []
    assert [where(one)[:2] for one in editor.at("documentHighlight", 5, 1)] == [(0, 9), (3, 5), (5, 1)]


def test_renaming(editor: Editor) -> None:
    editor.open(BOUND)

    def renamed(line: int, character: int, new: str) -> Any:
        place = {"line": line, "character": character}
        return editor.reply(
            "textDocument/rename", {"textDocument": {"uri": editor.uri}, "position": place, "newName": new}
        )

    edits = renamed(0, 9, "area")["result"]["changes"][editor.uri]
    assert [(where(one)[:2], one["newText"]) for one in edits] == [
        ((0, 9), "area"),
        ((3, 5), "area"),
        ((5, 1), "area"),
    ]
    for line, character, new, why in (
        (0, 9, "g", "has a meaning there already"),
        (0, 9, "y", "has a meaning there already"),
        (2, 18, "x", "has a meaning there already"),
        (0, 9, "sin", "has a meaning there already"),  # of the language, the library, and the forms
        (0, 9, "fold", "has a meaning there already"),
        (2, 18, "if", "has a meaning there already"),
        (0, 9, "a b", "Not a name"),
        (0, 9, "12", "Not a name"),
        (6, 9, "area", "is used in `match`"),
        (2, 6, "each", "Only names that this text binds"),
    ):
        assert why in renamed(line, character, new)["error"]["message"]


def test_symbols_and_layout(editor: Editor) -> None:
    editor.open("(define (f x)\n x)\n(define 𝛂 3) (define b 4)\n")
    document = {"textDocument": {"uri": editor.uri}}
    symbols = editor.ask("textDocument/documentSymbol", document)
    assert [(one["name"], one["kind"], where(one)) for one in symbols] == [
        ("f", 12, (0, 0, 1, 3)),
        ("𝛂", 13, (2, 0, 2, 13)),
        ("b", 13, (2, 14, 2, 26)),
    ]
    options = {"options": {"tabSize": 2, "insertSpaces": True}}
    (edit,) = editor.ask("textDocument/formatting", {**document, **options})
    assert edit["newText"] == "(define (f x)\n  x)\n(define 𝛂 3) (define b 4)\n"
    editor.change([{"text": edit["newText"]}])
    assert editor.ask("textDocument/formatting", {**document, **options}) == []
    editor.change([{"text": "(define (f"}])
    assert editor.ask("textDocument/formatting", {**document, **options}) == []


def test_replies_are_quick_in_a_long_file(editor: Editor) -> None:
    """On 5,000 lines, also while they are surveyed. The bound leaves room for other work; docs/tools.md has what was
    measured."""
    form = (
        "(define (f{0} x)\n  (let ((y (* x {0}))\n        (z (sin x)))\n    (if (< y z)\n"
        "        (+ y z)\n        (list x y z))))\n\n"
    )
    text = "".join([form.format(number) for number in range(720)])
    assert text.count("\n") > 5000
    editor.open(text)
    took: dict[str, list[float]] = {}
    for number in range(60):
        line = 7 * (11 * number + 5)
        insertion = {"line": line + 4, "character": 13}
        editor.change([{"range": {"start": insertion, "end": insertion}, "text": " "}])
        for feature, column in (("hover", 9), ("completion", 14), ("definition", 13), ("signatureHelp", 14)):
            begun = time.perf_counter()
            assert (
                editor.at(feature, line + (4 if feature != "hover" else 0), column) is not None
                or feature == "definition"
            )
            took.setdefault(feature, []).append(time.perf_counter() - begun)
    slow = {feature: sorted(times)[int(len(times) * 0.95)] for feature, times in took.items()}
    assert max(slow.values()) < 0.5, slow


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 18), ("utf-32", 15)])
def test_positions_in_the_encoding_that_the_editor_prefers(
    tmp_path: Path, encoding: str, column: int
) -> None:
    editor = Editor(tmp_path, (encoding, "utf-16"))
    assert editor.encoding == encoding
    (one,) = editor.open("(define 𝛂 3) (g)\n")
    assert where(one) == (0, column - 1, 0, column)
    editor.change([{"text": "(define 𝛂 3) (define seven 7)\nseven\n"}])
    assert editor.diagnostics() == []
    assert where(editor.at("definition", 1, 2))[:2] == (0, column - 2)
    editor.leave()


def test_examples_have_no_errors() -> None:
    for path in EXAMPLES:
        session = vlad.Session(tier="evaluate")
        assert [str(error) for error in survey(session, load(path)).errors] == [], path


def test_the_command() -> None:
    assert "`vlad lsp` takes no file" in command("lsp", "p.vlad").stderr


TYPED = """\
(define weights #[[1 2] [3 4]])
; how far off the weights are
(define (loss v)
  (let ((product (matmul weights v)))
    (sum (square product))))
(define (near x) (let loop ((y x)) (if (< y 1) y (loop (/ y 2)))))
((gradient loss) #[1 2])
(near 12)
"""


@pytest.fixture(scope="module")
def typing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """A server that finds types, too."""
    editor = Editor(tmp_path_factory.mktemp("types"), types=True, markdown=True)
    yield editor
    editor.leave()


def hints(editor: Editor) -> list[tuple[int, int, str]]:
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    found = editor.ask("textDocument/inlayHint", {"textDocument": {"uri": editor.uri}, "range": everything})
    return [(one["position"]["line"], one["position"]["character"], one["label"]) for one in found]


def test_types(typing: Editor) -> None:
    """Errors of types, types of names and expressions, and hints: first of one text, then of changed ones."""
    wrong = TYPED + "(matmul weights #[1 2 3])\n(+ 'a 1)\n(lenght weights)\n"
    (unbound,) = typing.open(wrong)
    again, first, second = typing.diagnostics()
    assert unbound == again and unbound["code"] == "unbound-variable"
    assert (where(first), first["code"]) == ((8, 0, 8, 25), "type-error")
    assert (where(second), second["code"]) == ((9, 0, 9, 8), "type-error")

    def hover(line: int, character: int) -> str:
        return typing.at("hover", line, character)["contents"]["value"]  # type: ignore[no-any-return]

    assert "loss : (reverse tensor (2)) -> (reverse real)" in hover(6, 12)
    assert "how far off the weights are" in hover(6, 12)
    assert hover(3, 11).startswith("```vlad\nproduct : tensor (2)\n```")
    assert hover(2, 14).startswith("```vlad\nv : tensor (2)\n```")
    assert hover(5, 30).startswith("```vlad\ny : real\n```")
    assert hover(6, 0).startswith("```vlad\n: tensor (2)\n```")
    shapes = [(0, 15, " : tensor (2 2)"), (2, 15, " : tensor (2)"), (3, 16, " : tensor (2)")]
    assert sorted(hints(typing)) == shapes
    # what follows a change keeps its types, at its new place, until those of the new text are known
    top = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 0}}
    typing.change([{"range": top, "text": "(define (other u) (dot u u))\n"}])
    assert sorted(hints(typing)) == [shapes[0], *[(line + 1, *rest) for line, *rest in shapes[1:]]]
    typing.change([{"text": TYPED}])
    assert typing.diagnostics() == []  # neither is wrong now


def test_types_where_a_later_text_is_wrong() -> None:
    """What the analysis of the wrong text has not found is as in the last one that was right."""
    document = Document("p.vlad", "(sin (real 1))\n(cos 2)")
    right = Typing(values=[At(0, 14, "", "real", "", False, False), At(15, 22, "", "2", "", False, False)])
    document.adopt_types(document.looked, right, False)
    document.change("(sin (real 1) (\n(cos 2)")
    document.adopt_types(
        document.looked, Typing(values=[right.values[1]._replace(start=16, end=23, type="3")]), True
    )
    assert [document.explained(at) for at in (0, 16)] == [
        Explanation((f": {type_}",), "") for type_ in ("real", "3")
    ]


def test_an_analysis_is_abandoned_when_the_text_changes(typing: Editor) -> None:
    """The second text is analysed at once, though the first would take long."""
    typing.close()
    many = "".join([f"(define (f{n} v) (sum (sin (* v (f{n - 1} v)))))\n" for n in range(1, 400)])
    long = f"(define (f0 v) (sum v))\n{many}((gradient (gradient f399)) #[1 2 3])\n"
    assert typing.open(long) == []
    time.sleep(1)
    begun = time.perf_counter()
    typing.change([{"text": "(define a #[1 2])\n(car a)\n"}])
    (error,) = typing.typed()
    assert error["code"] == "type-error" and where(error) == (1, 0, 1, 7)
    assert hints(typing) == [(0, 9, " : tensor (2)")]
    assert time.perf_counter() - begun < 30


def test_documentation_as_markdown(typing: Editor) -> None:
    typing.open("(sin 1)\n(fold + 0 '(1))\n")
    found = typing.at("hover", 0, 2)["contents"]
    assert found["kind"] == "markdown" and found["value"].startswith(
        "```vlad\n(sin x)\n```\n\nSine of x in radians."
    )
    assert "**Derivative**\n\n- by x `(cos x)`" in found["value"]
    assert "```vlad\n(fold + 0 '(1 2 3))  ⇒ 6\n" in typing.at("hover", 1, 2)["contents"]["value"]


def test_words_are_coloured_by_meaning(editor: Editor) -> None:
    editor.open(
        "; note\n(define-syntax twice (syntax-rules () ((_ e) (begin e e))))\n"
        '(define (f x)\n  (let ((𝛂 (sin x)))\n    (twice (* 𝛂 x 2))))\n(define k "s")\n(f k \'q #:key)\n'
    )
    kinds = server_legend(editor)

    def words(method: str, **more: Any) -> list[tuple[str, str]]:
        data = editor.ask(
            f"textDocument/semanticTokens/{method}", {"textDocument": {"uri": editor.uri}, **more}
        )["data"]
        lines = editor.text.split("\n")
        line = column = 0
        found = []
        for down, right, length, kind, modifiers in zip(*[iter(data)] * 5, strict=True):
            line, column = line + down, right if down else column + right
            units = lines[line].encode("utf-16-le")
            word = units[2 * column : 2 * (column + length)].decode("utf-16-le")
            found.append(
                (word, kinds[kind] + ("!" if modifiers & 1 else "") + ("*" if modifiers & 2 else ""))
            )
        return found

    found = words("full")
    for one in (
        ("; note", "comment"), ("define", "keyword"), ("f", "function!"), ("x", "parameter!"), ("x", "parameter"),
        ("𝛂", "variable!"), ("𝛂", "variable"), ("sin", "function*"), ("twice", "macro"), ("2", "number"),
        ("k", "variable!"), ("k", "variable"), ("f", "function"), ('"s"', "string"), ("#:key", "property"),
    ):  # fmt: skip
        assert one in found, one
    assert "q" not in [word for word, _ in found]
    part = words("range", range={"start": {"line": 6, "character": 0}, "end": {"line": 6, "character": 9}})
    assert part == [("f", "function"), ("k", "variable"), ("#:key", "property")]


def test_words_are_coloured_while_a_survey_replaces_the_session() -> None:
    text = "(define-syntax twice (syntax-rules () ((_ e) (begin e e))))\n(twice 1)\n"
    document = Document("p.vlad", text)
    document.adopt(*document.surveyed(document.looked))
    words = document.coloured(document.looked, 1, 1)
    document.adopt(*document.surveyed(document.looked))  # closes the session of before
    assert [(kind, word.first, word.last) for _, word, kind in words] == [("macro", 1, 6), ("number", 7, 8)]


def server_legend(editor: Editor) -> list[str]:
    legend = editor.able["semanticTokensProvider"]["legend"]
    found: list[str] = legend["tokenTypes"]
    assert legend["tokenModifiers"] == ["definition", "defaultLibrary"]
    return found
