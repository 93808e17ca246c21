"""`vlad new NAME`: a module of the language, with its documentation and test, as a Python package that pip installs.

In: a name.  Out: a folder. The entry point in its pyproject.toml makes `(import "NAME")` find the module once it is installed
(session/installed.py).
"""

from __future__ import annotations

import importlib.util
import os
import re

from vlad.data.errors import VladError
from vlad.session.installed import GROUP
from vlad.session.library import the_library

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
FILES = {
    "pyproject.toml": """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1.0"
description = "A module of the language vlad"
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["vlad-lang"]

# `(import "{name}")` finds {name}.vlad in this package
[project.entry-points."{group}"]
{name} = "{package}"

[tool.setuptools]
packages = ["{package}"]

[tool.setuptools.package-data]
{package} = ["*.vlad"]
""",
    "README.md": """\
# {name}

A module of the language vlad.

```scheme
(import "{name}")
(twice 4)   ; => 8
```

`vlad test` runs its tests, `vlad format .` lays it out, `pip install .` installs it, in an environment that has vlad.
vlad is not on the package index: install it from a copy of its project first, by `pip install PATH/TO/vlad`. From Python:

```python
import vlad
from {package} import twice

print(twice(4.0), vlad.grad(twice)(4.0))
```
""",
    "{package}/__init__.py": """\
\"\"\"What {name}.vlad exports, with underscores for hyphens.\"\"\"

from vlad.bridges.modules import exports_of

__getattr__, __dir__ = exports_of(__file__, "{name}")
""",
    "{package}/{name}.vlad": """\
; {name}: say here what the module is for.

(export twice)

;;; (twice x)
;;; Twice a number or a tensor.
;;; (twice 4)  ⇒ 8
(define (twice x) (* 2 x))
""",
    "{package}/{name}-test.vlad": """\
(import "test")
(import "{name}")

(twice 4)   ; => 8
(test "of a tensor" (twice #[1 2]) #[2 4])
(check-gradient twice 3)
""",
}


def new(name: str) -> list[str]:
    """Make a folder with this name; returns the paths of its files. Raises VladError."""
    if not _NAME.fullmatch(name):
        hint = "lowercase letters, digits and hyphens, beginning with a letter"
        raise VladError("invalid-argument", f"Not a name for a module: {name}", hint=hint)
    library = the_library()
    if any(
        os.path.exists(os.path.join(folder, f"{name}.vlad")) for folder in (library.folder, library.modules)
    ):
        raise VladError("invalid-argument", f"The library has a module {name}", hint="choose another name")
    package = name.replace("-", "_")
    found = importlib.util.find_spec(package)
    if found is not None and found.origin is not None:  # a folder without Python is none
        what = f"There is a Python package {package}, which this one would replace when it is installed"
        raise VladError("invalid-argument", what, hint="choose another name")
    made = []
    try:
        os.mkdir(name)
        for path, text in FILES.items():
            facts = {"name": name, "package": package, "group": GROUP}
            target = os.path.join(name, path.format(**facts))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8") as file:
                file.write(text.format(**facts))
            made.append(target)
    except OSError as error:
        raise VladError("cannot-write", f"Cannot write: {name}", hint=error.strerror or "") from None
    return made
