"""A language server: `vlad lsp`, which editors start and talk to over its standard input and output.

In: messages of the Language Server Protocol, which pygls reads and writes; https://microsoft.github.io/language-server-protocol
defines them.  Out: replies, from analysis.py and vlad/tools/formatting.py. A text is surveyed in another thread, once it has not
been changed for a moment; replies to requests use the last survey, and wait for nothing.
"""

from __future__ import annotations

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from vlad import __version__
from vlad.data.errors import VladError
from vlad.data.source import Source
from vlad.tools.formatting import formatted_text

from .analysis import Document, Looked, Place

QUIET_SECONDS = 0.2  # without a change, before a text is surveyed
SWITCH_SECONDS = (
    0.0005  # for which the surveying thread may keep the interpreter's lock while a request waits
)


class Server(LanguageServer):
    """`documents`: the open ones by their addresses; `tasks`: their surveys that are to come."""

    def __init__(self) -> None:
        super().__init__("vlad", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
        self.documents: dict[str, Document] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.surveyor = ThreadPoolExecutor(
            1, "vlad-survey"
        )  # one after the other: what is outdated never begins

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
        shown = {
            (str(error.span), error.message): diagnostic(error, looked, self.positions)
            for error in found.errors
        }
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=uri, version=version, diagnostics=list(shown.values()))
        )

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
        severity=lsp.DiagnosticSeverity.Error,
        code=error.code,
        source="vlad",
    )


def location(uri: str, place: Place, positions: Positions) -> lsp.Location:
    start = positions.units(place.before)
    found = lsp.Range(
        lsp.Position(place.line - 1, start),
        lsp.Position(place.line - 1, start + positions.units(place.text)),
    )
    return lsp.Location(from_fs_path(place.path) or uri if place.path else uri, found)


def made() -> Server:
    server = Server()

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

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        document, at = server.at(params)
        text = document.explained(at)
        if text is None:
            return None
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.PlainText, text))

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["#"]))
    def complete(params: lsp.CompletionParams) -> lsp.CompletionList:
        document, at = server.at(params)
        source = document.looked.source
        items = [
            lsp.CompletionItem(
                one.text,
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
            raise JsonRpcInvalidParams(error.message) from None
        edits = [lsp.TextEdit(positions.range(source, *one), params.new_name) for one in found]
        return lsp.WorkspaceEdit(changes={params.text_document.uri: edits})

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        document = server.documents[params.text_document.uri]
        found = []
        for one in document.definitions():
            where = server.positions.range(one.span.source, one.span.start, one.span.end)
            kind = lsp.SymbolKind.Function if one.is_procedure else lsp.SymbolKind.Variable
            found.append(lsp.DocumentSymbol(one.name, kind, where, where))
        return found

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

    return server


def main() -> None:
    sys.setswitchinterval(SWITCH_SECONDS)
    # pygls closes what it is given
    with open(os.dup(0), "rb") as requests, open(os.dup(1), "wb") as replies:
        made().start_io(requests, replies)
