"""What pyproject.toml cannot say: the wheel takes the folders `stdlib/` and `repl/` as packages inside `vlad`.

Were they mapped there by `package-dir`, setuptools would make an editable install an import hook. An import hook comes behind
the search of `sys.path`, where any folder named `vlad`, such as the clone itself, is taken for a namespace package; and
type checkers do not read it. As all packages that setuptools knows of stand where their names say, it writes the clone's path to
a .pth file instead, and `vlad/__init__.py` finds the two folders beside its own, as it does in a checkout that is not installed.
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
