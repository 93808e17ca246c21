"""Methods of texts, lists, tuples and numbers that only read: the one table of them.

In: the name of a method.  Out: the library's procedure for each number of arguments (stdlib/python-sequences.vlad), which takes
the value first. Methods that change a list are in changes.py.
"""

from __future__ import annotations

SEQUENCE_METHODS: dict[str, dict[int, str]] = {
    "index": {1: "%py-method-index"}, "count": {1: "%py-method-count"}, "join": {1: "%py-text-join"},
    "find": {1: "%py-text-found", 2: "%py-text-found-from"}, "rfind": {1: "%py-text-found-last"},
    "rindex": {1: "%py-text-last-index"},
    "split": {0: "%py-text-split", 1: "%py-text-split-at", 2: "%py-text-split-times"}, "splitlines": {0: "%py-text-lines"},
    "strip": {0: "%py-text-strip", 1: "%py-text-strip-of"}, "lstrip": {0: "%py-text-left-strip", 1: "%py-text-left-strip-of"},
    "rstrip": {0: "%py-text-right-strip", 1: "%py-text-right-strip-of"},
    "upper": {0: "%py-text-upper"}, "lower": {0: "%py-text-lower"}, "casefold": {0: "%py-text-lower"},
    "startswith": {1: "%py-text-starts?", 2: "%py-text-starts-at?"}, "endswith": {1: "%py-text-ends?"},
    "removeprefix": {1: "%py-text-without-start"}, "removesuffix": {1: "%py-text-without-end"},
    "replace": {2: "%py-text-replaced", 3: "%py-text-replaced-times"}, "isalpha": {0: "%py-text-alphabetic?"},
    "isdigit": {0: "%py-text-digits?"}, "isdecimal": {0: "%py-text-digits?"}, "isnumeric": {0: "%py-text-digits?"},
    "isalnum": {0: "%py-text-alphanumeric?"}, "isspace": {0: "%py-text-blank?"},
    "isupper": {0: "%py-text-upper?"}, "islower": {0: "%py-text-lower?"}, "capitalize": {0: "%py-text-capitalized"},
    "title": {0: "%py-text-title"}, "swapcase": {0: "%py-text-swapped"}, "zfill": {1: "%py-text-zeros"},
    "ljust": {1: "%py-text-left", 2: "%py-text-left-by"}, "rjust": {1: "%py-text-right", 2: "%py-text-right-by"},
    "center": {1: "%py-text-centre", 2: "%py-text-centre-by"}, "partition": {1: "%py-text-partition"},
    "rpartition": {1: "%py-text-partition-last"}, "is_integer": {0: "%py-is-whole"},
}  # fmt: skip


def methods_hint(method: str) -> str | None:
    """The methods that there are of the values that have one of this name; None if it is one of neither texts nor lists."""
    own = [one for one in SEQUENCE_METHODS if hasattr(list, one)]
    if hasattr(list, method) or hasattr(tuple, method):
        return f"of lists and tuples there are {', '.join(own)}, and the changes in place"
    return f"of texts there are {', '.join(SEQUENCE_METHODS)}" if hasattr(str, method) else None
