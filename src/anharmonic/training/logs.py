"""Gamma beside the validation loss, for a plain loop and for Lightning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anharmonic.errors import MissingExtra
from anharmonic.measures.gamma.measure import gamma
from anharmonic.models.torch import evaluating, placed_on, scores_in
from anharmonic.scores import Scores
from anharmonic.training.loops import Epoch

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["GammaLog", "lightning_callback"]


@dataclass(frozen=True)
class GammaLog:
    """A hook for `train`: gamma, and with `labels` the loss, at points kept for validation.

    `radius` has to be the same every time to compare epochs: "auto" depends on the points
    alone, so it is. `every` epochs; `scores` keeps what was measured, by epoch.
    """

    points: Any
    labels: Any = None
    radius: Any = "auto"
    scale: Any = "auto"
    output: Any = None
    every: int = 1
    seed: int = 0
    scores: dict[int, Scores] = field(default_factory=dict)

    def __call__(self, module: Module, epoch: Epoch) -> dict[str, float]:
        """What is logged after an epoch."""
        if (epoch.number + 1) % self.every:
            return {}
        return self.logged(module, epoch.number)

    def logged(self, module: Module, number: int) -> dict[str, float]:
        """Measure now, and remember under a number."""
        measured = gamma(
            module,
            self.points,
            radius=self.radius,
            scale=self.scale,
            output=self.output,
            seed=self.seed,
            ball="auto pairs",
        )
        self.scores[number] = measured
        found = {"gamma": measured.mean, "gamma_error": measured.error}
        if self.labels is not None:
            found["validation_loss"] = self._loss(module)
        return found

    def _loss(self, module: Module) -> float:
        import torch

        points = placed_on(self.points, module)
        labels = torch.as_tensor(self.labels).to(points.device)
        with evaluating(module), torch.no_grad():
            return float(torch.nn.functional.cross_entropy(scores_in(module(points)), labels))


def lightning_callback(log: GammaLog) -> Any:
    """A Lightning callback that logs "gamma" and its error when a validation epoch ends.

    It uses `lightning` or `pytorch_lightning`, whichever is there.
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
