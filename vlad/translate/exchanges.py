"""Values that change places: `a, b = b, a`, and parts that do.

In: an assignment.  Out: which names or parts change places. No value has more owners afterwards.
"""

from __future__ import annotations

import ast

from vlad.translate.names import root_of
from vlad.translate.trees import walk


def exchanged(node: ast.AST | None) -> set[str] | None:
    """The names that change places in `a, b = b, a`; None if it is another statement."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=left)], value=ast.Tuple(elts=right)):
            names = [[one.id for one in side if isinstance(one, ast.Name)] for side in (left, right)]
            is_exchange = sorted(names[0]) == sorted(names[1]) and len(set(names[0])) == len(left)
            return set(names[0]) if is_exchange else None
    return None


def permuted(statement: ast.AST | None) -> bool:
    """Is it `x[i], x[j] = x[j], x[i]`? Each part stays in one place."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=left)], value=ast.Tuple(elts=right)):
            roots = {None if root is None else root.id for root in map(root_of, (*left, *right))}
            plain = (ast.Subscript, ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
            are_parts = all(isinstance(one, ast.Subscript) for one in left) and len(roots) == 1
            nodes = [node for one in left for node in walk(one) if not isinstance(node, ast.expr_context)]
            names = [node.id for node in nodes if isinstance(node, ast.Name)]
            is_plain = all(isinstance(node, plain) for node in nodes)
            reads_none = all(names.count(str(root)) == len(left) for root in roots)  # in the indices
            texts = [sorted(map(ast.unparse, side)) for side in (left, right)]
            return are_parts and is_plain and reads_none and texts[0] == texts[1]
    return False
