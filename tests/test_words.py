"""The words of the documentation, of `vlad --help` and of errors: standard terms, and programs that are no persons.

A sentence with one of these words is a fault, or stands in `MEANT` with the reason. `python tests/test_words.py`
prints the sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from vlad.command_line import HELP

ROOT = Path(__file__).resolve().parent.parent
# Words, and what is written instead of them.
WORDS = {
    r"answer(?:s|ed|ing)?": "returns; a result",
    r"nobody|everybody": "the passive voice, or the subject that is meant",
    r"(?:is|are) told|tells?|told": "gets; shows; has",
    r"knows?|asks?|asked|wants?|forgets?|remembers?|believes?": "a program is no person: finds, tests, needs, keeps, depends on",
    r"stands? behind": "follows",
    r"strangers?": "untrusted code (sandboxing)",
    r"noticed as|tagged pair": "words of the inside",
    r"who|whom": "a program is no person: that, which",
}
# Sentences, by their beginnings, in which the word is meant.
MEANT = {
    "One wants the payoff to be small": "a player",
    "What to know before a change": "the reader",
    "A user who can already write": "a person",
    "This page is for readers who know": "persons",
    "What people ask first": "people",
    "what people ask first": "people",
    "[Coming from JAX, PyTorch, Numba or autograd](from-others.md) has the counterparts of what you know": "the reader",
    "That is all that the transform for derivatives needs to know": "a theorem of the paper, in its words",
    "The paper asks this of a language": "the paper's question",
    "The Differentiable Curry* (Abadi": "two answers to the paper's question",
    "two answers, as programs": "answers to the paper's question",
    "First answer": "answers to the paper's question",
    "Second answer": "answers to the paper's question",
    "`J` is the second answer": "answers to the paper's question",
    "c))`, so the last argument and a rest of several are not told apart": "to tell apart: to distinguish",
    "to ask for it, by `argnums`": "the user asks",
    "A cell with long short-term memory": "the forget gate, a term of the literature",
    "input, forget, candidate, output": "the forget gate",
    "Initially the forget gate is open": "the forget gate",
}
PAGES = [
    *[ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")],
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "editors").glob("*/README.md")),
    ROOT / "editors" / "README.md",
]
CORPUS = ROOT / "tests" / "errors" / "corpus.txt"


def sentences(text: str) -> Iterator[str]:
    """Those of the prose: no programs, and no words between back quotes at the place of a sentence's end."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for part in re.split(r"(?<=[.:;!?|])\s+|\n\n|^[#*-]+ |\n- ", prose, flags=re.MULTILINE):
        if part:
            yield " ".join(part.split()).lstrip("#*-| ")


def found() -> Iterator[str]:
    words = re.compile(rf"\b(?:{'|'.join(WORDS)})\b(?![`-])")
    texts = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
    texts["vlad --help"] = HELP
    texts["tests/errors/corpus.txt"] = "\n\n".join(
        re.findall(r"hint: .*|Error: .*", CORPUS.read_text(encoding="utf-8"))
    )
    for name, text in texts.items():
        for sentence in sentences(text):
            seen = words.search(re.sub(r"`[^`]*`", "``", sentence))
            if seen and not sentence.startswith(tuple(MEANT)):
                instead = next(other for word, other in WORDS.items() if re.fullmatch(word, seen.group()))
                yield f"{name}: {seen.group()} ({instead}): {sentence}"


def test_no_sentence_has_such_a_word_without_a_reason() -> None:
    assert list(found()) == []


if __name__ == "__main__":
    print("\n".join(found()))
