"""What Jupyter knows of the kernel: a folder with a file that says how to start it.

In: where.  Out: the folder, installed or removed by jupyter_client. Called by `vlad kernel`.
"""

from __future__ import annotations

import json
import os
import sys
from tempfile import TemporaryDirectory
from typing import Any

from vlad.data.errors import VladError

NAME = "vlad"


def specification() -> dict[str, Any]:
    return {
        "argv": [sys.executable, "-m", "vlad.repl.kernel", "-f", "{connection_file}"],
        "display_name": "vlad",
        "language": "vlad",
        "interrupt_mode": "signal",
    }


def _manager(prefix: str | None) -> Any:
    """Jupyter's list of kernels, or the one of a folder such as that of an environment. Raises VladError if Jupyter's packages
    are not installed."""
    try:
        import ipykernel  # noqa: F401
        from jupyter_client.kernelspec import KernelSpecManager
    except ModuleNotFoundError as missing:
        raise VladError(
            "no-program",
            f"A kernel needs the package {missing.name}, which is not installed",
            hint="`pip install ipykernel`",
        ) from None
    if prefix is None:
        return KernelSpecManager()
    return KernelSpecManager(kernel_dirs=[os.path.join(prefix, "share", "jupyter", "kernels")])


def install(prefix: str | None) -> str:
    """Install the kernel for the user, or in a folder such as that of an environment. Returns where. Raises VladError."""
    with TemporaryDirectory() as folder:
        with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as file:
            json.dump(specification(), file, indent=1)
        try:
            return str(_manager(prefix).install_kernel_spec(folder, NAME, user=prefix is None, prefix=prefix))
        except OSError as error:
            where = str(error.filename or prefix or "")
            raise VladError("cannot-write", f"Cannot write: {where}", hint=error.strerror or "") from None


def uninstall(prefix: str | None) -> str:
    """Remove the kernel that Jupyter finds first, or that in a folder. Returns where it was. Raises VladError."""
    from jupyter_client.kernelspec import NoSuchKernel

    try:
        return str(_manager(prefix).remove_kernel_spec(NAME))
    except (NoSuchKernel, KeyError):  # jupyter_client raises either
        what = (
            "Jupyter knows no kernel of vlad" if prefix is None else f"There is no kernel of vlad in {prefix}"
        )
        hint = "`vlad kernel install` adds one; `--prefix FOLDER` looks into the folder of an environment"
        raise VladError("no-program", what, hint=hint) from None
