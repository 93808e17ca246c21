"""A language server: `vlad lsp`, which editors start and talk to over its standard input and output.

In: messages of the Language Server Protocol, which pygls reads and writes; https://microsoft.github.io/language-server-protocol
defines them.  Out: replies, from analysis.py and vlad/tools/formatting.py. A text is surveyed in another thread, once it has not
been changed for a moment, and then analysed in another process (checking_process.py); replies to requests use what was found
last, and wait for nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from vlad import __version__
from vlad.data.errors import Notice, VladError
from vlad.data.source import Source
from vlad.expand.forms import KEYWORDS
from vlad.tools.formatting import formatted_text

from .analysis import Document, Explanation, Looked, Place
from .checking_process import CHECKING, Typing, Wrong
from .colouring import KINDS, MODIFIERS, Coloured
from .completion import Candidate
from .markdown import block, markdown

QUIET_SECONDS = 0.2  # without a change, before a text is surveyed,
CALM_SECONDS = 0.3  # and then before its types are analysed
LONGEST_SECONDS = 60.0  # of an analysis
LONGEST_LINE = 1 << 28  # bytes of what an analysis finds
SWITCH_SECONDS = (
    0.0005  # for which the surveying thread may keep the interpreter's lock while a request waits
)


class Checker:
    """The process that finds types. An analysis that is cancelled ends it, and the next one starts it again."""

    def __init__(self) -> None:
        self.process: asyncio.subprocess.Process | None = None
        self.turn = asyncio.Lock()

    async def typing(self, looked: Looked) -> Typing:
        """The types of a text. Raises TimeoutError, and EOFError if the process ends."""
        async with self.turn:
            try:
                return await asyncio.wait_for(self._asked(looked), LONGEST_SECONDS)
            except BaseException:
                self.end()
                raise

    async def _asked(self, looked: Looked) -> Typing:
        if self.process is None:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, *(["-I"] if sys.flags.isolated else []), "-c", CHECKING, *sys.path,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, limit=LONGEST_LINE,
            )  # fmt: skip
        requests, replies = self.process.stdin, self.process.stdout
        assert requests is not None and replies is not None
        request = {"name": looked.source.name, "text": looked.source.text}
        requests.write(json.dumps(request).encode() + b"\n")
        await requests.drain()
        line = await replies.readline()
        if not line:
            raise EOFError
        return Typing.of(line.decode())

    def end(self) -> None:
        process, self.process = self.process, None
        if process is not None and process.returncode is None:
            process.kill()


class Refused(JsonRpcInvalidParams):
    """The reply to a request that cannot be met: no error of the server."""


def is_unexpected(record: logging.LogRecord) -> bool:
    """Is it anything but a reply of that kind? (pygls logs all errors, with tracebacks.)"""
    return not (record.exc_info and isinstance(record.exc_info[1], Refused))


class Server(LanguageServer):
    """`documents`: the open ones by their addresses; `tasks`: their surveys that are to come; `finds_types`: is wanted."""

    def __init__(self) -> None:
        super().__init__("vlad", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
        self.documents: dict[str, Document] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.surveyor = ThreadPoolExecutor(
            1, "vlad-survey"
        )  # one after the other: what is outdated never begins
        self.colourer = ThreadPoolExecutor(1, "vlad-colours")  # waits for no survey
        self.checker = Checker()
        self.finds_types = True

    @property
    def positions(self) -> Positions:
        return Positions(
            str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding))
        )

    def changed(self, uri: str, delay: float) -> None:
        """A text was opened or changed."""
        text = self.workspace.get_text_document(uri).source
        document = self.documents.get(uri)
        if document is None:
            document = self.documents[uri] = Document(to_fs_path(uri) or uri, text)
        document.change(text)
        if uri in self.tasks:
            self.tasks[uri].cancel()
        self.tasks[uri] = asyncio.get_running_loop().create_task(self.survey(uri, document, delay))

    async def survey(self, uri: str, document: Document, delay: float) -> None:
        await asyncio.sleep(delay)
        looked, version = document.looked, self.workspace.get_text_document(uri).version
        loop = asyncio.get_running_loop()
        session, found = await loop.run_in_executor(self.surveyor, document.surveyed, looked)
        document.adopt(session, found)
        each = {(str(error.span), error.message): error for error in (*found.errors, *found.remarks)}
        shown = [diagnostic(error, looked, self.positions) for error in each.values()]
        self.show(uri, version, shown)
        if self.finds_types:
            await asyncio.sleep(CALM_SECONDS)
            await self.check(uri, version, document, looked, shown, bool(found.errors))

    async def check(
        self,
        uri: str,
        version: int | None,
        document: Document,
        looked: Looked,
        shown: list[lsp.Diagnostic],
        is_wrong: bool,
    ) -> None:
        """Find the types of a text, of which errors and remarks are `shown` already."""
        try:
            typing = await self.checker.typing(looked)
        except TimeoutError:
            self.log(f"The types of {looked.source.name} were not found in {LONGEST_SECONDS:g} seconds")
            return
        except (EOFError, OSError):
            self.log(f"The process that finds the types of {looked.source.name} has ended")
            return
        document.adopt_types(looked, typing, is_wrong)
        known = {(str(one.range), one.message) for one in shown}
        found = [of_types(one, looked, self.positions) for one in typing.wrong]
        more = [one for one in found if (str(one.range), one.message) not in known]
        if more:
            self.show(uri, version, [*shown, *more])
        workspace = self.client_capabilities.workspace
        if (
            workspace is not None
            and workspace.inlay_hint is not None
            and workspace.inlay_hint.refresh_support
        ):
            self.workspace_inlay_hint_refresh(None)

    def show(self, uri: str, version: int | None, found: list[lsp.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=uri, version=version, diagnostics=found)
        )

    def log(self, message: str) -> None:
        self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, message))

    def reads_markdown(self) -> bool:
        """Does the editor display Markdown?"""
        documents = self.client_capabilities.text_document
        hover = documents.hover if documents is not None else None
        return hover is not None and lsp.MarkupKind.Markdown in (hover.content_format or ())

    def at(self, params: Any) -> tuple[Document, int]:
        """The document and the offset that a request is about."""
        uri = params.text_document.uri
        document = self.documents[uri]
        return document, self.positions.offset(document.looked.source, params.position)


class Positions:
    """Places in texts as the protocol has them: a line from 0 on, and units of an encoding in it, which both sides agree on."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding

    def units(self, text: str) -> int:
        if self.encoding == lsp.PositionEncodingKind.Utf32:
            return len(text)
        if self.encoding == lsp.PositionEncodingKind.Utf8:
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text) + sum(character > "\uffff" for character in text)

    def offset(self, source: Source, position: lsp.Position) -> int:
        starts = source.line_starts()
        if position.line >= len(starts):
            return len(source.text)
        line = source.line(position.line + 1)
        column = min(position.character, len(line))
        while column and self.units(line[:column]) > position.character:
            column -= 1
        return starts[position.line] + column

    def position(self, source: Source, at: int) -> lsp.Position:
        line, column = source.position(at)
        return lsp.Position(line - 1, self.units(source.line(line)[: column - 1]))

    def range(self, source: Source, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(source, start), self.position(source, end))


def diagnostic(error: VladError, looked: Looked, positions: Positions) -> lsp.Diagnostic:
    span, hint = error.span, f"\n{error.hint}" if error.hint else ""
    start, end = (span.start, max(span.end, span.start + 1)) if span is not None else (0, 1)
    return lsp.Diagnostic(
        positions.range(looked.source, start, end),
        error.message + hint,
        severity=lsp.DiagnosticSeverity.Warning
        if isinstance(error, Notice)
        else lsp.DiagnosticSeverity.Error,
        code=error.code,
        source="vlad",
    )


def of_types(found: Wrong, looked: Looked, positions: Positions) -> lsp.Diagnostic:
    """An error of types, or a part of the program that is not compiled."""
    return lsp.Diagnostic(
        positions.range(looked.source, found.start, max(found.end, found.start + 1)),
        found.message + (f"\n{found.hint}" if found.hint else ""),
        severity=lsp.DiagnosticSeverity.Information if found.is_notice else lsp.DiagnosticSeverity.Error,
        code=found.code,
        source="vlad",
    )


def numbered(words: Iterable[tuple[int, Coloured, str]], source: Source, positions: Positions) -> list[int]:
    """Words as the protocol has them: five numbers for each; lines and columns are counted from the word before."""
    found: list[int] = []
    line = column = 0
    for first, word, kind in words:
        row = first + word.row
        text = source.line(row + 1)
        is_plain = text.isascii()
        start = word.first if is_plain else positions.units(text[: word.first])
        length = word.last - word.first if is_plain else positions.units(text[word.first : word.last])
        found += [
            row - line,
            start - column if row == line else start,
            length,
            KINDS.index(kind),
            word.modifiers,
        ]
        line, column = row, start
    return found


def displayed(found: Explanation, as_markdown: bool) -> lsp.MarkupContent:
    if not as_markdown:
        text = "\n".join([*found.heading, *([found.text] if found.text else [])])
        return lsp.MarkupContent(lsp.MarkupKind.PlainText, text)
    text = markdown(found.entry) if found.entry is not None else found.text
    parts = [block(found.heading)] if found.heading else []
    return lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n\n".join([*parts, text]))


def location(uri: str, place: Place, positions: Positions) -> lsp.Location:
    start = positions.units(place.before)
    found = lsp.Range(
        lsp.Position(place.line - 1, start),
        lsp.Position(place.line - 1, start + positions.units(place.text)),
    )
    return lsp.Location(from_fs_path(place.path) or uri if place.path else uri, found)


def made() -> Server:
    server = Server()
    for feature in (follow, explain, find_uses, display):
        feature(server)
    return server


def follow(server: Server) -> None:
    """What editors tell of themselves and of their texts."""

    @server.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        options = params.initialization_options
        if isinstance(options, dict):
            server.finds_types = options.get("types") is not False

    @server.feature(lsp.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.checker.end()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.changed(params.text_document.uri, 0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri, QUIET_SECONDS)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        if uri in server.tasks:
            server.tasks.pop(uri).cancel()
        server.documents.pop(uri).session.close()
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=[]))


def kind_of(one: Candidate) -> lsp.CompletionItemKind:
    """What the editor shows a name as."""
    if one.text in KEYWORDS:
        return lsp.CompletionItemKind.Keyword
    if one.text.startswith("#:"):
        return lsp.CompletionItemKind.Property
    is_procedure = one.beside.startswith("(")  # the shape of a call
    return lsp.CompletionItemKind.Function if is_procedure else lsp.CompletionItemKind.Variable


def explain(server: Server) -> None:
    """What a name is, and what could be written."""

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        document, at = server.at(params)
        found = document.explained(at)
        return None if found is None else lsp.Hover(displayed(found, server.reads_markdown()))

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["#"]))
    def complete(params: lsp.CompletionParams) -> lsp.CompletionList:
        document, at = server.at(params)
        source = document.looked.source
        items = [
            lsp.CompletionItem(
                one.text,
                kind=kind_of(one),
                detail=one.beside or None,
                text_edit=lsp.TextEdit(server.positions.range(source, at - one.length, at), one.text),
            )
            for one in document.completed(at)
        ]
        return lsp.CompletionList(is_incomplete=True, items=items)

    @server.feature(lsp.TEXT_DOCUMENT_SIGNATURE_HELP, lsp.SignatureHelpOptions(trigger_characters=["(", " "]))
    def signature(params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
        document, at = server.at(params)
        call = document.call(at)
        if call is None:
            return None
        words = call.signature.strip("()").split()[1:]
        one = lsp.SignatureInformation(
            call.signature,
            documentation=call.text or None,
            parameters=[lsp.ParameterInformation(word) for word in words],
        )
        return lsp.SignatureHelp([one], 0, min(call.operand, max(len(words) - 1, 0)))


def find_uses(server: Server) -> None:
    """Definitions and uses of a name."""

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        document, at = server.at(params)
        place = document.definition(at)
        return None if place is None else location(params.text_document.uri, place, server.positions)

    def occurring(params: Any) -> list[lsp.Range]:
        document, at = server.at(params)
        source, positions = document.looked.source, server.positions
        return [positions.range(source, *found) for found in document.occurrences(at)]

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        return [lsp.Location(params.text_document.uri, found) for found in occurring(params)]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlight(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        return [lsp.DocumentHighlight(found) for found in occurring(params)]

    @server.feature(lsp.TEXT_DOCUMENT_RENAME)
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        document, at = server.at(params)
        source, positions = document.looked.source, server.positions
        try:
            found = document.renamed(at, params.new_name)
        except VladError as error:
            raise Refused(error.message) from None
        edits = [lsp.TextEdit(positions.range(source, *one), params.new_name) for one in found]
        return lsp.WorkspaceEdit(changes={params.text_document.uri: edits})


def display(server: Server) -> None:
    """The outline, colours, types in the text, and layout."""

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        document = server.documents[params.text_document.uri]
        found = []
        for one in document.definitions():
            where = server.positions.range(one.span.source, one.span.start, one.span.end)
            kind = lsp.SymbolKind.Function if one.is_procedure else lsp.SymbolKind.Variable
            found.append(lsp.DocumentSymbol(one.name, kind, where, where))
        return found

    legend = lsp.SemanticTokensLegend([*KINDS], [*MODIFIERS])

    async def colours(uri: str, first: int, last: int) -> lsp.SemanticTokens:
        document, positions = server.documents[uri], server.positions
        looked = document.looked

        words = document.coloured(looked, first, last)

        def found() -> list[int]:
            return numbered(words, looked.source, positions)

        return lsp.SemanticTokens(await asyncio.get_running_loop().run_in_executor(server.colourer, found))

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, legend)
    async def all_colours(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        return await colours(params.text_document.uri, 0, sys.maxsize)

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, legend)
    async def some_colours(params: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens:
        return await colours(params.text_document.uri, params.range.start.line, params.range.end.line)

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        document = server.documents[params.text_document.uri]
        source, positions = document.looked.source, server.positions
        found = document.hints(
            positions.offset(source, params.range.start), positions.offset(source, params.range.end)
        )
        return [
            lsp.InlayHint(positions.position(source, one.at), f" : {one.type}", kind=lsp.InlayHintKind.Type)
            for one in found
        ]

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def format_(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        source = server.documents[params.text_document.uri].looked.source
        try:
            text = formatted_text(source.text, source.name)
        except VladError:  # the diagnostics show it
            return []
        return (
            []
            if text == source.text
            else [lsp.TextEdit(server.positions.range(source, 0, len(source.text)), text)]
        )


def main() -> None:
    sys.setswitchinterval(SWITCH_SECONDS)
    logging.getLogger("pygls.protocol.json_rpc").addFilter(is_unexpected)
    # pygls closes what it is given
    with open(os.dup(0), "rb") as requests, open(os.dup(1), "wb") as replies:
        made().start_io(requests, replies)
