"""Programs of benchmarks/compile_time.py in JAX and PyTorch: `first_calls.py jax|torch PROGRAM`.

A program is a function of a system and of operands, written as its users write: loops over data are `lax.scan` in JAX and
Python's loops in PyTorch; recursion over a structure that is known when the function is traced is Python's recursion. Beside each
stand, in vlad, the operands and the value that it must return, both evaluated after the program of the same name.

Reads the operands as JSON and prints a line of JSON: the processor time of the first call (trace, compile and run), the numbers
of the result, the version, and the processor time of the start: imports and a first small function, which is not part of
the call. Compilers write to a folder that is empty at the start, and work in this process or in its children.
"""

import os
import sys
import tempfile

for name in (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NPROC",
    "TORCHINDUCTOR_COMPILE_THREADS",
):
    os.environ[name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import json
import math
import resource

PROGRAMS = {}  # name: (function, operands and value in vlad, the systems that have no such derivative)
NO_CLOSURES = "The derivative is by closures; a system differentiates by arrays in structures."
CANNOT = {  # programs that a system cannot express: why
    "examples/differentiable-curry": {"jax": NO_CLOSURES, "torch": NO_CLOSURES},
}
NO_LOOPS = "The number of steps depends on the data, and torch.compile differentiates no such loop."


def program(name, operands, value, **cannot):
    """`cannot` has the reasons of systems, by name, that cannot express the program."""

    def add(f):
        PROGRAMS[name] = (f, operands, value)
        CANNOT.setdefault(name, cannot)
        return f

    return add


# Library: what the library of vlad has as procedures.


def dense(parameters, x):
    w, b = parameters
    return x @ w + b


def lstm(p, cell, state, x):
    (w, (u, b)), (h, c) = cell, state
    enter, forget, candidate, out = p.split(x @ w + h @ u + b, 4)
    c = p.sigmoid(forget) * c + p.sigmoid(enter) * p.np.tanh(candidate)
    h = p.sigmoid(out) * p.np.tanh(c)
    return (h, c), h


def unrolled_lstm(p, cell, inputs):
    nothing = p.zeros(cell[1][0].shape[0])
    return p.scan(lambda state, x: lstm(p, cell, state, x), (nothing, nothing), inputs)[1]


def layer_norm(p, parameters, x):
    gain, bias = parameters
    off = x - x.mean(-1)[..., None]
    return gain * off / p.np.sqrt((off * off).mean(-1)[..., None] + 1e-5) + bias


def cross_entropy(p, scores, labels):
    return -(p.one_hot(labels, scores.shape[-1]) * p.log_softmax(scores)).sum(-1)


def binary_cross_entropy(p, scores, labels):
    return p.softplus(scores) - labels * scores


# Networks.


@program("perceptron", "(list start x y)", "(optimize (sgd 0.01) loss start 100)")
def perceptron(p, start, x, y):
    def loss(parameters):
        w1, b1, w2, b2 = parameters
        return ((p.np.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2).mean()

    step = p.jit(lambda parameters: [w - 0.01 * g for w, g in zip(parameters, p.grad(loss)(parameters))])
    for _ in range(100):
        start = step(start)
    return start


@program("gru", "(list start inputs)", "((gradient loss) start)")
def gru(p, start, inputs):
    def cell(parameters, h, x):
        w, (u, b) = parameters
        x_reset, x_keep, x_candidate = p.split(x @ w + b, 3)
        u_reset, u_keep, u_candidate = p.split(u, 3)
        keep, reset = p.sigmoid(x_keep + h @ u_keep), p.sigmoid(x_reset + h @ u_reset)
        h = keep * h + (1 - keep) * p.np.tanh(x_candidate + (reset * h) @ u_candidate)
        return h, h

    def loss(parameters, inputs):
        states = p.scan(lambda h, x: cell(parameters[0], h, x), p.zeros(8), inputs)[1]
        return ((dense(parameters[1], states) - inputs.sum(-1)[:, None]) ** 2).mean()

    return p.jit(p.grad(loss))(start, inputs)


@program("unroll-8", "(list start inputs)", "((gradient loss) start)")
@program("unroll-24", "(list start inputs)", "((gradient loss) start)")
def unroll(p, start, inputs):
    return p.jit(p.grad(lambda cell, inputs: (unrolled_lstm(p, cell, inputs) ** 2).sum()))(start, inputs)


@program("examples/character-lstm", "(list untrained numbers)", "((gradient surprise) untrained)")
def character_lstm(p, untrained, numbers):
    def surprise(parameters, numbers):
        table, cell, out = parameters
        states = unrolled_lstm(p, cell, p.one_hot(numbers[:-1], table.shape[0]) @ table)
        return cross_entropy(p, dense(out, states), numbers[1:]).mean()

    return p.jit(p.grad(surprise))(untrained, numbers)


@program("convolutions", "(list start images labels)", "((gradient loss) start)")
def convolutions(p, start, images, labels):
    def layer(parameters, x):
        w, b = parameters
        return p.relu(p.convolution(x, w) + b[:, None, None])

    def loss(parameters, images, labels):
        first, second, last = parameters
        features = layer(second, p.max_pool(layer(first, images)))
        return cross_entropy(p, dense(last, features.reshape(len(images), -1)), labels).mean()

    return p.jit(p.grad(loss))(start, images, labels)


@program("transformer", "(list start x)", "((gradient loss) start)")
def transformer(p, start, x):
    def attention(heads, x):
        queries, (keys, (values, out)) = heads
        q, k, v = [x[:, None] @ w for w in (queries, keys, values)]
        scores = q @ p.np.swapaxes(k, -1, -2) / math.sqrt(k.shape[-1])
        seen = p.np.where(p.np.tril(p.np.ones_like(scores)) > 0, scores, -1e30)
        return ((p.softmax(seen) @ v) @ out).sum(-3)

    def loss(parameters, x):
        heads, norm1, up, down, norm2 = parameters
        x = x + attention(heads, layer_norm(p, norm1, x))
        return ((x + dense(down, p.gelu(dense(up, layer_norm(p, norm2, x))))) ** 2).mean()

    return p.jit(p.grad(loss))(start, x)


@program("neural-ode", "(list start)", "((gradient loss) start)")
def neural_ode(p, start):
    def loss(parameters):
        field = lambda y: dense(parameters[1], p.np.tanh(dense(parameters[0], y)))
        step = lambda y: y + 0.1 * field(y + 0.05 * field(y))
        return ((p.repeat(step, 20, p.array([1.0, 0.0])) - p.array([0.0, 1.0])) ** 2).sum()

    return p.jit(p.grad(loss))(start)


DIGITS = "(list (dense-parameters (first keys) 64 48) (dense-parameters (second keys) 48 10))"


@program(
    "examples/digits",
    f"(list {DIGITS} (slice (car training) 0 50) (slice (cdr training) 0 50))",
    f"""((gradient (lambda (p) (loss (sequential (list (dense (first p)) relu (dense (second p))))
                                     (slice (car training) 0 50) (slice (cdr training) 0 50))))
        {DIGITS})""",
)
def digits(p, start, images, labels):
    def loss(parameters, images, labels):
        scores = dense(parameters[1], p.relu(dense(parameters[0], images)))
        return cross_entropy(p, scores, labels).mean()

    return p.jit(p.grad(loss))(start, images, labels)


AUTOENCODER = """(list (dense-parameters (first keys) 64 64) (dense-parameters (second keys) 64 8)
                       (dense-parameters (third keys) 4 64) (dense-parameters (fourth keys) 64 64))"""


@program(
    "examples/variational-autoencoder",
    f"(list {AUTOENCODER} (normal (random-key 13) '(50 4)) (slice training 0 50))",
    f"""((gradient (lambda (p) (loss (cons (sequential (list (dense (first p)) tanh (dense (second p))))
                                           (sequential (list (dense (third p)) tanh (dense (fourth p)))))
                                     (random-key 13) (slice training 0 50))))
        {AUTOENCODER})""",
)
def variational_autoencoder(p, start, noise, batch):
    def loss(parameters, noise, batch):
        first, second, third, fourth = parameters
        means, logs = p.split(dense(second, p.np.tanh(dense(first, batch))), 2)
        decoded = dense(fourth, p.np.tanh(dense(third, means + p.np.exp(logs) * noise)))
        lost = binary_cross_entropy(p, decoded, batch).sum(-1)
        return (lost + (0.5 * (means**2 + p.np.exp(2 * logs)) - logs - 0.5).sum(-1)).mean()

    return p.jit(p.grad(loss))(start, noise, batch)


@program("examples/xor", "(list untrained)", "((gradient error-of) untrained)")
def xor(p, untrained):
    def error(layers):
        hidden, out = [p.np.stack(neurons) for neurons in layers]
        x = p.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        for layer in (hidden, out):
            x = p.sigmoid(layer[:, 0] + x @ layer[:, 1:].T)
        return ((x[:, 0] - p.array([0.0, 1.0, 1.0, 0.0])) ** 2).sum()

    return p.jit(p.grad(error))(untrained)


@program("tree-lstm", "(list start table (trees))", "((gradient loss) start)")
def tree_lstm(p, start, table, trees):
    def encode(parameters, table, tree):
        if not isinstance(tree, list):
            return table[tree], p.zeros(6)
        (h1, c1), (h2, c2) = [encode(parameters, table, part) for part in tree]
        enter, f1, f2, out, candidate = p.split(dense(parameters, p.np.concatenate([h1, h2])), 5)
        c = p.sigmoid(enter) * p.np.tanh(candidate) + p.sigmoid(f1) * c1 + p.sigmoid(f2) * c2
        return p.sigmoid(out) * p.np.tanh(c), c

    whole = lambda tree: int(tree) if getattr(tree, "ndim", 1) == 0 else [whole(part) for part in tree]
    trees = [whole(tree) for tree in trees]  # known when the loss is traced
    loss = lambda parameters, table: sum((encode(parameters, table, tree)[0] ** 2).sum() for tree in trees)
    return p.jit(p.grad(loss))(start, table)


@program("tree-of-tensors", "(list start (tree 3 1) (tree 5 1))", "((gradient loss) start)")
def tree_of_tensors(p, start, *trees):
    def encode(w, tree):
        if not isinstance(tree, list):
            return tree
        return p.np.tanh(p.np.concatenate([encode(w, part) for part in tree]) @ w)

    return p.jit(p.grad(lambda w, trees: sum((encode(w, tree) ** 2).sum() for tree in trees)))(start, trees)


@program("many-batches", "(list w)", "(map of-batch (range 1 21))")
def many_batches(p, w):
    slope = p.jit(p.grad(lambda w, x: (p.np.tanh(x @ w) ** 2).mean()))
    return [slope(w, p.ones(n, 4)).sum() for n in range(1, 21)]


# Statistics.


@program("log-sum-exp", "(list (linear-range -3 3 100))", "((gradient log-sum-exp) (linear-range -3 3 100))")
def log_sum_exp(p, x):
    def value(x):
        most = x.max()
        return most + p.np.log(p.np.exp(x - most).sum())

    return p.jit(p.grad(value))(x)


@program("least-squares", "(list '(0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8) x)",
         "((gradient cost) '(0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8))")  # fmt: skip
def least_squares(p, coefficients, x):
    def cost(coefficients, x):
        total = 0.0
        for i in reversed(range(8)):
            total = coefficients[i] + x * total
        return 0.5 * ((p.np.sin(x) - total) ** 2).sum()

    return p.jit(p.grad(cost))(coefficients, x)


@program("gaussian-mixture", "(list start points)", "((gradient negative-log-likelihood) start)")
def gaussian_mixture(p, start, points):
    def density(weight, mean, logarithms, others, points):
        lower = p.np.diag(p.np.exp(logarithms)) + p.np.tril(others, -1)
        return weight + logarithms.sum() - 0.5 * (((points - mean) @ lower.T) ** 2).sum(-1)

    def loss(parameters, points):
        weights = p.np.stack([weight for weight, *_ in parameters])
        densities = p.np.stack([density(*component, points) for component in parameters])
        return 200 * p.logsumexp(weights) - p.logsumexp(densities).sum()

    return p.jit(p.grad(loss))(start, points)


@program("k-means", "(list start points)", "(iterate step 5 start)")
def k_means(p, start, points):
    def cost(centres, points):
        return p.smallest(((points[:, None] - centres) ** 2).sum(-1)).sum()

    @p.jit
    def step(centres, points):
        slope = lambda centres: p.grad(cost)(centres, points)
        value, bend = p.jvp(slope, (centres,), (p.np.ones_like(centres),))
        return centres - value / (1e-9 + bend)

    for _ in range(5):
        start = step(start, points)
    return start


@program("examples/logistic-regression", "(list fitted points marks)",
         "(list ((gradient loss) fitted) (along (cons #[1 0] 0)))")  # fmt: skip
def logistic_regression(p, model, points, marks):
    def loss(model, points, marks):
        return binary_cross_entropy(p, points @ model[0] + model[1], marks).mean()

    @p.jit
    def slope_and_bend(model, points, marks):
        direction = [p.array([1.0, 0.0]), p.array(0.0)]
        return p.jvp(lambda model: p.grad(loss)(model, points, marks), (model,), (direction,))

    return slope_and_bend(model, points, marks)


@program("examples/gaussian-process", "(list guess xs ys)", "((gradient minus-log-likelihood) guess)")
def gaussian_process(p, guess, xs, ys):
    def minus_log_likelihood(logs, xs, ys):
        length, height, noise = p.np.exp(logs)
        alike = height**2 * p.np.exp((xs[:, None] - xs) ** 2 / (-2 * length**2))
        root = p.np.linalg.cholesky(alike + noise**2 * p.eye(30))
        fit = p.solve_lower(root, ys)
        return 0.5 * (fit**2).sum() + p.np.log(p.np.diagonal(root)).sum() + 15 * math.log(2 * math.pi)

    return p.jit(p.grad(minus_log_likelihood))(guess, xs, ys)


@program(
    "hamiltonian",
    """(let loop ((key (random-key 1)) (n 50) (impulses '()) (chances '()))
         (if (= n 0)
             (list (stack (reverse impulses)) (tensor (reverse chances)))
             (let (((list k1 k2 key) (split key 3)))
               (loop key (- n 1) (cons (normal k1 '(2)) impulses) (cons (uniform k2 '()) chances)))))""",
    "(chain '(0 0) (random-key 1) 50)",
)
def hamiltonian(p, impulses, chances):
    density = lambda x: -(0.5 * x[0] ** 2 + 10 * (x[1] - x[0] ** 2) ** 2)
    energy = lambda x, v: 0.5 * (v**2).sum() - density(x)

    def leapfrog(state):
        x, v = state
        v = v + 0.05 * p.grad(density)(x)
        x = x + 0.1 * v
        return x, v + 0.05 * p.grad(density)(x)

    @p.jit
    def proposal(x, v, chance):
        y, w = p.repeat(leapfrog, 10, (x, v))
        return p.np.where(p.np.log(chance) < energy(x, v) - energy(y, w), y, x)

    x = p.zeros(2)
    for v, chance in zip(impulses, chances):
        x = proposal(x, v, chance)
    return x


# Dynamic programming.

BLANKED = [0, 1, 0, 4, 0, 2, 0, 7, 0, 7, 0, 3, 0]


@program(
    "connectionist",
    "(list (normal (random-key 1) '(50 12)))",
    "((gradient loss) (normal (random-key 1) '(50 12)))",
)
def connectionist(p, scores):
    def log_add(a, b):
        most = p.np.maximum(a, b)
        return most + p.np.log(p.np.exp(a - most) + p.np.exp(b - most))

    skips = p.array([float(i > 1 and s != 0 and s != BLANKED[i - 2]) for i, s in enumerate(BLANKED)])

    def loss(scores):
        table = p.log_softmax(scores)[:, p.indices(BLANKED)]
        nothing = p.array([-1e30, -1e30])

        def step(alphas, row):
            shifted = p.np.concatenate([nothing, alphas])
            two = p.np.where(skips > 0, shifted[:-2], -1e30)
            alphas = log_add(alphas, log_add(shifted[1:-1], two)) + row
            return alphas, alphas

        start = p.np.where(p.indices(range(13)) < 2, table[0], -1e30)
        ends = p.scan(step, start, table[1:])[0]
        return -log_add(ends[-1], ends[-2])

    return p.jit(p.grad(loss))(scores)


@program("viterbi", "(list (normal (random-key 1) '(4 4)) (normal (random-key 2) '(3 4)))",
         """((gradient (lambda (t) (viterbi t (normal (random-key 2) '(3 4)) '(0 1 2 1 0 2 2 1 0 1))))
             (normal (random-key 1) '(4 4)))""")  # fmt: skip
def viterbi(p, transition, emission):
    def best(transition, emission):
        rows = emission[p.indices([0, 1, 2, 1, 0, 2, 2, 1, 0, 1])]
        step = lambda scores, row: (p.largest((scores[:, None] + transition).T) + row, row)
        return p.scan(step, rows[0], rows[1:])[0].max()

    return p.jit(p.grad(best))(transition, emission)


def table_of_distances(p, costs, first, edge, step):
    """The last entry of a table whose entries follow from the cost, and those on the left, above, and above on the left."""

    def row(above, costs):
        def entry(left, known):
            next = step(known[0], left, known[1], known[2])
            return next, next

        begin = edge(above[0])
        below = p.scan(entry, begin, (costs, above[1:], above[:-1]))[1]
        return p.np.concatenate([begin[None], below]), begin

    return p.scan(row, first, costs)[0][-1]


@program("warped-distance", "(list (cos (arange 15)) (sin (arange 20)))",
         "((gradient (lambda (a) (warp a (sin (arange 20))))) (cos (arange 15)))")  # fmt: skip
def warped_distance(p, a, b):
    def warp(a, b):
        costs = (a[:, None] - b) ** 2
        first = p.np.where(p.indices(range(21)) > 0, p.array(1e9), 0.0)
        least = lambda cost, left, above, corner: cost + p.np.minimum(corner, p.np.minimum(above, left))
        return table_of_distances(p, costs, first, lambda above: p.array(1e9), least)

    return p.jit(p.grad(warp))(a, b)


@program("edit-distance", "(list (normal (random-key 1) '(6)))",
         "((gradient (lambda (a) (distance a (arange 7)))) (normal (random-key 1) '(6)))")  # fmt: skip
def edit_distance(p, a):
    def distance(a):
        least = lambda cost, left, above, corner: (
            -p.logsumexp(-p.np.stack([left + 1, above + 1, corner + cost]))
        )
        costs = (a[:, None] - p.array([float(i) for i in range(7)])) ** 2
        return table_of_distances(
            p, costs, p.array([float(i) for i in range(8)]), lambda above: above + 1, least
        )

    return p.jit(p.grad(distance))(a)


# Physics.


@program("lagrangian", "'((1 1.5) (0 0))", "(path '(1 1.5) '(0 0) 20)")
def lagrangian(p, q, v):
    def energy(q, v):
        kinetic = v[0] ** 2 + 0.5 * v[1] ** 2 + v[0] * v[1] * p.np.cos(q[0] - q[1])
        return kinetic + 19.6 * p.np.cos(q[0]) + 9.8 * p.np.cos(q[1])

    @p.jit
    def step(q, v):
        by_v = lambda q, v: p.grad(lambda v: energy(q, v))(v)
        mass = p.jacobian(lambda v: by_v(q, v))(v)
        moving = p.jvp(lambda q: by_v(q, v), (q,), (v,))[1]
        (m11, m12), (m21, m22) = mass
        f, g = p.grad(lambda q: energy(q, v))(q) - moving
        d = m11 * m22 - m12 * m21
        v = v + 0.01 * p.np.stack([(f * m22 - g * m12) / d, (m11 * g - m21 * f) / d])
        return q + 0.01 * v, v

    for _ in range(20):
        q, v = step(q, v)
    return q


@program("cart-pole", "(list '(0.1 0.2 3 0.5))", "((gradient cost) '(0.1 0.2 3 0.5))")
def cart_pole(p, weights):
    def step(state, force):
        x, v, angle, spin = state
        s, c = p.np.sin(angle), p.np.cos(angle)
        inner = (force + 0.05 * spin**2 * s) / 1.1
        turn = (9.8 * s - c * inner) / (0.5 * (4 / 3 - 0.1 * c**2 / 1.1))
        push = inner - 0.05 * turn * c / 1.1
        return p.np.stack([x + 0.02 * v, v + 0.02 * push, angle + 0.02 * spin, spin + 0.02 * turn])

    def cost(weights):
        def following(known):
            state, total = known
            state = step(state, weights @ state)
            return state, total + (state**2).sum()

        return p.repeat(following, 50, (p.array([0.1, 0.0, 0.05, 0.0]), p.array(0.0)))[1]

    return p.jit(p.grad(cost))(weights)


@program(
    "runge-kutta",
    "(list '(1 0.9 0.8 0.7))",
    "((gradient (lambda (p) (last (steps p '(0 0 0 0) 20 0.05)))) '(1 0.9 0.8 0.7))",
)
def runge_kutta(p, parameters):
    def end(parameters):
        one, h = p.array([1.0]), 0.05
        field = lambda y: parameters * p.np.concatenate([one, y[:-1]]) - y

        def step(y):
            k1 = field(y)
            k2 = field(y + h / 2 * k1)
            k3 = field(y + h / 2 * k2)
            return y + h / 6 * (k1 + 2 * (k2 + k3) + field(y + h * k3))

        return p.repeat(step, 20, p.zeros(4))[-1]

    return p.jit(p.grad(end))(parameters)


@program("examples/heat-equation", "(list (zeros pieces) measured)", "((gradient misfit) (zeros pieces))")
def heat_equation(p, start, measured):
    def bend(u):
        wide = p.np.concatenate([p.zeros(1), u, p.zeros(1)])
        return wide[:-2] + wide[2:] - 2 * u

    def misfit(start, measured):
        later = p.repeat(lambda u: u + 0.4 * bend(u), 100, start)
        return ((later - measured) ** 2).sum() + 0.001 * (bend(start) ** 2).sum()

    return p.jit(p.grad(misfit))(start, measured)


@program("ising", "(list 0.1)",
         "(list (magnetisation 0.1) ((derivative magnetisation) 0.1) ((derivative (derivative magnetisation)) 0.1))")  # fmt: skip
def ising(p, field):
    def free_energy(field):
        coupling = p.array(0.5)
        apart = p.np.exp(-coupling)
        t = p.np.stack(
            [p.np.stack([p.np.exp(coupling + field), apart]), p.np.stack([apart, p.np.exp(coupling - field)])]
        )
        return p.np.log(p.np.trace(p.repeat(lambda m: m @ t, 19, t)))

    first, second, third = (
        p.derivative(free_energy),
        p.derivative(free_energy, 2),
        p.derivative(free_energy, 3),
    )
    return p.jit(lambda field: (first(field), second(field), third(field)))(field)


@program("examples/particle", "(list 0)", "(newton-step 0)", torch=NO_LOOPS)
def particle(p, w):
    def potential(w, point):
        distance = lambda height: p.np.sqrt((point[0] - 10) ** 2 + (point[1] - height) ** 2)
        return 1 / distance(10 - w) + 1 / distance(0)

    def miss(w):
        def step(state):
            x, v = state
            return x + 0.1 * v, v - 0.1 * p.grad(potential, 1)(w, x)

        start = (p.array([0.0, 8.0]), p.array([0.75, 0.0]))
        x, v = p.loop(lambda state: (state[0] + 0.1 * state[1])[1] > 0, step, start)
        next = x + 0.1 * v
        return (next - next[1] / v[1] * v)[0] ** 2

    return p.jit(lambda w: w - p.derivative(miss)(w) / p.derivative(miss, 2)(w))(w)


@program("examples/saddle", "'((1 1))", "(saddle gradient-F gradient-F)", torch=NO_LOOPS)
def saddle(p, start):
    tolerance = 1e-5
    choose = lambda test, a, b: [p.np.where(test, x, y) for x, y in zip(a, b)]

    def line_search(f):
        third = lambda a, b: b + 1.618034 * (b - a)

        def bracket(state):
            _, b, _, c, fc = state
            return [b, c, fc, third(b, c), f(third(b, c))]

        def narrow(state):
            a, c, fc, d, fd, b = state
            low, high = a + 0.381966 * (d - a), b - 0.381966 * (b - c)
            left = fc < fd
            value = f(p.np.where(left, low, high))
            return choose(left, [a, low, value, c, fc, d], [c, d, fd, high, value, b])

        zero, one = p.array(0.0), p.array(1.0)
        f0, f1 = f(zero), f(one)
        a, b, fb = choose(f1 > f0, [one, zero, f0], [zero, one, f1])
        a, _, _, b, _ = p.loop(lambda s: s[4] <= s[2], bracket, [a, b, fb, third(a, b), f(third(a, b))])
        c, d = a + 0.381966 * (b - a), b - 0.381966 * (b - a)
        wide = lambda s: abs(s[5] - s[0]) > tolerance * (abs(s[1]) + abs(s[3]))
        _, c, fc, d, fd, _ = p.loop(wide, narrow, [a, c, f(c), d, f(d), b])
        return p.np.where(fc < fd, c, d)

    def argmin(f, x):
        def step(x):
            g = p.forward_gradient(f)(x)
            return x + line_search(lambda k: f(x + k * g)) * g

        return p.loop(lambda x: (p.forward_gradient(f)(x) ** 2).sum() > tolerance**2, step, x)

    payoff = lambda x, y: (x**2).sum() - (y**2).sum()
    best = lambda x: argmin(lambda y: -payoff(x, y), start)

    def solved(start):
        x = argmin(lambda x: payoff(x, best(x)), start)
        return p.np.round(x, 4), p.np.round(best(x), 4)

    return p.jit(solved)(start)


# Small programs.


@program("maml", "(list '(0.1 0.2 0.3 0.4) x '(0.5 1 1.5 2))", "((gradient outer) '(0.1 0.2 0.3 0.4))")
def maml(p, start, x, tasks):
    def loss(parameters, task):
        a, b, c, d = parameters
        return ((a + b * p.np.tanh(c + d * x) - task * p.np.sin(x)) ** 2).mean()

    adapted = lambda parameters, task: parameters - 0.1 * p.grad(loss)(parameters, task)
    outer = lambda parameters: p.vmap(lambda task: loss(adapted(parameters, task), task))(tasks).sum()
    return p.jit(p.grad(outer))(start)


@program("examples/meta-learning", "(list beginner tasks)", "((gradient loss-after) beginner)")
def meta_learning(p, beginner, tasks):
    def loss(w, line):
        xs = p.array([-1.0, -0.5, 0.0, 0.5, 1.0])
        return ((w[0] * xs + w[1] - (line[0] * xs + line[1])) ** 2).mean()

    def loss_after(learner, tasks):
        step, w = learner[0], learner[1:]
        return p.vmap(lambda line: loss(w - step * p.grad(loss)(w, line), line))(tasks).mean()

    return p.jit(p.grad(loss_after))(beginner, p.np.stack(tasks))


def two_dimensional(p, x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


@program("examples/rosenbrock-hessian", "(list start)", "((hessian rosenbrock) start)")
def rosenbrock_hessian(p, start):
    return p.jit(p.jacobian(p.grad(lambda x: two_dimensional(p, x))))(start)


@program("examples/hessian-vector", "'((3 4) (7 8))", "(hessian-times f '(3 4) '(7 8))")
def hessian_vector(p, x, v):
    f = lambda x: 2 * x[0] * x[0] + 3 * x[0] * x[1] + 4 * x[1] * x[1]
    return p.jit(p.grad(lambda x, v: p.grad(f)(x) @ v))(x, v)


@program("bundle-adjustment", "(list '(0.1 0.2 0.3 0.4 0.5 0.6 500 0.1 0.2 0.01 0.001 1 2 10 0.7))",
         """((jacobian (lambda (x) (residual (take x 11) (take (drop x 11) 3) (list-ref x 14))))
             '(0.1 0.2 0.3 0.4 0.5 0.6 500 0.1 0.2 0.01 0.001 1 2 10 0.7))""")  # fmt: skip
def bundle_adjustment(p, x):
    def cross(u, v):
        return p.np.stack([u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]])

    def rotated(axis, x):
        square = (axis * axis).sum()
        angle = p.np.sqrt(p.np.where(square < 1e-20, 1.0, square))
        w = axis / angle
        along = w * (w * x).sum() * (1 - p.np.cos(angle))
        turned = x * p.np.cos(angle) + cross(w, x) * p.np.sin(angle) + along
        return p.np.where(square < 1e-20, x + cross(axis, x), turned)

    def residual(x):
        f, u, v, k1, k2 = x[6:11]
        point = rotated(x[:3], x[11:14] - x[3:6])
        flat = point[:2] / point[2]
        r2 = (flat * flat).sum()
        seen = p.np.stack([u, v]) + f * flat * (1 + r2 * (k1 + r2 * k2))
        return x[14] * (seen - p.array([0.3, -0.2]))

    return p.jit(p.jacobian(residual))(x)


@program(
    "splines",
    "(list '(0 1 0.5 2 1.5 3))",
    "((gradient (lambda (ys) (list-sum (map square (curvatures ys))))) '(0 1 0.5 2 1.5 3))",
)
def splines(p, ys):
    def curvatures(ys):
        diagonal, right = [4.0] * 4, list(6 * (ys[:-2] - 2 * ys[1:-1] + ys[2:]))
        for i in range(1, 4):
            w = 1 / diagonal[i - 1]
            diagonal[i], right[i] = diagonal[i] - w, right[i] - w * right[i - 1]
        x = [right[3] / diagonal[3]]
        for i in (2, 1, 0):
            x.insert(0, (right[i] - x[0]) / diagonal[i])
        return p.np.stack(x)

    return p.jit(p.grad(lambda ys: (curvatures(ys) ** 2).sum()))(ys)


@program("growing", "(list 0.5)", "((derivative (lambda (x) (sum (square (features x 20))))) 0.5)")
def growing(p, x):
    def features(x):
        t = x[None]
        for i in range(20):
            t = p.np.concatenate([t, p.np.sin(x * (i + 1))[None]])
        return t

    return p.jit(p.grad(lambda x: (features(x) ** 2).sum()))(x)


def determinant(columns):
    if not columns:
        return 1.0
    minors = [
        determinant([column[:i] + column[i + 1 :] for column in columns[1:]]) for i in range(len(columns))
    ]
    return sum((-1) ** i * columns[0][i] * minor for i, minor in enumerate(minors))


MATRIX = "(tensor '((2 1 0 3 1 0) (1 3 1 0 0 2) (0 1 4 2 1 1) (1 0 2 5 0 1) (0 2 1 0 6 1) (1 1 0 1 2 7)))"


@program("determinant-4", "(list (tensor '((2 1 0 3) (1 3 1 0) (0 1 4 2) (1 0 2 5))))",
         "((gradient det) '((2 1 0 3) (1 3 1 0) (0 1 4 2) (1 0 2 5)))")  # fmt: skip
@program("determinant-6", f"(list {MATRIX})", f"((gradient det) (tensor->list {MATRIX}))")
def determinant_by_minors(p, m):
    size = range(len(m))
    return p.jit(p.grad(lambda m: determinant([[m[i, j] for j in size] for i in size])))(m)


@program("interpreter", "'(1 2)",
         "((gradient (lambda (x y) (evaluate program (list (cons 'x x) (cons 'y y))))) 1 2)")  # fmt: skip
def interpreter(p, x, y):
    def evaluate(e, environment):
        match e:
            case str():
                return environment[e]
            case ["add", a, b]:
                return evaluate(a, environment) + evaluate(b, environment)
            case ["mul", a, b]:
                return evaluate(a, environment) * evaluate(b, environment)
            case ["sin", a]:
                return p.np.sin(evaluate(a, environment))
            case _:
                return e

    expression = [
        "add",
        ["mul", "x", ["sin", ["mul", "y", "x"]]],
        ["mul", 3, ["add", "x", ["mul", "y", "y"]]],
    ]
    return p.jit(p.grad(lambda x, y: evaluate(expression, {"x": x, "y": y}), (0, 1)))(x, y)


@program(
    "examples/probabilistic", "'((0.5 0.5) (48 28 24))", "((gradient (log-likelihood observed)) '(0.5 . 0.5))"
)
def probabilistic(p, unknowns, counts):
    def then(distribution, next):
        return [(chance * more, value) for chance, known in distribution for more, value in next(known)]

    def evaluate(e, environment):
        match e:
            case str():
                return [(1.0, environment[e])]
            case ["flip", chance]:
                return then(evaluate(chance, environment), lambda c: [(c, True), (1 - c, False)])
            case ["if", test, yes, no]:
                return then(
                    evaluate(test, environment), lambda known: evaluate(yes if known else no, environment)
                )
            case ["lambda", name, body]:
                return [(1.0, lambda value: evaluate(body, {**environment, name: value}))]
            case [f, operand]:
                return then(evaluate(f, environment), lambda f: then(evaluate(operand, environment), f))
            case _:
                return [(1.0, e)]

    wet = [
        "if",
        ["if", "rain", ["flip", 0.9], ["if", "sprinkler", ["flip", 0.8], False]],
        ["if", "sprinkler", 2, 1],
        0,
    ]
    sprinkler = ["if", "rain", ["flip", 0.05], ["flip", "habit"]]
    lawn = [["lambda", "rain", [["lambda", "sprinkler", wet], sprinkler]], ["flip", "weather"]]

    def log_likelihood(unknowns, counts):
        outcomes = evaluate(lawn, {"weather": unknowns[0], "habit": unknowns[1]})
        chances = [sum(chance for chance, value in outcomes if value == i) for i in range(3)]
        return sum(counts[i] * p.np.log(chance) for i, chance in enumerate(chances))

    return p.jit(p.grad(log_likelihood))(unknowns, counts)


@program(
    "shared-structure", "'(2)", "((gradient (lambda (x) (* (depth (build 30 x)) (leftmost (build 30 x))))) 2)"
)
def shared_structure(p, x):
    def build(n, x):
        if n == 0:
            return x
        y = build(n - 1, x)
        return y, y

    depth = lambda x: 1 + depth(x[0]) if isinstance(x, tuple) else 0
    leftmost = lambda x: leftmost(x[0]) if isinstance(x, tuple) else x
    return p.jit(p.grad(lambda x: depth(build(30, x)) * leftmost(build(30, x))))(x)


@program("streams", "'(0.5)", "((derivative (lambda (a) (value-of (exponential a) 1 8))) 0.5)")
def streams(p, a):
    def integrated(stream, n):
        head, rest = stream
        return head / n, lambda: integrated(rest(), n + 1)

    def scaled(a, stream):
        head, rest = stream
        return a * head, lambda: scaled(a, rest())

    def exponential(a):
        return 1.0, lambda: integrated(scaled(a, exponential(a)), 1)

    def value(a):
        stream, total = exponential(a), 0.0
        for _ in range(8):
            total, stream = total + stream[0], stream[1]()
        return total

    return p.jit(p.grad(value))(a)


@program("tax", "'(0.3)", "((derivative revenue) 0.3)", torch=NO_LOOPS)
def tax(p, rate):
    def effort(rate, skill):
        cost = lambda e: 0.5 * e * e - p.np.log(1 + (1 - rate) * skill * e)
        slope, bend = p.derivative(cost), p.derivative(cost, 2)
        return p.loop(lambda e: abs(slope(e)) > 1e-12, lambda e: e - slope(e) / bend(e), p.array(0.5))

    revenue = lambda rate: sum(rate * skill * effort(rate, skill) for skill in (1, 2, 3))
    return p.jit(p.derivative(revenue))(rate)


@program("examples/newton-square-root", "'(2)", "(orders settled-sqrt 2)", torch=NO_LOOPS)
def newton_square_root(p, x):
    def settled(x):
        step = lambda r: (r + x / r) / 2
        going = lambda state: (abs(state[0] ** 2 - x) > 1e-15 * x) & (state[1] < 100)
        r = p.loop(going, lambda state: (step(state[0]), state[1] + 1), (x, 0))[0]
        return p.repeat(step, 4, r)

    return p.jit(lambda x: [p.derivative(settled, n)(x) for n in range(5)])(x)


@program("examples/taylor", "'(0)", "(taylor-coefficients lambert 0 4)")
def taylor(p, x):
    f = lambda x: x * p.np.exp(x)

    def lambert(y):
        x = y
        for _ in range(3):
            x = x - (f(x) - y) / p.derivative(f)(x)
        return x

    return p.jit(lambda x: [p.derivative(lambert, n)(x) / math.factorial(n) for n in range(5)])(x)


@program("random", "", "")
def random(p, text):
    """A random program of benchmarks/compile_time.py, which has the text. A system traces a procedure at each of its calls."""
    names = {"np": p.np, "cos": p.np.cos, "repeat": p.repeat}
    exec(text, names)
    return p.jit(p.grad(names["total"]))(p.array(0.7))


# Systems.


class Jax:
    def __init__(self):
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax, self.np, self.version = jax, jax.numpy, jax.__version__
        self.jit, self.grad, self.jvp, self.vmap = jax.jit, jax.grad, jax.jvp, jax.vmap
        self.jacobian, self.forward_gradient, nn = jax.jacobian, jax.jacfwd, jax.nn
        self.relu, self.sigmoid, self.softplus, self.softmax = nn.relu, nn.sigmoid, nn.softplus, nn.softmax
        self.log_softmax, self.one_hot = nn.log_softmax, nn.one_hot
        self.array, self.eye, self.scan = jax.numpy.asarray, jax.numpy.eye, jax.lax.scan

    def done(self, value):
        self.jax.block_until_ready(value)

    def numbers(self, value):
        return [float(x) for leaf in self.jax.tree.leaves(value) for x in self.np.ravel(leaf)]

    def zeros(self, *shape):
        return self.np.zeros(shape)

    def ones(self, *shape):
        return self.np.ones(shape)

    def indices(self, numbers):
        return self.np.array(numbers)

    def logsumexp(self, x):
        return self.jax.nn.logsumexp(x, 0)

    def largest(self, x):
        return self.np.max(x, -1)

    def smallest(self, x):
        return self.np.min(x, -1)

    def split(self, x, n):
        return self.np.split(x, n, -1)

    def gelu(self, x):
        return self.jax.nn.gelu(x, approximate=False)

    def convolution(self, x, w):
        return self.jax.lax.conv(x, w, (1, 1), "SAME")

    def max_pool(self, x):
        size = (1, 1, 2, 2)
        return self.jax.lax.reduce_window(x, -math.inf, self.jax.lax.max, size, size, "VALID")

    def solve_lower(self, a, b):
        return self.jax.scipy.linalg.solve_triangular(a, b, lower=True)

    def repeat(self, f, n, x):
        return self.jax.lax.fori_loop(0, n, lambda _, x: f(x), x)

    def loop(self, test, f, x):
        return self.jax.lax.while_loop(test, f, x)

    def derivative(self, f, order=1):
        g = f if order <= 1 else self.derivative(f, order - 1)
        return g if order == 0 else lambda x: self.jvp(g, (x,), (self.np.ones_like(x),))[1]


class Torch:
    def __init__(self):
        import torch

        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)
        functions = torch.nn.functional
        self.np, self.version = torch, torch.__version__
        self.grad, self.jvp, self.vmap = torch.func.grad, torch.func.jvp, torch.func.vmap
        self.jacobian, self.zeros, self.ones, self.eye = torch.func.jacrev, torch.zeros, torch.ones, torch.eye
        self.relu, self.sigmoid = torch.relu, torch.sigmoid
        self.softplus, self.gelu = functions.softplus, functions.gelu
        self.array, self.indices = torch.tensor, torch.tensor

    def jit(self, f):
        return self.np.compile(f, fullgraph=True)

    def done(self, value):
        pass

    def numbers(self, value):
        leaves = self.np.utils._pytree.tree_leaves(value)
        return [float(x) for leaf in leaves for x in leaf.detach().ravel()]

    def one_hot(self, labels, n):
        return (labels[:, None] == self.np.arange(n)).to(self.np.float64)

    def softmax(self, x):
        return self.np.softmax(x, -1)

    def log_softmax(self, x):
        return self.np.log_softmax(x, -1)

    def logsumexp(self, x):
        return self.np.logsumexp(x, 0)

    def largest(self, x):
        return self.np.amax(x, -1)

    def smallest(self, x):
        return self.np.amin(x, -1)

    def split(self, x, n):
        return self.np.chunk(x, n, -1)

    def convolution(self, x, w):
        return self.np.nn.functional.conv2d(x, w, padding=1)

    def max_pool(self, x):
        return self.np.nn.functional.max_pool2d(x, 2)

    def solve_lower(self, a, b):
        return self.np.linalg.solve_triangular(a, b[:, None], upper=False)[:, 0]

    def scan(self, f, state, inputs):
        done = []
        for given in zip(*inputs) if isinstance(inputs, tuple) else inputs:
            state, next = f(state, given)
            done.append(next)
        return state, self.np.stack(done)

    def repeat(self, f, n, x):
        for _ in range(n):
            x = f(x)
        return x

    derivative = Jax.derivative


def decoded(system, data):
    """Lists are structures; a number or a tensor is an object with its entries."""
    match data:
        case {"array": entries}:
            return system.array(entries)
        case list():
            return [decoded(system, part) for part in data]
    return data  # the text of a program


def used():
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def main(which, name):
    try:
        system = {"jax": Jax, "torch": Torch}[which]()
    except ImportError:
        print(json.dumps({"absent": True}))
        return
    f = PROGRAMS[name][0]
    operands = decoded(system, json.load(sys.stdin))
    system.done(system.jit(system.grad(lambda x: (x * system.np.sin(x)).sum()))(system.ones(3)))
    start = used()
    try:
        value = f(system, *operands)
        system.done(value)
        seconds = used() - start
        reply = {"seconds": seconds, "numbers": system.numbers(value)}
    except Exception as error:  # a system that cannot is a result too
        reply = {"cannot": f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:160]}"}
    print(json.dumps({**reply, "start": start, "version": system.version}))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        main(*sys.argv[1:])
