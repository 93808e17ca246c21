"""Names and messages made to mislead: no fact is derived from the spelling of a name, a message or a file.

A program may call a procedure `step.back`, which is how the backpropagator of `step` is shown, and raise an error whose words are
those of the system. The reports on it are the same as for a program with other words.
"""

from __future__ import annotations

import ast
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vlad
from repl.display import Format, laid_out
from vlad.core.names import operands
from vlad.core.nodes import Atom, Binding, Body, DerivedName, GlobalReference, Lambda, Variable, WrittenName
from vlad.core.text import read_core
from vlad.data.errors import VladError, parts
from vlad.data.source import Source, Span, in_library
from vlad.data.values import Code, Primitive, PrimitiveType, Role, Value, look, primitive_type
from vlad.debugging.debugger import Debugger
from vlad.debugging.finite import Finding
from vlad.debugging.frames import is_shown
from vlad.evaluate.emit_python import Template
from vlad.evaluate.system_procedures import _parameters
from vlad.expand.arity import Signature, wrong_number
from vlad.primitives.elementwise import formula, makes_intermediates

TIERS = ("evaluate", "auto", "compile")
NAMES = (
    "step.back",
    "a of b",
    "forward",
    "reverse of f",
    "x.back.back",
    "%helper",
    "the library",
    "f:1",
    "tag",
)
WORDS = (
    "Argument to car is invalid", "Arguments to plus do not conform", "does not fit", "fit", "the tensor is too large",
    "real -> real", "sort takes 2 arguments and got 1", "() was expected here", "Unbound variable: sin",
    "The parameter `(list x)` takes a list of 1", "a tensor of shape (2)", "use max instead of +", "  hint: none",
)  # fmt: skip


def error_of(text: str, **options: Any) -> VladError:
    session = vlad.Session(**options)
    with pytest.raises(VladError) as caught:
        session.eval(text, "p")
    return caught.value


def value_of(procedure: Any) -> Value:
    return procedure.value


def code_in(procedure: Any) -> Code:
    code: Code = look(value_of(procedure))[0]
    return code


# Errors and their traces.


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_trace_has_the_program_s_names(name: str, tier: str) -> None:
    error = error_of(f"(define (|{name}| x) (car x)) (define (g x) (+ 1 (|{name}| x))) (g 3)", tier=tier)
    assert [entry.procedure for entry in error.backtrace] == [name, "g", "the top level"]
    assert [entry.name for entry in error.backtrace] == [name, "g", "the top level"]
    assert all(entry.backpropagator_of is None and entry.derivation == "" for entry in error.backtrace)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and [entry.name for entry in again.backtrace][:2] == [name, "g"]


def test_a_trace_has_the_place_of_the_operation_that_failed() -> None:
    """Although it shares a line of emitted code with others."""
    text = "(define (f x) (mean (square (matmul x (ones 4))))) (+ 1 (f (ones '(2 3))))"
    error = error_of(text, tier="evaluate")
    assert error.span is not None and error.span.text == "(matmul x (ones 4))"
    assert error.backtrace[0].span == error.span


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_trace_of_a_derivative_has_them(name: str, tier: str) -> None:
    error = error_of(f"(define (|{name}| x) (car x)) ((gradient |{name}|) 3)", tier=tier)
    entry, _ = error.backtrace
    assert (entry.procedure, entry.name, entry.derivation) == (f"reverse of {name}", name, "reverse of ")


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("words", WORDS)
def test_the_words_of_an_error_are_the_program_s(words: str, tier: str) -> None:
    """With other words of the same length all else is the same."""
    program = '(define (f x) (+ (max 1 x) (error "{}" x))) (map f (list 1 2))'
    mild = "~" * len(words)
    found = str(error_of(program.format(words), tier=tier))
    assert found == str(error_of(program.format(mild), tier=tier)).replace(mild, words)
    alone = error_of(f'(+ (max 1 2) (car (error "{words}")))', tier=tier)
    assert alone.span is not None and alone.span.text == f'(error "{words}")'
    assert (alone.message, alone.hint, alone.reason) == (words, None, None)


@pytest.mark.parametrize("words", WORDS)
def test_a_reason_is_judged_by_its_code(words: str) -> None:
    taken = Signature("f", "(f x y)", ("x", "y"), False)
    found = wrong_number(taken, 1, VladError("user-error", words))
    assert f"in detail: {words}" in str(found)
    ours = wrong_number(taken, 1, VladError("not-equivalent", words))
    assert f"in detail (`vlad doc wrong-number-of-arguments`): {words}" in str(ours)


@pytest.mark.parametrize("name", ["my while", "not a vector-ref", "x np.sin"])
def test_an_unbound_name_is_the_whole_name(name: str) -> None:
    error = error_of(f"(+ 1 |{name}|)", tier="evaluate")
    assert (error.name, error.hint) == (name, "define it, or import the module that does")


def test_an_operation_of_the_same_name_as_a_word() -> None:
    """`and`, `given`, `to` may be names of procedures; the place is that of what refused its operand."""
    error = error_of("(define (to x) x) (define (f x) (+ (to (abs x)) (car x))) (f 3)", tier="evaluate")
    assert error.name == "car" and error.span is not None and error.span.text == "(car x)"


# What a code is.


def test_what_a_code_is_does_not_depend_on_its_name() -> None:
    session = vlad.Session(tier="evaluate")
    user = code_in(session.eval("(define (step.back x) (* x x)) step.back"))
    assert (user.backpropagator_of, user.role, user.transforms) == (None, Role.PROCEDURE, ())
    session.eval("(define (step x) (* x x))")
    handed = look(value_of(session.eval("(cdr ((J step) (J 3)))")))
    assert handed[0].role is Role.BACKPROPAGATOR
    back = look(handed[4])[0]
    assert (back.name, back.backpropagator_of, back.transforms) == ("step.back", "step", ())
    assert repr(user) == "#<code step.back>"


def test_transforms_keep_it() -> None:
    session = vlad.Session(tier="evaluate")
    session.eval("(define (step x) (* x x x))")
    machine = session.machine
    back = look(look(value_of(session.eval("(cdr ((J step) (J 3)))")))[4])[0]
    for make, word in ((machine.tail_code, "reverse"), (machine.forward_code, "forward")):
        made = make(back)
        assert (made.backpropagator_of, made.transforms) == ("step", (word,))
        assert machine.core_of(made).backpropagator_of == "step"  # `tidy` ran over it
        twice = machine.forward_code(made)
        assert (twice.backpropagator_of, twice.transforms) == ("step", ("forward", word))
    of_user = code_in(session.eval("(define (step.back x) (* x x)) step.back"))
    assert machine.forward_code(machine.tail_code(of_user)).transforms == ("forward", "reverse")
    assert machine.tail_code(of_user).backpropagator_of is None


BACKS = {
    "step": "(define (step x) (* x x x)) (cdr ((J step) (J 3)))",
    "step.back": "(define (step.back x) (* x x x)) (cdr ((J step.back) (J 3)))",
    "a of b": "(define (|a of b| x) (* x x x)) (cdr ((J |a of b|) (J 3)))",
    "": "(cdr ((J (lambda (x) (* x x x))) (J 3)))",
}


@pytest.mark.parametrize("name", BACKS)
def test_saving_and_loading_keep_it(name: str) -> None:
    text = vlad.dumps(vlad.Session(tier="evaluate").eval(BACKS[name]))
    assert text.count("backpropagator-of") == 1
    loaded = vlad.loads(text, vlad.Session(tier="evaluate"))
    back = look(look(value_of(loaded))[4])[0]
    assert (back.name, back.backpropagator_of) == (f"{name}.back", name)
    assert vlad.dumps(loaded) == text


@pytest.mark.parametrize("name", NAMES)
def test_saving_and_loading_a_procedure_that_is_called_so(name: str) -> None:
    text = vlad.dumps(vlad.Session(tier="evaluate").eval(f"(define (|{name}| x) (* x x)) |{name}|"))
    assert "backpropagator-of" not in text
    loaded = vlad.loads(text, vlad.Session(tier="evaluate"))
    assert code_in(loaded).name == name and code_in(loaded).backpropagator_of is None
    assert loaded(3.0) == 9.0 and vlad.grad(loaded)(3.0) == 6.0 and vlad.dumps(loaded) == text


NUMBERED = ("g.5", "g.5.3", "g", ".5", "_", "", "g.", "5.g", "x y.2", "let.1", "sin.2")


def test_saving_and_loading_keep_names_that_end_in_a_number() -> None:
    """`x.1` in a text may be a second `x`, or the only variable or global `x.1`."""
    session = vlad.Session(tier="evaluate")
    definitions = [f"(define |{name}| {number})" for number, name in enumerate(NUMBERED)]
    summed = "".join([f"(cons |{name}| " for name in NUMBERED]) + "'()" + ")" * len(NUMBERED)
    text = vlad.dumps(session.eval("\n".join([*definitions, f"(lambda (|x.1| x |x.1.1|) {summed})"])))
    loaded = vlad.loads(text, vlad.Session(tier="evaluate"))
    core = loaded.session.machine.core_of(code_in(loaded))
    found = [atom.cell.name for atom in atoms_in(core) if isinstance(atom, GlobalReference)]
    assert found == list(reversed(NUMBERED))
    assert [str(parameter.name) for parameter in core.parameters] == ["x.1", "x", "x.1.1"]
    assert loaded(0.0, 0.0, 0.0) == [float(number) for number in range(len(NUMBERED))]
    assert vlad.dumps(loaded) == text


def atoms_in(lambda_: Lambda) -> list[Atom]:
    return [
        atom
        for binding in lambda_.body.bindings
        if isinstance(binding, Binding)
        for atom in operands(binding.rhs)
    ]


def test_an_unbound_global_has_its_name_after_loading() -> None:
    text = vlad.dumps(vlad.Session(tier="evaluate").eval("(lambda (x) (+ x g.5))"))
    with pytest.raises(VladError) as caught:
        vlad.loads(text, vlad.Session(tier="evaluate"))(1.0)
    assert caught.value.name == "g.5"


def test_a_transform_from_before_a_redefinition_travels_as_it_was_made() -> None:
    """The base has other transforms by then: what the code says of itself counts."""
    session = vlad.Session(tier="evaluate")
    code = code_in(session.eval("(define (|forward of f| x) (sin x)) |forward of f|"))
    session.machine.core_of(code)
    f = session.eval("(lambda (x) (cdr ((J |forward of f|) (J x))))")(3.0)
    made = session.machine.forward_code(session.machine.tail_code(code))
    session.eval("(define (sin x) x)")
    assert code.tail is None and made.transforms == ("forward", "reverse")
    assert vlad.dumps(f).count("(backpropagator-of |forward of f|)") == 1


@pytest.mark.parametrize(
    "written", ["(backpropagator-of 1)", "(backpropagator-of a b)", "(backpropagator-of (a))"]
)
def test_a_forged_mark_is_refused(written: str) -> None:
    with pytest.raises(VladError) as caught:
        vlad.loads(f"(vlad-saved 1 (code f (lambda f (x) {written} x)) (closure f))", vlad.Session())
    assert caught.value.code == "invalid-saved"


# The NaN finder.


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
@pytest.mark.parametrize("name", NAMES)
def test_the_nan_finder_names_the_procedure(name: str, tier: str) -> None:
    (first, *_) = findings(
        f"(define (|{name}| x) (+ 1 (/ 1 x))) (define (g x) (* 2 (|{name}| x))) (g 0)", tier
    )
    lines = str(first).split("\n")[-2:]
    assert [line.rpartition(" at ")[0] for line in lines] == [f"  in {name}", "  in g"]


@pytest.mark.parametrize("name", ["step", "step.back", "a of b", "reverse of f", "%helper"])
def test_the_nan_finder_names_the_backpropagator(name: str) -> None:
    (first, *_) = findings(f"(define (|{name}| x) (sqrt x)) ((gradient |{name}|) 0)", "evaluate")
    assert f"  in the backpropagator of {name} at " in str(first)


def findings(text: str, tier: str) -> list[Finding]:
    session = vlad.Session(tier=tier, write=lambda _: None)
    found: list[Finding] = []
    debugger = Debugger(session, found=found.append)
    debugger.find_nan()
    session.run_text(text, "p")
    debugger.close()
    return found


# What is shown and checked.

PROGRAM = """(define ({} x) (* x (sin x)))
(define (turn x n) (if (< n 1) x (turn (+ x ({} x)) (- n 1))))
(define (f x) (car (list (turn x 3) ({} 2) ({} 3) ({} 4))))
((gradient f) 0.5)
"""


@pytest.mark.parametrize("stage", ["core", "reverse", "forward", "types", "first-order"])
@pytest.mark.parametrize("name", ["step.back", "x.back.back", "forward", "a-of-b.back"])
def test_what_is_shown_does_not_depend_on_the_name(name: str, stage: str, tmp_path: Path) -> None:
    shown = []
    plain = "q" * len(name)
    for each in (name, plain):
        path = tmp_path / "program.vlad"
        path.write_text(PROGRAM.replace("{}", each))
        shown.append("\n".join(vlad.Session().show(str(path), stage)))
    assert shown[0] == shown[1].replace(plain, name)


@pytest.mark.parametrize("words", WORDS)
def test_a_check_does_not_depend_on_the_words(words: str, tmp_path: Path) -> None:
    def checked(message: str) -> str:
        path = tmp_path / "program.vlad"
        path.write_text(f'(define (step.back x) (if (> x 0) x (error "{message}" x)))\n(step.back -1)\n')
        lines, errors = vlad.Session().check(str(path))
        return "\n".join([*lines, *map(str, errors)])

    mild = "~" * len(words)
    assert checked(words) == checked(mild).replace(mild, words)


# Files and texts.


@pytest.mark.parametrize("folder", ["stdlib", "step.back", "<core>"])
def test_a_file_in_a_folder_of_such_a_name(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / folder).mkdir()
    path = f"{folder}/prelude.vlad"
    Path(path).write_text("(define (first-of x) (car x))\n(define (g x) (+ 1 (first-of x)))\n(g 3)\n")
    with pytest.raises(VladError) as caught:
        vlad.Session(tier="evaluate").run(path)
    error = caught.value
    assert str(error.span) == f"{path}:1:22" and [entry.procedure for entry in error.backtrace] == [
        "first-of",
        "g",
        "the top level",
    ]
    Path(path).write_text("(define (first-of x) (car x))\n(export first-of)\n")
    error = error_of(f'(import "{folder}/prelude") (define (g x) (+ 1 (first-of x))) (g 3)', tier="evaluate")
    assert str(error.span) == f"{tmp_path}/{path}:1:22"
    assert [entry.procedure for entry in error.backtrace] == ["first-of", "g", "the top level"]


@pytest.mark.parametrize("name", ["<core>", "<derivative>", "stdlib/prelude.vlad", "<saved>"])
def test_a_text_of_such_a_name(name: str) -> None:
    session = vlad.Session(tier="evaluate")
    with pytest.raises(VladError) as caught:
        session.eval("(define (f x) (car x)) (+ 1 (f 3))", name)
    assert str(caught.value.span) == f"{name}:1:15"
    assert [entry.procedure for entry in caught.value.backtrace] == ["f", "the top level"]
    assert not in_library(Span(Source(name, "x"), 0, 1))


# Python's functions.


def test_a_python_function_of_such_a_name() -> None:
    session = vlad.Session(tier="evaluate")
    for name in ("a:b", "step.back", "f of g"):
        session["h"] = named(name, lambda x, y: x)
        with pytest.raises(VladError) as caught:
            session.eval("(h 1)")
        assert caught.value.message == f"{name} takes 2 arguments and got 1"


def test_a_parameter_of_the_name_that_stands_for_none() -> None:
    def measure(nothing: float) -> float:
        return nothing

    session = vlad.Session(tier="evaluate")
    session["measure"] = measure
    for text in ("(measure 1 2)", "(define (f nothing) nothing) (f 1 2 3) (car (f 1 2))"):
        try:
            session.eval(text)
        except VladError as error:
            assert "no arguments" not in error.message


def named(name: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    function.__name__ = function.__qualname__ = name
    return function


def test_a_python_file_of_the_name_of_emitted_code() -> None:
    names: dict[str, Any] = {"FAMILY": None}
    exec(compile("def h(x):\n  return 1 / x", "<vlad>", "exec"), names)
    session = vlad.Session(tier="evaluate")
    session["h"] = names["h"]
    with pytest.raises(VladError) as caught:
        session.eval("(+ 1 (h 0))")
    assert caught.value.code == "python-error" and isinstance(caught.value.__cause__, ZeroDivisionError)


# Variables that derivatives compute.


def test_a_variable_called_argument_is_not_that_of_a_transform() -> None:
    names = frozenset(["argument", "rest", "x"])
    assert is_shown(Variable(DerivedName(WrittenName("x"), ".sensitivity")), names)
    assert not is_shown(Variable("argument.sensitivity"), names)
    assert not is_shown(Variable("rest.tangent"), names)
    assert not is_shown(Variable(DerivedName("x", ".tangent")), names)  # an x that is not in the text
    assert str(pickle.loads(pickle.dumps(DerivedName("x", ".tangent")))) == "x.tangent"


# The prompt.


def test_a_string_that_looks_like_a_lambda_is_one_line() -> None:
    session = vlad.Session(tier="evaluate")
    value = value_of_text(session, '(list "(lambda (x) x)" 1)')
    assert laid_out(value, Format(width=60)) == '("(lambda (x) x)" 1)'


def value_of_text(session: vlad.Session, text: str) -> Value:
    return session.value_of(Source("p", text), {})


def test_the_parts_of_an_error_are_known_by_what_they_are() -> None:
    error = error_of('(error "one\n  hint: two" 3)', tier="evaluate")
    assert [part for part, _ in parts(error)] == ["message", "place"]
    assert "\n".join(text for _, text in parts(error)) == str(error)


# Types of primitives.


def test_the_type_of_a_primitive_is_read_once() -> None:
    found = primitive_type("real number -> boolean")
    assert (found.parameters, found.result) == (("real", "number"), "boolean")
    assert primitive_type("real number -> boolean") is found and repr(found) == "real number -> boolean"
    assert repr(PrimitiveType(["any"] * 2, "any")) == "any any -> any"
    for wrong in ("real", "real ->", ""):
        with pytest.raises(ValueError, match="not the type"):
            primitive_type(wrong)


def row_of(**columns: Any) -> Primitive:
    base = {"value": None, "type": "number number -> number", "forward": "zero", "reverse": {}}
    return Primitive("row", "x is", "", **{**base, **columns})


def test_a_row_s_python_form_is_parsed() -> None:
    """Names, strings and attributes that look like operators or operands are none."""
    form = Template(row_of(python="f(x.is_, 'x is < <', x=x) - isnt"))
    assert (form.tests_identity, form.is_chain, form.takes_tuples, form.once) == (False, False, False, False)
    assert form.fill({"x": "A", "is": "B"}) == "f(A.is_, 'x is < <', x=A) - isnt"
    assert Template(row_of(python="g(1 < x, 2 < x)")).is_chain is False
    assert Template(row_of(python="1 < x < 2")).is_chain is True
    assert Template(row_of(python="x is not None")).tests_identity is True
    assert Template(row_of(python="'+' if f(x) else x - 1")).takes_tuples is False


def test_a_rule_reads_shapes_if_it_reads_the_variable() -> None:
    rules = vlad.Session(tier="evaluate").machine.ad()[1]
    actual: dict[str, Atom] = {"x": Variable("x"), "is": Variable("is")}
    quoting = row_of(type="any -> any", reverse={"x": '(if (string? "~x") s s)'})
    reading = row_of(type="any -> any", reverse={"x": "(sum-like s ~x)"})
    assert not rules.needs_shapes(quoting, actual)
    assert rules.needs_shapes(reading, actual)


@pytest.mark.parametrize(("text", "several"), [("1 / x", False), ("sqrt", False), ("(u + x) ** -k", True)])
def test_what_makes_intermediate_arrays(text: str, several: bool) -> None:
    assert makes_intermediates(formula(text, ("k", "u", "x"))) is several
    assert not makes_intermediates(formula("(1 / x)", ("x",)))  # parentheses alone make none


def test_the_parameters_of_a_text_of_the_basis() -> None:
    assert _parameters(";;; (f a) (b\n ; (lambda (c) d)\n (lambda (x y z) x)") == 3


@pytest.mark.parametrize("text", ["(lambda (x) x)", "; (let\n #1=(lambda (x) x)", "#| (x |# ( lambda (x) x)"])
def test_the_text_of_a_lambda_is_read_as_one(text: str) -> None:
    assert isinstance(read_core(text, None, {}), Lambda)
    assert isinstance(read_core(f"(let ((lambda {text})) lambda)", None, {}), Body)


def test_parentheses_around_a_type_in_a_signature(tmp_path: Path) -> None:
    """A procedure whose name has the words of a definition of a union gets none."""
    path = tmp_path / "p.vlad"
    path.write_text(
        "(define (|a  where  b| x) x) (define (twice f x) (f (f x)))"
        "(define (longer n) (if (< n 1) '() (cons n (longer (- n 1))))) (define (first-of l) (car l))"
        "(twice |a  where  b| 3) (first-of (longer 3))"
    )
    lines, _ = vlad.Session(tier="evaluate").check(str(path))
    assert "twice : [|a  where  b|] real -> real" in lines
    assert "first-of : (list of real) -> real" in lines


@pytest.mark.parametrize("name", ["perturbation", "sensitivity"])
def test_a_procedure_called_like_a_tag(name: str) -> None:
    session = vlad.Session(tier="evaluate")
    session.eval(f"(define ({name} v) (lambda (x) (v x)))")
    assert session.eval(f"(procedure? ({name} sin))") is True
    assert session.eval("(procedure? (perturb sin))") is False


# The sources.

CUTS = {"split", "partition", "rpartition", "removesuffix", "removeprefix"}
SEARCHES = {"startswith", "endswith", "find", "index", "count", *CUTS}
MARKS = {".back", " of ", "of ", "->", " -> ", ".sensitivity", ".tangent"}
READERS = (
    "values.py",
    "contractions.py",
)  # of the types of primitives, and of what a program hands to `einsum`
FACTLESS = {"message", "hint", "reason", "procedure", "derivation"}
IN_TEXTS = {"startswith", "endswith", *CUTS} - {"split"}
MATCHES = {"search", "match", "fullmatch", "findall", "finditer", "sub"}


@pytest.mark.own_tier
def test_no_source_searches_what_was_put_into_words() -> None:
    """Of an error, or of the text of a procedure. (Names of files, and what users write, are searched.)"""
    root = Path(inspect.getfile(vlad)).parent
    found = []
    for path in [*root.rglob("*.py"), *(root.parent / "repl").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if path.name not in READERS and is_search(node):
                found.append(f"{path.name}: {ast.unparse(node)}")
    assert not found


def is_search(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in SEARCHES:
            marks = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            return is_words(node.func.value) or not MARKS.isdisjoint(marks)
        return node.func.attr in MATCHES and any(is_words(argument) for argument in node.args)
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        return is_words(node.comparators[0])
    return False


def is_words(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in FACTLESS


TEXTS = frozenset({"c_text.py", "c_names.py"})  # names and comments of programs as C
PRINTED = ("analysis", "passes", "loops", "emit")


@pytest.mark.own_tier
@pytest.mark.parametrize("room", PRINTED)
def test_the_compiler_searches_no_text_that_it_prints(room: str) -> None:
    """Facts about loops and C are fields: no regular expressions, and no searches in strings."""
    folder = Path(inspect.getfile(vlad)).parent / "compile" / room
    found = []
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_import = isinstance(node, ast.Import) and any(alias.name == "re" for alias in node.names)
            searches = isinstance(node, ast.Attribute) and node.attr in IN_TEXTS
            if path.name not in TEXTS and (is_import or searches):
                found.append(f"{path.name}: {ast.unparse(node)}")
    assert not found


def test_the_search_itself() -> None:
    for text in (
        "e.message.startswith('x')",
        "re.search('x', e.hint)",
        "'x' in e.reason",
        "name.endswith('.back')",
    ):
        assert is_search(ast.parse(text, mode="eval").body)
    assert not is_search(ast.parse("e.code in ('x',)", mode="eval").body)
