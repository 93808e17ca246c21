"""What a translation refuses: one error, with the place in the Python text and the way out."""

from __future__ import annotations

import ast

from vlad.data.errors import VladError
from vlad.data.source import Span

# Statements and expressions outside the language, by class: what they are, and what to write.
OUTSIDE: dict[type[ast.AST], tuple[str, str]] = {
    ast.AsyncFunctionDef: ("`async def`", "write `def`"),
    ast.AsyncFor: ("`async for`", "write `for`"),
    ast.AsyncWith: ("`async with`", "nothing waits in a translated function"),
    ast.Await: ("`await`", "nothing waits in a translated function"),
    ast.ClassDef: ("a class", "define it outside of the function"),
    ast.Delete: ("`del`", "values are freed when nothing uses them"),
    ast.Global: ("`global`", "return the new value"),
    ast.Import: ("`import`", "import at the top of the file"),
    ast.ImportFrom: ("`import`", "import at the top of the file"),
    ast.Nonlocal: ("this `nonlocal`", "only call the function, by its name, or return the new value"),
    ast.With: ("`with`", "open files and locks outside of the function"),
    ast.Yield: ("the value of `yield`", "write `yield` as a statement of its own"),
    ast.YieldFrom: ("the value of `yield from`", "write it as a statement of its own"),
}
if hasattr(ast, "TryStar"):
    OUTSIDE[ast.TryStar] = ("`except*`", "write `except`")
if hasattr(ast, "TypeAlias"):
    OUTSIDE[ast.TypeAlias] = ("`type`", "define it outside of the function")


def refused(what: str, span: Span, hint: str) -> VladError:
    """Part of a Python function has no translation."""
    return VladError("not-translated", f"A translated function cannot have {what}", span, hint=hint)


def outside(node: ast.AST, span: Span) -> VladError:
    """The error of a statement or an expression that the language has no counterpart for."""
    failure = _failure_of(node) if isinstance(node, ast.Import | ast.ImportFrom) else None
    if failure is not None:
        return VladError("not-translated", f"This import fails: {failure}", span)
    what, hint = OUTSIDE.get(type(node), (f"`{type(node).__name__}`", "write it in another way"))
    return refused(what, span, hint)


def _failure_of(statement: ast.Import | ast.ImportFrom) -> str | None:
    """Why a statement that stays in the function cannot be executed; None if it can, or if that depends on the package."""
    if isinstance(statement, ast.ImportFrom) and statement.level:
        return None
    try:
        exec(compile(ast.Module([statement], []), "<import>", "exec"), {})
    except Exception as error:  # whatever the module's text raises
        return f"{error}" or type(error).__name__
    return None
