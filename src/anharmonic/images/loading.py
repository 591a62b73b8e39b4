"""Image classifiers from where people keep them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from anharmonic._core.extras import needs
from anharmonic._core.protocols import Array
from anharmonic.errors import NotAModel, SettingsError, first_line
from anharmonic.images.preprocessing import IMAGENET, Preprocessing
from anharmonic.models.files import load
from anharmonic.models.onnx import Graph

if TYPE_CHECKING:
    from anharmonic.images.network import Classifier

__all__ = ["classifier"]


def classifier(
    source: object,
    preprocessing: Preprocessing | None = None,
    *,
    classes: Sequence[str] | None = None,
    device: str | None = None,
    precision: Literal["float16"] | None = None,
    trust: bool = False,
) -> Classifier | OnnxClassifier:
    """A classifier of pixels, that goes wherever a model does.

    It is a torch module, except for ONNX, where it is a function.

    Parameters
    ----------
    source
        A torch module, an ONNX file, or the id or folder of a transformers model.
    preprocessing
        What a transformers model declares, else `IMAGENET`, unless given.
    classes
        Names in the order of its outputs; another number of them is refused at the first call.
    device
        Where to move it.
    precision : None or "float16"
        "float16" is the fast mode of a GPU: a copy of the network in half precision but for its
        last layer; `rounding` says what that costs.
    trust
        Whether to read weights that are kept as pickles.

    Examples
    --------
    >>> import torch
    >>> tiny = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2))
    >>> model = classifier(tiny, Preprocessing((2, 2)), classes=("cat", "dog"))
    >>> tuple(model(torch.zeros(5, 10, 10)).shape)
    (5, 2)
    """
    needs("torch", "images")
    import torch

    from anharmonic.images.network import Classifier, halved

    if precision not in (None, "float16"):
        raise SettingsError(
            f"precision={precision!r}: leave it out, or take float16 with a float32 last layer. "
            "bfloat16 keeps three digits, and its error was up to two fifths of gamma"
        )
    named = None if classes is None else tuple(str(name) for name in classes)
    if isinstance(source, torch.nn.Module):
        model = Classifier(source, preprocessing or IMAGENET, named)
    elif str(source).endswith(".onnx"):
        if precision is not None:
            raise SettingsError("an ONNX file has its precision in it: convert the file instead")
        graph = load(Path(str(source)), trust)
        assert isinstance(graph, Graph)
        return OnnxClassifier(graph, preprocessing or IMAGENET, named)
    elif isinstance(source, str | Path):
        model = _transformers(str(source), preprocessing, named, trust)
    else:
        raise NotAModel(
            f"A {type(source).__name__} is no image classifier: give a torch module, an .onnx "
            "file, or a transformers model's id or folder."
        )
    if precision is not None:
        model = Classifier(halved(model.network), model.preprocessing, model.classes)
    return model if device is None else model.to(device)


def _transformers(
    source: str, preprocessing: Preprocessing | None, classes: tuple[str, ...] | None, trust: bool
) -> Classifier:
    needs("transformers", "images")
    from transformers import AutoImageProcessor, AutoModelForImageClassification

    from anharmonic.images.network import Classifier

    try:
        network = AutoModelForImageClassification.from_pretrained(
            source, use_safetensors=None if trust else True
        )
        declared = preprocessing or Preprocessing.of_processor(
            AutoImageProcessor.from_pretrained(source)
        )
    except (OSError, ValueError, KeyError) as problem:
        raise NotAModel(
            f"{source} cannot be loaded as an image classifier ({first_line(problem)}): give a "
            "model's id or a folder that save_pretrained wrote; weights that are pickles need "
            "trust=True."
        ) from problem
    labels = network.config.id2label
    names = tuple(str(labels[index]) for index in sorted(labels))
    return Classifier(network.eval(), declared, classes or names)


@dataclass(frozen=True, eq=False)
class OnnxClassifier:
    """A function on pixels: torch prepares them, onnxruntime runs the graph."""

    graph: Graph
    preprocessing: Preprocessing
    classes: tuple[str, ...] | None = None

    def __call__(self, pixels: Array) -> Array:
        import torch

        from anharmonic.images.network import checked, prepared

        tensor = torch.as_tensor(np.asarray(pixels), dtype=torch.float32)
        images = prepared(tensor, self.preprocessing).numpy()
        session = self.graph.session
        answer = session.run(None, {session.get_inputs()[0].name: images})[0]
        return checked(answer, self.classes)
