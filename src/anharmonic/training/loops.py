"""A training loop that stops at the first NaN, can be resumed, and reports every epoch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Array, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import TrainingStream
from anharmonic.errors import SettingsError, TrainingStopped
from anharmonic.models.torch import placed_on
from anharmonic.training.objectives import Batch, Objective, plain

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from torch.optim import Optimizer

__all__ = ["Epoch", "train"]


@dataclass(frozen=True)
class Epoch:
    """One pass over the data.

    Parameters
    ----------
    number
        From 0.
    losses
        The mean loss of each stacked network.
    steps, seconds
        What it took.
    logged
        What the hooks returned.
    """

    number: int
    losses: tuple[float, ...]
    steps: int
    seconds: float
    logged: dict[str, object] = field(default_factory=dict)

    @property
    def loss(self) -> float:
        """The mean loss of all stacked networks."""
        return sum(self.losses) / len(self.losses)


Hook = Callable[[Any, Epoch], Mapping[str, object] | None]
"""Called with the module and the epoch that ended; what it returns is logged with the epoch."""


def train(
    module: Module,
    points: Array,
    labels: Array,
    *,
    objective: Objective = plain,
    epochs: int = 1,
    batch_size: int = 128,
    rate: float = 1e-3,
    optimizer: Optimizer | None = None,
    seed: int = 0,
    checkpoint: str | Path | None = None,
    hooks: Sequence[Hook] = (),
    progress: Callable[[int, int], None] | None = None,
) -> list[Epoch]:
    """Train a module in place, and give an account of each epoch.

    Parameters
    ----------
    module
        A torch module; its `copies` stacked networks (see `stacked`) are trained side by side.
    points, labels
        Points (rows, …) and class numbers (rows,); they go to the module's device.
    objective
        `plain`, `Adversarial(…)`, `Penalised(…)` or any loss per row.
    epochs, batch_size
        Passes over the data, and rows per step.
    rate, optimizer
        Adam with this learning rate, or another optimizer.
    seed
        The data are shuffled by (seed, epoch), so an interrupted run ends where an uninterrupted
        one would.
    checkpoint
        A file, written whole after each epoch, and gone on from where it exists.
    hooks
        Called after each epoch with the module and the epoch.
    progress
        Called with steps made and steps in all.

    Notes
    -----
    A loss that is NaN or infinite raises `TrainingStopped` before any weight is changed by it.
    """
    import torch

    points = placed_on(points, module)
    labels = torch.as_tensor(labels).to(points.device)
    optimizer = optimizer or torch.optim.Adam(module.parameters(), lr=rate)
    file = None if checkpoint is None else Path(checkpoint)
    schedule = _Schedule(len(points), batch_size, epochs, seed, getattr(module, "copies", 1))
    history = _read_checkpoint(module, optimizer, file, schedule)
    for number in range(len(history), epochs):
        begun = time.perf_counter()
        order = schedule.order(number)
        sums = torch.zeros(schedule.copies, device=points.device)
        module.train()
        for batch, rows in enumerate(order):
            step = number * len(order) + batch
            sums = sums + _step(module, optimizer, objective, points, labels, rows, step, file)
            if progress is not None:
                progress(step + 1, epochs * len(order))
        losses = tuple((sums / len(order)).tolist())
        epoch = Epoch(number, losses, len(order), time.perf_counter() - begun)
        for hook in hooks:
            epoch.logged.update(hook(module, epoch) or {})
        history.append(epoch)
        if file is not None:
            _write_checkpoint(file, module, optimizer, history, schedule)
    return history


@dataclass(frozen=True)
class _Schedule:
    """In which order rows come; also what two halves of one run must have in common."""

    rows: int
    batch_size: int
    epochs: int
    seed: int
    copies: int

    def order(self, epoch: int) -> Integers:
        """Row numbers (steps, copies · batch): every stacked network has an order of its own."""
        size = min(self.batch_size, self.rows)
        steps = self.rows // size
        orders = [
            generator(self.seed, TrainingStream.BATCH_ORDER, epoch, copy).permutation(self.rows)[
                : steps * size
            ]
            for copy in range(self.copies)
        ]
        # (copies, steps, batch) to (steps, copies · batch): each network's rows stay together.
        shaped = np.stack(orders).reshape(self.copies, steps, size)
        return shaped.transpose(1, 0, 2).reshape(steps, -1)


def _step(
    module: Module,
    optimizer: Optimizer,
    objective: Objective,
    points: Tensor,
    labels: Tensor,
    rows: Integers,
    step: int,
    file: Path | None,
) -> Tensor:
    """One step; the mean loss of each stacked network, kept on the device."""
    import torch

    index = torch.from_numpy(rows).to(points.device)
    losses = objective(module, Batch(points[index], labels[index], rows, step))
    # (copies,): the first network's rows come first.
    means = losses.reshape(getattr(module, "copies", 1), -1).mean(dim=1)
    if not math.isfinite(means.detach().sum().item()):
        stopped = TrainingStopped(
            f"the loss is NaN or infinite at step {step}, and no weight was changed by it. "
            + (f"The last good checkpoint is {file}" if file and file.exists() else "")
            + ": lower rate=, or look at the rows of that step"
        )
        stopped.step, stopped.checkpoint = step, file if file and file.exists() else None
        raise stopped
    optimizer.zero_grad(set_to_none=True)
    # A sum, so that each network gets the gradient it would get alone.
    torch.autograd.backward(means.sum())
    optimizer.step()
    return means.detach()


def _write_checkpoint(
    file: Path, module: Module, optimizer: Optimizer, history: list[Epoch], schedule: _Schedule
) -> None:
    """Write all that is needed to go on, whole or not at all."""
    import torch

    state = {
        "module": module.state_dict(),
        "optimizer": optimizer.state_dict(),
        "history": [vars(epoch) for epoch in history],
        "settings": vars(schedule),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file) as temporary:
        torch.save(state, temporary)


def _read_checkpoint(
    module: Module, optimizer: Optimizer, file: Path | None, schedule: _Schedule
) -> list[Epoch]:
    """Put module and optimizer where a checkpoint left them; the epochs it has seen."""
    import torch

    if file is None or not file.exists():
        return []
    state = torch.load(file, weights_only=True)
    same = ("rows", "batch_size", "seed", "copies")
    differing = [name for name in same if state["settings"][name] != getattr(schedule, name)]
    if differing:
        raise SettingsError(
            f"{file} was written by a run with another {', '.join(differing)}: go on with the "
            "same arguments, or name another checkpoint"
        )
    module.load_state_dict(state["module"])
    optimizer.load_state_dict(state["optimizer"])
    return [Epoch(**epoch) for epoch in state["history"]]
