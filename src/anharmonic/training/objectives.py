"""What a training step makes smaller: plain losses, losses under attack, and added terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.models.torch import scores_in
from anharmonic.scores import Scores
from anharmonic.training.attacks import Attack, decided

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

__all__ = ["Adversarial", "Batch", "Objective", "plain", "spade_radii"]


class Batch(NamedTuple):
    """What a training step sees.

    Parameters
    ----------
    points, labels
        Points (rows, …) and class numbers (rows,).
    rows
        Their row numbers in the data, (rows,).
    step
        The step's number, from 0.
    """

    points: Tensor
    labels: Tensor
    rows: Integers
    step: int


class Objective(Protocol):
    """A loss for every row of a batch, (rows,)."""

    def __call__(self, module: Module, batch: Batch) -> Tensor: ...


def plain(module: Module, batch: Batch) -> Tensor:
    """Cross entropy of the points as they are, (rows,).

    Parameters
    ----------
    module, batch
        A torch module, and the rows of a step.
    """
    from torch.nn.functional import cross_entropy

    return cross_entropy(scores_in(module(batch.points)), batch.labels, reduction="none")


def spade_radii(
    scores: Scores | ArrayLike, small: float, large: float, share: float = 0.75
) -> Floats:
    """A radius for each row: `large` for the share with the largest node scores, else `small`.

    Parameters
    ----------
    scores
        Node scores of `spade`, or an array (rows,).
    small, large
        The two radii.
    share
        Of the rows that get the large one.

    Examples
    --------
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
    """Cross entropy of the points after an attack.

    Parameters
    ----------
    attack
        What moves the points.
    radii
        One for each row of the data (rows,), or for each stacked network and row (networks,
        rows), or None for the attack's own. `spade_radii` makes them from node scores.
    warm
        Steps over which radii grow from 0 to their size; a large ball from the first step on can
        teach a small network one answer for everything.
    spare_misclassified
        Rows the module gets wrong already are not attacked.

    References
    ----------
    Madry et al., 2018.
    """

    attack: Attack
    radii: ArrayLike | None = None
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

    def _radii(self, batch: Batch) -> Array:
        """The radii of a batch's rows, (rows,), or the attack's own."""
        if self.radii is None:
            return self.attack.radius
        radii = np.asarray(self.radii)
        if radii.ndim == 1:
            return radii[batch.rows]
        # The first network's rows come first.
        network = np.arange(len(batch.rows)) * len(radii) // len(batch.rows)
        return radii[network, batch.rows]
