"""Build options that pyproject.toml cannot express: the wheel takes the folders `stdlib/` and `repl/` as packages inside `vlad`.

If `package-dir` mapped them there, setuptools would make an editable install an import hook. An import hook comes after
the search of `sys.path`, where any folder named `vlad`, such as the clone itself, is taken for a namespace package; and
type checkers do not support it. As all packages known to setuptools are where their names say, it writes the clone's path to
a .pth file instead, and `vlad/__init__.py` finds the two folders beside its own, as in a checkout that is not installed.
"""

from __future__ import annotations

from setuptools import setup
from setuptools.command.build_py import build_py

BESIDE = {"vlad.repl": "repl", "vlad.stdlib": "stdlib"}


class BuildPy(build_py):
    """Copies the packages that stand beside `vlad/`, too."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.packages = [*self.packages, *BESIDE]
        self.package_dir = {**self.package_dir, **BESIDE}


setup(cmdclass={"build_py": BuildPy})
