"""Gamma beside the validation loss, for a plain loop and for Lightning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike

from anharmonic._core.protocols import Array
from anharmonic.errors import MissingExtra
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.setup.settling import setup_arguments_in
from anharmonic.models.torch import evaluating, placed_on, scores_in
from anharmonic.scores import Scores
from anharmonic.training.loops import Epoch

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["GammaLog", "lightning_callback"]


@dataclass(frozen=True)
class GammaLog:
    """A hook for `train`: gamma, and with `labels` the loss, at points kept for validation.

    Parameters
    ----------
    points, labels
        Points (rows, …), and their classes (rows,) where the loss is wanted too.
    radius, scale, output, seed, reference, moving, bounds, batch_size
        As in `gamma`. The radius has to be the same every time to compare epochs: "auto" depends
        on the points alone, so it is.
    every
        Measure after so many epochs.
    scores
        What was measured, by epoch.
    """

    points: Array
    labels: Array | None = None
    radius: float | Literal["auto"] = "auto"
    scale: ArrayLike | Literal["auto"] | None = "auto"
    output: object = None
    every: int = 1
    seed: int = 0
    scores: dict[int, Scores] = field(default_factory=dict)
    reference: object = None
    moving: Sequence[str | int] | None = None
    bounds: object = None
    batch_size: int | None = None

    def __call__(self, module: Module, epoch: Epoch) -> dict[str, float]:
        """What is logged after an epoch."""
        if (epoch.number + 1) % self.every:
            return {}
        return self.logged(module, epoch.number)

    def logged(self, module: Module, number: int) -> dict[str, float]:
        """Measure now, and keep the scores under a number.

        Parameters
        ----------
        module
            As it is now.
        number
            Of the epoch.
        """
        points: object = self.points
        scores = gamma(module, points, ball="auto pairs", **setup_arguments_in(self))
        self.scores[number] = scores
        values = {"gamma": scores.mean, "gamma_error": scores.error}
        if self.labels is not None:
            values["validation_loss"] = self._loss(module)
        return values

    def _loss(self, module: Module) -> float:
        """Mean cross entropy at the validation points, in eval mode."""
        import torch

        points = placed_on(self.points, module)
        labels = torch.as_tensor(self.labels).to(points.device)
        with evaluating(module), torch.no_grad():
            return float(torch.nn.functional.cross_entropy(scores_in(module(points)), labels))


def lightning_callback(log: GammaLog) -> Any:
    """A Lightning callback that logs "gamma" and its error when a validation epoch ends.

    It uses `lightning` or `pytorch_lightning`, whichever is there.

    Parameters
    ----------
    log
        What to measure, and how often.
    """
    try:
        from lightning.pytorch import Callback
    except ImportError:
        try:
            from pytorch_lightning import Callback
        except ImportError as problem:
            raise MissingExtra("lightning", "lightning") from problem

    class GammaCallback(Callback):  # type: ignore[misc]
        def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            """Measure the module as it is now."""
            if trainer.sanity_checking or (trainer.current_epoch + 1) % log.every:
                return
            for name, value in log.logged(pl_module, trainer.current_epoch).items():
                pl_module.log(name, value, prog_bar=name == "gamma")

    return GammaCallback()
