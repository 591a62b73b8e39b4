"""The service under load, with a real generator in a process of its own on loopback.

Model: a LightGBM classifier of 100 trees on ten features, at most 16 neighbours a point, one
thread. One point a request. Generator, service and database share the machine's cores.

Bars: at least 2,000 scored requests a second; p99 below 100 ms at half of that, from the time a
request was due, not from when it could be sent; twenty kills during load lose nothing that was
acknowledged, keep nothing twice, and the detectors go on exactly; the proxy adds less than 5 ms
at p99; ten thousand random requests find no server error, nor do ten thousand changed ones, at the
service and through the proxy, and no good one between them is lost; three replicas on one
PostgreSQL, killed twenty times, are one monitor (`replicas`).
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from benchmarks.service.fuzz import fuzzed
from benchmarks.service.kills import survived
from benchmarks.service.load import Load, closed, opened
from benchmarks.service.mutated import mutated
from benchmarks.service.postgres import postgres_server
from benchmarks.service.proxied import added, model_server, proxied
from benchmarks.service.replicas import false_alarms_of_replicas, replicas_survive
from benchmarks.service.target import FEATURES, Target

BAR, LATENCY, KILLS, EXAMPLES, CHANGED = 2000, 0.100, 20, 1000, 10_000


def throughput(folder: Path) -> bool:
    with Target(folder / "load.db", folder) as target:
        closed(target.port, seconds=2)
        full = closed(target.port, seconds=10)
        half = opened(target.port, rate=BAR // 2, seconds=10)
    told("as fast as it goes", full)
    told(f"{BAR // 2:,} a second", half)
    good = full.rate >= BAR and half.failed == 0 and half.quantile(0.99) < LATENCY
    met = "met" if good else "MISSED"
    print(f"bar: ≥ {BAR:,} a second, p99 < {LATENCY * 1e3:.0f} ms at half that: {met}")
    return good


def unharmed(folder: Path) -> bool:
    """Whether ten thousand requests of all sorts are answered without a server error."""
    with Target(folder / "fuzz.db", folder) as target:
        count, errors = fuzzed(f"http://127.0.0.1:{target.port}", EXAMPLES)
    print(f"{count:,} random requests, {len(errors)} answered 5xx: {errors[:5]}")
    return count >= 10_000 and not errors


def unchanged(folder: Path) -> bool:
    """Whether ten thousand changed requests, to the service and through the proxy, do no harm."""
    with Target(folder / "mutated.db", folder) as target:
        service = mutated(f"http://127.0.0.1:{target.port}", CHANGED, FEATURES)
    print(f"service: {service}")
    with model_server() as port:
        upstream = f"http://127.0.0.1:{port}"
        with Target(folder / "behind.db", folder, "--upstream", upstream) as target:
            proxy = mutated(f"http://127.0.0.1:{target.port}", CHANGED, FEATURES, good=proxied)
    print(f"proxy: {proxy}")
    return service.well and proxy.well


def replicated(folder: Path) -> bool:
    """Whether three replicas on one PostgreSQL are one monitor, whoever is killed."""
    with postgres_server() as server:
        if server is None:
            print("replicas: no PostgreSQL here: apt-get install postgresql")
            return False
        survive = replicas_survive(folder, server.database("replicas"), KILLS // 2)
        return false_alarms_of_replicas(server, runs=100, rows=2000, per=2000) and survive


def told(what: str, load: Load) -> None:
    spread = ", ".join(f"p{100 * q:g} {load.quantile(q) * 1e3:.1f} ms" for q in (0.5, 0.99, 0.999))
    busy = f"service {load.server_share:.0%}, generator {load.own_share:.0%} of a core"
    print(f"{what:20}{load.rate:8,.0f} requests/s   {spread}   {load.failed} failed   {busy}")


def main() -> bool:
    """Run load, kills and proxy, or the parts named on the command line; fuzzing takes long."""
    print(f"service: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    chosen = sys.argv[1:] or ["load", "kills", "proxy"]
    with tempfile.TemporaryDirectory(prefix="anharmonic-bench-") as name:
        folder = Path(name)
        parts = {
            "load": lambda: throughput(folder),
            "kills": lambda: survived(folder, KILLS),
            "proxy": lambda: added(folder),
            "fuzz": lambda: unharmed(folder),
            "mutated": lambda: unchanged(folder),
            "replicas": lambda: replicated(folder),
        }
        met = [parts[each]() for each in chosen]
    return all(met)
