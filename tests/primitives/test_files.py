"""Tensors in files: NumPy's formats and rows of text, in both directions; rejected contents, which are never run."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import vlad
from vlad import VladError


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> vlad.Session:
    monkeypatch.chdir(tmp_path)
    return vlad.Session()


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i4", "bool"])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (0,), (2, 0, 3)])
def test_there_and_back(session: vlad.Session, kind: str, shape: tuple[int, ...]) -> None:
    session["t"] = t = np.arange(np.prod(shape)).reshape(shape).astype(kind)
    assert session.eval('(save-tensor "t.npy" t)') is None
    for back in (session.eval('(load-tensor "t.npy")'), np.load("t.npy")):
        assert back.dtype == t.dtype and np.array_equal(back, t)
    session.eval("""(save-tensor "t.npz" (list (cons 'first t) (cons 'second 5)))""")
    (name, first), second = session.eval('(load-tensor "t.npz")')
    assert (
        (name, second) == ("first", ("second", 5.0)) and first.dtype == t.dtype and np.array_equal(first, t)
    )


@given(
    columns=st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1)
        .map(str.strip)
        .filter(bool),
        st.lists(st.floats() | st.integers(-(2**53), 2**53).map(float), min_size=3, max_size=3),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=20)
def test_tables_of_text_there_and_back(columns: dict[str, list[float]], tmp_path_factory: Any) -> None:
    path = str(tmp_path_factory.mktemp("tables") / "t.csv")
    session = vlad.Session()
    session["path"], session["columns"] = path, {name: np.array(column) for name, column in columns.items()}
    session.eval("(save-tensor path columns)")
    back = session.eval("(load-table path)")
    assert [name for name, _ in back] == list(columns)
    for (_, found), expected in zip(back, columns.values(), strict=True):
        assert np.array_equal(found, expected, equal_nan=True)
    rows = np.array(list(columns.values()))
    session["rows"] = rows
    session.eval("(save-tensor path rows)")
    assert np.array_equal(session.eval("(load-csv path)"), rows, equal_nan=True)
    session["row"] = rows[0]
    session.eval("(save-tensor path row)")
    assert np.array_equal(session.eval("(load-csv path)")[:, 0], rows[0], equal_nan=True)


def test_tables_of_other_programs(session: vlad.Session) -> None:
    """Columns of text, missing numbers; groups of HDF5."""
    Path("t.csv").write_text('name; price;size\n"a; b";1.5;3\nc;;4\n', encoding="utf-8")
    name, price, size = session.eval('(load-table "t.csv" #:separator ";")')
    assert name == ["name", "a; b", "c"] and price[0] == "price" and size[1].tolist() == [3, 4]
    assert np.array_equal(price[1], [1.5, np.nan], equal_nan=True)
    columns = {"a": [1, 2, None], "t": ["p", None, "q"], "b": [True, False, True], "n": [1, 2, 3]}
    pyarrow.parquet.write_table(pyarrow.table(columns), "t.parquet")
    a, t, b, n = session.eval('(load-table "t.parquet")')
    assert np.array_equal(a[1], [1, 2, np.nan], equal_nan=True) and t == ["t", "p", "", "q"]
    assert (b[1].tolist(), b[1].dtype, n[1].tolist()) == ([True, False, True], bool, [1, 2, 3])
    with h5py.File("t.h5", "w") as file:
        file["x"], file["group/y"], file["n"] = np.arange(3.0), np.eye(2, dtype="f4"), 3
    y, n, x = session.eval('(load-tensor "t.h5")')
    assert (y[0], y[1].dtype, n, x[1].tolist()) == ("group/y", np.float32, ("n", 3), [0, 1, 2])


def test_safetensors(session: vlad.Session, tmp_path: Path) -> None:
    package = pytest.importorskip("safetensors.numpy", reason="pip install -e '.[test]'")
    kinds = {"a b": "f8", "w/1": "f4", "n": "i8", "m": "i4", "mask": "bool"}
    given = {name: np.arange(6).reshape(2, 3).astype(kind) for name, kind in kinds.items()}
    session["given"] = given
    session.eval('(save-tensor "t.safetensors" given)')
    there = package.load_file("t.safetensors")
    back = dict(session.eval('(load-tensor "t.safetensors")'))
    for found in (there, back):
        assert found.keys() == given.keys()
        for name, array in given.items():
            assert found[name].dtype == array.dtype and np.array_equal(found[name], array)
    package.save_file({"b": np.float16([1, 2]), "a": np.zeros((0, 2))}, "other.safetensors")
    (first, empty), (_, half) = session.eval('(load-tensor "other.safetensors")')
    assert first == "a" and empty.shape == (0, 2) and half.tolist() == [1, 2] and half.dtype == np.float32
    (tmp_path / "bad.safetensors").write_bytes((tmp_path / "t.safetensors").read_bytes()[:-1])
    with pytest.raises(VladError, match=r"Cannot read: .*bad\.safetensors"):
        session.eval('(load-tensor "bad.safetensors")')
    with pytest.raises(VladError, match="Argument to save-tensor is invalid"):
        session.eval('(save-tensor "t.safetensors" #[1 2])')


NAMES = ["file", "allow_pickle", "args", "a", "a.npy", "", "a b", "a/b", "../c", "ä", "a\0b", "n" * 60_000]


def test_every_symbol_is_a_name(session: vlad.Session) -> None:
    """Also those that numpy.savez has other uses for, and those that an archive would change."""
    for name in NAMES:
        session["name"] = name
        session.eval('(save-tensor "t.npz" (list (cons (string->symbol name) #[1 2])))')
        ((back, _),) = session.eval('(load-tensor "t.npz")')
        assert back == name
    session["names"] = NAMES
    session.eval("(define named (map-indexed (lambda (i name) (cons (string->symbol name) i)) names))")
    session.eval('(save-tensor "t.npz" named)')
    assert session.eval('(equal? named (load-tensor "t.npz"))')
    with np.load("t.npz") as archive:
        assert archive["allow_pickle"] == 1
    session["name"] = "n" * 70_000
    with pytest.raises(VladError, match="Cannot write"):
        session.eval('(save-tensor "t.npz" (list (cons (string->symbol name) 1)))')


@settings(max_examples=60, deadline=None)
@given(
    array=arrays.arrays(
        st.sampled_from(["u1", "i2", "u4", ">f8", ">i4", "f2", "g"]), arrays.array_shapes(max_dims=3)
    )
)
def test_other_kinds_become_the_nearest_that_has_a_name(
    tmp_path_factory: pytest.TempPathFactory, array: Any
) -> None:
    path = tmp_path_factory.mktemp("kinds") / "a.npy"
    with np.errstate(all="ignore"):
        np.save(path, np.asfortranarray(array))
        back = vlad.Session().eval(f'(load-tensor "{path}")')
        nearest = {"u1": "i8", "i2": "i8", "u4": "i8", "f8": "f8", "i4": "i4", "f2": "f4", "f16": "f8"}[
            array.dtype.str[1:]
        ]
        assert back.dtype == np.dtype(nearest)
        assert np.array_equal(back, array.astype(nearest), equal_nan=array.dtype.kind == "f")


class Trap:
    """Unpickling this writes a file."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("sprung").absolute(),))


def test_nothing_in_a_file_is_run(session: vlad.Session) -> None:
    np.save("o.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    np.savez("o.npz", a=np.array([Trap()], dtype=object))
    Path("p.npy").write_bytes(pickle.dumps(Trap()))
    Path("h.npy").write_bytes(
        b"\x93NUMPY\x01\x00\x28\x00{'descr': __import__('os').getpid(), 'x': 1}\n" + b" " * 40
    )
    for name in ("o.npy", "o.npz", "p.npy", "h.npy"):
        with pytest.raises(VladError, match=f"Cannot read: {name}") as caught:
            session.eval(f'(load-tensor "{name}")')
        assert ".npy and .npz" in (caught.value.hint or "")
    assert not Path("sprung").exists()


def test_a_part_of_an_archive_that_is_no_tensor_is_an_error(session: vlad.Session) -> None:
    np.savez("t.npz", a=np.ones(2))
    with zipfile.ZipFile("t.npz", "a") as archive:
        archive.writestr("readme.txt", "Of ones.")
    with pytest.raises(VladError, match="Cannot read") as caught:
        session.eval('(load-tensor "t.npz")')
    assert "`readme.txt`" in (caught.value.hint or "")


@pytest.mark.parametrize("percent", range(0, 100, 3))
def test_a_damaged_file_is_one_clear_error_or_a_tensor(session: vlad.Session, percent: int) -> None:
    for name, write in (("a.npy", np.save), ("a.npz", np.savez)):
        write(name, np.arange(12.0))
        data = bytearray(Path(name).read_bytes())
        cut = len(data) * percent // 100
        Path(name).write_bytes(data[:cut])
        with pytest.raises(VladError, match="Cannot read"):
            session.eval(f'(load-tensor "{name}")')
        data[cut] ^= 0x55
        Path(name).write_bytes(data)
        try:
            session.eval(f'(load-tensor "{name}")')
        except VladError as error:
            assert error.code == "cannot-read"


def test_rows_of_text(session: vlad.Session) -> None:
    Path("t.csv").write_text("\ufeffwidth,height\n1, 2.5\n\n-3e2,nan\n", encoding="utf-8")
    assert np.array_equal(
        session.eval('(load-csv "t.csv" #:skip 1)'), [[1, 2.5], [-300, np.nan]], equal_nan=True
    )
    Path("s.csv").write_text('1;"2"\r\n3;4')
    assert session.eval('(load-csv "s.csv" #:separator ";")').tolist() == [[1, 2], [3, 4]]
    Path("e.csv").write_text("")
    assert session.eval('(load-csv "e.csv")').size == 0
    assert session.eval('(load-csv "s.csv" #:skip 1e300)').size == 0
    Path("l.csv").write_text("1,2\n   \n3,4\n")
    assert session.eval('(load-csv "l.csv")').tolist() == [[1, 2], [3, 4]]


ERRORS = {
    '(load-csv "t.csv")': ("Line 1 of t.csv", "`a` is no number; `#:skip 1` leaves"),
    '(load-csv "t.csv" #:skip 1)': ("Line 3 of t.csv", "`x` is no number"),
    '(load-csv "w.csv")': ("Line 4 of w.csv", "it has 1 fields, the first row 2"),
    '(load-csv "b.csv")': ("Cannot read: b.csv", "no text in UTF-8"),
    '(load-csv "t.csv" #:separator ", ")': ("invalid", "a separator of one character"),
    '(load-csv "t.csv" #:separator "\\n")': ("invalid", "ends no line"),
    '(load-csv "t.csv" #:separator "\\r")': ("invalid", "ends no line"),
    '(load-csv "t.csv" #:separator "\\"")': ("invalid", "is no quote"),
    '(load-csv "t.csv" #:skip -1)': ("invalid", "a number of lines"),
    '(load-csv "u.csv")': ("Line 3 of u.csv", "`1_000` is no number"),
    '(load-csv "d.csv")': ("Line 2 of d.csv", "`１` is no number"),
    '(load-csv "m.csv")': ("Line 1 of m.csv", "field 2 is empty; `load-table` reads tables with titles"),
    '(load-csv "o.csv")': ("Line 1 of o.csv", '`1;2` is no number; `#:separator ";"`'),
    '(load-table "twice.csv")': ("Cannot read: twice.csv", "two columns have the title a"),
    '(load-table "e.csv")': ("Cannot read: e.csv", "the first line has the titles"),
    '(load-table "w.csv")': ("Cannot read: w.csv", "row 2 has 1 fields, and there are 2 titles"),
    '(load-table "t.csv" #:separator "")': ("invalid", "a separator of one character"),
    '(load-table "t.parquet")': ("Cannot read: t.parquet", "no file of Parquet"),
    '(load-tensor "t.h5")': ("Cannot read: t.h5", "no file of HDF5"),
    '(load-tensor "text.hdf5")': ("Cannot read: text.hdf5", "its entries are object"),
    '(save-tensor "x.csv" #[[[1 2]]])': ("invalid", "a tensor of rank 1 or 2"),
    "(save-tensor \"x.csv\" (list (cons 'a #[1 2]) (cons 'b #[1])))": ("invalid", "that are equally long"),
    '(load-csv "nowhere.csv")': ("Cannot find: nowhere.csv", "looked in"),
    '(load-tensor "nowhere.npy")': ("Cannot find: nowhere.npy", "looked in"),
    "(load-tensor 'name)": ("invalid", "the name of a file"),
    '(load-tensor "c.npy")': ("Cannot read: c.npy", "complex128"),
    '(load-tensor "big.npy")': ("Cannot read: big.npy", "uint64"),
    '(load-tensor "t.csv")': ("Cannot read: t.csv", ".npy and .npz"),
    '(save-tensor "t.txt" #[1])': ("invalid", "ends in .npy"),
    '(save-tensor "no/where.npy" #[1])': ("Cannot write: no/where.npy", "No such file"),
    '(save-tensor "t.npy" car)': ("invalid", "a tensor"),
    '(save-tensor "t.npz" #[1])': ("invalid", "a list"),
    "(save-tensor \"t.npz\" (list (cons 'a 1) (cons 'a 2)))": ("invalid", "a symbol of its own"),
    '(save-tensor "t.npz" \'(1))': ("invalid", "a symbol of its own"),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(session: vlad.Session, text: str) -> None:
    Path("t.csv").write_text("a,b\n1,2\n3,x\n")
    Path("w.csv").write_text("1,2\n\n3,4\n5\n")
    Path("b.csv").write_bytes(b"1,2\n\xff\n")
    Path("u.csv").write_text("1,2\n\n1_000,4\n")
    Path("d.csv").write_text("1,2\n１,4\n", encoding="utf-8")
    Path("m.csv").write_text("1,,3\n")
    Path("o.csv").write_text("1;2\n3;4\n")
    Path("twice.csv").write_text("a,a\n1,2\n")
    for name in ("e.csv", "t.parquet", "t.h5"):
        Path(name).write_text("")
    with h5py.File("text.hdf5", "w") as file:
        file["names"] = ["a", "b"]
    np.save("c.npy", np.ones(2) * 1j)
    np.save("big.npy", np.array([2**63], dtype=np.uint64))
    with pytest.raises(VladError) as caught:
        session.eval(text)
    message, hint = ERRORS[text]
    assert message in caught.value.message and hint in (caught.value.hint or "")
    assert caught.value.span is not None


def test_a_name_that_no_file_can_have(session: vlad.Session) -> None:
    session["name"] = "a\0.npy"
    for text in ("(load-tensor name)", "(save-tensor name #[1])"):
        with pytest.raises(VladError, match="Cannot"):
            session.eval(text)


def test_a_file_is_looked_for_first_where_one_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the saved file is loaded, even if there is one beside the program."""
    beside, here, other = [tmp_path / name for name in ("beside", "here", "other")]
    for number, folder in enumerate((beside, here, other)):
        folder.mkdir()
        np.save(folder / f"{folder.name}.npy", np.array([number]))
        np.save(folder / "all.npy", np.array([number]))
    (beside / "program.vlad").write_text(
        '(map load-tensor \'("all.npy" "beside.npy" "here.npy" "other.npy"))\n'
        '(save-tensor "beside.npy" #[9]) (load-tensor "beside.npy")'
    )
    monkeypatch.chdir(here)
    printed: list[str] = []
    session = vlad.Session([str(other)], write=printed.append)
    session.run("../beside/program.vlad")
    assert "".join(printed).replace("#<tensor int64 ", "").replace(">", "") == "([1] [0] [1] [2])\n#[9]\n"
    assert session.eval('(tensor-ref (load-tensor "all.npy") 0)') == 1
