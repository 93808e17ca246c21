"""Methods of texts, lists and tuples that only read: the one table of them.

In: the name of a method.  Out: the library's procedure for each number of arguments (stdlib/python-sequences.vlad), which takes
the value first. Methods that change a list are in changes.py.
"""

from __future__ import annotations

SEQUENCE_METHODS: dict[str, dict[int, str]] = {
    "index": {1: "%py-method-index"}, "count": {1: "%py-method-count"}, "find": {1: "%py-text-found"},
    "join": {1: "%py-text-join"}, "split": {0: "%py-text-split", 1: "%py-text-split-by"},
    "strip": {0: "%py-text-strip"}, "lstrip": {0: "%py-text-left-strip"}, "rstrip": {0: "%py-text-right-strip"},
    "upper": {0: "%py-text-upper"}, "lower": {0: "%py-text-lower"}, "startswith": {1: "%py-text-starts?"},
    "endswith": {1: "%py-text-ends?"}, "replace": {2: "%py-text-replaced"}, "isalpha": {0: "%py-text-alphabetic?"},
    "isdigit": {0: "%py-text-digits?"}, "isalnum": {0: "%py-text-alphanumeric?"}, "isspace": {0: "%py-text-blank?"},
    "isupper": {0: "%py-text-upper?"}, "islower": {0: "%py-text-lower?"}, "capitalize": {0: "%py-text-capitalized"},
    "title": {0: "%py-text-title"}, "swapcase": {0: "%py-text-swapped"}, "zfill": {1: "%py-text-zeros"},
    "ljust": {1: "%py-text-left", 2: "%py-text-left-by"}, "rjust": {1: "%py-text-right", 2: "%py-text-right-by"},
    "center": {1: "%py-text-centre", 2: "%py-text-centre-by"}, "partition": {1: "%py-text-partition"},
}  # fmt: skip


def methods_hint(method: str) -> str | None:
    """The methods that there are of the values that have one of this name; None if it is one of neither texts nor lists."""
    own = [one for one in SEQUENCE_METHODS if hasattr(list, one)]
    if hasattr(list, method) or hasattr(tuple, method):
        return f"of lists and tuples there are {', '.join(own)}, and the changes in place"
    return f"of texts there are {', '.join(SEQUENCE_METHODS)}" if hasattr(str, method) else None
