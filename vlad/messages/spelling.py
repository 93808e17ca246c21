"""Suggestions for an unknown word: known words that are spelled similarly, and counterparts of words of other languages
(other_languages.py).

In: an unknown word, and the known ones.  Out: a suggestion. Called only where an error is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vlad.messages.other_languages import other_language_hint

# Names of modules of other languages, used as a prefix.
MODULES = frozenset(
    ["F", "jax", "jnp", "lax", "math", "nn", "np", "numpy", "optim", "random", "scipy", "tf", "torch"]
)
MOST_TOLD = 3


def suggestion(word: str, known: Iterable[str], own: Iterable[str] = ()) -> str | None:
    """The hint for an unknown word; None if nothing is similar. `own`: names of the same text. One of these that is one
    edit away is more likely than a word of another language.
    """
    if len(word) > 4:
        near = [name for name in nearest(word, own) if edits(word, name, 1) <= 1]
        if near:
            return did_you_mean(near)
    found = _of_module(word, known) or other_language_hint(word)
    if found is not None:
        return found
    near = nearest(word, {*known, *own})
    return did_you_mean(near) if near else None


def among(word: str, choices: Mapping[str, str]) -> str | None:
    """The hint for a word that should have been one of few, which may be abbreviated; each is there with what to write."""
    longer = [one for one in choices if len(word) > 1 and one.startswith(word)]
    meant = nearest(word, choices) or (longer if len(longer) <= MOST_TOLD else [])
    return did_you_mean([*dict.fromkeys([choices[one] for one in meant])]) if meant else None


def _of_module(word: str, known: Iterable[str]) -> str | None:
    """A hint for `np.sin`."""
    module, dot, name = word.rpartition(".")
    if not dot or module.partition(".")[0] not in MODULES:
        return None
    return f"write `{name}`, without a module" if name in known else suggestion(name, known)


def did_you_mean(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return f"did you mean {' or '.join([', '.join(quoted[:-1]), quoted[-1]] if quoted[1:] else quoted)}?"


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """The known words that are the fewest edits away: at most three, the likeliest first, and none that has little in common with
    the word.
    """
    if len(word) < 2:  # a variable of mathematics: too short for a guess
        return []
    most = 1 if len(word) < 5 else 2 if len(word) < 9 else 3
    letters = set(word)
    found: list[tuple[tuple[object, ...], str]] = []
    for name in set(known):
        if name != word and abs(len(name) - len(word)) <= most and len(letters ^ set(name)) <= 2 * most:
            count = edits(word, name, most)
            if count < max(len(word), len(name)) and count <= most:
                found.append((_unlikeliness(word, name, count), name))
                most = min(most, count)
    found.sort()
    return [name for rank, name in found if rank == found[0][0]][:MOST_TOLD]


def _unlikeliness(word: str, name: str, count: int) -> tuple[object, ...]:
    """A sort key, smaller for likelier words: few edits, none in the first character, equal lengths."""
    return count, word[:1] != name[:1], set(word) != set(name)


def edits(a: str, b: str, most: int) -> int:
    """The edit distance of two words: insertions, deletions, substitutions and swaps of neighbours; any number above `most`
    stands for all larger ones (Damerau 1964, in the variant that edits each place once).
    """
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return last[-1]
