"""A few photos measured on this machine, with whatever classifier there is."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

from anharmonic.errors import InputError
from anharmonic.images import classifier, read_images
from studies.images.measurements import Measurements
from studies.images.measuring import REDUCED, Effort, measured
from studies.images.networks import loaded
from studies.page import Tell, silent

__all__ = ["few_photos"]

PHOTOS = 20


def few_photos(
    data: Path,
    model: str | None = None,
    seed: int = 0,
    tell: Tell = silent,
    effort: Effort = REDUCED,
) -> Measurements:
    """Measure every so many of a folder's photos: 20 in all, a few minutes on two cores.

    `model` is what `images.classifier` takes, a folder, an id or an .onnx file; without one it is
    EfficientNet-Lite0, which its packages must carry.
    """
    read = read_images(data)
    if len(read.pixels) < 4:
        raise InputError(f"{data} holds {len(read.pixels)} photos: four are the fewest to rank")
    every = max(1, len(read.pixels) // PHOTOS)
    photos, names = read.pixels[::every][:PHOTOS], list(read.names[::every][:PHOTOS])
    network, name, facts = _network(model, tell)
    about = {"device": f"CPU ({platform.machine()})", "precision": "single", "photos": names}
    return measured(network, photos, name, effort, tell=tell, seed=seed, facts=facts | about)


def _network(model: str | None, tell: Tell) -> tuple[Any, str, dict[str, Any]]:
    if model is not None:
        return classifier(model), Path(model).stem, {}
    found = loaded("lite0", tell=tell)
    return classifier(found.module.eval(), found.preprocessing), found.name, found.facts
