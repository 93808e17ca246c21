"""Tensors of every kind and layout: compiled they behave as on tier 0, and mix as they do there."""

from __future__ import annotations

import random

import numpy as np
import pytest
from agreement import A, Q, V, W, agree, same

import vlad
from vlad import VladError
from vlad.compile.calling.compilation import compile_call
from vlad.compile.ir.matrix_products import FEWEST
from vlad.compile.native.blas import product
from vlad.data.tensors import Tensor, same_numbers
from vlad.data.values import FALSE, ZERO

pytestmark = pytest.mark.any_compiler

OF_ANY_KIND = [
    "(lambda (x) x)", "(lambda (x) (list x (dtype x) (shape x)))", "(lambda (x) (transpose x))", "(lambda (x) (slice x 0 1))",
    "(lambda (x) (tensor-ref x 0))", "(lambda (x) (tensor-ref x 0 1))", "(lambda (x) (reshape x '(3 2)))",
    "(lambda (x) (reshape (slice (tensor-ref x 0) 1 2) '()))", "(lambda (x) (gather x #[0 1 0]))", "(lambda (x) (unstack x))",
    "(lambda (x) (map unstack (unstack x)))", "(lambda (x) (matmul x (transpose x)))", "(lambda (x) (sum x #:axis 0))",
    "(lambda (x) (maximum x #:axis 1))", "(lambda (x) (prod x))", "(lambda (x) (* 2 x))", "(lambda (x) (+ x x))",
    "(lambda (x) (> x 1))", "(lambda (x) (where (> x 1) x 0))", "(lambda (x) (abs x))", "(lambda (x) (zero x))",
    "(lambda (x) (as-type x 'float64))", "(lambda (x) (argmax x #:axis 0))", "(lambda (x) (tensor->list x))",
    "(lambda (x) ((gradient (lambda (y) (sum (* y y)))) x))", "(lambda (x) (v+ x x))", "(lambda (x) (equal? x x))",
    "(lambda (x) (softmax x))", "(lambda (x) (concatenate (list x x)))", "(lambda (x) (mean x))",
    "(lambda (x) (list (argminimum x) (argsort x #:axis 0) (sorted x) (cumsum x) (cumsum x #:axis 1 #:from-end #t)))",
]  # fmt: skip


@pytest.mark.parametrize("predicate", ["equal?", "eq?", "eqv?"])
def test_tensors_of_different_kinds_are_different(predicate: str) -> None:
    kinds = ["float64", "float32", "int64", "int32", "boolean"]
    tests = [f"({predicate} (as-type x '{a}) (as-type x '{b}))" for a in kinds for b in kinds]
    text = f"(lambda (x) (list {' '.join(tests)}))"
    assert agree(text, np.ones(2))[0] == [a == b for a in kinds for b in kinds]


ANYTHING = {
    "known zero": ZERO, "real": 1.5, "boolean": FALSE, "tensor": Tensor(np.ones((2, 3))), "row": Tensor(np.ones((1, 3))),
    "float32": Tensor(np.ones((2, 3), np.float32)), "booleans": Tensor(np.ones((2, 3), bool)),
}  # fmt: skip


@pytest.mark.parametrize("x", [name for name in ANYTHING if name != "boolean"])
@pytest.mark.parametrize("row", ["shape-witness", "sum-like", "broadcast-like"])
def test_what_undoes_broadcasting_is_the_same_on_both_tiers(row: str, x: str) -> None:
    """Including the known zero, as a compiled backpropagator may be called on tier 0."""
    machine = vlad.Session(tier="evaluate").machine
    f = machine.system.procedure(f"(lambda (x like) ({row} x like))", "f", 2)
    for like, value in ANYTHING.items():
        operands = (ANYTHING[x], value)
        try:
            expected = machine.apply(f, (operands[0], operands[1]))
        except VladError:
            continue
        found = compile_call(machine, f, operands)(*operands)
        if type(expected) is Tensor:
            assert type(found) is Tensor and same_numbers(found, expected), like
        else:
            assert found is expected or (type(found) is float and found == expected), like


@pytest.mark.parametrize(
    "f", ["(lambda (y) (* k (sin y)))", "(lambda (y) (* y (sin y)))", "(lambda (y) (+ y 1))"]
)
def test_a_backpropagator_as_an_operand(f: str) -> None:
    """Its captured shapes, or flags that there are none, are booleans and tensors like any other."""
    answers = []
    for tier in ("evaluate", "compile"):
        session = vlad.Session(tier=tier)
        back = session.eval(f"(lambda (x k) (cdr ((*j {f}) (*j x))))")(np.ones((2, 3)), 2 * np.ones((2, 3)))
        call = session.eval("(lambda (back s) (cdr (back s)))")
        answers.append(call(back, np.arange(6.0).reshape(2, 3)))
    assert session.tiers.entries[id(call.value)].reason is None
    assert same(*answers)


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int32", "uint8", "bool", ">f8", ">i4"])
def test_every_kind_of_number_stays_what_it_is(kind: str) -> None:
    for text in OF_ANY_KIND:
        agree(text, A.astype(kind), compiled=kind != "uint8")


def test_integers_that_are_no_doubles() -> None:
    large = np.array([2**53 + 1, -5])
    (found, _) = agree("(lambda (x) (list x (gather x #[0]) (+ x x) (maximum x #:axis 0 #:keep #t)))", large)
    assert found[0][0] == 2**53 + 1 == found[1][0] == found[3][0] and found[2][0] == 2**54 + 2
    agree("(lambda (x) (list (= x #[9007199254740992]) (= x (+ x 0)) (tensor-ref x 0) (sum x)))", large)


# Numbers of several kinds together. Integers wrap, and divide as in NumPy.

Z, Y, T = np.array([[-7, 0, 3], [5, -2, 2**62]]), np.array([[3, -2, 0]], "int32"), A > 2
KINDS = {"a": A, "q": Q, "z": Z, "y": Y, "t": T}
MIXED = [
    "(+ q 0.1)", "(+ q a)", "(+ q y)", "(* z z)", "(* 4 z)", "(* y y)", "(+ z y)", "(- z q)", "(- t z)", "(- z)", "(abs z)",
    "(< q 0.1)", "(= q 0.1)", "(< z q)", "(= z y)", "(max z y)", "(min y 1)", "(max q y)", "(modulo z y)", "(modulo z 3)",
    "(modulo q 0.7)", "(quotient z y)", "(remainder z y)", "(/ z y)", "(/ q 3)", "(sign y)", "(floor z)", "(round q)",
    "(truncate (* q y))", "(sqrt z)", "(exp y)", "(exp q)", "(tanh q)", "(sigmoid q)", "(gelu q)", "(softplus q)", "(erf q)",
    "(log-gamma q)", "(expt q 2)", "(expt 2 y)", "(atan q y)", "(hypot q 2)", "(where t q y)", "(where z y 5)", "(where q z y)",
    "(sum z)", "(sum y)", "(sum z #:axis 0)", "(sum y #:axis 1)", "(sum q)", "(sum q #:axis 0)", "(sum t #:axis 0)", "(mean y)",
    "(mean z #:axis 0)", "(mean q #:axis 1)", "(prod y #:axis 0)", "(prod q)", "(maximum z)", "(minimum y #:axis 1)",
    "(maximum q #:axis 0)", "(maximum t)", "(logsumexp q)", "(logsumexp y #:axis 1)", "(softmax q)", "(log-softmax z)",
    "(argmax z #:axis 0)", "(argmax q)", "(argmax t #:axis 1)", "(argminimum z #:axis 0)", "(argminimum q)",
    "(argminimum t #:axis 1)", "(* q (argsort z))", "(* y (argsort q #:axis 0))", "(sorted t)", "(* z (sorted y))",
    "(flipped z #:axis 1)", "(flipped t)", "(diagonal y)", "(diagonal t)", "(trace z)", "(tril t)", "(triu q)", "(tril y)",
    "(variance q)", "(variance y #:axis 1)", "(pad t 1 1)", "(pad q '(1 (0 2)) 0.1)", "(pad y '((1 0) 0) 7)",
    "(- a (sorted q))", "(* q (cumsum y))", "(cumsum z #:axis 1 #:from-end #t)", "(+ t (cumsum q))", "(cumsum t)",
    "(norm q)", "(norm y)", "(matmul z (transpose y))",
    "(matmul y (transpose y))", "(matmul q (transpose a))", "(matmul q #[1 2 3])", "(matmul t (transpose q))",
    "(dot (tensor-ref y 0) (tensor-ref y 0))", "(dot (tensor-ref q 0) (tensor-ref q 1))",
    "(outer (tensor-ref q 0) (tensor-ref z 0))", '(einsum "ij->i" q)', '(einsum "ij,kj->ik" z z)', '(einsum "ij,kj->ik" q q)',
    '(einsum ",ij->j" 0.1 q)', '(einsum "ij->i" y)', '(einsum "ij,kj->" y z)', '(einsum "ij,j" z #[1 2 3])',
     "(as-type (* 1.6 y) 'int64)",
    "(as-type a 'float32)", "(as-type z 'float32)", "(as-type q 'boolean)", "(as-type (* 1e-300 a) 'boolean)",
    "(as-type t 'int32)", "(as-type 0.1 'float32)", "(as-type 2.7 'int64)", "(as-type 0.1 'boolean)",
     "(concatenate (list q y))", "(concatenate (list z y))", "(stack (list t (> q 1)))",
    "(stack (list z t))", "(tensor (list (tensor-ref q 0) (tensor-ref y 0)))", "(tensor (list (> 1 2) (< 1 2)))",
    "(tensor (list (> 1 2) 3))", "(tensor (list (list 1 2) (list (> 1 2) (< 1 2))))", "(tensor->list t)", "(tensor->list z)",
    "(zeros '(2 2) #:dtype 'float32)", "(ones 3 #:dtype 'int64)", "(ones '() #:dtype 'boolean)", "(ones '() #:dtype 'int32)",
    "(gather #[10 20 30] (modulo z 3))", "(gather q (argmax (transpose q) #:axis 1))",
    "(gather z (modulo (+ (argmax z #:axis 0) 1) 2))", "(scatter-add y #[0 0 0] (concatenate (list y z)))",
    "(scatter-add z #[0] y)", "(scatter-add z #[1 1] a)", "(scatter-add q #[1 1] a)", "(scatter-add t #[0 -1] q)",
    "(scatter-add t #[0 0] t)", "(scatter-add t #[1 1] (concatenate (list y y)))", "(scatter-add z #[0 0] t)",
    *[f"(tensor-set {of} 0 {x})" for of in "tzqy" for x in ("0.5", "(> 1 0)", "(tensor-ref t 1)", "(tensor-ref q 1)",
      "(tensor-ref z 1)")],
    *[f"(slice-set {of} 0 1 {x} #:axis 1)" for of in "tzqy" for x in ("2", *[f"(slice {x} 0 1 #:axis 1)" for x in "yzqt"])
      if of != "y" or x[7:8] in "y"],
    "(concatenate (list t z))", "(stack (list q t))", "(where t t z)", "(where z t t)", "(tensor (list t z q))",
    "(one-hot (modulo z 3) 3)", "(random-integer (random-key 1) -5 5 '(2 3))", "(permutation (random-key 1) 9)",
    "(* q (uniform (random-key 1) 3))", "(max-pool z 2)", "(max-pool q 2 #:stride 1 #:padding 1)", "(avg-pool y '(1 2))",
    "(avg-pool q 2 #:stride 1 #:padding 1)", "(conv2d (reshape q '(1 1 2 3)) (reshape (tensor-ref y 0) '(1 1 1 3)))",
    "(conv2d (reshape z '(1 1 2 3)) (reshape (slice z 0 2 #:axis 1) '(1 1 2 2)) #:padding 1)", "(transpose t)",
    "(unstack y #:axis 1)", "(let loop ((i 0) (x y)) (if (= i 40) x (loop (+ i 1) (* x 3))))",
    "(let loop ((i 0) (x q)) (if (= i 5) x (loop (+ i 1) (sin x))))", "(list (zero q) (v+ q q) (plus q a) (zero z))",
    "(if (tensor-ref t 0 0) q y)",
]  # fmt: skip
TOGETHER = 8  # expressions in one program


@pytest.mark.parametrize("first", range(0, len(MIXED), TOGETHER))
def test_kinds_mix_as_on_tier_0(first: int) -> None:
    found = agree(f"(lambda (a q z y t) (list {' '.join(MIXED[first : first + TOGETHER])}))", *KINDS.values())
    assert not isinstance(found[0], str), found


@pytest.mark.parametrize(
    "text",
    ["z 'int32", "(/ a (- a a)) 'int64", "(* 1e10 q) 'int32", "(tensor-ref z 1 2) 'int32", "(* 1e19 a) 'int64",
     "(- -2147483649.0 t) 'int32", "(- -2147483648.5 (zeros 2)) 'int32", "(+ 2147483647.5 (zeros 2)) 'int32", "(zeros 0) 'int32"],
)  # fmt: skip
def test_integers_that_a_kind_has_no_place_for(text: str) -> None:
    agree(f"(lambda (a q z y t) (as-type {text}))", *KINDS.values(), compiled=False)


def a_program(choose: random.Random, depth: int) -> str:
    """An expression whose value has the shape (2 3), or is a real; nothing in it depends on how sums are rounded."""
    if depth == 0:
        return choose.choice([*KINDS, *KINDS, "2", "-0.5", "3"])
    one, two, three = [a_program(choose, choose.randrange(depth)) for _ in range(3)]
    match choose.randrange(12):
        case 0 | 1 | 2:
            return f"({choose.choice(['+', '-', '*', '*', 'max', 'min'])} {one} {two})"
        case 3:
            return f"({choose.choice(['<', '=', '>', '<=', '>='])} (+ {one} {choose.choice('qzy')}) {two})"
        case 4:
            return f"(where (< {one} {two}) {two} {three})"
        case 5:
            return f"({choose.choice(['-', 'abs', 'sign', 'relu'])} (+ {one} q))"
        case 6:
            return f"(as-type (+ y (argmax (* {one} a) #:axis 0)) '{choose.choice(['int32', 'float32', 'float64', 'boolean'])})"
        case 7:
            combine = choose.choice(["sum", "maximum", "minimum", "prod"])
            return f"({combine} (* {one} {choose.choice('aqzyt')}) #:axis 0 #:keep #t)"
        case 8:
            return f"(transpose (transpose (+ {one} {choose.choice('aqzy')})))"
        case 9:
            return f"(gather (* {one} {choose.choice('aqz')}) (argmax (* a {two}) #:axis 0) #:axis 1)"
        case 10:
            return f"(modulo {one} {choose.choice('zy')})"
    return f"(matmul (matmul (+ {one} z) (reshape (modulo z 3) '(3 2))) {choose.choice('qz')})"


@pytest.mark.parametrize("seed", range(12))
def test_programs_of_several_kinds(seed: int) -> None:
    choose = random.Random(seed)
    found = [f"(let ((x {a_program(choose, 4)})) (list x (+ x q)))" for _ in range(TOGETHER)]
    operands = [A - 2.0, Q * 0.5 - 1, Z, Y, T]
    answers = agree(f"(lambda (a q z y t) (list {' '.join(found)}))", *operands)
    assert not isinstance(answers[0], str), answers


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int32", "bool"])
def test_arrays_of_every_kind_cross_without_a_copy(kind: str) -> None:
    f = vlad.Session(tier="compile").eval(
        "(lambda (x) (list (where (> x 1) x 0) (sum x) (transpose x) (> x 1)))"
    )
    array = A.astype(kind)
    first = f(array)
    assert f.quicks and f.quicks[0].leaves((array,)) is not NotImplemented
    assert (
        f.quicks[0].leaves((array.astype("float32" if kind != "float32" else "float64"),)) is NotImplemented
    )
    again = f.quicks[0].shape(f.quicks[0].leaves((array,)))
    assert same(first, again) and again[2].dtype == kind and not again[2].flags.writeable


@pytest.mark.parametrize("kind", ["float64", "float32", "int64"])
def test_reals_made_of_small_arrays_need_no_words(kind: str) -> None:
    f = vlad.Session(tier="compile").eval(
        "(lambda (x k y) (+ (* k (sum (as-type x 'float64))) (tensor-ref y 1)))"
    )
    x, y = A.astype(kind), np.array([0.25, 0.5])
    assert f(x, 2.0, y) == 2 * x.sum() + 0.5
    (entry,) = f.session.tiers.entries.values()
    assert entry.variants[0].entry is not None
    leaves = f.quicks[0].leaves
    assert leaves((x, 2.0, y)) == (f(x, 2.0, y),)
    wrong = [
        (x, 2.0),
        (x.T, 2.0, y),
        (x[:1], 2.0, y),
        (x.astype(">i2"), 2.0, y),
        (np.asfortranarray(x), 2.0, y),
        (x, 2.0, "y"),
    ]
    for arguments in wrong:
        assert leaves(arguments) is NotImplemented
    assert f(np.asfortranarray(x), 2, y) == f(x, 2.0, y)


def test_the_library_multiplies_floats() -> None:
    session, r = vlad.Session(tier="compile"), np.random.default_rng(0)
    f = session.eval("(lambda (a b) (matmul a b))")
    a, b = [r.normal(size=(30, 30)).astype("float32") for _ in range(2)]
    assert a.size * 30 >= FEWEST
    np.testing.assert_allclose(f(a, b), a @ b, rtol=1e-5, atol=1e-5)
    (entry,) = session.tiers.entries.values()
    assert entry.variants[0].interface.words.multiplies and product().single
    agree("(lambda (a b) (list (matmul a b) (matmul (transpose a) b) (matmul a (as-type b 'float64))))", a, b)


def test_sums_of_floats_are_those_of_doubles() -> None:
    x = (np.sin(np.arange(1e6)) + 1000).astype("float32")
    total, of_rows = vlad.Session(tier="compile").eval(
        "(lambda (x) (list (sum x) (sum (reshape x '(10 -1)) #:axis 1)))"
    )(x)
    assert total == np.float32(x.sum(dtype=float))
    assert np.array_equal(of_rows, x.reshape(10, -1).sum(axis=1, dtype=float).astype("float32"))


LAYOUTS = {
    "Fortran order": np.asfortranarray(A), "every other": A[:, ::2], "backwards": A[::-1], "transposed": A.T,
    "no rows": np.zeros((0, 3)), "no columns": np.zeros((2, 0)), "one entry, repeated": np.broadcast_to(np.float64(3), (2, 3)),
    "between words": np.frombuffer(b"x" + np.arange(4000.0).tobytes(), dtype=float, offset=1).reshape(40, 100),
    "big-endian": A.astype(">f8"),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_arrays_of_every_layout(name: str) -> None:
    array = LAYOUTS[name]
    for text in [
        "(lambda (x) (* 2 (+ x 1)))",
        "(lambda (x) (sum x #:axis 0))",
        "(lambda (x) (list x (sum x)))",
        "(lambda (x) (sum (* x x)))",
    ]:
        agree(text, array)
    array.setflags(write=False)
    agree("(lambda (x) ((gradient (lambda (x) (sum (sin x)))) x))", array)


@pytest.mark.parametrize(
    "text",
    [
        "equal?", "(lambda (x y) (eq? x y))", "(lambda (x y) (equal? (list x 1) (list y 1)))",
        "(lambda (x y) (if (equal? x y) 1 2))",
        "(lambda (x y) (member x (list y x)))", "(lambda (x y) (assoc x (list (cons y 1) (cons x 2))))",
    ],
)  # fmt: skip
def test_equality_compares_the_entries(text: str) -> None:
    pairs = [(V, W), (V, V.copy()), (V, A), (np.zeros(0), np.zeros(0)), (np.array([np.nan, 0.0]), np.array([np.nan, -0.0])),
             (np.array([1, 2]), np.array([1, 3])), (np.array([True, False]), np.array([True, True])), (V, 1.0)]  # fmt: skip
    for pair in pairs:
        agree(text, *pair)
