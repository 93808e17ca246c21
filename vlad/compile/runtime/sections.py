"""The sections of runtime.c, the run-time of compiled programs, from which a unit takes those that it needs.

In: runtime.c.  Out: C text by the name of its section. What `@own` declares there is static, or, in a unit whose loops over rows
run in several threads, a part of each thread's state.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache


@cache
def sections() -> Mapping[str, str]:
    """The texts by name. Each section begins with a comment, whose first line has the name, and ends where the next one begins.
    The rest of that comment, if there is any, is a part of the text."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runtime.c")
    with open(path, encoding="utf-8") as file:
        _, *parts = file.read().split("\n/* section: ")
    found = {}
    for part in parts:
        line, text = part.split("\n", 1)
        name, end, _ = line.partition(" */")
        found[name] = f"{'' if end else '/* '}{text.strip()}\n"
    return found


_OWN = re.compile(r"^@own (.*;)\n", re.MULTILINE)
_BODY = re.compile(r"\{.*\}")
_NAME = re.compile(r"\bvlad_\w+(?=[,;[])")

STATE = """struct vlad_state {{
{fields}
}};
static struct vlad_state vlad_first; /* of the thread that calls */
#ifdef __TINYC__
static struct vlad_state *const vlad_self = &vlad_first;
#else
static _Thread_local struct vlad_state *vlad_self = &vlad_first;
#endif
{names}
"""


def alone(text: str) -> str:
    """Sections of a unit that runs in one thread at a time."""
    return text.replace("@own ", "static ")


def shared(texts: list[str]) -> list[str]:
    """Sections of a unit that runs in several threads, after the definition of their state."""
    fields = [found for text in texts for found in _OWN.findall(text)]
    names = [name for field in fields for name in _NAME.findall(_BODY.sub("", field))]
    defined = [f"#define {name} (vlad_self->{name})" for name in names]
    state = STATE.format(fields="\n".join([f"  {field}" for field in fields]), names="\n".join(defined))
    return [state, *[_OWN.sub("", text) for text in texts]]
