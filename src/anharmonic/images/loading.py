"""Image classifiers from where people keep them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from anharmonic.errors import MissingExtra, NotAModel, SettingsError, first_line
from anharmonic.images.preprocessing import IMAGENET, Preprocessing
from anharmonic.models.files import load

__all__ = ["classifier"]


def classifier(
    source: Any,
    preprocessing: Preprocessing | None = None,
    *,
    classes: Sequence[str] | None = None,
    device: str | None = None,
    precision: Literal["float16"] | None = None,
    trust: bool = False,
) -> Any:
    """A classifier of pixels: a torch module, an ONNX file, or a transformers id or folder.

    `preprocessing` is what a transformers model declares, else `IMAGENET`, unless given. The
    result goes wherever a model does; it is a torch module, except for ONNX, where it is a
    function. `classes` are names in the order of its outputs; another number of them is refused
    when it first answers. `device` moves it. `precision="float16"` is the fast mode of a GPU: a
    copy of the network in half precision but for its last layer; `rounding` says what that
    costs. Weights kept as pickles are only read with `trust`.

    >>> import torch
    >>> tiny = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2))
    >>> model = classifier(tiny, Preprocessing((2, 2)), classes=("cat", "dog"))
    >>> tuple(model(torch.zeros(5, 10, 10)).shape)
    (5, 2)
    """
    try:
        import torch

        from anharmonic.images.network import Classifier, halved
    except ImportError as problem:
        raise MissingExtra("torch", "images") from problem
    if precision not in (None, "float16"):
        raise SettingsError(
            f"precision={precision!r}: leave it out, or take float16 with a float32 last layer. "
            "bfloat16 keeps three digits, and its error was up to two fifths of gamma"
        )
    named = None if classes is None else tuple(str(each) for each in classes)
    if isinstance(source, torch.nn.Module):
        found = Classifier(source, preprocessing or IMAGENET, named)
    elif str(source).endswith(".onnx"):
        if precision is not None:
            raise SettingsError("an ONNX file has its precision in it: convert the file instead")
        return OnnxClassifier(load(Path(source), trust), preprocessing or IMAGENET, named)
    elif isinstance(source, str | Path):
        found = _transformers(str(source), preprocessing, named, trust)
    else:
        raise NotAModel(
            f"A {type(source).__name__} is no image classifier: give a torch module, an .onnx "
            "file, or a transformers model's id or folder."
        )
    if precision is not None:
        found = Classifier(halved(found.network), found.preprocessing, found.classes)
    return found if device is None else found.to(device)


def _transformers(
    source: str, given: Preprocessing | None, classes: tuple[str, ...] | None, trust: bool
) -> Any:
    try:
        from transformers import AutoImageProcessor, AutoModelForImageClassification
    except ImportError as problem:
        raise MissingExtra("transformers", "images") from problem
    from anharmonic.images.network import Classifier

    try:
        network = AutoModelForImageClassification.from_pretrained(
            source, use_safetensors=None if trust else True
        )
        declared = given or Preprocessing.of_processor(AutoImageProcessor.from_pretrained(source))
    except (OSError, ValueError, KeyError) as problem:
        raise NotAModel(
            f"{source} cannot be loaded as an image classifier ({first_line(problem)}): give a "
            "model's id or a folder that save_pretrained wrote; weights that are pickles need "
            "trust=True."
        ) from problem
    labels = network.config.id2label
    known = tuple(str(labels[index]) for index in sorted(labels))
    return Classifier(network.eval(), declared, classes or known)


@dataclass(frozen=True, eq=False)
class OnnxClassifier:
    """A function on pixels: prepared by torch, answered by onnxruntime."""

    graph: Any
    preprocessing: Preprocessing
    classes: tuple[str, ...] | None = None

    def __call__(self, pixels: Any) -> Any:
        import torch

        from anharmonic.images.network import checked, prepared

        tensor = torch.as_tensor(np.asarray(pixels), dtype=torch.float32)
        images = prepared(tensor, self.preprocessing).numpy()
        session = self.graph.session
        answer = session.run(None, {session.get_inputs()[0].name: images})[0]
        return checked(answer, self.classes)
