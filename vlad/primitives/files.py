"""The rows that read and write tensors and tables in files: NumPy's .npy and .npz, safetensors, HDF5, CSV and Parquet.

NumPy and the formats' own packages read the files; content that could run code when read (pickled objects) is rejected. The
session decides, through the machine, where files are looked for. Like other effects, these have no derivative.
"""

from __future__ import annotations

import importlib
import math
import os
import struct
import warnings
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, BinaryIO

from vlad.core.types import LONGEST_CHAIN
from vlad.data.devices import current
from vlad.data.errors import Kind, MissingPackage, Notice, VladError, unsuitable
from vlad.data.source import Source
from vlad.data.tensors import Array, made, on_host, quiet
from vlad.data.values import (
    UNSPECIFIED,
    Primitive,
    String,
    Symbol,
    Value,
    is_pair,
    list_of,
    look,
    primitive_type,
    symbol,
)
from vlad.data.write import atom_text
from vlad.primitives.arrays import array_of, elements, whole
from vlad.primitives.numbers import invalid

if TYPE_CHECKING:
    from zipfile import ZipFile

    from vlad.core.machines import AbstractMachine, Evaluator

_ARCHIVE = ".npz"
_SAFE = ".safetensors"
_TEXT = ".csv"
_HIERARCHICAL = (".h5", ".hdf5")
_COLUMNAR = ".parquet"
OF_FILES = (
    "files of tensors are",
    "one that is read at the top level by a form of its own costs nothing where the rest of the program is compiled",
)
_SUFFIXES = (".npy", _ARCHIVE, _SAFE, _TEXT)
_FORMATS = "load-tensor reads NumPy's formats, .npy and .npz, with numbers or booleans in them"
_ENDINGS = "the name ends in .npy or .csv for one tensor, in .npz, .safetensors or .csv for a list of pairs (name . tensor)"


def _text(name: str, what: str, value: Value, of: Collection[Kind] = ()) -> str:
    if type(value) is not String:
        raise invalid(name, what, value, of=of)
    return value.text


def _cannot_read(path: str, hint: str) -> VladError:
    return VladError("cannot-read", f"Cannot read: {path}", hint=hint)


def _load_tensor(machine: Evaluator, path: Value) -> Value:
    found = machine.find(_text("load-tensor", "the name of a file", path))
    loaded = _loaded(found)
    if isinstance(loaded, list):
        return list_of([(symbol(name), _made(_known(array, found))) for name, array in loaded])
    return _made(_known(loaded, found))


def _made(array: Array) -> Value:
    """The tensor of a NumPy array, on the session's device."""
    return made(current().asarray(array))


def _loaded(path: str) -> Any:
    """The array in a file, or a list of the names and arrays of an archive."""
    import numpy

    suffix = os.path.splitext(path)[1]
    if suffix == _SAFE:
        return _loaded_safely(path)
    if suffix in _HIERARCHICAL:
        return _datasets(path)
    try:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loaded = numpy.load(file, allow_pickle=False)
            except Exception:  # reading a damaged file may raise anything
                raise _cannot_read(path, _FORMATS) from None
            return _parts(loaded.zip, path) if hasattr(loaded, "zip") else loaded
    except OSError as error:
        raise _cannot_read(path, error.strerror or "") from None


def _format(name: str, module: str) -> Any:
    """The module that reads and writes a format. Raises MissingPackage."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        hint = f"`pip install {package}`"
        message = f"Files of {name} need the package {package}, which is not installed"
        raise MissingPackage("missing-package", message, hint=hint) from error


def _safetensors() -> Any:
    return _format("safetensors", "safetensors.numpy")


def _datasets(path: str) -> list[tuple[str, Array]]:
    """The names and arrays in a file of HDF5: the names of a dataset and of the groups around it, with `/` between them."""
    import numpy

    package = _format("HDF5", "h5py")
    found: list[tuple[str, Array]] = []

    def note(name: str, thing: Any) -> None:
        if isinstance(thing, package.Dataset):
            found.append((name, numpy.asarray(thing[()])))

    try:
        with package.File(path, "r") as file:
            file.visititems(note)
    except OSError as error:
        raise _cannot_read(path, f"it is no file of HDF5: {error}") from None
    return found


def _loaded_safely(path: str) -> list[tuple[str, Array]]:
    """The names and arrays in a file of safetensors, by name: the order in the file is that of their sizes."""
    package = _safetensors()
    try:
        with open(path, "rb") as file:
            return sorted(package.load(file.read()).items())
    except OSError as error:
        raise _cannot_read(path, error.strerror or "") from None
    except Exception as error:  # the package's own, and KeyError for kinds of number that NumPy lacks
        raise _cannot_read(
            path, f"it is no file of safetensors with kinds of number that NumPy has: {error}"
        ) from None


def _parts(archive: ZipFile, path: str) -> list[tuple[str, Array]]:
    """The arrays in an archive. NumPy itself reads `a.npy` as `a`, and leaves members that are no arrays as bytes."""
    from numpy.lib.format import read_array

    found = []
    for info in archive.infolist():
        name = info.orig_filename  # `filename` ends at a null character
        try:
            with archive.open(info) as part:
                found.append((name.removesuffix(".npy"), read_array(part, allow_pickle=False)))
        except Exception:  # as above
            raise _cannot_read(path, f"{_FORMATS}; `{name}` in it is no such part") from None
    return found


def _known(array: Array, path: str) -> Array:
    """The array, converted to a kind that programs can name: integers of other sizes become int64."""
    kind = {"b": "bool", "f": "f4" if array.dtype.itemsize <= 4 else "f8", "i": "i8", "u": "i8"}.get(
        array.dtype.kind
    )
    if array.dtype.kind == "i" and array.dtype.itemsize == 4:
        kind = "i4"
    if kind is None or (str(array.dtype) == "uint64" and array.size and array.max() >= 1 << 63):
        hint = f"its entries are {array.dtype}; a tensor has reals, whole numbers below 2^63 or booleans"
        raise _cannot_read(path, hint)
    with quiet():
        return array.astype(kind, copy=False)


def _save_tensor(machine: Evaluator, path: Value, x: Value) -> Value:
    machine.permit("files", "write files")
    name = _text("save-tensor", "the name of a file and a tensor", path, of=(Kind.TENSOR,))
    suffix = os.path.splitext(name)[1]
    if suffix not in _SUFFIXES:
        raise unsuitable("save-tensor", _ENDINGS, (path,))
    is_one = suffix == ".npy" or (suffix == _TEXT and type(look(x)) is not tuple)
    named = {} if is_one else _named(x)
    array = on_host(array_of("save-tensor", x)) if is_one else None
    content = None
    if suffix == _SAFE:
        content = _safe_content(named)
    elif suffix == _TEXT:
        content = _rows(x, array, named).encode()
    import numpy

    try:
        with open(name, "wb") as file:
            if content is not None:
                file.write(content)
            elif array is None:
                _write_parts(file, named)
            else:
                numpy.save(file, array, allow_pickle=False)
    # besides the system's errors, those of names that no file or member can have
    except (OSError, ValueError, struct.error) as error:
        hint = getattr(error, "strerror", None) or str(error)
        raise VladError("cannot-write", f"Cannot write: {name}", hint=hint) from None
    return UNSPECIFIED


def _safe_content(named: dict[str, Array]) -> bytes:
    import numpy

    content: bytes = _safetensors().save(
        {name: numpy.ascontiguousarray(array) for name, array in named.items()}
    )
    return content


def _rows(x: Value, array: Array | None, named: dict[str, Array]) -> str:
    """A tensor as lines of numbers, or named tensors of rank 1 as columns with titles. Each number is the shortest text that is
    read as the same number.
    """
    import csv
    import io

    if array is None:
        lengths = {column.shape for column in named.values()}
        if len(lengths) > 1 or any(len(shape) != 1 for shape in lengths):
            raise invalid("save-tensor", "columns of a table, tensors of rank 1 that are equally long", x)
    elif array.ndim not in (1, 2):
        raise invalid("save-tensor", "a tensor of rank 1 or 2, as a table has lines and columns", x)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if array is None:
        writer.writerow(named)
        writer.writerows(
            zip(*[map(_written_number, column.tolist()) for column in named.values()], strict=True)
        )
    else:
        rows = array.reshape(-1, 1) if array.ndim == 1 else array
        writer.writerows([map(_written_number, row) for row in rows.tolist()])
    return text.getvalue()


def _written_number(number: float) -> str:
    return str(int(number)) if abs(number) < 1e16 and number == int(number) else repr(float(number))


def _write_parts(file: BinaryIO, named: dict[str, Array]) -> None:
    """Write an archive like numpy.savez, whose keywords `file` and `allow_pickle` cannot be names."""
    from zipfile import ZipFile, ZipInfo

    from numpy.lib.format import write_array

    with ZipFile(file, "w") as archive:
        for name, array in named.items():
            info = ZipInfo()
            info.filename = f"{name}.npy"  # passed to the constructor, it would end at a null character
            with archive.open(info, "w", force_zip64=True) as part:
                write_array(part, array, allow_pickle=False)


def _named(pairs: Value) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for part in elements("save-tensor", pairs):
        pair = look(part)
        key = look(pair[0]) if is_pair(pair) else None
        name = key.name if type(key) is Symbol else key.text if type(key) is String else None
        if name is None or name in found:
            what = "a list of pairs (name . tensor), each name a string or a symbol of its own"
            raise invalid("save-tensor", what, pairs, of=(Kind.LIST, Kind.PAIR))
        found[name] = on_host(array_of("save-tensor", look(pair[1])))
    return found


def _save_value(machine: Evaluator, path: Value, x: Value) -> Value:
    machine.permit("files", "write files")
    name = _text("save-value", "the name of a file, and a value", path)
    text = machine.save(x)
    try:
        # an interrupt leaves the old contents
        with open(f"{name}.new", "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(f"{name}.new", name)
    except (OSError, ValueError) as error:
        hint = getattr(error, "strerror", None) or str(error)
        raise VladError("cannot-write", f"Cannot write: {name}", hint=hint) from None
    return UNSPECIFIED


def _load_value(machine: Evaluator, path: Value) -> Value:
    return _restored(machine, machine.find(_text("load-value", "the name of a file", path)))


def _saved_before(machine: Evaluator, path: Value, default: Value) -> Value:
    """The value in a file to which `save-value` writes; the default if there is no such file."""
    machine.permit("files", "read files")
    name = _text("saved-before", "the name of a file", path)
    return _restored(machine, name) if os.path.exists(name) else default


def _resumed(machine: Evaluator, path: Value, steps: Any) -> Value:
    """Note that training continues from a checkpoint."""
    if machine.remark is not None:
        where = _text("resumed", "the name of a file", path)
        message = f"Training continues from {where}, after step {int(steps)}"
        machine.remark(Notice("continued-training", message, hint="to begin anew, delete the file"))
    return UNSPECIFIED


def _restored(machine: Evaluator, path: str) -> Value:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise _cannot_read(path, error.strerror or "") from None
    except UnicodeDecodeError:
        raise _cannot_read(path, "it is no text in UTF-8") from None
    try:
        return machine.restore(text)
    except VladError as error:
        raise _cannot_read(path, f"{error.message}{f' ({error.hint})' if error.hint else ''}") from None


NO_SEPARATOR = '\n\r"'
SEPARATORS = ";\t| "
MOST_COMPARED = 16  # lines


def _load_csv(machine: Evaluator, path: Value, skip: Value, separator: Value) -> Value:
    between = _text("load-csv", "the name of a file, and a text as separator", separator)
    above = whole("load-csv", skip, "the number of lines to skip")
    if above < 0 or len(between) != 1 or between in NO_SEPARATOR:
        needed = "a number of lines, and a separator of one character that is no quote and ends no line"
        raise invalid("load-csv", needed, skip, separator)
    found = machine.find(_text("load-csv", "the name of a file", path))
    return _made(_numbers(Source(found, _contents(found)), above, between))


def _contents(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return file.read()
    except OSError as error:
        raise _cannot_read(path, error.strerror or "") from None
    except UnicodeDecodeError:
        raise _cannot_read(path, "it is no text in UTF-8") from None


def _load_table(machine: Evaluator, path: Value, separator: Value) -> Value:
    between = _text("load-table", "the name of a file, and a text as separator", separator)
    if len(between) != 1 or between in NO_SEPARATOR:
        needed = "a separator of one character that is no quote and ends no line"
        raise invalid("load-table", needed, separator)
    found = machine.find(_text("load-table", "the name of a file", path))
    columnar = os.path.splitext(found)[1] == _COLUMNAR
    columns = _columns(found) if columnar else _titled(found, between)
    titles = [title for title, _ in columns]
    twice = next((title for title in titles if titles.count(title) > 1), None)
    if twice is not None:
        raise _cannot_read(found, f"two columns have the title {twice}")
    return list_of([(symbol(title), _column(entries, title, found)) for title, entries in columns])


def _titled(path: str, separator: str) -> list[tuple[str, Any]]:
    """The columns of a text whose first line has their titles."""
    import csv

    lines = [line for line in csv.reader(_contents(path).splitlines(True), delimiter=separator) if line]
    if not lines:
        raise _cannot_read(path, "it is empty: the first line has the titles of the columns")
    titles, *rows = lines
    for number, row in enumerate(rows):
        if len(row) != len(titles):
            hint = f"row {number + 1} has {len(row)} fields, and there are {len(titles)} titles"
            raise _cannot_read(
                path, f"{hint}{_other_separator([separator.join(titles)], separator, is_text=True)}"
            )
    return [(title.strip(), [row[at] for row in rows]) for at, title in enumerate(titles)]


def _columns(path: str) -> list[tuple[str, Any]]:
    """The columns of a file of Parquet."""
    package = _format("Parquet", "pyarrow.parquet")
    try:
        table = package.read_table(path)
    except OSError as error:
        raise _cannot_read(path, error.strerror or str(error)) from None
    except Exception as error:  # the package's own
        raise _cannot_read(path, f"it is no file of Parquet: {error}") from None
    return [(title, table.column(title).to_numpy()) for title in dict.fromkeys(table.column_names)]


def _column(entries: Any, title: str, path: str) -> Value:
    """A tensor if all entries that are there are numbers or booleans, where missing ones are +nan.0; else a list of strings, of
    which missing ones are empty.
    """
    import numpy

    if isinstance(entries, list):
        present = [field for field in entries if field.strip()]
        if all(map(_is_number, present)) and (present or not entries):
            return _made(numpy.array([float(field) if field.strip() else math.nan for field in entries]))
        return list_of([String(field) for field in entries])
    if entries.dtype != object:
        return _made(_known(entries, f"{path}, column {title}"))
    return list_of([String("" if one is None else str(one)) for one in entries])


def _numbers(source: Source, skip: int, separator: str) -> Array:
    import numpy

    lines = source.text.split("\n")
    rows = [line for line in lines[skip:] if line.strip()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's on a file without numbers
        try:
            return numpy.loadtxt(rows, delimiter=separator, ndmin=2, comments=None, quotechar='"')
        except ValueError as error:
            raise _wrong_line(source, lines, skip, separator) or _cannot_read(
                source.name, str(error)
            ) from None


def _wrong_line(source: Source, lines: list[str], skip: int, separator: str) -> VladError | None:
    """The error of the first line that is no row of numbers, or has another number of them than those above; None if there is
    none.
    """
    width = 0
    for index, line in enumerate(lines):
        if index < skip or not line.strip():
            continue
        fields = [field.strip().strip('"') for field in line.split(separator)]
        wrong = next((field for field in fields if not _is_number(field)), None)
        width = width or len(fields)
        if wrong is None and len(fields) == width:
            continue
        reason = f"it has {len(fields)} fields, the first row {width}"
        if wrong == "":
            reason = f"field {fields.index('') + 1} is empty; `load-table` reads tables with titles in which numbers are missing"
        elif wrong is not None:
            other = _other_separator([one for one in lines[skip:] if one.strip()], separator)
            reason = f"`{wrong}` is no number{other}"
            if index == skip == 0 and not other:
                reason += (
                    "; `#:skip 1` leaves out a line of titles, and `load-table` reads columns with titles"
                )
        return VladError(
            "not-numbers", f"Line {index + 1} of {source.name} is no row of numbers", hint=reason
        )
    return None


def _other_separator(lines: list[str], separator: str, is_text: bool = False) -> str:
    """Another separator that divides lines into numbers, or into texts, as the rest of a hint; "" if there is none."""
    for other in SEPARATORS:
        if other != separator and all(other in line for line in lines[:MOST_COMPARED]):
            fields = [field.strip().strip('"') for field in lines[-1].split(other)]
            if is_text or all(map(_is_number, fields)):
                return f"; `#:separator {atom_text(String(other), True)}` separates the fields otherwise"
    return ""


def _is_number(field: str) -> bool:
    """NumPy reads neither `1_000` nor digits of other scripts, which Python does."""
    try:
        float(field)
    except ValueError:
        return False
    return field.isascii() and "_" not in field


MOST_LOOKED_AT = 1 << 28  # bytes in memory of a file that a check reads
MOST_PARTS = LONGEST_CHAIN  # of an archive: the length of a longer list is not tracked


class Files:
    """The files that a checked program reads, by how they are read, with their contents; and the names of those
    that it writes, which a check does not read: None if it may be any.
    """

    def __init__(self) -> None:
        self.found: dict[Any, tuple[str, Value]] = {}
        self.written: set[str] | None = set()

    def write(self, name: str | None) -> None:
        if name is None:
            self.written = None
        elif self.written is not None:
            self.written.add(os.path.basename(name))

    def is_written(self, name: str) -> bool:
        return self.written is None or os.path.basename(name) in self.written

    def is_consistent(self) -> bool:
        """Whether no file was read that the program writes."""
        return not any(self.is_written(name) for name, _ in self.found.values())


def _looked_at(name: str, read: Any) -> Any:
    """The contents of a file during a check: a check reads the program's files if they exist, so that the shapes of the results
    are known. Compiled code reads none.
    """

    def abstract(w: AbstractMachine, *operands: Any) -> Any:
        path = operands[0].type
        if path.kind not in ("string", "union") and (path.kind != "constant" or type(path.of) is not String):
            return w.invalid(name)
        if w.files is None or any(x.type.kind != "constant" for x in operands):
            return w.left_out(*OF_FILES)
        if w.files.is_written(path.of.text):
            return w.unbounded(f"the program itself writes {path.of.text}")
        given = [x.type.of for x in operands]
        key = (name, *[atom_text(value, True) for value in given])
        if key not in w.files.found:
            try:
                _expect_little(w.machine.find(path.of.text))
                w.files.found[key] = path.of.text, read(w.machine, *given)
            except VladError as error:
                if error.code == "invalid-argument":
                    return w.refused(error)
                return w.unbounded(f"{error.message}{f' ({error.hint})' if error.hint else ''}")
        return w.effect("file", result=w.argument_type(w.files.found[key][1]))

    return abstract


def _expect_little(path: str) -> None:
    """Raise VladError unless a file is a regular file of limited size."""
    from zipfile import BadZipFile, ZipFile, is_zipfile

    try:
        if not os.path.isfile(path):
            raise _cannot_read(path, "it is no file on a disk")
        size, parts = os.path.getsize(path), 1
        if is_zipfile(path):
            with ZipFile(path) as archive:
                size, parts = sum([part.file_size for part in archive.infolist()]), len(archive.infolist())
    except (OSError, BadZipFile) as error:
        raise _cannot_read(path, str(error)) from None
    if size > MOST_LOOKED_AT or parts > MOST_PARTS:
        raise VladError("cannot-read", f"{path} is too large to be looked at beforehand")


def _written(w: AbstractMachine, path: Any, *operands: Any) -> Any:
    if w.files is None:
        return w.left_out(*OF_FILES)
    is_known = path.type.kind == "constant" and type(path.type.of) is String
    w.files.write(path.type.of.text if is_known else None)
    return w.effect("file")


def _import_onnx(machine: Evaluator, path: Value) -> Value:
    return machine.import_onnx(machine.find(_text("import-onnx", "the name of a file", path)))


def _effect(name: str, operands: str, doc: str, value: Any, text: str, **columns: Any) -> Primitive:
    type = primitive_type(text)
    return Primitive(
        name, operands, doc, value=value, type=type, forward="zero", reverse={}, effect=True, needs_machine=True,
        abstract=_written if type.result == "unspecified" else _looked_at(name, value), **columns,
    )  # fmt: skip


OF_CHECKPOINTS = (
    "checkpoints of training and reports by Python are",
    "the steps between them are compiled all the same",
)
_NO_DERIVATIVE = (
    '(refuse-derivative "Training with checkpoints or reports in Python has no derivative" '
    '"leave out the operand `#:checkpoint`, and report by a procedure of the '
    'language" {} {})'
)


def _left_out(*words: str) -> Any:
    return lambda w, *operands: w.left_out(*words)


def _of_values(name: str, operands: str, doc: str, value: Any, text: str, **columns: Any) -> Primitive:
    columns = {"forward": "zero", "reverse": {}, "abstract": _left_out(*OF_FILES), **columns}
    return Primitive(
        name,
        operands,
        doc,
        value=value,
        type=primitive_type(text),
        effect=True,
        needs_machine=True,
        **columns,
    )


ROWS: list[Primitive] = [
    _of_values("save-value", "path x",
        "Writes a value to a file: a number, a tensor, a procedure such as a trained network, or lists and pairs of such.\n"
        "(begin (save-value \"net.saved\" (lambda (x) (* 2 x))) ((load-value \"net.saved\") 21))  ⇒ 42",
            _save_value, "string any -> unspecified", io="out"),
    _of_values("load-value", "path",
        "The value in a file that `save-value` wrote, equal bit by bit. Reading runs no code in it.\n"
        "(begin (save-value \"pair.saved\" (cons 1 #[2 3])) (load-value \"pair.saved\"))  ⇒ (1 . #[2 3])",
            _load_value, "string -> any"),
    _of_values("saved-before", "path default", "The value in a file of `save-value` in the working folder, or the default.",
            _saved_before, "string any -> any", hidden=True, abstract=_left_out(*OF_CHECKPOINTS),
            forward=_NO_DERIVATIVE.format("default", "ddefault"), reverse={"default": _NO_DERIVATIVE.format("default", "s")}),
    _of_values("resumed", "path steps", "Notes that training continues from a checkpoint, after so many steps.", _resumed,
            "string real -> unspecified", hidden=True, io="out", abstract=_left_out(*OF_CHECKPOINTS)),
    _of_values("run-apart", "f", "The result of a procedure of no argument, which is compiled although its caller is not.",
            lambda machine, f: machine.apart(f), "any -> any", hidden=True, abstract=_left_out(*OF_CHECKPOINTS),
            forward=_NO_DERIVATIVE.format("f", "df"), reverse={"f": _NO_DERIVATIVE.format("f", "s")}),
    _effect("load-tensor", "path",
        "The tensor in a .npy file, or the list of pairs (name . tensor) in an .npz, .safetensors or .h5 file. A file in the "
        "working folder, to which `save-tensor` writes, comes before one beside the program.\n"
        "(begin (save-tensor \"weights.npy\" #[1 2 3]) (load-tensor \"weights.npy\"))  ⇒ #[1 2 3]",
            _load_tensor, "string -> any"),
    _effect("save-tensor", "path x",
        "Writes a tensor to a .npy or .csv file, a list of pairs (name . tensor) to an .npz, .safetensors or .csv file, in which "
        "they are columns with titles.\n"
        "(begin (save-tensor \"model.npz\" (list (cons 'w #[1 2]))) (load-tensor \"model.npz\"))  ⇒ ((w . #[1 2]))",
            _save_tensor, "string any -> unspecified", io="out"),
    _effect("load-csv", "path skip separator",
        "The numbers in the lines of a text file, as a tensor of rank 2; `#[]` if there are none.\n"
        "(load-csv \"numbers.csv\" #:skip 1)  ⇒ #[[1 2] [3 4]]", _load_csv,
            "string any any -> any", keywords={"skip": 0.0, "separator": String(",")}),
    _effect("load-table", "path separator",
        "The columns of a .csv file, whose first line has their titles, or of a .parquet file: a list of pairs (title . column). "
        "A column is a tensor of numbers, +nan.0 where one is missing, or a list of strings.\n"
        "(load-table \"missing.parquet\")  ⇒ Error: Cannot find: missing.parquet", _load_table,
            "string any -> any", keywords={"separator": String(",")}),
    _effect("import-onnx", "path",
        "The pair of a procedure and its parameters, from a model in ONNX's format: a list of pairs (name . tensor). The "
        "procedure takes such a list, then the model's inputs. It needs the package onnx.\n"
        "(import-onnx \"missing.onnx\")  ⇒ Error: Cannot find: missing.onnx", _import_onnx, "string -> any"),
]  # fmt: skip
