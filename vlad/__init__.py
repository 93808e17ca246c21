"""vlad: a Scheme-like, pure, higher-order language in which differentiation is a first-class operator.

The public names; each is imported when it is first used. In a checkout that is not installed, `vlad.stdlib` and `vlad.repl` are
found in the folders beside this one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vlad.errors import Incomplete, LimitExceeded, VladError
    from vlad.evaluate.limits import Limits
    from vlad.session import Session

__version__ = "0.1.0"
__all__ = ["Incomplete", "LimitExceeded", "Limits", "Session", "VladError", "__version__"]

_HOME = {
    "Session": "vlad.session",
    "Limits": "vlad.evaluate.limits",
    "VladError": "vlad.errors",
    "LimitExceeded": "vlad.errors",
    "Incomplete": "vlad.errors",
}

_root = Path(__file__).parent
if not (_root / "stdlib").exists() and (_root.parent / "stdlib").is_dir() and (_root.parent / "repl").is_dir():
    __path__.append(str(_root.parent))


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'vlad' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
