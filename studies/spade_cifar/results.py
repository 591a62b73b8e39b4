r"""From a state folder to the small files that the pages are made of.

    python -m studies.spade_cifar.results --data parts --state state --out docs/reproduce/results

It needs no GPU. Tables 1 and 2 are measured network by network, and a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic.errors import InputError
from studies.page import Tell, silent
from studies.spade.case import CIFAR
from studies.spade.measuring import Found
from studies.spade.results import measure
from studies.spade_cifar.arms import SMALL_STEPS, STEPS
from studies.spade_cifar.data import read_cifar
from studies.spade_cifar.networks import CLASSES

__all__ = ["SAVED", "collect_arms", "measure_tables"]

SAVED = "spade-cifar-training.json"
WHOLE_WIDTH, ALL = 64, 50_000
REDUCED = """A reduced run, on a processor: narrow networks, trained on {images:,} of {all:,}
pictures, and scores of {tested:,} test pictures. It does not test the paper's figures, which are of
other networks; it shows in small whether scores fall as networks become more robust. The whole one
is at the end of the page."""
ROBUST = "vanilla, 8"
"""The arm of Table 4 that stands in Table 1 as radius 8."""


def _networks(state: Path) -> dict[str, dict[str, Any]]:
    files = sorted((state / "networks").glob("*.json"))
    if not files:
        raise InputError(f"{state} holds no networks: python -m studies.spade_cifar.running")
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


def measure_tables(
    data: Path, state: Path, out: Path | None = None, tell: Tell = silent, processes: int = 1
) -> Found:
    """SPADE of the networks of Table 1 over the test pictures."""
    chosen = {}
    for key, network in _networks(state).items():
        if network["table"] != "1" and network["name"] != ROBUST:
            continue
        count, _, *robust = network["hits"]["few"]
        about = {
            "radius": network["radius"] if network["table"] == "1" else 8.0,
            "seed": network["seed"],
            "clean": network["hits"]["clean"][1] / network["hits"]["clean"][0],
            "robust": [hits / count for hits in robust],
        }
        logits = np.load(state / "logits" / f"{key}.npy").astype(np.float64)
        chosen[key] = (about, logits)
    # Seeds that only some radii have would be compared with none.
    whole = {
        seed for seed in range(100) if sum(each["seed"] == seed for each, _ in chosen.values()) > 1
    }
    chosen = {key: pair for key, pair in chosen.items() if pair[0]["seed"] in whole}
    network = next(iter(_networks(state).values()))
    logits = next(iter(chosen.values()))[1]
    test = read_cifar(data)[1].first(len(logits))
    return measure(
        test.flat(), chosen, _about(network, len(logits), whole), CIFAR, out, tell, processes
    )


def _about(network: dict[str, Any], tested: int, seeds: set[int]) -> dict[str, Any]:
    attacked = network["hits"]["few"][0]
    width, images = network["width"], network["images"]
    text = f"""ResNet-18 whose first stage has {width} channels ({WHOLE_WIDTH} are usual; the
        paper's have 50 layers in Fig. 3 and are not described for Table 1), trained plainly (ε = 0)
        and under PGD in L∞ balls of radius ε{CIFAR.unit}, {SMALL_STEPS} steps up to ε = 2 and
        {STEPS} at 8, {len(seeds)} seeds each: {images:,} pictures, shifted and turned over at
        random, {network["epochs"]} epochs ({network["machine"]}). Accuracy on {tested:,} test
        pictures, under attack on the first {attacked:,}; mean over seeds and its error."""
    about = {"seed": 0, "clean": tested, "attacked": attacked, "networks": text}
    return (
        about
        if images == ALL
        else about | {"reduced": REDUCED.format(images=images, all=ALL, tested=tested)}
    )


def collect_arms(state: Path) -> dict[str, Any]:
    """Hits of every arm of Table 4, attack and seed."""
    arms: dict[str, Any] = {}
    machine, seconds, epochs = "", 0.0, 0
    for network in _networks(state).values():
        if network["table"] != "4":
            continue
        machine, epochs = network["machine"], network["epochs"]
        seconds += sum(network["seconds"])
        arm = arms.setdefault(network["name"], {"hits": {}, "seeds": []})
        arm["seeds"].append(network["seed"])
        count, _, *robust = network["hits"]["many"]
        of, clean = network["hits"]["clean"]
        for attack, hits, asked in (
            ("clean", clean, of),
            *(
                (f"10PGD-50, {radius}", hits, count)
                for radius, hits in zip((2, 4, 8), robust, strict=True)
            ),
        ):
            held = arm["hits"].setdefault(attack, {"hits": [], "count": asked})
            held["hits"].append(hits)
    about = {"machine": machine, "epochs": epochs, "seconds": round(seconds, 1), "steps": STEPS}
    return {"about": about | {"classes": CLASSES}, "arms": arms}


def main() -> None:
    """Write both files."""
    reader = argparse.ArgumentParser(description="The results of the study of CIFAR-10.")
    reader.add_argument("--data", type=Path, required=True)
    reader.add_argument("--state", type=Path, required=True)
    reader.add_argument("--out", type=Path, required=True)
    reader.add_argument("--processes", type=int, default=1)
    given = reader.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with whole_file(given.out / SAVED) as temporary:
        text = json.dumps(collect_arms(given.state), indent=1)
        Path(temporary).write_text(text + "\n", encoding="utf-8")

    def tell(line: str) -> None:
        print(line, flush=True)

    out = given.out / f"{CIFAR.name}.json"
    measure_tables(given.data, given.state, out, tell, given.processes)


if __name__ == "__main__":
    main()
