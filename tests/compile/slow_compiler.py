"""A C compiler that does not end, and whether processes have ended."""

from __future__ import annotations

from pathlib import Path


def slow_compiler(folder: Path) -> str:
    """A compiler that does not end before a file exists, except for the module that Python's calls use. Another file then has
    its process, and that which waits for it.
    """
    path = folder / "slow-cc"
    path.write_text(
        f"""#!/bin/bash
case "$1" in --version|-v) exec cc "$1";; esac
for word; do case "$word" in *.c) text="$word";; esac; done
if [ ! -e {folder}/go-on ] && ! grep -q PyObject "$text"; then
  echo mess > "$TMPDIR/mess.s"
  echo $$ $PPID > {folder}/begun.tmp; mv {folder}/begun.tmp {folder}/begun
  sleep 600
fi
exec cc "$@"
"""
    )
    path.chmod(0o755)
    return str(path)


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
