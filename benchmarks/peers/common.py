"""Timing harness shared by the Python peers.

A workload file holds functions `peer_<name>()`; `main(globals())` runs those named
on the command line (all by default).  Each calls `bench`, which prints one JSON
line: first call (trace + compile + run), minimum and median of the later calls."""

import os

for k in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC"):
    os.environ.setdefault(k, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import json
import resource
import sys
import time


def rss_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def bench(w, peer, case, fn, check=lambda r: r, scale=1.0, budget=0.5, least=3, once=float("inf")):
    """Time fn(); `scale` multiplies times when fn does only a part of the work. A call of more than `once` seconds is not repeated:
    for systems that compile nothing."""
    base = rss_mb()
    t = time.perf_counter()
    r = fn()
    first = time.perf_counter() - t
    warm = first
    if first <= once:
        t = time.perf_counter()
        r = fn()
        warm = time.perf_counter() - t
    inner = max(1, min(100000, int(0.01 / max(warm, 1e-9))))
    ts, start = [], time.perf_counter()
    if warm > 2:
        ts = [warm]
    while warm <= 2 and (len(ts) < least or time.perf_counter() - start < budget) and len(ts) < 300:
        t = time.perf_counter()
        for _ in range(inner):
            r = fn()
        ts.append((time.perf_counter() - t) / inner)
    ts.sort()
    out = dict(
        w=w,
        peer=peer,
        case=case,
        first=first * scale,
        min=ts[0] * scale,
        med=ts[len(ts) // 2] * scale,
        rss_mb=round(rss_mb(), 1),
        grew_mb=round(rss_mb() - base, 1),
        check=float(check(r)),
    )
    print(json.dumps(out), flush=True)
    return r


def main(names):
    peers = [k[5:] for k in names if k.startswith("peer_")]
    for p in sys.argv[1:] or peers:
        if p not in peers:
            continue
        try:
            names["peer_" + p]()
        except Exception as e:  # a peer that cannot is a result too
            print(
                json.dumps(
                    dict(w=os.path.basename(sys.argv[0]), peer=p, error=f"{type(e).__name__}: {str(e)[:200]}")
                ),
                flush=True,
            )


def jax64():
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # 10x less overhead when small
    return jax


def torch64():
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    return torch
