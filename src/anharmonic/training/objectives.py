"""What a training step makes smaller: plain losses, losses under attack, and added terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.models.torch import scores_in
from anharmonic.training.attacks import Attack, decided

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

__all__ = ["Adversarial", "Batch", "Objective", "plain", "spade_radii"]


class Batch(NamedTuple):
    """Points (rows, …) and labels (rows,), their row numbers in the data, and the step's number."""

    points: Tensor
    labels: Tensor
    rows: Any
    step: int


class Objective(Protocol):
    """A loss for every row of a batch, (rows,)."""

    def __call__(self, module: Module, batch: Batch) -> Tensor: ...


def plain(module: Module, batch: Batch) -> Tensor:
    """Cross entropy of the points as they are."""
    from torch.nn.functional import cross_entropy

    return cross_entropy(scores_in(module(batch.points)), batch.labels, reduction="none")


def spade_radii(scores: Any, small: float, large: float, share: float = 0.75) -> Floats:
    """A radius for each row: `large` for the share with the largest node scores, else `small`.

    >>> spade_radii([3.0, 1.0, 2.0, 0.0], small=0.2, large=0.4, share=0.5).tolist()
    [0.4, 0.2, 0.4, 0.2]
    """
    values = np.asarray(getattr(scores, "values", scores), dtype=np.float64)
    radii = np.full(len(values), small)
    # A point without a score is not known to be fragile.
    order = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")
    radii[order[: round(share * len(values))]] = large
    return radii


@dataclass(frozen=True)
class Adversarial:
    """Cross entropy of the points after an attack (Madry et al., 2018).

    - `radii`: one for each row of the data (rows,), or for each stacked network and row
      (networks, rows), or None for the attack's own. `spade_radii` makes them from node scores.
    - `warm`: steps over which radii grow from 0 to their size; a large ball from the first step
      on can teach a small network one answer for everything.
    - `spare_misclassified`: rows the module gets wrong already are not attacked.
    """

    attack: Attack
    radii: Any = None
    warm: int = 0
    spare_misclassified: bool = False

    def __call__(self, module: Module, batch: Batch) -> Tensor:
        import torch

        radii = torch.as_tensor(
            self._radii(batch), dtype=batch.points.dtype, device=batch.points.device
        )
        if self.warm:
            radii = radii * min(1.0, (batch.step + 1) / self.warm)
        if self.spare_misclassified:
            radii = radii * (decided(module, batch.points) == batch.labels)
        attack = self.attack.within(radii)
        moved = attack(module, batch.points, batch.labels, np.asarray(batch.rows), batch.step + 1)
        return plain(module, batch._replace(points=moved.detach()))

    def _radii(self, batch: Batch) -> Any:
        if self.radii is None:
            return self.attack.radius
        every = np.asarray(self.radii)
        if every.ndim == 1:
            return every[batch.rows]
        return every[np.arange(len(batch.rows)) * len(every) // len(batch.rows), batch.rows]
