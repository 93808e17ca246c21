"""`vlad`, and `python -m vlad`, from the first moment: an interrupt while modules are read ends the command as any other does."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """The command; answers its exit status. `argv` are the words behind `vlad`."""
    try:
        from vlad.command import main as command
    except KeyboardInterrupt:
        print("Interrupted", file=sys.stderr)
        return 130
    return command(argv)


if __name__ == "__main__":
    sys.exit(main())
