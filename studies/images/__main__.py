"""Measure one network and write the measurements: `python -m studies.images`."""

from __future__ import annotations

import argparse
import platform
import time
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from studies.images.measurements import Measurements
from studies.images.measuring import FULL, measured
from studies.images.networks import NETWORKS, Network, loaded

BATCH = 672
"""Rows of a call: ten directions around 67 neighbours, almost without a rest."""


def main() -> None:
    asked = _arguments()
    import torch

    begun = time.perf_counter()

    def tell(line: str) -> None:
        print(f"{time.perf_counter() - begun:7.1f} s  {line}", flush=True)

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        torch.backends.cudnn.benchmark = True
        torch.set_float32_matmul_precision("high")
    tell(f"torch {torch.__version__} on {device}")
    network = loaded(asked.network, asked.weights, device, tell)
    if asked.network == "vit" and not (asked.weights / "config.json").exists():
        from studies.images.attention import save

        save(network.module.network, asked.out / "vit")
    photos, names = read_photos(asked.photos, asked.few)
    model, batch = _model(network, device, asked, tell)
    facts = network.facts | {
        "device": torch.cuda.get_device_name() if device == "cuda" else platform.processor(),
        "precision": "half, last layer single" if device == "cuda" else "single",
        "photos": names,
        "torch": torch.__version__,
        "date": date.today().isoformat(),
    }
    effort = FULL._replace(gamma_seconds=asked.gamma_seconds, neighbours=asked.neighbours)
    if asked.tiny:
        effort = effort._replace(neighbours=6, directions=3, gamma_directions=2)
    found = measured(
        model,
        photos,
        network.name,
        effort,
        keep=lambda found: found.save(asked.out),
        tell=tell,
        seed=asked.seed,
        batch=batch,
        facts=facts,
        resume=None if asked.resume is None else Measurements.load(asked.resume),
    )
    tell(f"written: {found.save(asked.out)}")


def _arguments() -> Any:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=list(NETWORKS))
    parser.add_argument("--photos", type=Path, required=True, help="A folder of images, or .npz.")
    parser.add_argument("--weights", type=Path, help="A folder with weights or training data.")
    parser.add_argument("--out", type=Path, required=True, help="Folder for the measurements.")
    parser.add_argument("--resume", type=Path, help="Measurements to go on from.")
    parser.add_argument("--neighbours", type=int, default=FULL.neighbours, help="Of each kind.")
    parser.add_argument("--onnx", type=Path, help="On a processor: ask this, the same network.")
    parser.add_argument("--gamma-seconds", type=float, default=float("inf"))
    parser.add_argument("--batch", type=int, default=BATCH, help="Rows of a call on a GPU.")
    parser.add_argument("--plain", action="store_true", help="Do not compile.")
    parser.add_argument("--few", type=int, help="Only so many photos.")
    parser.add_argument("--tiny", action="store_true", help="Ask as little as possible: a trial.")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def read_photos(source: Path, few: int | None) -> tuple[Any, list[str]]:
    """Grey photos (photos, 100, 100) and their names."""
    if source.is_dir():
        from anharmonic.images import read_images

        read = read_images(source)
        return read.pixels[:few], list(read.names[:few])
    with np.load(source) as file:
        return file["pixels"][:few].astype(np.float32), [str(name) for name in file["names"][:few]]


def _model(network: Network, device: str, asked: Any, tell: Any) -> tuple[Any, int | None]:
    from anharmonic.images import classifier

    if device == "cpu":
        return classifier(asked.onnx or network.module.eval(), network.preprocessing), None
    from studies.images.fast import Fast

    fast = Fast(
        network.module,
        network.preprocessing,
        asked.batch,
        device,
        compiling=not asked.plain,
        tell=tell,
    )
    return fast, asked.batch


if __name__ == "__main__":
    main()
