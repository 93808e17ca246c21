"""Differential equations, physics and filters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

G = 9.81
Vec = list[float]


class State(NamedTuple):
    x: float
    v: float


@dataclass(frozen=True)
class Body:
    mass: float
    pos: tuple[float, float]
    vel: tuple[float, float] = (0.0, 0.0)

    @property
    def kinetic_energy(self) -> float:
        return 0.5 * self.mass * sum(c**2 for c in self.vel)

    def distance(self, other: Body) -> float:
        return math.hypot(*(a - b for a, b in zip(self.pos, other.pos)))

    def moved(self, dt: float) -> Body:
        return Body(self.mass, tuple(p + dt * v for p, v in zip(self.pos, self.vel)), self.vel)


def euler(k: float = 0.7, steps: int = 10) -> float:
    y, t, dt = 1.0, 0.0, 0.1
    while t < steps * dt - 1e-9:
        y += dt * (-k * y + math.sin(t))
        t += dt
    return y


def runge_kutta(k: float = 0.7) -> float:
    def rk4(f: Callable[[float, float], float], y: float, t: float, h: float) -> float:
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h * k1 / 2)
        k3 = f(t + h / 2, y + h * k2 / 2)
        k4 = f(t + h, y + h * k3)
        return y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6

    y = 1.0
    for i in range(5):
        y = rk4(lambda t, y: -k * y * t, y, i * 0.2, 0.2)
    return y


def runge_kutta_of_a_system(mu: float = 1.2) -> float:
    def f(s: Vec) -> Vec:
        x, y = s
        return [y, mu * (1 - x**2) * y - x]

    def axpy(a: float, x: Vec, y: Vec) -> Vec:
        return [a * xi + yi for xi, yi in zip(x, y)]

    s, h = [2.0, 0.0], 0.1
    for _ in range(5):
        k1 = f(s)
        k2 = f(axpy(h / 2, k1, s))
        k3 = f(axpy(h / 2, k2, s))
        k4 = f(axpy(h, k3, s))
        s = [si + h / 6 * (a + 2 * b + 2 * c + d) for si, a, b, c, d in zip(s, k1, k2, k3, k4)]
    return s[0] * s[1]


def butcher_tableau(k: float = 0.7) -> float:
    a = [[], [0.5], [0.0, 0.5], [0.0, 0.0, 1.0]]
    b = [1 / 6, 1 / 3, 1 / 3, 1 / 6]
    f = lambda y: -k * y + y**2 / 4
    y, h = 1.0, 0.25
    for _ in range(4):
        ks: list[float] = []
        for row in a:
            ks.append(f(y + h * sum(aij * kj for aij, kj in zip(row, ks))))
        y += h * sum(bi * ki for bi, ki in zip(b, ks))
    return y


def verlet(omega: float = 1.3) -> float:
    s = State(1.0, 0.0)
    accel = lambda x: -(omega**2) * x
    dt = 0.05
    for _ in range(10):
        half = s.v + 0.5 * dt * accel(s.x)
        x = s.x + dt * half
        s = State(x=x, v=half + 0.5 * dt * accel(x))
    return 0.5 * s.v**2 + 0.5 * omega**2 * s.x**2 + s.x


def lorenz(rho: float = 28.0) -> float:
    x, y, z = 1.0, 1.0, 1.0
    sigma, beta, dt = 10.0, 8.0 / 3.0, 0.005
    for _ in range(20):
        dx, dy, dz = sigma * (y - x), x * (rho - z) - y, x * y - beta * z
        x, y, z = x + dt * dx, y + dt * dy, z + dt * dz
    return x + y + z


def adaptive_step(k: float = 2.0) -> float:
    f = lambda t, y: -k * y + t
    t, y, h, tol = 0.0, 1.0, 0.1, 1e-3
    accepted = rejected = 0
    while t < 0.5:
        h = min(h, 0.5 - t)
        coarse = y + h * f(t, y)
        mid = y + h / 2 * f(t, y)
        fine = mid + h / 2 * f(t + h / 2, mid)
        if abs(fine - coarse) > tol:
            h /= 2
            rejected += 1
            continue
        t, y = t + h, fine
        accepted += 1
    return y + accepted + rejected


def implicit_euler(k: float = 3.0) -> float:
    y, h = 1.0, 0.2
    for _ in range(4):
        z = y
        for _ in range(8):
            g = z - y + h * k * z**3
            dg = 1 + 3 * h * k * z**2
            z = z - g / dg
        y = z
    return y


def pendulum(length: float = 1.5, theta: float = 0.4) -> float:
    omega, dt = 0.0, 0.02
    period = None
    for i in range(200):
        omega -= dt * G / length * math.sin(theta)
        theta += dt * omega
        if theta < 0 and period is None:
            period = 4 * i * dt
            break
    return theta + (0.0 if period is None else period)


def projectile(v: float = 20.0, angle: float = 0.7) -> dict[str, float]:
    vx, vy = v * math.cos(angle), v * math.sin(angle)
    flight = 2 * vy / G
    return {"range": vx * flight, "height": vy**2 / (2 * G), "time": flight}


def bouncing_ball(h: float = 2.0) -> float:
    y, v, dt, bounces = h, 0.0, 0.01, 0
    trace = []
    while bounces < 1 and len(trace) < 80:
        v -= G * dt
        y += v * dt
        if y < 0:
            y, v = -y, -0.8 * v
            bounces += 1
        trace.append(y)
    return max(trace[-20:]) + sum(trace) / len(trace)


def three_bodies(m: float = 2.0) -> float:
    bodies = [Body(m, (0.0, 0.0), (0.1, 0.0)), Body(1.0, (1.0, 0.5)), Body(mass=0.5, pos=(-1.0, 0.0), vel=(0.0, 1.0))]
    potential = 0.0
    for i, a in enumerate(bodies):
        for b in bodies[i + 1 :]:
            potential -= a.mass * b.mass / a.distance(b)
    kinetic = sum(body.kinetic_energy for body in bodies)
    return kinetic + potential + bodies[0].moved(0.5).pos[0] * m


def heat_equation(alpha: float = 0.1) -> float:
    u = [0.0] * 10
    u[4] = u[5] = 1.0
    for _ in range(5):
        u = [0.0] + [u[i] + alpha * (u[i - 1] - 2 * u[i] + u[i + 1]) for i in range(1, len(u) - 1)] + [0.0]
    return sum(x**2 for x in u)


def heat_equation_in_numpy(alpha: float = 0.1) -> float:
    u = np.zeros(10)
    u[4:6] = 1.0
    for _ in range(3):
        new = u.copy()
        new[1:-1] = u[1:-1] + alpha * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = new
    return float((u**2).sum())


def wave_equation(c: float = 0.5) -> float:
    x = np.linspace(0, np.pi, 12)
    prev, cur = np.sin(x), np.sin(x) * 0.99
    for _ in range(6):
        lap = np.roll(cur, 1) + np.roll(cur, -1) - 2 * cur
        prev, cur = cur, 2 * cur - prev + c**2 * lap
        cur[0] = cur[-1] = 0.0
    return float(np.max(np.abs(cur)))


def kalman_of_one_variable(q: float = 0.1, r: float = 0.5) -> float:
    x, p = 0.0, 1.0
    loss = 0.0
    for z in [1.1, 0.9, 1.3, 1.0]:
        p += q
        k = p / (p + r)
        residual = z - x
        loss += 0.5 * (math.log(2 * math.pi * (p + r)) + residual**2 / (p + r))
        x += k * residual
        p *= 1 - k
    return loss


def kalman(q: float = 0.1) -> float:
    F = np.array([[1.0, 0.1], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q, R = q * np.eye(2), np.array([[0.5]])
    x, P = np.zeros((2, 1)), np.eye(2)
    for z in (0.1, 0.25, 0.28):
        x = F @ x
        P = F @ P @ F.T + Q
        y = np.array([[z]]) - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ y
        P = (np.eye(2) - K @ H) @ P
    return float(x[0, 0] + np.trace(P))


def exponential_filter(alpha: float = 0.3) -> list[float]:
    out: list[float] = []
    for x in (1.0, 2.0, 0.0, 4.0):
        out.append(alpha * x + (1 - alpha) * out[-1] if out else x)
    return out


def pid_controller(kp: float = 1.0, ki: float = 0.3, kd: float = 0.05) -> float:
    integral, last, y, cost, dt = 0.0, None, 0.0, 0.0, 0.1
    for _ in range(12):
        error = 1.0 - y
        integral += error * dt
        derivative = 0.0 if last is None else (error - last) / dt
        u = kp * error + ki * integral + kd * derivative
        last = error
        y += dt * (u - y)
        cost += error**2 * dt
    return cost


def predator_and_prey(a: float = 1.1) -> tuple[float, float]:
    params = dict(a=a, b=0.4, c=0.4, d=0.1)
    prey, predators = 10.0, 5.0
    for _ in range(10):
        dprey = params["a"] * prey - params["b"] * prey * predators
        dpred = params["d"] * prey * predators - params["c"] * predators
        prey, predators = prey + 0.01 * dprey, predators + 0.01 * dpred
    return prey, predators


def epidemic(beta: float = 0.4) -> float:
    s, i, r = 0.99, 0.01, 0.0
    peak, day = i, 0
    for t in range(60):
        new, recovered = beta * s * i, 0.1 * i
        s -= new
        i += new - recovered
        r += recovered
        if i > peak:
            peak, day = i, t
    return peak + r + day


def mandelbrot(x: float = 0.1, y: float = 0.6) -> tuple[int, float]:
    a = b = 0.0
    for n in range(50):
        a, b = a * a - b * b + x, 2 * a * b + y
        if a * a + b * b > 4:
            return n, a
    return -1, a
