"""A model that travels by its name: whoever receives it loads it anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anharmonic._core.protocols import Array, Kind, Model
from anharmonic.models.inputs import Inputs
from anharmonic.models.recognition import as_model

__all__ = ["NamedModel", "load_by_name"]


@dataclass(frozen=True)
class NamedModel:
    """A loaded model, and the name it was loaded by; pickled, it is the name alone.

    So a GPU's model is loaded where the GPU is, and gigabytes of weights stay in their file.
    """

    model: Model
    source: str
    output: object = None
    trust: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        return load_by_name, (self.source, self.output, self.trust)

    def __call__(self, points: Array) -> Array:
        return self.model(points)

    def place(self, points: Array) -> Array:
        """Copy points to where the model lives, in the precision it computes in."""
        return self.model.place(points)

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def kind(self) -> Kind:
        return self.model.kind

    @property
    def classes(self) -> tuple[object, ...] | None:
        return self.model.classes

    @property
    def batch_size(self) -> int | None:
        return self.model.batch_size

    @property
    def inputs(self) -> Inputs | None:
        """Which columns of a table it takes, where it knows."""
        return getattr(self.model, "inputs", None)


def load_by_name(source: str, output: object = None, trust: bool = False) -> NamedModel:
    """Load a model by its name: a file, `package.module:attribute`, or an address.

    Parameters
    ----------
    source, output, trust
        As in `as_model`.
    """
    return NamedModel(as_model(source, output=output, trust=trust), source, output, trust)
