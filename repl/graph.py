"""A lambda in core → its data flow graph, as text or in the language of Graphviz.

Each operation is a node, with an edge to each operation that uses its result. Constants and globals are part of
the nodes that use them. Branches and inner procedures are boxes of their own.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from vlad.core.nodes import (
    Apply,
    Atom,
    Body,
    Call,
    Constant,
    Field,
    GlobalReference,
    If,
    Lambda,
    Letrec,
    Record,
    Result,
    Rhs,
    Variable,
)
from vlad.core.text import constant_text
from vlad.data.errors import VladError

from .files import cannot_write, write_text

SECONDS = 60  # time limit of Graphviz
MIDDLE, LAST = ("├─ ", "│  "), ("└─ ", "   ")  # of a tree: the branch to a part, and the lines below it


def operator_of(rhs: Rhs | Result) -> tuple[str, tuple[Atom, ...]]:
    """The name of an operation, and its operands."""
    match rhs:
        case Apply():
            return rhs.primitive.name, rhs.operands
        case Call():
            return "call", (rhs.operator, *rhs.operands)
        case If():
            return "if", (rhs.test,)
        case Record():
            return "record", rhs.fields
        case Field():
            return f"field {rhs.index}", (rhs.record,)
        case Lambda():
            return f"procedure {rhs.name}".rstrip(), rhs.free
    return "", (rhs,)


def atom_label(atom: Atom) -> str:
    if isinstance(atom, GlobalReference):
        return atom.cell.name
    return constant_text(atom.value) if isinstance(atom, Constant) else atom.name


def inner_bodies(rhs: Rhs | Result) -> list[tuple[str, Body]]:
    """The bodies inside an operation, with their labels."""
    if isinstance(rhs, If):
        return [("then", rhs.consequent), ("else", rhs.alternative)]
    if isinstance(rhs, Lambda):
        return [(" ".join(["of", *[parameter.name for parameter in rhs.parameters]]), rhs.body)]
    return []


# As text.


def as_text(lambda_: Lambda) -> str:
    """A tree for each result, from the result to its operands; a node that was shown before is only named."""
    lines = [
        f"{lambda_.name or 'procedure'} of {' '.join(parameter.name for parameter in lambda_.parameters)}"
    ]
    _Tree(lines).body(lambda_.body, "")
    return "\n".join(lines)


class _Tree:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.made: dict[Variable, Rhs] = {}
        self.shown: set[Variable] = set()

    def body(self, body: Body, margin: str) -> None:
        for binding in body.bindings:
            if isinstance(binding, Letrec):
                self.made.update(binding.members)
            else:
                self.made[binding.variable] = binding.rhs
        self.part(body.result, margin, *LAST)

    def part(self, rhs: Rhs | Result, margin: str, branch: str, below: str) -> None:
        """An operation, and below it its operands."""
        work: list[tuple[Rhs | Result, str, str, str]] = [(rhs, margin, branch, below)]
        while work:
            rhs, margin, branch, below = work.pop()
            name = ""
            if isinstance(rhs, Variable):
                made = self.made.get(rhs)
                if made is None or rhs in self.shown:
                    self.lines.append(f"{margin}{branch}{rhs.name}" + ("" if made is None else " (above)"))
                    continue
                self.shown.add(rhs)
                name, rhs = f"{rhs.name} = ", made
            word, operands = operator_of(rhs)
            if not word and not isinstance(rhs, Variable):
                self.lines.append(f"{margin}{branch}{name}{atom_label(operands[0])}")
                continue
            self.lines.append(f"{margin}{branch}{name}{word}".rstrip())
            margin += below
            bodies = inner_bodies(rhs)
            if isinstance(rhs, Lambda):
                operands = ()
            parts = []
            for index, operand in enumerate(operands):
                is_last = index == len(operands) - 1 and not bodies
                parts.append((operand, margin, *(LAST if is_last else MIDDLE)))
            for index, (label, body) in enumerate(bodies):
                for operand_part in parts:
                    self.part(*operand_part)
                parts = []
                branch, below = LAST if index == len(bodies) - 1 else MIDDLE
                self.lines.append(f"{margin}{branch}{label}")
                self.body(body, margin + below)
            work += reversed(parts)


# For Graphviz.


def as_dot(lambda_: Lambda) -> str:
    """The graph in the language of Graphviz."""
    dot = _Dot()
    dot.lambda_(lambda_)
    name = quoted(lambda_.name or "procedure")
    lines = [
        f"digraph {name} {{",
        '  node [shape=box, fontname="Helvetica", fontsize=11];',
        f"  label={name};",
    ]
    return "\n".join([*lines, *dot.lines, "}"]) + "\n"


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


class _Dot:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.nodes: dict[Variable, str] = {}
        self.count = 0

    def node(self, label: str, **attributes: str) -> str:
        self.count += 1
        more = "".join([f", {name}={value}" for name, value in attributes.items()])
        self.lines.append(f"  n{self.count} [label={quoted(label)}{more}];")
        return f"n{self.count}"

    def lambda_(self, lambda_: Lambda) -> None:
        for parameter in lambda_.parameters:
            self.nodes[parameter] = self.node(parameter.name, shape="ellipse")
        result = self.body(lambda_.body)
        self.lines.append(f"  {result} [penwidth=2];")

    def body(self, body: Body) -> str:
        """The nodes of a body; returns that of its result."""
        for binding in body.bindings:
            if isinstance(binding, Letrec):
                for variable, member in binding.members:
                    self.nodes[variable] = self.node(operator_of(member)[0], shape="component")
                for variable, member in binding.members:
                    self.inside(self.nodes[variable], member)
            else:
                self.nodes[binding.variable] = self.operation(binding.rhs)
        return self.operation(body.result)

    def operation(self, rhs: Rhs | Result) -> str:
        if isinstance(rhs, Variable):
            return self.nodes.get(rhs) or self.node(rhs.name, shape="ellipse", style="dashed")
        word, operands = operator_of(rhs)
        fixed = ["·" if isinstance(atom, Variable) else atom_label(atom) for atom in operands]
        label = " ".join([word, *(fixed if set(fixed) != {"·"} else [])]).strip()
        node = self.node(label, **({"shape": "component"} if isinstance(rhs, Lambda) else {}))
        for atom in operands:
            if isinstance(atom, Variable):
                self.lines.append(f"  {self.operation(atom)} -> {node};")
        self.inside(node, rhs)
        return node

    def inside(self, node: str, rhs: Rhs | Result) -> None:
        """The bodies inside an operation, each in a box, with an edge from its result."""
        for label, body in inner_bodies(rhs):
            self.count += 1
            self.lines.append(f"  subgraph cluster_{self.count} {{ label={quoted(label)}; color=gray;")
            if isinstance(rhs, Lambda):
                for parameter in rhs.parameters:
                    self.nodes[parameter] = self.node(parameter.name, shape="ellipse")
            result = self.body(body)
            self.lines.append("  }")
            self.lines.append(f"  {result} -> {node} [style=dashed];")


def save(dot: str, path: str) -> str:
    """Write a graph; returns the written path. Formats other than text need Graphviz; without it, the text is written instead.
    Raises VladError.
    """
    kind = os.path.splitext(path)[1].lstrip(".").lower() or "dot"
    program = None if kind in ("dot", "gv") else shutil.which("dot")
    if program is None:
        path = path if kind in ("dot", "gv") else os.path.splitext(path)[0] + ".dot"
        write_text(path, dot)
        return path if kind in ("dot", "gv") else f"{path} (there is no Graphviz here to make a {kind} of it)"
    try:
        done = subprocess.run(
            [program, f"-T{kind}", "-o", path], input=dot.encode(), capture_output=True, timeout=SECONDS
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise cannot_write(path, error) from None
    if done.returncode:
        raise VladError(
            "cannot-write", f"Cannot write: {path}", hint=done.stderr.decode("utf-8", "replace").strip()
        )
    return path
