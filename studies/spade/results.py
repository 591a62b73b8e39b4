"""Measured networks in one file, written after every network: a run that was stopped goes on.

python -m studies.spade.networks --data MNIST --out spade-networks.npz
python -m studies.spade.results --data MNIST --networks spade-networks.npz --out spade.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic import workers
from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Floats
from anharmonic.errors import InputError
from anharmonic.measures.spectral.search import Search
from studies.mnist import read_mnist
from studies.page import Tell, silent
from studies.spade.case import MNIST, Case
from studies.spade.measuring import Found, Remembered, measured_network
from studies.spade.networks import FILE, Effort, Networks, trained

__all__ = ["digits_found", "measure", "read"]

Named = Mapping[str, tuple[dict[str, Any], Floats]]
"""By name: a network's radius, seed, clean and robust accuracy; and its logits (points, 10)."""


def read(path: Path, case: Case) -> Found:
    """What `measure` wrote."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        networks, about = held["networks"], held["about"]
        networks = sorted(networks.values(), key=lambda each: (each["seed"], each["radius"]))
    except (ValueError, KeyError, AttributeError) as problem:
        raise InputError(f"{path} holds no measured networks: delete it, and measure") from problem
    return Found(case, networks, about)


def measure(
    flat: Floats,
    networks: Named,
    about: dict[str, Any],
    case: Case,
    out: Path | None = None,
    tell: Tell = silent,
    processes: int = 1,
) -> Found:
    """Every network that is not in `out` yet, and all of them from there."""
    held: dict[str, Any] = {"about": about, "networks": {}}
    if out is not None and out.is_file():
        held = json.loads(out.read_text(encoding="utf-8")) | {"about": about}
    missing = [name for name in networks if name not in held["networks"]]
    search: Search | str = "auto"
    if missing and len(flat) > 2 * max(case.curve):
        tell(f"neighbours of {len(flat):,} points")
        search = Remembered.of(flat, max(case.curve))
    run: Any = map if processes == 1 else workers.processes(processes)
    one = partial(_one, flat, case, int(about["seed"]), search)
    found = run(one, [networks[name][1] for name in missing])
    for name, measurement in zip(missing, found, strict=True):
        held["networks"][name] = networks[name][0] | measurement
        if out is not None:
            _write(held, out)
        tell(f"{name} is measured: {len(held['networks'])} of {len(networks)}")
    order = sorted(held["networks"].values(), key=lambda each: (each["seed"], each["radius"]))
    return Found(case, order, about)


def _one(
    flat: Floats, case: Case, seed: int, search: Search | str, logits: Floats
) -> dict[str, Any]:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        return measured_network(flat, logits, case, seed, search)


def _write(held: dict[str, Any], out: Path) -> None:
    with whole_file(out) as temporary:
        Path(temporary).write_text(json.dumps(_short(held), indent=1), encoding="utf-8")


def _short(value: Any) -> Any:
    """The same with six digits."""
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_short(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def digits_found(
    data: Path,
    seed: int,
    tell: Tell,
    effort: Effort,
    digits: int = 10_000,
    kept: Path | None = None,
    out: Path | None = None,
    processes: int = 1,
) -> Found:
    """Networks for digits, trained now or as `networks` kept them, and measured."""
    learned, test = read_mnist(data)
    asked = test.first(digits)
    kept = kept or data / FILE
    networks = Networks.load(kept) if kept.exists() else trained(learned, asked, effort, seed, tell)
    flat = asked.images.reshape(len(asked.images), -1)
    about = _about(networks, seed)
    return measure(flat, _named(networks), about, MNIST, out, tell, processes)


def _named(networks: Networks) -> Named:
    return {
        f"{radius:g} {seed}": (
            {"radius": radius, "seed": seed, "clean": clean, "robust": robust.tolist()},
            np.asarray(logits, dtype=np.float64),
        )
        for radius, seed, logits, clean, robust in zip(
            networks.radii.tolist(),
            networks.seeds.tolist(),
            networks.logits,
            networks.clean.tolist(),
            networks.robust,
            strict=True,
        )
    }


def _about(networks: Networks, seed: int) -> dict[str, Any]:
    effort, tested = networks.effort, networks.logits.shape[1]
    less = " The paper's networks had the whole training set." if effort.rows < 60_000 else ""
    return {
        "seed": seed,
        "clean": tested,
        "attacked": min(effort.attacked, tested),
        "networks": f"""LeNet-5, trained plainly (ε = 0) and under PGD-{effort.steps} in L∞ balls
            of radius ε, {effort.seeds} seeds each: {effort.rows:,} digits, {effort.epochs} epochs,
            batches of {effort.batch}. Accuracy on {tested:,} test digits, under attack on the
            first {effort.attacked:,}; mean over seeds and its error.{less}""",
    }


def main() -> None:
    """Measure the networks that `studies.spade.networks` kept."""
    reader = argparse.ArgumentParser(description="SPADE of the networks for digits.")
    reader.add_argument("--data", type=Path, required=True, help="a folder of MNIST's files")
    reader.add_argument("--networks", type=Path, required=True, help=f"such as {FILE}")
    reader.add_argument("--out", type=Path, required=True, help="such as spade.json")
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--processes", type=int, default=1)
    given = reader.parse_args()
    digits_found(
        given.data,
        given.seed,
        lambda line: print(line, flush=True),
        Effort(),
        kept=given.networks,
        out=given.out,
        processes=given.processes,
    )


if __name__ == "__main__":
    main()
