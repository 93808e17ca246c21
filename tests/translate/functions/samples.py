"""Statistics of samples, and finance."""

from __future__ import annotations

import math
import operator
from itertools import accumulate

import numpy as np


def mean_and_variance(x: float = 0.5) -> tuple[float, float]:
    data = [x, 2.0, 3.5, 4.0]
    n = len(data)
    mean = sum(data) / n
    var = sum((d - mean) ** 2 for d in data) / (n - 1)
    return mean, math.sqrt(var)


def welford(x: float = 0.5) -> float:
    mean, m2, n = 0.0, 0.0, 0
    for value in (x, 2.0, 3.5, x * x):
        n += 1
        delta = value - mean
        mean += delta / n
        m2 += delta * (value - mean)
    return m2 / (n - 1)


def median(xs: list[float] = [3.0, 1.0, 2.0, 5.0]) -> float:
    ordered = sorted(xs)
    mid, odd = divmod(len(ordered), 2)
    if odd:
        return ordered[mid]
    return (ordered[mid - 1] + ordered[mid]) / 2


def quartiles(x: float = 2.5) -> list[float]:
    data = sorted([x, 1.0, 7.0, 3.0, 5.0])

    def quantile(q: float) -> float:
        pos = (len(data) - 1) * q
        lo = math.floor(pos)
        hi = min(lo + 1, len(data) - 1)
        return data[lo] + (pos - lo) * (data[hi] - data[lo])

    return [quantile(q / 4) for q in range(5)]


def mode(x: float = 2.5) -> float:
    data = [1.0, x, 2.0, 3.0, 2.0, 1.5 + 0.5]
    counts: dict[float, int] = {}
    for v in data:
        counts[v] = counts.get(v, 0) + 1
    best = max(counts.values())
    return [v for v, c in counts.items() if c == best][0] * x


def weighted_mean(x: float = 0.5) -> float:
    values, weights = [1.0, x, 3.0], [0.2, 0.3, x]
    return sum(v * w for v, w in zip(values, weights)) / sum(weights)


def correlation(x: float = 0.5) -> float:
    xs, ys = [1.0, 2.0, 3.0, 4.0], [x, 2.0, 2.5, 5.0]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    sxy = sum((a - mx) * (b - my) for a, b in zip(xs, ys))
    sxx = sum((a - mx) ** 2 for a in xs)
    syy = sum((b - my) ** 2 for b in ys)
    return sxy / math.sqrt(sxx * syy)


def linear_regression(x: float = 0.5) -> float:
    points = [(0.0, 1.0), (1.0, x), (2.0, 3.0), (3.0, 2.0 * x)]
    n = len(points)
    sx = sum(p[0] for p in points)
    sy = sum(p[1] for p in points)
    sxx = sum(p[0] * p[0] for p in points)
    sxy = sum(px * py for px, py in points)
    slope = (n * sxy - sx * sy) / (n * sxx - sx**2)
    return slope * 10 + (sy - slope * sx) / n


def histogram(x: float = 0.5) -> list[int]:
    data, bins = [0.1, x, 0.7, 0.95, 0.2, 0.3], [0] * 4
    for v in data:
        bins[min(int(v * 4), 3)] += 1
    return bins


def moving_average(x: float = 0.5, window: int = 3) -> list[float]:
    data = [x, 1.0, 2.0, 4.0, 8.0]
    return [sum(data[i : i + window]) / window for i in range(len(data) - window + 1)]


def running_totals(x: float = 0.5) -> list[list[float]]:
    data = [x, 1.0, 2.0, 4.0]
    return [list(accumulate(data)), list(accumulate(data, operator.mul)), list(accumulate(data, max))]


def z_scores(x: float = 0.5) -> float:
    data = np.array([x, 1.0, 2.0, 4.0])
    z = (data - data.mean()) / data.std()
    return float((z**3).mean())


def log_likelihood(mu: float = 0.5, sigma: float = 1.2) -> float:
    data = [0.1, 0.7, 1.3]
    return sum(-0.5 * math.log(2 * math.pi * sigma**2) - (d - mu) ** 2 / (2 * sigma**2) for d in data)


def log_sum_exp(x: float = 0.5) -> float:
    xs = [x, 2.0, -1.0]
    m = max(xs)
    return m + math.log(sum(math.exp(v - m) for v in xs))


def normal_cdf(x: float = 0.5, mu: float = 0.2, sigma: float = 1.5) -> float:
    return 0.5 * (1 + math.erf((x - mu) / (sigma * math.sqrt(2))))


def poisson(lam: float = 2.5) -> float:
    pmf = lambda k: lam**k * math.exp(-lam) / math.factorial(k)
    return sum(k * pmf(k) for k in range(10))


def binomial(p: float = 0.3, n: int = 5) -> list[float]:
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def bayes(prior: float = 0.1) -> float:
    posterior = prior
    for positive in (True, True, False):
        likelihood = 0.9 if positive else 0.1
        other = 0.2 if positive else 0.8
        posterior = likelihood * posterior / (likelihood * posterior + other * (1 - posterior))
    return posterior


def kl_divergence(p: float = 0.3) -> float:
    ps, qs = [p, 1 - p, 0.0], [0.25, 0.5, 0.25]
    return sum(pi * math.log(pi / qi) for pi, qi in zip(ps, qs) if pi > 0)


def gini(x: float = 0.5) -> float:
    incomes = sorted([x, 1.0, 2.0, 5.0])
    n = len(incomes)
    cumulative = sum((i + 1) * y for i, y in enumerate(incomes))
    return 2 * cumulative / (n * sum(incomes)) - (n + 1) / n


def auto_correlation(x: float = 0.5) -> float:
    s = np.array([x, 1.0, 2.0, 0.5, x])
    s = s - s.mean()
    return float(np.dot(s[:-1], s[1:]) / np.dot(s, s))


def softmax_temperature(t: float = 0.7) -> list[float]:
    logits = [1.0, 2.0, 0.5]
    exps = [math.exp(z / t) for z in logits]
    total = sum(exps)
    return [e / total for e in exps]


def em_of_two_coins(a: float = 0.6) -> float:
    heads, flips = [5, 9, 8, 4], 10
    b = 0.5
    for _ in range(3):
        na = ha = nb = hb = 0.0
        for h in heads:
            la = a**h * (1 - a) ** (flips - h)
            lb = b**h * (1 - b) ** (flips - h)
            w = la / (la + lb)
            na, ha = na + w * flips, ha + w * h
            nb, hb = nb + (1 - w) * flips, hb + (1 - w) * h
        a, b = ha / na, hb / nb
    return a - b


def k_means(x: float = 0.5) -> float:
    data, centers = [x, 1.0, 1.2, 5.0, 5.5, 6.0], [0.0, 4.0]
    for _ in range(3):
        groups: list[list[float]] = [[] for _ in centers]
        for p in data:
            distances = [abs(p - c) for c in centers]
            k = distances.index(min(distances))
            groups[k].append(p)
        centers = [sum(g) / len(g) if g else c for g, c in zip(groups, centers)]
    return centers[0] + 10 * centers[1]


def nearest_neighbours(x: float = 0.5) -> float:
    data = [(0.0, 1.0), (1.0, 3.0), (2.0, 2.0), (5.0, 0.0)]
    near = sorted(data, key=lambda p: abs(p[0] - x))[:2]
    return sum(y * (1 + abs(px - x)) for px, y in near)


def bootstrap_means(x: float = 0.5) -> float:
    data, seed, means = [x, 1.0, 2.0], 7, []
    for _ in range(4):
        sample = []
        for _ in data:
            seed = (75 * seed + 74) % 65537
            sample.append(data[seed % len(data)])
        means.append(sum(sample) / len(sample))
    return sum(means)


# Finance.


def compound_interest(rate: float = 0.05, years: int = 10) -> float:
    balance = 100.0
    for year in range(1, years + 1):
        balance *= 1 + rate
        if year % 5 == 0:
            balance -= 10
    return balance


def net_present_value(rate: float = 0.05) -> float:
    flows = [-100.0, 30.0, 40.0, 50.0]
    return sum(cf / (1 + rate) ** t for t, cf in enumerate(flows))


def internal_rate(first: float = -100.0) -> float:
    flows = [first, 30.0, 40.0, 50.0]
    npv = lambda r: sum(cf / (1 + r) ** t for t, cf in enumerate(flows))
    dnpv = lambda r: sum(-t * cf / (1 + r) ** (t + 1) for t, cf in enumerate(flows))
    r = 0.1
    for _ in range(20):
        r -= npv(r) / dnpv(r)
    return r


def mortgage(principal: float = 1000.0, rate: float = 0.01, n: int = 12) -> list[tuple[int, float, float]]:
    payment = principal * rate / (1 - (1 + rate) ** -n)
    balance, schedule = principal, []
    for month in range(1, 4):
        interest = balance * rate
        balance -= payment - interest
        schedule.append((month, interest, balance))
    return schedule


def black_scholes(s: float = 100.0, sigma: float = 0.2) -> float:
    k, r, t = 105.0, 0.03, 0.5
    cdf = lambda z: 0.5 * math.erfc(-z / math.sqrt(2))
    d1 = (math.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * math.sqrt(t))
    d2 = d1 - sigma * math.sqrt(t)
    return s * cdf(d1) - k * math.exp(-r * t) * cdf(d2)


def binomial_tree(s: float = 100.0, sigma: float = 0.2) -> float:
    n, dt, k = 3, 0.1, 100.0
    u = math.exp(sigma * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(0.03 * dt) - d) / (u - d)
    values = [max(k - s * u**j * d ** (n - j), 0.0) for j in range(n + 1)]
    for i in reversed(range(n)):
        values = [
            max(math.exp(-0.03 * dt) * (p * values[j + 1] + (1 - p) * values[j]), k - s * u**j * d ** (i - j))
            for j in range(i + 1)
        ]
    return values[0]


def drawdown(x: float = 100.5) -> float:
    prices = [100.0, x + 20, 90.0, 130.0, x]
    peak, worst = -math.inf, 0.0
    for p in prices:
        peak = max(peak, p)
        worst = max(worst, (peak - p) / peak)
    return worst


def portfolio(w: float = 0.3) -> float:
    mu = np.array([0.1, 0.2, 0.15])
    cov = np.array([[0.05, 0.01, 0.0], [0.01, 0.06, 0.02], [0.0, 0.02, 0.04]])
    weights = np.array([w, 0.4, 0.6 - w])
    ret, risk = weights @ mu, np.sqrt(weights @ cov @ weights)
    return ret / risk


def tax(income: float = 55000.0) -> float:
    brackets = [(10_000, 0.1), (40_000, 0.2), (math.inf, 0.4)]
    owed, lower = 0.0, 0.0
    for upper, rate in brackets:
        if income <= lower:
            break
        owed += (min(income, upper) - lower) * rate
        lower = upper
    return owed


def largest_profit(x: float = 7.5) -> float:
    prices = [x, 1.0, 5.0, 3.0, 6.0, 4.0]
    low, best = prices[0], 0.0
    for p in prices[1:]:
        low, best = min(low, p), max(best, p - low)
    return best
