"""Accuracy under PGD with restarts, many pictures and radii in one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from studies.spade_cifar.training import Trainer, as_graph, ascend, logits_of

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Assault", "Attacker"]


class Assault(NamedTuple):
    """Radii in shares of the grey scale, each with this many steps and restarts."""

    radii: tuple[float, ...]
    steps: int
    restarts: int
    stride: float | None = None
    """The length of a step; 2.5·radius/steps where None."""


class Attacker:
    """PGD on the network that a trainer holds, a few steps at a time as one CUDA graph."""

    def __init__(self, trainer: Trainer, chunk: int = 10) -> None:
        self.trainer, self.chunk = trainer, chunk
        # Batches as large as in training: another size would be compiled anew.
        size = len(trainer.points)
        like = torch.zeros((size, 3, 32, 32), device=trainer.device)
        like = like.to(memory_format=torch.channels_last)
        self.centres, self.points = like.clone(), like.clone()
        self.labels = torch.zeros(size, dtype=torch.int64, device=trainer.device)
        self.radii, self.strides = (torch.zeros(size, device=trainer.device) for _ in range(2))
        self.replay = as_graph(self._climb) if trainer.cuda else self._climb

    def _climb(self) -> None:
        self.trainer.module.eval().requires_grad_(False)
        moved = ascend(
            self.trainer.forward,
            self.centres,
            self.points,
            self.labels,
            self.radii,
            self.strides,
            self.chunk,
        )
        self.points.copy_(moved)

    def hits(self, images: Tensor, labels: Tensor, assault: Assault, seed: int) -> list[int]:
        """How many pictures (rows, 32, 32, 3) keep their label, clean and for each radius.

        Decisions are made in float32; a picture that is lost once is not attacked again.
        """
        clean = logits_of(self.trainer.module, images).argmax(1) == labels
        rows = len(images)
        # One entry per radius and picture.
        kept = clean.repeat(len(assault.radii))
        radii = torch.tensor(assault.radii, device=labels.device).repeat_interleave(rows)
        random = torch.Generator(self.trainer.device).manual_seed(seed)
        for _ in range(assault.restarts):
            alive = torch.nonzero(kept)[:, 0]
            if not len(alive):
                break
            for few in torch.split(alive, len(self.labels)):
                kept[few] = self._survive(images, labels, few, radii[few], assault, random)
        counts = kept.reshape(len(assault.radii), rows).sum(1)
        return [int(clean.sum()), *counts.tolist()]

    def _survive(
        self,
        images: Tensor,
        labels: Tensor,
        entries: Tensor,
        radii: Tensor,
        assault: Assault,
        random: torch.Generator,
    ) -> Tensor:
        """Whether each entry keeps its label; the batch is filled up with the first entry."""
        size, count = len(self.labels), len(entries)
        filled = torch.cat([entries, entries[:1].expand(size - count)])
        pictures = filled % len(images)
        self.labels.copy_(labels[pictures])
        self.centres.copy_(images[pictures].permute(0, 3, 1, 2).float() / 255)
        self.radii[:count], self.radii[count:] = radii, radii[0]
        stride = self.radii * (2.5 / assault.steps) if assault.stride is None else assault.stride
        self.strides.copy_(torch.as_tensor(stride, device=self.radii.device).expand(size))
        away = torch.rand(self.centres.shape, generator=random, device=self.centres.device)
        start = self.centres + self.radii[:, None, None, None] * (2 * away - 1)
        self.points.copy_(start.clamp(0.0, 1.0))
        for _ in range(int(np.ceil(assault.steps / self.chunk))):
            self.replay()
        with torch.no_grad():
            decided: Tensor = self.trainer.module(self.points).argmax(1)
        return torch.eq(decided[:count], self.labels[:count])
