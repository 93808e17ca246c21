"""Procedures of a session among other systems: SciPy, PyTorch, JAX, Python's import, IPython."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlad
from vlad.bridges import magic, modules
from vlad.bridges.arrays import Bridged

pytestmark = pytest.mark.any_compiler

ROSENBROCK = """
(define (rosenbrock x)
  (let ((a (slice x 0 (- (rank-length x) 1))) (b (slice x 1 (rank-length x))))
    (sum (+ (* 100 (square (- b (square a)))) (square (- 1 a))))))
(define (rank-length x) (car (shape x)))
(define (energy w x) (sum (tanh (* w x x))))
(define (both x) (cons (* x x) (sum (sin x))))
"""


@pytest.fixture
def session() -> vlad.Session:
    session = vlad.Session()
    session.eval(ROSENBROCK)
    return session


def test_a_pullback_is_a_procedure_that_has_one_itself(session: vlad.Session) -> None:
    x, s, t = np.array([0.3, -1.2, 2.0]), np.array([1.0, -0.5, 0.25]), np.float64(0.75)
    both = Bridged(session["both"], 2)
    square, total = both([x])
    assert np.allclose(square, x * x) and total == pytest.approx(np.sin(x).sum())
    back = both.pullback(1)
    assert np.allclose(back([s, t, x])[0], 2 * x * s + t * np.cos(x))
    v = np.array([0.1, 0.2, 0.3])
    of_s, of_t, of_x = back.pullback(3)([v, s, t, x])
    assert np.allclose(of_s, 2 * x * v)
    assert of_t == pytest.approx((np.cos(x) * v).sum())
    assert np.allclose(of_x, (2 * s - t * np.sin(x)) * v)


def test_scipy_minimizes(session: vlad.Session) -> None:
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed")
    f = session["rosenbrock"]
    found = optimize.minimize(
        f, np.full(5, -1.0), method="trust-ncg", jac=vlad.grad(f), hessp=lambda x, p: vlad.hvp(f, x, p)
    )
    assert found.success and np.allclose(found.x, 1.0, atol=1e-5)


def test_torch_differentiates_through_it(session: vlad.Session) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    f = vlad.to_torch(session["energy"])
    w, x = [torch.randn(5, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    assert torch.autograd.gradcheck(f, (w, x))
    assert torch.autograd.gradgradcheck(f, (w, x))
    single = vlad.to_torch(session["energy"])(w.float(), x.float())
    assert single.dtype == torch.float32 and single.shape == ()


@pytest.mark.parametrize(
    ("bridge", "package", "library"), [(vlad.to_torch, "torch", "PyTorch"), (vlad.to_jax, "jax", "JAX")]
)
def test_a_library_that_is_not_there(
    session: vlad.Session, monkeypatch: pytest.MonkeyPatch, bridge: Any, package: str, library: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for kind in (vlad.VladError, ImportError):
        with pytest.raises(kind, match=f"needs {library}, which is not installed") as caught:
            bridge(session["energy"])
        assert caught.value.code == "missing-package" and caught.value.hint == f"pip install {package}"
    with pytest.raises(vlad.VladError, match="this is a Python float"):
        bridge(3.0)


def test_jax_differentiates_through_it(session: vlad.Session) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    f = vlad.to_jax(session["energy"])
    w, x = jax.numpy.linspace(-1, 1, 5), jax.numpy.linspace(0.5, 2, 5)

    def same(w: Any, x: Any) -> Any:
        return jax.numpy.sum(jax.numpy.tanh(w * x * x))

    assert np.allclose(f(w, x), same(w, x))
    for number in (0, 1):
        one, other = jax.grad(f, number), jax.grad(same, number)
        assert np.allclose(jax.jit(one)(w, x), other(w, x))
        norms = [jax.grad(lambda x, g=g: jax.numpy.sum(g(w, x) ** 2)) for g in (one, other)]
        assert np.allclose(norms[0](x), norms[1](x))


def test_python_imports_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model_of_tests.vlad").write_text(
        "(export cube unit-cost)\n(define (cube x) (* x (helper x)))\n(define (helper x) (* x x))\n(define (unit-cost) 1)\n"
    )
    (tmp_path / "wrong_of_tests.vlad").write_text("(define (f x)\n  (* x y)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    vlad.install_importer(tier="evaluate")
    vlad.install_importer()
    assert len([finder for finder in sys.meta_path if isinstance(finder, modules.Importer)]) == 1
    import model_of_tests as model  # type: ignore[import-not-found]

    assert model.cube(2.0) == 8.0 and model.unit_cost() == 1.0
    assert not hasattr(model, "helper")
    assert vlad.grad(model.cube)(2.0) == 12.0
    with pytest.raises(vlad.VladError) as caught:
        import wrong_of_tests  # type: ignore[import-not-found]  # noqa: F401
    assert caught.value.span is not None and "wrong_of_tests.vlad" in str(caught.value)
    sys.modules.pop("model_of_tests")


class Shell:
    """As much of IPython's shell as an extension uses."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.magics: dict[str, Any] = {}

    def push(self, names: dict[str, Any]) -> None:
        self.user_ns.update(names)

    def register_magic_function(self, function: Any, kind: str, name: str) -> None:
        assert kind == "line_cell"
        self.magics[name] = function


def test_cells_of_a_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell()
    magic.load_ipython_extension(shell)
    cell = shell.magics["vlad"]
    assert cell("", "(define (f x) (* x k))\n(define k 3)\n(f 2)") == 6.0
    shell.user_ns["vlad_session"]["k"] = 5
    assert cell("(f 2)") == 10.0
    with pytest.raises(vlad.Incomplete) as caught:
        cell("", "(f 2")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_variables_of_a_notebook_and_commands(capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell()
    magic.load_ipython_extension(shell)
    cell = shell.magics["vlad"]
    shell.user_ns["a"] = np.array([1.0, 2.0])
    shell.user_ns["k"] = 3
    assert cell("-i a,k -o b", "(define b (* k a))\n(sum b)") == 9.0
    assert np.array_equal(shell.user_ns["b"], [3.0, 6.0])
    cell("-o twice -o b", "(define (twice x) (* 2 x))\n(define b 1)")
    assert shell.user_ns["twice"](4) == 8.0 and shell.user_ns["b"] == 1.0
    for line, text, message in (
        ("-i nothing", "1", "The notebook has no variable nothing"),
        ("-o nothing", "1", "nothing"),
        ("(f 2)", "1", "%%vlad does not take (f 2)"),
        ("-i", "1", "expected one argument"),
    ):
        with pytest.raises(vlad.VladError, match=re.escape(message)):
            cell(line, text)
    capsys.readouterr()
    cell(",doc fold")
    assert "(fold f start l)" in capsys.readouterr().out
    cell(",quit")
    assert "the session goes on" in capsys.readouterr().out
    with pytest.raises(magic.CommandFailed, match="Unbound variable: nope"):
        cell("", ",time (nope)")
    cell(",reset")
    with pytest.raises(vlad.VladError, match="Unbound variable: twice"):
        cell("(twice 1)")


NOTEBOOK = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in sys.argv[1:]:
    print(shell.run_cell(cell).success)
"""


DISPLAYED = """
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance()
shell.run_cell("%load_ext vlad")
shell.display_formatter.active_types = ["text/plain", "text/html", "image/svg+xml"]
done = shell.run_cell("%%vlad\\n; twice <a> number\\n(define (twice x) (* 2 x))\\ntwice")
print(shell.display_formatter.format(done.result)[0]["text/html"])
with capture_output() as found:
    done = shell.run_cell('%%vlad\\n(+ 1 1)\\n(define z 5)\\n"a"\\n(set-ref! (ref 0) 1)\\nz')
print([one.data["text/plain"] for one in found.outputs], done.result)
with capture_output() as found:
    shell.run_cell("%vlad ,plot sin -3 3")
print([sorted(one.data) for one in found.outputs], found.stderr)
"""


def test_what_notebooks_display(tmp_path: Path) -> None:
    ipython = {**os.environ, "IPYTHONDIR": str(tmp_path), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", DISPLAYED], env=ipython, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    *_, html, values, plot = done.stdout.splitlines()
    assert values == "['2.0', \"'a'\"] 5.0"
    assert "twice &lt;a&gt; number" in html and "<code>(twice x)</code>" in html
    assert plot.strip() == "[['image/svg+xml', 'text/plain']]"


def test_an_error_fails_the_cell(tmp_path: Path) -> None:
    """So that "Run all" stops there; the output is vlad's message, without Python frames."""
    cells = (
        "%load_ext vlad.bridges.magic",
        "%%vlad\n(define (f x) (car x))\n(f '(1))",
        "%%vlad\n(display 1)\n(f 2)",
        "%vlad (f 3)",
        "%%vlad\n(f 2",
        "vlad_session.eval('(f 2)')",
    )
    ipython = {**os.environ, "IPYTHONDIR": str(tmp_path), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK, *cells], env=ipython, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    shown = re.split(r"^(True|False)\n", done.stdout, flags=re.MULTILINE)
    assert shown[1::2] == ["True", "True", "False", "False", "False", "False"]
    *cells_of_ours, in_python, _ = shown[::2]
    first_lines = [text.partition("\n")[0] for text in cells_of_ours]
    assert first_lines[0] == "" and first_lines[1].endswith(": 1.0")
    assert [line.partition("In[1]")[2] for line in first_lines[2:]] == [
        ":2:15: Error: Argument to car is invalid",
        ":2:15: Error: Argument to car is invalid",
        ":2:1: Error: The `(` is never closed",
    ]
    assert not any("Traceback" in text or ".py" in text for text in cells_of_ours)
    # there the user's own Python code is on the way, and none of vlad's
    assert "Traceback" in in_python and "vlad_session" in in_python and "/vlad/" not in in_python
