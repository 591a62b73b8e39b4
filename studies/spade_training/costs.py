"""What a training step costs, on the processor and for one network."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.randomness import generator
from anharmonic.training import Adversarial, Attack, Batch, Penalised, lenet5, plain
from anharmonic.training.objectives import Objective
from studies.spade_training.shares import estimate
from studies.streams import SpadeStream

__all__ = ["step_costs"]

ROUNDS = 7


def step_costs(batch_size: int, steps: int, radius: float, seed: int = 0) -> dict[str, Estimate]:
    """How many plain steps each kind of step takes, by the processor's time.

    Kinds take turns, so that whatever else the machine does is shared among them.
    """
    import torch

    kinds: dict[str, Objective] = {
        "plain": plain,
        "gamma penalty": Penalised(radius, 1.0),
        f"PGD, {steps} steps": Adversarial(Attack(0.2, steps=steps)),
    }
    random, module = generator(seed, SpadeStream.TRAINING_COSTS), lenet5(seed)
    images = torch.from_numpy(random.random((batch_size, 1, 28, 28), dtype=np.float32))
    labels = torch.from_numpy(random.integers(0, 10, batch_size))
    optimizer = torch.optim.Adam(module.parameters())
    rows = np.arange(batch_size)
    spent = np.array(
        [
            [
                _spent(_step(each, module, Batch(images, labels, rows, at), optimizer))
                for each in kinds.values()
            ]
            for at in range(ROUNDS + 1)
        ]
    )[1:]  # the first warms up
    ratios = spent[:, 1:] / spent[:, :1]
    return {name: estimate(ratios[:, at]) for at, name in enumerate(list(kinds)[1:])}


def _step(objective: Objective, module: Any, batch: Batch, optimizer: Any) -> Callable[[], None]:
    import torch

    def step() -> None:
        optimizer.zero_grad()
        torch.autograd.backward(objective(module, batch).mean())
        optimizer.step()

    return step


def _spent(work: Callable[[], None]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun
