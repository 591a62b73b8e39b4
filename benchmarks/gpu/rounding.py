"""What the fast precisions of a GPU cost a real network: their error as a share of gamma.

Each precision against single precision without shortcuts, the same directions around the same
photos. Needs torch, a CUDA device, and what `python -m studies.images` takes:

    python -m benchmarks.gpu.rounding resnet50 --weights FOLDER --photos FOLDER
"""

from __future__ import annotations

import argparse
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal

import torch

import anharmonic as ah
from studies.images.__main__ import read_photos
from studies.images.networks import NETWORKS, Network, loaded

PHOTOS = 60
PLACES = (("dense pairs", 100.0), ("dense pairs", 1000.0), ("onehot pairs", 100.0))


class Precise(torch.nn.Module):
    """A network that sets the device's shortcuts before each call, whoever was asked before."""

    def __init__(self, network: Any, shortcuts: bool = True, rounded: bool = False) -> None:
        super().__init__()
        self.network, self.shortcuts, self.rounded = network, shortcuts, rounded

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = self.shortcuts
        with torch.autocast("cuda", torch.bfloat16, enabled=self.rounded):
            answers: torch.Tensor = self.network(pixels).float()
        return answers


def versions(network: Network) -> dict[str, Precise]:
    """The exact one first."""

    def made(precision: Literal["float16"] | None = None) -> Any:
        module = deepcopy(network.module).eval()
        how = network.preprocessing
        return ah.images.classifier(module, how, device="cuda", precision=precision)

    return {
        "float32": Precise(made(), shortcuts=False),
        "tf32": Precise(made()),
        "float16, last layer float32": Precise(made("float16")),
        "bfloat16": Precise(made(), rounded=True),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=list(NETWORKS))
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--photos", type=Path, required=True)
    asked = parser.parse_args()
    network = loaded(asked.network, asked.weights, "cuda")
    photos, _ = read_photos(asked.photos, PHOTOS)
    (_, exact), *others = versions(network).items()
    for ball, radius in PLACES:
        for name, model in others:
            found = ah.images.rounding(
                model, exact, photos, radius=radius, ball=ball, bounds=(0, 255)
            )
            print(f"{network.name}, {ball} at {radius:g}, {name}: {found}", flush=True)


if __name__ == "__main__":
    main()
