"""`python -m studies.images.further NETWORK --photos DIR --out FOLDER`: see `measuring`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic.images import classifier
from studies.images.__main__ import read_photos
from studies.images.further.measuring import Effort, FurtherMeasuring, measured_further
from studies.images.measurements import Measurements
from studies.images.networks import NETWORKS, loaded


def main() -> None:
    asked = _arguments()
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = loaded(asked.network, asked.weights, device, print)
    module = classifier(network.module.eval().to(device), network.preprocessing)
    model = classifier(asked.onnx, network.preprocessing) if asked.onnx else module
    photos, names = read_photos(asked.photos, None)
    place = asked.out / f"{network.name.lower().replace(' ', '-')}.npz"
    facts = {
        "network": network.name,
        "seed": asked.seed,
        "photos": names,
        "device": torch.cuda.get_device_name() if device == "cuda" else "CPU",
        "torch": torch.__version__,
        "pieces": {},
    }
    found = Measurements.load(place) if place.exists() else Measurements(facts)
    effort = Effort(*(int(number) for number in asked.effort.split(",")))
    found.facts["effort"] = list(effort)
    work = FurtherMeasuring(
        model,
        module,
        np.asarray(photos, dtype=np.float32),
        effort,
        found,
        asked.seed,
        asked.batch if device == "cuda" else None,
    )
    measured_further(
        work, lambda found: found.save(asked.out), lambda line: print(line, flush=True)
    )


def _arguments() -> Any:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=list(NETWORKS))
    parser.add_argument("--photos", type=Path, required=True, help="A folder of images.")
    parser.add_argument("--weights", type=Path, help="A folder with weights.")
    parser.add_argument("--out", type=Path, required=True, help="Folder for the measurements.")
    parser.add_argument("--onnx", type=Path, help="Ask this where no gradient is needed.")
    parser.add_argument("--batch", type=int, default=672, help="Rows of a call on a GPU.")
    parser.add_argument(
        "--effort",
        default=",".join(str(int(number)) for number in Effort()),
        help="Photos for ascents, long walks, sizes, attacks; steps of PGD; colours (1 or 0).",
    )
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
