"""Programs on a GPU, compiled: they return the results of tier 0 in memory. Everywhere on a mock of CuPy
(pretended_cupy.py); with a GPU, on it (`.ci/gpu`).
"""

from __future__ import annotations

import ast
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pretended_cupy
import pytest
from amounts import THOROUGH
from loop_cases import host_calls
from nvidia import ARCHITECTURES, compiled
from test_tensor_derivatives import DERIVED
from test_tensor_kinds import KINDS, MIXED, TOGETHER
from test_tensor_programs import PRODUCTS

import vlad
from vlad import VladError
from vlad.compile.calling.pipeline import Unit
from vlad.control import debug
from vlad.data import devices
from vlad.data.tensors import on_host
from vlad.python.convert import from_python


@pytest.fixture
def cupy() -> Iterator[Any]:
    with pretended_cupy.pretended() as module:
        yield module


@pytest.fixture(params=pretended_cupy.WAYS)
def cupy_in_each_way(request: pytest.FixtureRequest) -> Iterator[Any]:
    with pretended_cupy.pretended(request.param) as module:
        yield module


A = np.random.default_rng(0).normal(size=(30, 4))
B = np.random.default_rng(1).normal(size=(4, 5))
LABELS = np.arange(30) % 4
STEP = "(- w (* 0.1 ((gradient (lambda (w) (mean (square (matmul x w))))) w)))"
IMAGE, FILTERS = "(reshape x '(1 1 10 12))", "(reshape w '(2 1 5 2))"
PROGRAMS: dict[str, tuple[Any, ...]] = {  # with their operands
    "(lambda (x) (sum (* x x)))": (A,), "(lambda (x) (+ 1 (* 2 (transpose x))))": (A,), "(lambda (x) x)": (A,),
    "(lambda (x) (list (sum x) (maximum x #:axis 0) (> x 0) (argmax x #:axis 1)))": (A,), "(lambda (x) (softmax x))": (A,),
    "(lambda (x) (logsumexp x #:axis 0))": (A,), "(lambda (x) (* x (sqrt (+ 1 (norm x)))))": (A,),
    "(lambda (x y) (+ (sum x) (* y (exp (maximum x)))))": (A, 0.5), "(lambda (x) (> (sum x) 0))": (A,),
    "(lambda (x) (if (> (sum x) 0) (* 2 x) (exp x)))": (A,),
    "(lambda (x) (tensor (list (sum x) (minimum x) 3)))": (A,), "(lambda (a b) (matmul a b))": (A, B),
    "(lambda (a b) ((gradient (lambda (a) (sum (tanh (matmul a b))))) a))": (A, B),
    "(lambda (a b) ((derivative-F (lambda (t) ((gradient (lambda (b) (sum (exp (matmul (* t a) b))))) b))) 0.1))": (A, B),
    "(lambda (x l) (mean (cross-entropy x l)))": (A, LABELS), "(lambda (x i) (gather x i))": (A, LABELS),
    "(lambda (x l) ((gradient (lambda (x) (mean (cross-entropy x l)))) x))": (A, LABELS),
    "(lambda (x i) ((gradient (lambda (x) (sum (square (gather x i))))) x))": (A, LABELS),
    "(lambda (x i u) (scatter-add x i u))": (A, LABELS, A), "(lambda (x) (tensor-ref x 3))": (A,),
    "(lambda (x i) (tensor-set x (tensor-ref i 0) (square (tensor-ref x 1))))": (A, LABELS),
    "(lambda (x) ((gradient (lambda (x) (sum (square (slice-set x 1 3 (sin (slice x 0 2))))))) x))": (A,),
    f"(lambda (w x) (let loop ((w w) (n 5)) (if (= n 0) w (loop {STEP} (- n 1)))))": (A[0], A),
    "(lambda (x) (let loop ((x x) (n 0)) (if (< (norm x) 1) (list n x) (loop (/ x 2) (+ n 1)))))": (A,),
    f"(lambda (x w) (conv2d {IMAGE} {FILTERS} #:padding 'same))": (A, B),
    f"(lambda (x w) ((gradient (lambda (x) (sum (sin (conv2d {IMAGE} {FILTERS} #:stride 2))))) x))": (A, B),
    f"(lambda (x w) ((gradient (lambda (w) (sum (sin (conv2d {IMAGE} {FILTERS} #:dilation 2))))) w))": (A, B),
    f"(lambda (x) ((gradient (lambda (x) (sum (sin (max-pool {IMAGE} 3 #:stride 2))))) x))": (A,),
    f"(lambda (x) ((gradient (lambda (x) (sum (sin (avg-pool {IMAGE} 2 #:padding 1))))) x))": (A,),
    "(lambda (x) (uniform (random-key 3) '(3 4)))": (A,), "(lambda (x) (* x (normal (random-key 3) '(30 4))))": (A,),
    "(lambda (x) (gather x (permutation (random-key 3) 30)))": (A,),
    "(lambda (x) (concatenate (list x (zeros '(2 4)))))": (A,), "(lambda (x) (sum x))": (np.zeros((0, 3)),),
    "(lambda (x) (stack (list (tensor-ref x 0) #[1 2 3 4])))": (A,),
    "(lambda (x) (sum (* x x) #:axis 1))": (np.zeros((3, 0)),), "(lambda (x) (as-type (> x 0) 'float64))": (A,),
    "(lambda (x) (einsum \"ij,kj->ik\" x x))": (A,), "(lambda (x) (prod (+ 1 (* 0.01 x)) #:axis 0))": (A,),
}  # fmt: skip
LARGE = {text: tuple([np.random.default_rng(n).normal(size=shape) / 6 for n, shape in enumerate(shapes)])
         for text, shapes in PRODUCTS.items()}  # fmt: skip


def answers(text: str, operands: tuple[Any, ...], **how: Any) -> tuple[Any, Any]:
    """Two results of a program, with NumPy arrays, and its session."""
    session = vlad.Session(**how)
    there = devices.device_named(how.get("device", "cpu"))
    f = session.eval(text)
    given = [there.asarray(x) if isinstance(x, np.ndarray) else x for x in operands]
    return [home(f(*given), there.name) for _ in range(2)], session


def home(value: Any, device: str) -> Any:
    """The same in memory; every array was on the device."""
    if isinstance(value, list | tuple):
        return type(value)([home(part, device) for part in value])
    if hasattr(value, "shape"):
        assert devices.name_of(value) == device
        return on_host(value)
    return value


def alike(found: Any, expected: Any, tolerance: float = 1e-11) -> bool:
    """Of the same kind and shape, and equal up to rounding."""
    if isinstance(expected, list | tuple):
        parts = zip(found, expected, strict=False)
        return len(found) == len(expected) and all(alike(*both, tolerance) for both in parts)
    if isinstance(expected, np.ndarray):
        alike_ = found.dtype == expected.dtype and found.shape == expected.shape
        return alike_ and np.allclose(found, expected, tolerance, tolerance / 10, equal_nan=True)
    return type(found) is type(expected) and found == pytest.approx(
        expected, rel=tolerance, abs=tolerance / 10
    )


def agree(text: str, operands: tuple[Any, ...], device: str = "cuda", tolerance: float = 1e-11) -> None:
    """Compiled for the device it returns the result of tier 0 in memory; and the same each time, except sums in any order."""
    found, session = answers(text, operands, device=device, tier="compile")
    expected, _ = answers(text, operands, tier="evaluate")
    assert alike(found, expected, tolerance), (text, found, expected)
    assert {entry.reason for entry in session.tiers.entries.values()} == {None}, text
    assert session.tiers.disagreements == 0
    if "gather" not in text and "scatter" not in text:
        assert alike(*found, 0.0), text


@pytest.mark.parametrize("text", PROGRAMS)
def test_programs(text: str, cupy: Any) -> None:
    agree(text.strip(), PROGRAMS[text])


@pytest.mark.parametrize("text", LARGE)
def test_programs_of_large_tensors(text: str, cupy_in_each_way: Any) -> None:
    agree(text.strip(), LARGE[text])


@pytest.mark.gpu
@pytest.mark.parametrize("text", [*PROGRAMS, *LARGE])
def test_programs_on_a_gpu(text: str) -> None:
    on_a_gpu()
    agree(text.strip(), (PROGRAMS | LARGE)[text])


FIT = [
    text
    for text in MIXED
    if not any(part in text for part in ("(zero z)", "(if (tensor-ref", "sort", "cumsum"))
]
OF_KINDS = {
    f"(lambda (a q z y t) (list {' '.join(FIT[n : n + TOGETHER])}))": KINDS
    for n in range(0, len(FIT), TOGETHER)
}
OF_KINDS |= {f"(lambda (q) ((gradient (lambda (y) {text})) q))": {"q": KINDS["q"] / 4} for text in DERIVED}


@pytest.mark.parametrize(
    ("text", "way"),
    [
        (text, way)
        for text, turn in zip(OF_KINDS, itertools.cycle(range(len(pretended_cupy.WAYS))), strict=False)
        for way in (pretended_cupy.WAYS if THOROUGH else pretended_cupy.WAYS[turn : turn + 1])
    ],
)
def test_programs_of_several_kinds(text: str, way: str) -> None:
    with pretended_cupy.pretended(way):
        agree(text, tuple(OF_KINDS[text].values()), tolerance=3e-6)


@pytest.mark.gpu
@pytest.mark.parametrize("text", OF_KINDS)
def test_programs_of_several_kinds_on_a_gpu(text: str) -> None:
    on_a_gpu()
    agree(text, tuple(OF_KINDS[text].values()), tolerance=3e-6)


BIG = {
    "(lambda (x) (list (sum x) (maximum x) (sum x #:axis 0) (sum (* x x) #:axis 1) (exp x)))": ((3000, 700),),
    "(lambda (x) (sum (softmax x) #:axis 0))": ((20000, 33),), "(lambda (x) (prod (+ 1 (* 1e-4 x))))": ((40000,),),
    "(lambda (x y) ((gradient (lambda (x) (sum (sin (* x y))))) x))": ((1000, 1000), (1000,)),
    "(lambda (x w) ((gradient (lambda (w) (sum (sin (conv2d x w #:stride 2))))) w))": ((8, 3, 40, 40), (5, 3, 5, 5)),
    "(lambda (x w) ((gradient (lambda (x) (sum (sin (conv2d x w #:stride 2))))) x))": ((8, 3, 40, 40), (5, 3, 5, 5)),
}  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize("text", BIG)
def test_large_tensors_on_a_gpu(text: str) -> None:
    """Reductions in parts, and many blocks."""
    on_a_gpu()
    agree(text, tuple([np.random.default_rng(n).normal(size=shape) for n, shape in enumerate(BIG[text])]))


def on_a_gpu() -> None:
    try:
        devices.device_named("cuda")
    except VladError as error:
        pytest.skip(f"{error.message}: {error.hint}")


def unit(text: str, operands: tuple[Any, ...], xp: Any) -> Unit:
    """The compiled form of a program for the device."""
    session = vlad.Session(device="cuda", tier="evaluate")
    f = session.eval(text).value
    given = [from_python(xp.asarray(x) if isinstance(x, np.ndarray) else x) for x in operands]
    return Unit(session.machine, f[0], f[1 : 1 + len(f[0].environment)], tuple(given))


def test_its_compiler_takes_all_programs(cupy: Any) -> None:
    for text, operands in (PROGRAMS | LARGE).items():
        emission = unit(text, operands, cupy).cuda
        assert emission is not None
        if emission.kernels:
            compiled(emission.cuda, ARCHITECTURES[-1])


def test_a_real_is_waited_for_where_it_is_needed(cupy: Any) -> None:
    for text, waits in [
        ("(lambda (x) (* x (sqrt (+ 1 (norm x)))))", 0), ("(lambda (x) (/ (sum x) (+ 2 (maximum x))))", 1),
        ("(lambda (x) (if (> (sum x) 0) (* x (sum x)) (* x (maximum x))))", 1), ("(lambda (x) (list (sum x) (exp (sum x))))", 2),
    ]:  # fmt: skip
        emission = unit(text, (A,), cupy).cuda
        assert emission is not None and host_calls(emission.host).count("item") == waits, text


def test_dead_arrays_are_freed(cupy: Any) -> None:
    emission = unit(
        "(lambda (a b) (matmul (matmul (matmul a b) b) b))", (np.ones((30, 30)), np.ones((30, 30))), cupy
    ).cuda
    assert emission is not None
    freed = [
        node
        for node in ast.walk(ast.parse(emission.host))
        if type(node) is ast.Assign and type(node.value) is ast.Constant and node.value.value is None
    ]
    assert host_calls(emission.host).count("matmul") == 3 and len(freed) == 2


LEFT = {  # to tier 0, and why
    "(lambda (x) (let loop ((i 0) (l '())) (if (= i (sum x)) l (loop (+ i 1) (cons (* i x) l)))))": "structures whose size",
    "(define (f x n) (if (= n 0) x (+ (f x (- n 1)) 1))) (lambda (x) (f x (sum x)))": "call themselves",
    "(lambda (x) (begin (display (sum x)) x))": "programs that print",
    "(lambda (x) (solve (outer x x) x))": "`solve`", "(lambda (x) (to-device x \"cuda\"))": "`to-device`",
    "(lambda (x) (number->string (sum x)))": "strings", "(lambda (x) (if (> (sum x) 0) x (slice x 0 1)))": "structures",
}  # fmt: skip


@pytest.mark.parametrize("text", LEFT)
def test_what_is_left_to_tier_0(text: str, cupy: Any) -> None:
    x = np.array([1.0, 2.0])
    outcomes = []
    for tier in ("compile", "evaluate"):
        session = vlad.Session(device="cuda", tier=tier, write=lambda text: None)
        f = session.eval(text)
        try:
            outcomes.append(home(f(cupy.asarray(x)), "cuda"))
        except VladError as error:
            outcomes.append(error.message)
        if tier == "compile":
            entry = session.tiers.entries[id(f.value)]
            assert entry.reason is not None and LEFT[text] in entry.reason, entry.reason
    if isinstance(outcomes[0], str):
        assert outcomes[0] == outcomes[1]
    else:
        assert alike(*[[x.astype(float) if hasattr(x, "astype") else x for x in found] for found in outcomes])


def test_tensors_elsewhere_are_left_to_tier_0(cupy: Any) -> None:
    session = vlad.Session(device="cuda", tier="compile")
    f = session.eval("(lambda (x) (* 2 x))")
    assert type(f(A)) is np.ndarray
    assert "tensors on cpu are in a session on cuda" in session.tiers.entries[id(f.value)].reason
    g = session.eval("(lambda (x) (* 2 x))")
    assert isinstance(g(cupy.asarray(A)), cupy.ndarray) and type(g(A)) is np.ndarray
    single = session.eval("(lambda (x) (* 2 x))")
    assert single(cupy.asarray(A.astype("float32"))).dtype == np.float32


ERRORS = [
    "(lambda (x) (gather x #[0 7]))", "(lambda (x) (tensor-ref x 9))", "(lambda (x) (+ x #[1 2 3]))",
    "(lambda (x) (matmul x x))", "(lambda (x) (inverse (* 0 (outer #[1 2] #[1 2]))))", "(lambda (x) (if (> x 0) 1 2))",
    "(lambda (x) (cholesky #[[1 2] [2 1]]))", "(lambda (x) (error \"no\" x))", "(lambda (x) (tensor-ref x (sum x)))",
    "(lambda (x) (solve #[[1 2] [3 4]] #[1 2 3]))", "(lambda (x) (one-hot (tensor-ref (* 2 x) 2) 9))",
]  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors_are_those_of_the_processor(text: str, cupy: Any) -> None:
    errors = []
    for how in (
        {"tier": "evaluate"},
        {"device": "cuda", "tier": "evaluate"},
        {"device": "cuda", "tier": "compile"},
    ):
        session = vlad.Session(**how)  # type: ignore[arg-type]
        with pytest.raises(VladError) as caught:
            f = session.eval(text)
            f(devices.device_named(how.get("device", "cpu")).asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
        errors.append((caught.value.code, caught.value.message, caught.value.hint, str(caught.value.span)))
    assert errors[0] == errors[1] == errors[2]


@pytest.mark.parametrize("tier", ["compile", "evaluate"])
def test_a_gpu_that_fails_is_an_error_of_the_language(
    tier: str, cupy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = type("CUDARuntimeError", (RuntimeError,), {"__module__": "cupy_backends.cuda.api.runtime"})

    def failing(*_: Any, **__: Any) -> Any:
        raise failure("cudaErrorLaunchFailure: unspecified launch failure")

    session = vlad.Session(device="cuda", tier=tier)
    f, x = session.eval("(lambda (x) (* x x))"), cupy.asarray(A)
    monkeypatch.setattr(pretended_cupy.Array, "__array_ufunc__", failing)
    monkeypatch.setattr(pretended_cupy.RawModule, "get_function", lambda *_: failing)
    with pytest.raises(
        VladError, match=r"The device cuda failed: CUDARuntimeError: .* launch failure"
    ) as caught:
        f(x)
    assert caught.value.code == "device-failed"


def test_a_kernel_that_is_not_compiled_is_reported(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tier 0 computes the result, and a notice has the reason."""

    def failing(*_: Any) -> Any:
        raise RuntimeError("no such architecture")

    monkeypatch.setattr(debug, "rungs", debug.rungs - {debug.TRACEBACKS})
    monkeypatch.setattr(pretended_cupy.RawModule, "get_function", failing)
    session = vlad.Session(device="cuda", tier="compile")
    f = session.eval("(lambda (x) (* x x))")
    with pytest.warns(vlad.NotCompiledWarning, match="no such architecture"):
        assert np.array_equal(f(cupy.asarray(A)).get(), A * A)
    assert "no such architecture" in session.tiers.entries[id(f.value)].reason


def test_what_runs_long_is_taken_over(cupy: Any) -> None:
    session = vlad.Session(device="cuda", tier="auto")
    f = session.eval("(lambda (x n) (let loop ((x x) (n n)) (if (= n 0) x (loop (sin (+ x 0.1)) (- n 1)))))")
    expected = vlad.Session(tier="evaluate").eval("(lambda (x) (sin (+ x 0.1)))")
    y = A
    for _ in range(5000):
        y = expected(y)
    begun = time.monotonic()
    while True:
        np.testing.assert_allclose(f(cupy.asarray(A), 5000.0).get(), y, rtol=1e-11)
        variants = session.tiers.entries[id(f.value)].variants
        if variants or time.monotonic() - begun > 100:
            break
    assert len(variants) == 1


def test_nothing_is_built_of_it(cupy: Any, tmp_path: Path) -> None:
    """A program that stands alone has its tensors in memory."""
    path = tmp_path / "program.vlad"
    path.write_text("(sum (zeros 3))")
    with pytest.raises(VladError, match="tensors on other devices than cpu are not compiled yet"):
        vlad.Session(device="cuda").build(str(path), str(tmp_path / "program"))


def test_the_benchmark_runs(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import gpu

    monkeypatch.setattr(gpu, "RUNS", 1)
    lines = gpu.table(1e-5)
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {name}" for name in gpu.PROGRAMS]
    assert len(gpu.batches(2e-6)) == 2 + len(gpu.BATCHES)
