"""The compiler. The package can be called as well: `vlad.compile(f, …)` is of the public API, and is written in compiling.py."""

import sys
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from importlib import import_module

        return import_module("vlad.compiling").compile(*arguments, **options)


sys.modules[__name__].__class__ = _Package
