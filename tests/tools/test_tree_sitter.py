"""The grammar for tree-sitter: its corpus, and the programs of the project, by a small engine.

tree-sitter's own generator is in no registry that the tests may use. Node evaluates grammar.js with functions that record what is
called; the engine here parses with one token ahead, and chooses tokens as tree-sitter does: among those that may come, by
precedence, length and order.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from shipped import EXAMPLES

FOLDER = Path(__file__).parent.parent.parent / "editors" / "tree-sitter"
RECORD = """
const made = (x) => typeof x === "string" ? {text: x} : x instanceof RegExp ? {pattern: x.source} : x;
const many = (kind) => (...parts) => ({[kind]: parts.map(made)});
Object.assign(globalThis, {
  seq: many("seq"), choice: many("choice"), optional: (x) => ({choice: [made(x), {seq: []}]}),
  repeat: (x) => ({repeat: made(x)}), prec: (number, x) => ({prec: number, of: made(x)}),
  token: Object.assign((x) => ({token: made(x)}), {immediate: (x) => ({token: made(x)})}),
});
const $ = new Proxy({}, {get: (_, name) => ({rule: name})});
globalThis.grammar = ({extras, rules}) => ({
  extras: extras($).map(made),
  rules: Object.fromEntries(Object.entries(rules).map(([name, rule]) => [name, made(rule($))])),
});
console.log(JSON.stringify(require(process.argv[1])));
"""
Tree = tuple[Any, ...]  # the name of a rule, and the trees in it


class Engine:
    def __init__(self, grammar: dict[str, Any]) -> None:
        self.rules, self.extras = grammar["rules"], grammar["extras"]
        self.tokens: dict[
            str, tuple[int, list[re.Pattern[str]]]
        ] = {}  # by their JSON, in the order of the file
        for rule in [*self.rules.values(), *self.extras]:
            self.note(rule)
        self.order = {key: i for i, key in enumerate(self.tokens)}
        self.extra_first = {key: extra for extra in self.extras for key in self.first(extra)[0]}

    def note(self, node: Any) -> None:
        if "token" in node or "text" in node or "pattern" in node:
            inner = node.get("token", node)
            precedence, inner = inner.get("prec", 0), inner.get("of", inner)
            texts = [
                re.escape(one["text"]) if "text" in one else one["pattern"]
                for one in inner.get("choice", [inner])
            ]
            self.tokens[json.dumps(node)] = (precedence, [re.compile(text) for text in texts])
        for part in node.get("seq", node.get("choice", [node["repeat"]] if "repeat" in node else [])):
            self.note(part)

    def end(self, key: str) -> int:
        """Where the token that begins here ends: the longest, as tree-sitter has it; or here."""
        matches = [pattern.match(self.text, self.at) for pattern in self.tokens[key][1]]
        return max(self.at if match is None else match.end() for match in matches)

    def first(self, node: Any) -> tuple[frozenset[str], bool]:
        """The tokens that a node may begin with, and whether it may be empty."""
        if "rule" in node:
            return self.first(self.rules[node["rule"]])
        if "repeat" in node:
            return self.first(node["repeat"])[0], True
        if "choice" in node:
            parts = [self.first(part) for part in node["choice"]]
            return frozenset().union(*[keys for keys, _ in parts]), any(empty for _, empty in parts)
        if "seq" in node:
            keys: frozenset[str] = frozenset()
            for part in node["seq"]:
                more, empty = self.first(part)
                keys |= more
                if not empty:
                    return keys, False
            return keys, True
        return frozenset([json.dumps(node)]), False

    def parse(self, text: str) -> Tree:
        self.text, self.at = text, 0
        found: list[Tree] = []
        self.take({"rule": "program"}, found, frozenset())
        self.next(frozenset(), found[0])
        assert self.at == len(text), text[self.at : self.at + 40]
        return self.plain(found[0])

    def plain(self, tree: Any) -> Tree:
        return (tree[0], *[self.plain(part) for part in tree[1]])

    def next(self, wanted: frozenset[str], into: Any) -> str | None:
        """The token that comes, behind extras, which are taken."""
        while True:
            best = None
            for key in wanted | self.extra_first.keys():
                if self.end(key) > self.at:
                    rank = (self.tokens[key][0], self.end(key), -self.order[key])
                    best = max(best, (rank, key)) if best is not None else (rank, key)
            if best is None or best[1] in wanted:
                return best[1] if best is not None else None
            self.take(self.extra_first[best[1]], into[1], frozenset())

    def take(self, node: Any, into: Any, after: frozenset[str]) -> None:
        """Parse a node; `after`: the tokens that may follow it."""
        if "rule" in node:
            name = node["rule"]
            tree: Any = (name, [])
            self.take(self.rules[name], into if name.startswith("_") else tree[1], after)
            if not name.startswith("_"):
                into.append(tree)
        elif "seq" in node:
            for number, part in enumerate(node["seq"]):
                keys, empty = self.first({"seq": node["seq"][number + 1 :]})
                self.take(part, into, keys | after if empty else keys)
        elif "repeat" in node:
            keys, _ = self.first(node["repeat"])
            while self.next(keys | after, (None, into)) in keys:
                self.take(node["repeat"], into, keys | after)
        elif "choice" in node:
            options = [(one, *self.first(one)) for one in node["choice"]]
            key = self.next(frozenset().union(*[keys for _, keys, _ in options]) | after, (None, into))
            chosen = [one for one, keys, empty in options if key in keys] or [
                one for one, _, empty in options if empty
            ]
            assert len(chosen) == 1, (key, self.text[self.at : self.at + 40])
            self.take(chosen[0], into, after)
        else:
            key = json.dumps(node)
            assert self.next(frozenset([key]), (None, into)) == key, (key, self.text[self.at : self.at + 40])
            self.at = self.end(key)


@pytest.fixture(scope="module")
def engine() -> Engine:
    node = shutil.which("node")
    if node is None:
        pytest.skip("the grammar is JavaScript, and Node is not installed")
    done = subprocess.run(
        [node, "-e", RECORD, str(FOLDER / "grammar.js")], capture_output=True, text=True, check=True
    )
    return Engine(json.loads(done.stdout))


def trees(text: str) -> Tree:
    """The tree that a corpus writes."""
    stack: list[list[Any]] = [[]]
    for word in re.findall(r"[()]|\w+", text):
        if word == "(":
            stack.append([])
        elif word == ")":
            done = tuple(stack.pop())
            stack[-1].append(done)
        else:
            stack[-1].append(word)
    return stack[0][0]


def test_the_corpus(engine: Engine) -> None:
    for file in (FOLDER / "test" / "corpus").glob("*.txt"):
        parts = re.split(r"^=+\n(.*)\n=+\n", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        assert len(parts) >= 8
        for name, case in zip(parts[::2], parts[1::2], strict=True):
            text, _, tree = case.partition("\n---\n")
            assert engine.parse(text.strip("\n")) == trees(tree), name


def test_programs(engine: Engine) -> None:
    """They are read to their ends."""
    for path in EXAMPLES[:2]:
        assert len(engine.parse(path.read_text(encoding="utf-8"))) > 3, path
