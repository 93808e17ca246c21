"""Modules of the language in installed Python packages: entry points of the group `vlad.modules`.

In: the name of a module.  Out: the path of its file, NAME.vlad in the package that the entry point names; None if there is none.
And the names of all, for hints. Called by top_level.py, after the folders. The package is found, but not imported.
"""

from __future__ import annotations

import os

from vlad.messages.spelling import nearest

GROUP = "vlad.modules"


def installed_module(name: str) -> str | None:
    import importlib.metadata  # 20 ms, only for modules that no folder has
    import importlib.util

    stem = name.removesuffix(".vlad")
    for point in importlib.metadata.entry_points(group=GROUP, name=stem):
        try:
            spec = importlib.util.find_spec(point.module)
        except (ImportError, ValueError):  # of a package that was damaged, or removed by hand
            continue
        for folder in (spec.submodule_search_locations or []) if spec is not None else []:
            path = os.path.join(folder, f"{stem}.vlad")
            if os.path.isfile(path):
                return path
    return None


def installed_with_similar_name(name: str) -> list[str]:
    import importlib.metadata

    return nearest(name.removesuffix(".vlad"), importlib.metadata.entry_points(group=GROUP).names)[:1]
