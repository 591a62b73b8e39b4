"""A model that counts what it is asked, so that questions of failed calls are counted too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anharmonic._core.protocols import Array, Model
from anharmonic.measures.setup.settling import Setup

__all__ = ["Counted", "with_model"]


class Counted:
    """Another model, and how many rows it was asked for.

    Parameters
    ----------
    model
        Who answers.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.asked = 0

    def __call__(self, points: Array) -> Array:
        self.asked += len(points)
        return self.model(points)

    def __getattr__(self, name: str) -> Any:
        if name == "model":  # not there yet, as while it is unpickled
            raise AttributeError(name)
        return getattr(self.model, name)


def with_model(setup: Setup, model: Any) -> Setup:
    """The same setup with another model."""
    return replace(setup, model=model, caller=setup.caller._replace(model=model))
