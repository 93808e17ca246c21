"""PTX without a GPU: the output of NVIDIA's compiler for CUDA text, translated to C, so that a CPU runs it.

In: the PTX of kernels (PTX ISA 8.x).  Out: C functions of the same names, with a parameter for each of theirs; `blockIdx` and
similar variables, `__syncthreads` and `atomicAdd`'s place in memory are pretended_cupy.py's.

    registers     variables; an instruction that takes bits for a number, or the reverse, copies them
    memory        global, local and constant addresses are the CPU's; shared ones count from the beginning of an array.
                  Accesses beyond the operands, or at an address at which a GPU would trap, are faults
    rounding      as the instruction specifies: each is one C expression, compiled without fusing
    approximate   the exact value, to as many bits as the PTX manual guarantees

An unknown instruction is an error: none is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

HELPERS = """
#include <fenv.h>
#include <stdint.h>
union bits64 { double d; uint64_t u; };
union bits32 { float f; uint32_t u; };
static double ptx_d(uint64_t u) { return (union bits64){.u = u}.d; }
static uint64_t ptx_u(double d) { return (union bits64){.d = d}.u; }
static float ptx_f(uint32_t u) { return (union bits32){.u = u}.f; }
static uint32_t ptx_v(float f) { return (union bits32){.f = f}.u; }
static float ptx_ftz(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
static float ptx_saturated(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
/* rcp.approx.ftz.f64: of the upper half of the bits, to the upper half. */
static double ptx_upper(double x) { return ptx_d(ptx_u(x) & 0xffffffff00000000u); }
static uint8_t ptx_nowhere[64] __attribute__((aligned(16)));
static uint8_t *ptx_shared(uint64_t at, unsigned size, unsigned whole) {
  int is_fault = at % size || at + size > whole;
  emulated_fault |= is_fault;
  return is_fault ? ptx_nowhere : emulated_shared + at;
}
static uint8_t *ptx_anywhere(uint64_t at, unsigned size) {
  int is_fault = at % size || at < 4096;
  emulated_fault |= is_fault;
  return is_fault ? ptx_nowhere : (uint8_t *)at;
}
static int64_t ptx_whole(double x, double low, double high, int64_t least, int64_t most, int64_t of_nan) {
  return x != x ? of_nan : x <= low ? least : x >= high ? most : (int64_t)x;
}
"""
GLOBAL = """
static uint8_t *ptx_global(uint64_t at, unsigned size) {
  struct emulated_range const own[] = {CONSTANTS{0, 0}};
  int is_there = 0;
  for (unsigned n = 0; n < sizeof own / sizeof *own; n++) is_there |= own[n].start <= at && at + size <= own[n].end;
  for (int n = 0; n < emulated_count && !is_there; n++)
    is_there = emulated_ranges[n].start <= at && at + size <= emulated_ranges[n].end;
  if (is_there && at % size == 0) return (uint8_t *)at;
  emulated_fault = 1;
  return ptx_nowhere;
}
"""
C = {"pred": "int", "f32": "float", "f64": "double"} | {
    f"{sign}{width}": f"{'int' if sign == 's' else 'uint'}{width}_t" for sign in "bus" for width in (8, 16, 32, 64)
}  # fmt: skip
SPECIAL = {
    f"%{name}.x": f"{full}.x" for name, full in
    [("tid", "threadIdx"), ("ntid", "blockDim"), ("ctaid", "blockIdx"), ("nctaid", "gridDim")]
}  # fmt: skip
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
UNORDERED = {f"{name}u": sign for name, sign in COMPARE.items()}
BINARY = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "div": "/", "rem": "%"}
DIRECTED = {"rz": "FE_TOWARDZERO", "rm": "FE_DOWNWARD", "rp": "FE_UPWARD"}
ROUNDED = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
RANGES = {  # of truncation from a real: below, above, and the value for nan
    "s32": "-0x1p31, 0x1p31, INT32_MIN, INT32_MAX, 0", "u32": "0, 0x1p32, 0, UINT32_MAX, 0",
    "s64": "-0x1p63, 0x1p63, INT64_MIN, INT64_MAX, INT64_MIN",
}  # fmt: skip


def translated(ptx: str) -> str:
    """The C text. Raises ValueError for unknown constructs."""
    text = re.sub(r"//[^\n]*", "", ptx)
    text = re.sub(r'\.pragma "[^"]*";', "", text)
    constants = re.findall(r"\.global \.align \d+ \.b8 (\S+?)\[(\d+)\] = (\{[^}]*\});", text)
    lines = [HELPERS]
    own = ""
    for name, size, init in constants:
        lines.append(f"static const uint8_t {_name(name)}[{size}] __attribute__((aligned(16))) = {init};")
        own += f"{{(uint64_t){_name(name)}, (uint64_t){_name(name)} + {size}}}, "
    lines.append(GLOBAL.replace("CONSTANTS", own))
    heads: list[str] = []
    bodies: list[str] = []
    for found in re.finditer(
        r"(?:\.visible \.entry|\.func)\s*(\([^)]*\))?\s*(\w+)\s*\(([^)]*)\)[^;{]*?(;|\{)", text
    ):
        result, name, parameters, end = found.groups()
        is_entry = found.group(0).startswith(".visible")
        head = _head(name, result, parameters, is_entry)
        heads.append(f"{head};")
        if end == "{":
            body = text[found.end() : _closing(text, found.end())]
            bodies.append(f"{head} {{\n{Body(body, {name for name, _, _ in constants}).text}\n}}")
    return "\n".join([*lines, *dict.fromkeys(heads), *bodies])


def _closing(text: str, at: int) -> int:
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at - 1


def _called(rest: str) -> list[str]:
    """The function of a call, and the blocks of bytes that it is handed: those for results first."""
    found = re.fullmatch(r"(?:\(([^)]*)\), )?(\w+), \(([^)]*)\)", rest)
    if found is None:
        raise ValueError(rest)
    results, name, given = found.groups()
    return [name, *re.findall(r"\w+", results or ""), *re.findall(r"\w+", given)]


def _vector(operand: str) -> list[str]:
    return operand[1:-1].split(",") if operand.startswith("{") else [operand]


def _space(ways: list[str]) -> str:
    """Where an address is; generic ones are global or local."""
    return next((way for way in ways if way in ("param", "global", "local", "shared")), "generic")


def _name(name: str) -> str:
    return re.sub(r"\W", lambda found: {"%": "R_", "$": "L_"}.get(found.group(), "_"), name)


def _head(name: str, result: str | None, parameters: str, is_entry: bool) -> str:
    """Parameters are read through their addresses, as PTX does."""
    parts = re.findall(r"\.param (?:\.align \d+ )?\.(\w+) (?:\.ptr[^,)]*? )?(\w+)(?:\[\d+\])?", parameters)
    if is_entry:
        return f"static void {name}({', '.join([f'{C[kind]} {own}' for kind, own in parts])})"
    results = re.findall(r"(\w+)(?:\[\d+\])?\)", result or "")
    return f"static void {name}({', '.join([f'uint8_t *{own}' for own in [*results, *[own for _, own in parts]]])})"


class Body:
    """A function's statements as C: `text`."""

    def __init__(self, body: str, constants: set[str]) -> None:
        self.scopes: list[dict[str, str]] = [{}]  # the kinds of registers, by name
        self.addresses = dict.fromkeys(constants, "global")
        self.shared = 0  # bytes of shared memory so far
        self.blocks: set[str] = set()  # parameters of calls: blocks of bytes here
        lines = [line for statement in self._statements(body) for line in self._statement(statement)]
        self.text = "\n".join(["int carry = 0;", *lines]).replace("SHARED_BYTES", str(self.shared))

    def _statements(self, body: str) -> Iterator[str]:
        """Declarations and instructions, labels, and the braces of scopes; those of vectors are within an instruction."""
        at = 0
        while True:
            while at < len(body) and body[at].isspace():
                at += 1
            if at == len(body):
                return
            if body[at] in "{}":
                yield body[at]
                at += 1
                continue
            label = re.compile(r"[$\w]+:").match(body, at)
            end = label.end() if label else body.index(";", at) + 1
            yield " ".join(body[at:end].rstrip(";").split())
            at = end

    def _statement(self, text: str) -> Iterator[str]:
        if text == "{":
            self.scopes.append({})
            yield "{ "
        elif text == "}":
            self.scopes.pop()
            yield "}"
        elif text.endswith(":"):
            yield f"{_name(text[:-1])}: ;"
        elif text.startswith("."):
            yield from self._declaration(text)
        elif text:
            test = re.match(r"@(!?)(%\w+) ", text)
            if test:
                yield f"if ({test.group(1)}{_name(test.group(2))})"
                text = text[test.end() :]
            code, _, rest = text.partition(" ")
            yield f"{{ {self._instruction(code, rest)} }}"

    def _declaration(self, text: str) -> Iterator[str]:
        space, *_ = text.split()
        if space == ".reg":
            _, kind, names = text.replace(".", "").split(maxsplit=2)
            for name in names.split(","):
                many = re.fullmatch(r"\s*(%?\w+)<(\d+)>\s*", name)
                own = [f"{many.group(1)}{n}" for n in range(int(many.group(2)))] if many else [name.strip()]
                self.scopes[-1].update(dict.fromkeys(own, kind))
                for at in range(0, len(own), 20):
                    yield f"{C[kind]} {', '.join([_name(one) for one in own[at : at + 20]])};"
            return
        found = re.fullmatch(r"(\.\w+) (?:\.align (\d+) )?\.(\w+) (\w+)(?:\[(\d+)\])?", text)
        if found is None:
            raise ValueError(text)
        _, align, kind, name, count = found.groups()
        size = int(count or 1) * int(kind[1:]) // 8
        if space == ".shared":
            self.shared += -self.shared % int(align or 8)
            self.addresses[name] = "shared"
            yield f"enum {{ {_name(name)} = {self.shared} }};"
            self.shared += size
        elif space in (".local", ".param"):
            self.addresses[name] = "local"
            self.blocks.add(name)
            yield f"uint8_t {_name(name)}[{size}] __attribute__((aligned(16)));"
        else:
            raise ValueError(text)

    # Operands.

    def _kind(self, name: str) -> str | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def read(self, operand: str, kind: str) -> str:
        """An operand as a C expression of a kind."""
        operand = operand.strip()
        is_float = kind[0] == "f"
        if operand in SPECIAL:
            return f"(({C[kind]}){SPECIAL[operand]})"
        if operand in self.addresses:
            return f"(({C[kind]})(uintptr_t){_name(operand)})"
        own = self._kind(operand)
        if own is None:
            return self._constant(operand, kind)
        name = _name(operand)
        if own == "pred" or (own[0] == "f") == is_float:
            return name if own == "pred" or is_float else f"(({C[kind]}){name})"
        if is_float:
            return f"ptx_d({name})" if kind == "f64" else f"ptx_f({name})"
        return f"(({C[kind]}){'ptx_u' if own == 'f64' else 'ptx_v'}({name}))"

    def _constant(self, operand: str, kind: str) -> str:
        if operand[:2] in ("0d", "0D", "0f", "0F"):
            bits, is_wide = f"0x{operand[2:]}u", operand[1] in "dD"
            if kind[0] == "f":
                return f"ptx_d({bits}l)" if is_wide else f"ptx_f({bits})"
            return f"(({C[kind]}){bits}{'l' if is_wide else ''})"
        if not re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)U?", operand):
            raise ValueError(operand)
        return f"(({C[kind]}){int(operand.rstrip('U'), 0) & (1 << 64) - 1:#x}u)"

    def write(self, operand: str, kind: str, value: str) -> str:
        """Put a C expression of a kind into a register."""
        operand = operand.strip()
        if operand == "_":
            return f"(void)({value});"
        own, name = self._kind(operand), _name(operand)
        if own is None:
            raise ValueError(operand)
        if own == "pred":
            return f"{name} = ({value}) != 0;"
        if (own[0] == "f") == (kind[0] == "f"):
            return f"{name} = ({C[kind]})({value});"
        if own[0] == "f":
            return f"{name} = {'ptx_d' if own == 'f64' else 'ptx_f'}({value});"
        return f"{name} = {'ptx_u' if kind == 'f64' else 'ptx_v'}({value});"

    def places(self, operand: str, space: str, kind: str, count: int = 1) -> list[str]:
        """The target of an address `[a+8]`: `count` numbers of a kind, one after the other."""
        base, _, offset = operand.strip()[1:-1].partition("+")
        base, size = base.strip(), int(kind[1:]) // 8
        if space == "param":
            is_block = base in self.blocks or "retval" in base or self._is_inner(base)
            start = f"(uint8_t *)({_name(base) if is_block else f'&{base}'}) + {int(offset or 0)}"
        else:
            address = f"{self.read(base, 'u64')} + {int(offset or 0)}"
            start = {
                "global": f"ptx_global({address}, {size * count})", "local": f"(uint8_t *)({address})",
                "shared": f"ptx_shared({address}, {size * count}, SHARED_BYTES)",
                "generic": f"ptx_anywhere({address}, {size * count})",
            }[space]  # fmt: skip
        return [f"*({C[kind]} *)({start} + {size * n})" for n in range(count)]

    def _is_inner(self, name: str) -> bool:
        """A parameter of a function, which is handed its address."""
        return name.startswith("__internal") or name.startswith("func_")

    # Instructions.

    def _instruction(self, code: str, rest: str) -> str:
        name, *ways = code.split(".")
        known: dict[str, Callable[[list[str], list[str]], str]] = {
            "ld": self._load, "ldu": self._load, "st": self._store, "mov": self._move, "cvt": self._convert,
            "setp": self._compare, "atom": self._atomic, "red": self._atomic, "cvta": self._address,
        }  # fmt: skip
        operands = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", rest)
        if name == "ret":
            return "return;"
        if name == "exit":
            return "emulated_exit();"
        if name == "bra":
            return f"goto {_name(operands[0])};"
        if name == "bar":
            return "__syncthreads();"
        if name == "call":
            name, *blocks = _called(rest)
            return f"{name}({', '.join(blocks)});"
        if name in known:
            return known[name](ways, operands)
        kind = ways[-1]
        return self._computed(name, ways, kind, operands)

    def _load(self, ways: list[str], operands: list[str]) -> str:
        space, kind, parts = _space(ways), ways[-1], _vector(operands[0])
        # all are read before any is written: the address may be among them
        places = self.places(operands[1], space, kind, len(parts))
        reads = [f"{C[kind]} v{n} = {place};" for n, place in enumerate(places)]
        return " ".join([*reads, *[self.write(part, kind, f"v{n}") for n, part in enumerate(parts)]])

    def _store(self, ways: list[str], operands: list[str]) -> str:
        space, kind, parts = _space(ways), ways[-1], _vector(operands[1])
        places = self.places(operands[0], space, kind, len(parts))
        return " ".join([
            f"{place} = {self.read(part, kind)};" for place, part in zip(places, parts, strict=True)
        ])  # fmt: skip

    def _move(self, ways: list[str], operands: list[str]) -> str:
        kind, (target, source) = ways[-1], operands
        half = int(kind[1:]) // 2 if kind != "pred" else 0
        if target.startswith("{"):
            low, high = target[1:-1].split(",")
            value = f"{C[kind]} v = {self.read(source, kind)};"
            return (
                f"{value} {self.write(low, f'b{half}', 'v')} {self.write(high, f'b{half}', f'v >> {half}')}"
            )
        if source.startswith("{"):
            low, high = [self.read(part, f"b{half}") for part in source[1:-1].split(",")]
            return self.write(target, kind, f"({C[kind]}){low} | ({C[kind]}){high} << {half}")
        return self.write(target, kind, self.read(source, kind))

    def _address(self, ways: list[str], operands: list[str]) -> str:
        return self.write(operands[0], "u64", self.read(operands[1], "u64"))

    def _convert(self, ways: list[str], operands: list[str]) -> str:
        *how, to, of = ways
        value = self.read(operands[1], of)
        if "ftz" in how and of == "f32":
            value = f"ptx_ftz({value})"
        rounded = next((ROUNDED[one] for one in how if one in ROUNDED), "")
        if of[0] == "f" and to[0] == "f":
            if rounded:
                value = f"{rounded}{'f' if of == 'f32' else ''}({value})"
            if to == "f32" and of == "f64":
                value = f"(float)({value})"
            if "sat" in how:
                value = f"ptx_saturated({value})"
            if "ftz" in how and to == "f32":
                value = f"ptx_ftz({value})"
        elif of[0] == "f":
            if not rounded:
                raise ValueError(ways)
            value = f"ptx_whole({rounded}((double){value}), {RANGES[to]})"
        elif "sat" in how:
            raise ValueError(ways)
        return self.write(operands[0], to, value)

    def _compare(self, ways: list[str], operands: list[str]) -> str:
        how, *more, kind = ways
        a, b = [self._flushed(self.read(one, kind), kind, more) for one in operands[1:3]]
        if len(operands) > 3 or [one for one in more if one != "ftz"]:
            raise ValueError(ways)
        if how in ("num", "nan"):
            test = f"({a} == {a} && {b} == {b})"
            return self.write(operands[0], "pred", test if how == "num" else f"!{test}")
        if kind[0] == "f":
            are_numbers = f"({a} == {a} && {b} == {b})"
            if how in UNORDERED:
                return self.write(operands[0], "pred", f"!{are_numbers} || {a} {UNORDERED[how]} {b}")
            return self.write(operands[0], "pred", f"{are_numbers} && {a} {COMPARE[how]} {b}")
        return self.write(operands[0], "pred", f"{a} {COMPARE[how]} {b}")

    def _atomic(self, ways: list[str], operands: list[str]) -> str:
        space, how, kind = [one for one in ways if one not in ("relaxed", "gpu")]
        target, at, value = operands if len(operands) == 3 else ("_", *operands)
        (place,) = self.places(at, space, kind)
        combined = {"add": "v + w", "min": "v < w ? v : w"}[how]
        given = f"{C[kind]} v = {place}, w = {self.read(value, kind)};"
        return f"{given} {place} = {combined}; {self.write(target, kind, 'v')}"

    def _flushed(self, value: str, kind: str, ways: list[str]) -> str:
        return f"ptx_ftz({value})" if kind == "f32" and "ftz" in ways else value

    def _computed(self, name: str, ways: list[str], kind: str, operands: list[str]) -> str:
        """An instruction that puts the value of an expression into a register."""
        target, *sources = operands
        if name == "selp":
            a, b, test = self.read(sources[0], kind), self.read(sources[1], kind), _name(sources[2])
            return self.write(target, kind, f"{test} ? {a} : {b}")
        width = int(kind[1:]) if kind != "pred" else 1
        if name in ("shl", "shr"):
            a, by = self.read(sources[0], kind), self.read(sources[1], "u32")
            beyond = f"({a} < 0 ? -1 : 0)" if name == "shr" and kind[0] == "s" else "0"
            value = f"{by} >= {width} ? {beyond} : {a} {'<<' if name == 'shl' else '>>'} {by}"
            return self.write(target, kind, value)
        if (
            name == "bfi"
        ):  # the lowest bits of the first, as many as the last operand, are inserted into the second
            a, b = self.read(sources[0], kind), self.read(sources[1], kind)
            at, count = self.read(sources[2], "u32"), self.read(sources[3], "u32")
            mask = f"(({count} >= {width} ? ~({C[kind]})0 : (({C[kind]})1 << {count}) - 1) << {at})"
            return self.write(target, kind, f"({b} & ~{mask}) | (({a} << {at}) & {mask})")
        if ways[0] == "wide" and name in ("mul", "mad"):
            wide = f"{kind[0]}{2 * width}"
            a, b = [f"({C[wide]}){self.read(one, kind)}" for one in sources[:2]]
            more = f" + {self.read(sources[2], wide)}" if name == "mad" else ""
            return self.write(target, wide, f"{a} * {b}{more}")
        given = [self._flushed(self.read(one, kind), kind, ways) for one in sources]
        if "cc" in ways or name in ("addc", "subc", "madc"):
            return self._with_carry(name, ways, kind, target, given)
        if kind[0] == "f":
            return self.write(target, kind, self._flushed(self._real(name, ways, kind, given), kind, ways))
        return self._whole(name, ways, kind, target, given)

    def _real(self, name: str, ways: list[str], kind: str, given: list[str]) -> str:
        f = "f" if kind == "f32" else ""
        if ways[0] in DIRECTED:  # the C compiler must neither do it beforehand nor move it
            kept = " ".join([f"volatile {C[kind]} k{n} = {one};" for n, one in enumerate(given)])
            value = self._real(name, ["rn", *ways[1:]], kind, [f"k{n}" for n in range(len(given))])
            around = (
                f"fesetround({DIRECTED[ways[0]]}); volatile {C[kind]} k = {value}; fesetround(FE_TONEAREST);"
            )
            return f"({{ {kept} {around} k; }})"
        match name, ways[:-1]:
            case (("add" | "sub" | "mul" | "div"), ["rn", *_]):
                return f"{given[0]} {BINARY[name]} {given[1]}"
            case "fma", ["rn", *_]:
                return f"fma{f}({', '.join(given)})"
            case "neg", _:
                return f"-{given[0]}"
            case "abs", _:
                return f"fabs{f}({given[0]})"
            case (("min" | "max"), _):
                return f"f{name}{f}({given[0]}, {given[1]})"
            case "copysign", _:
                return f"copysign{f}({given[1]}, {given[0]})"
            case "sqrt", ["rn", *_]:
                return f"sqrt{f}({given[0]})"
            case "rcp", ["rn", *_]:
                return f"1 / {given[0]}"
            case "rcp", ["approx", "ftz"] if kind == "f64":
                return f"ptx_upper(1 / ptx_upper({given[0]}))"
            case "rsqrt", ["approx", "ftz"] if kind == "f64":
                return f"ptx_upper(1 / sqrt(ptx_upper({given[0]})))"
            case (("ex2" | "lg2" | "rcp" | "rsqrt" | "sqrt"), ["approx", *_]) if kind == "f32":
                exact = {
                    "ex2": "exp2({})",
                    "lg2": "log2({})",
                    "rcp": "1 / (double){}",
                    "rsqrt": "1 / sqrt({})",
                    "sqrt": "sqrt({})",
                }
                return f"(float)({exact[name].format(given[0])})"
        raise ValueError((name, ways))

    def _whole(self, name: str, ways: list[str], kind: str, target: str, given: list[str]) -> str:
        width = int(kind[1:]) if kind != "pred" else 1
        u = C[f"u{width}"] if width > 1 else "int"
        match name, ways[:-1]:
            case (("mul" | "mad"), ["lo"]):
                value = f"({u}){given[0]} * ({u}){given[1]}" + (
                    f" + ({u}){given[2]}" if name == "mad" else ""
                )
            case (("mul" | "mad"), ["hi"]):
                value = self._high(kind, given) + (f" + ({u}){given[2]}" if name == "mad" else "")
            case (("add" | "sub"), []):
                value = f"({u}){given[0]} {BINARY[name]} ({u}){given[1]}"
            case (("and" | "or" | "xor" | "div" | "rem"), []):
                value = f"{given[0]} {BINARY[name]} {given[1]}"
            case "not", []:
                value = f"!{given[0]}" if kind == "pred" else f"~{given[0]}"
            case "neg", []:
                value = f"-({u}){given[0]}"
            case "abs", []:
                value = f"{given[0]} < 0 ? -({u}){given[0]} : ({u}){given[0]}"
            case (("min" | "max"), []):
                value = f"{given[0]} {'<' if name == 'min' else '>'} {given[1]} ? {given[0]} : {given[1]}"
            case "clz", []:
                value = f"{given[0]} ? __builtin_clz{'l' if width == 64 else ''}({given[0]}) : {width}"
                return self.write(target, "u32", value)
            case _:
                raise ValueError((name, ways))
        return self.write(target, kind, value)

    def _high(self, kind: str, given: list[str]) -> str:
        width = int(kind[1:])
        wide = {"s32": "int64_t", "u32": "uint64_t", "s64": "__int128", "u64": "unsigned __int128"}[kind]
        return f"({C[f'u{width}']})((({wide}){given[0]} * ({wide}){given[1]}) >> {width})"

    def _with_carry(self, name: str, ways: list[str], kind: str, target: str, given: list[str]) -> str:
        """Of 32 bits; the carry is the only flag."""
        if kind not in ("u32", "s32"):
            raise ValueError((name, ways))
        given = [f"(uint64_t)(uint32_t){one}" for one in given]
        taken = " + (uint64_t)carry" if name in ("addc", "madc") else ""
        if name in ("add", "addc"):
            value = f"{given[0]} + {given[1]}{taken}"
        elif name in ("mad", "madc"):
            product = f"{given[0]} * {given[1]}"
            value = (
                f"({f'({product}) >> 32' if 'hi' in ways else f'(uint32_t)({product})'}) + {given[2]}{taken}"
            )
        else:
            value = f"{given[0]} - {given[1]}{' - (uint64_t)carry' if name == 'subc' else ''}"
        keep = "carry = w >> 32 & 1;" if "cc" in ways else ""
        return f"uint64_t w = {value}; {keep} {self.write(target, 'u32', 'w')}"
