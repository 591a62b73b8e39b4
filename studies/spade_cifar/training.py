"""Training under PGD, in bfloat16 and as one CUDA graph per step where there is a GPU.

A network of this size is small for a GPU: launched one by one, its kernels keep it waiting. So one
module is compiled and captured once, and its weights are begun anew for every network. `Attack` and
`train` of the library are the slower form of the same; on a processor both move points alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch.nn.functional import cross_entropy, log_softmax, pad

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

__all__ = ["Captured", "Course", "Data", "Trainer", "as_graph", "ascend", "logits_of", "softened"]

BORDER = 4
"""Pixels that a picture may be shifted by."""


@dataclass(frozen=True)
class Course:
    """How long and how steeply: stochastic gradient descent, its rate up and down linearly."""

    epochs: int = 15
    batch_size: int = 512
    rate: float = 0.2
    momentum: float = 0.9
    decay: float = 5e-4
    rising: float = 0.2
    """The share of the steps over which the rate rises."""
    warm: float = 0.3
    """The share of the steps over which radii grow from 0."""
    temperature: float = 1.0
    """Logits are divided by this before their loss, for distillation."""

    def rate_at(self, share: float) -> float:
        """The rate after this share of the steps."""
        up, down = share / self.rising, (1 - share) / (1 - self.rising)
        return self.rate * max(min(up, down), 1e-3)


class Data(NamedTuple):
    """Pictures (rows, 32, 32, 3) of whole grey levels on the device, and their labels.

    Labels are class numbers (rows,), or the shares of classes (rows, classes).
    """

    images: Tensor
    labels: Tensor


class Captured(NamedTuple):
    """A graph of one training step, and where it leaves gradients."""

    replay: Callable[[], None]
    gradients: list[Tensor]


def ascend(
    forward: Callable[[Tensor], Tensor],
    centres: Tensor,
    starts: Tensor,
    labels: Tensor,
    radii: Tensor,
    strides: Tensor,
    steps: int,
) -> Tensor:
    """Points after so many PGD steps in the L∞ balls of `radii` (rows,), within [0, 1]."""
    reach, stride = radii[:, None, None, None], strides[:, None, None, None]
    moved = starts
    for _ in range(steps):
        moved = moved.detach().requires_grad_()
        loss = cross_entropy(forward(moved), labels, reduction="sum")
        (slope,) = torch.autograd.grad(loss, moved)
        away = (moved.detach() + stride * slope.sign() - centres).clamp(-reach, reach)
        moved = (centres + away).clamp(0.0, 1.0)
    return moved.detach()


def _precise(device: str) -> Any:
    """bfloat16 products on a GPU; the processor keeps its float32."""
    # A cache of cast weights would outlive them in a captured graph.
    return torch.autocast(
        device, torch.bfloat16, enabled=device.startswith("cuda"), cache_enabled=False
    )


class Trainer:
    """One architecture on one device, for any number of networks one after the other."""

    def __init__(
        self,
        module: Module,
        batch_size: int,
        device: str = "cpu",
        shares: int = 0,
        compiled: bool = True,
    ) -> None:
        self.device, self.cuda = device, device.startswith("cuda")
        self.module = module.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.fast: Callable[[Tensor], Tensor] = (
            torch.compile(self.module) if self.cuda and compiled else self.module
        )
        self.parameters = list(self.module.parameters())
        shape = (batch_size, 3, 32, 32)
        self.points = torch.zeros(shape, device=device).to(memory_format=torch.channels_last)
        labels = (batch_size, shares) if shares else (batch_size,)
        kind = torch.float32 if shares else torch.int64
        self.labels = torch.zeros(labels, dtype=kind, device=device)
        self.radii = torch.zeros(batch_size, device=device)
        self.sparing = torch.zeros((), device=device)
        """1 where rows that are misclassified already are not to be attacked."""
        self.loss = torch.zeros((), device=device)
        self.graphs: dict[tuple[int, float], Captured] = {}

    def forward(self, points: Tensor) -> Tensor:
        """Logits in float32, of whatever precision the products have."""
        with _precise(self.device):
            return self.fast(points).float()

    def _attacked(self, steps: int) -> Tensor:
        """The points of the batch, moved; batch statistics are left as they are."""
        self.module.eval().requires_grad_(False)
        centres = self.points
        with torch.no_grad(), _precise(self.device):
            right = (self.module(centres).argmax(1) == self.labels).float()
        radii = self.radii * (1 - self.sparing * (1 - right))
        starts = centres + radii[:, None, None, None] * (2 * torch.rand_like(centres) - 1)
        starts = starts.clamp(0.0, 1.0)
        strides = 2.5 * radii / steps
        return ascend(self.forward, centres, starts, self.labels, radii, strides, steps)

    def _step(self, steps: int, temperature: float) -> None:
        """Attack the batch that the buffers hold, and leave the gradients of its loss."""
        points = self._attacked(steps) if steps else self.points
        self.module.train().requires_grad_(True)
        logits = self.forward(points)
        # As many times larger, so that gradients have their usual size.
        loss = temperature * cross_entropy(logits / temperature, self.labels)
        torch.autograd.backward(loss)
        self.loss.copy_(loss.detach())

    def captured(self, steps: int, temperature: float) -> Captured:
        """A step with so many steps of attack: one graph on a GPU, plain calls elsewhere."""
        if (steps, temperature) not in self.graphs:
            self.graphs[steps, temperature] = self._capture(steps, temperature)
        return self.graphs[steps, temperature]

    def _capture(self, steps: int, temperature: float) -> Captured:
        def afresh() -> None:
            for parameter in self.parameters:
                parameter.grad = None
            self._step(steps, temperature)

        if not self.cuda:
            afresh()

            def plainly() -> None:
                for parameter in self.parameters:
                    if parameter.grad is not None:
                        parameter.grad.zero_()
                self._step(steps, temperature)

            return Captured(plainly, self._gradients())
        # Gradients that are made while it is captured lie where every replay writes them.
        return Captured(as_graph(afresh), self._gradients())

    def _gradients(self) -> list[Tensor]:
        return [
            parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            for parameter in self.parameters
        ]

    def train(
        self,
        weights: dict[str, Tensor],
        data: Data,
        radii: Tensor,
        *,
        steps: int,
        seed: int,
        course: Course,
        spare: bool = False,
        tell: Callable[[str], None] = lambda line: None,
    ) -> float:
        """Train from `weights` on; `radii` (rows,) are each picture's own. The last mean loss."""
        captured = self.captured(steps, course.temperature)
        self.module.load_state_dict(weights)
        for parameter, gradient in zip(self.parameters, captured.gradients, strict=True):
            parameter.grad = gradient
        optimizer = torch.optim.SGD(
            self.parameters,
            lr=course.rate,
            momentum=course.momentum,
            weight_decay=course.decay,
            nesterov=True,
            fused=True if self.cuda else None,
        )
        torch.manual_seed(seed)
        random = torch.Generator(self.device).manual_seed(seed)
        padded = pad(data.images, (0, 0, BORDER, BORDER, BORDER, BORDER))
        size = len(self.points)
        batches = len(data.images) // size
        self.sparing.fill_(float(spare))
        mean = float("nan")
        for epoch in range(course.epochs):
            begun = time.perf_counter()
            order = torch.randperm(len(data.images), generator=random, device=self.device)
            total = torch.zeros((), device=self.device)
            for batch in range(batches):
                share = (epoch * batches + batch + 1) / (course.epochs * batches)
                rows = order[batch * size : (batch + 1) * size]
                self.points.copy_(shifted(padded, rows, random))
                self.labels.copy_(data.labels[rows])
                self.radii.copy_(radii[rows] * min(1.0, share / course.warm))
                captured.replay()
                for group in optimizer.param_groups:
                    group["lr"] = course.rate_at(share)
                optimizer.step()
                total += self.loss
            mean = float(total) / batches
            tell(f"epoch {epoch + 1}: loss {mean:.3f}, {time.perf_counter() - begun:.2f} s")
            if not np.isfinite(mean):
                break
        self.module.eval()
        return mean


def as_graph(work: Callable[[], None]) -> Callable[[], None]:
    """Work on a GPU as one graph, which replays it on the same memory without asking Python."""
    side: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        # Compiling and choosing kernels must be over before.
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def shifted(padded: Tensor, rows: Tensor, random: torch.Generator) -> Tensor:
    """Pictures shifted by up to `BORDER` pixels and half of them turned over, from 0 to 1.

    `padded` is (pictures, 40, 40, 3) of whole grey levels; the answer has channels first and
    keeps the memory's order, channels last.
    """
    device, size = padded.device, padded.shape[1] - 2 * BORDER
    corner = torch.randint(0, 2 * BORDER + 1, (2, len(rows), 1), generator=random, device=device)
    span = torch.arange(size, device=device)
    down, across = corner[0] + span, corner[1] + span
    turned = torch.rand((len(rows), 1), generator=random, device=device) < 0.5
    across = torch.where(turned, across.flip(1), across)
    pictures = padded[rows[:, None, None], down[:, :, None], across[:, None, :]]
    return pictures.permute(0, 3, 1, 2).float() / 255


def logits_of(module: Module, images: Tensor, size: int = 2000) -> Tensor:
    """Logits of pictures (rows, 32, 32, 3) in float32, (rows, classes)."""
    module.eval()
    with torch.no_grad():
        parts = [
            module(part.permute(0, 3, 1, 2).float() / 255) for part in torch.split(images, size)
        ]
    return torch.cat(parts).float()


def softened(logits: Tensor, temperature: float) -> Tensor:
    """Shares of classes at a temperature, (rows, classes): what a distilled network learns."""
    return log_softmax(logits / temperature, dim=1).exp()
