"""A model that counts what it is asked, so that questions of failed calls are counted too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anharmonic._core.protocols import Array, Model, Pullback
from anharmonic.measures.setup.settling import Setup
from anharmonic.models.gradients import pullback_of

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

    @property
    def pullback(self) -> Pullback | None:
        """As the model's own."""
        return pullback_of(self.model)

    def since(self, before: int) -> int:
        """Rows that were asked for after there had been so many."""
        return self.asked - before


def with_model(setup: Setup, model: Any) -> Setup:
    """The same setup with another model."""
    return replace(setup, model=model, caller=setup.caller._replace(model=model))
