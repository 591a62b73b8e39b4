"""A network in half precision on a GPU, its last layer in single precision, at one batch size."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from anharmonic.images.network import halved
from anharmonic.images.preprocessing import Preprocessing
from studies.page import Tell, silent

__all__ = ["Fast"]

Run = Callable[[torch.Tensor], torch.Tensor]


class Fast(nn.Module):
    """Grey pixels (rows, height, width) in, logits out: padded to `batch` rows, compiled if faster.

    Points are built in single precision: the network is held where `parameters()` does not look,
    so that the first number a caller finds is the mean.
    """

    mean: torch.Tensor
    deviation: torch.Tensor

    def __init__(
        self,
        network: nn.Module,
        how: Preprocessing,
        batch: int,
        device: str,
        *,
        compiling: bool = True,
        half: bool = True,
        tell: Tell = silent,
    ) -> None:
        super().__init__()
        self.how, self.batch = how, batch
        for name in ("mean", "deviation"):
            values = torch.tensor(getattr(how, name), device=device).reshape(1, -1, 1, 1)
            self.register_buffer(name, values * how.largest)
        ready: Any = (halved(network.eval()) if half else network.eval()).to(device)
        self.held = (ready.to(memory_format=torch.channels_last),)
        self.kind = torch.float16 if half else torch.float32
        self.run: Run = self.plain
        if compiling:
            self.run = self._faster(tell)

    def plain(self, grey: torch.Tensor) -> torch.Tensor:
        """Logits of grey images (rows, 1, height, width) of the network's size."""
        images = ((grey.expand(-1, 3, -1, -1) - self.mean) / self.deviation).to(self.kind)
        answers: torch.Tensor = self.held[0](images.contiguous(memory_format=torch.channels_last))
        return answers.float()

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        rows = len(pixels)
        grey = functional.pad(pixels, (0, 0, 0, 0, 0, self.batch - rows))[:, None]
        if self.how.size is not None and tuple(grey.shape[-2:]) != self.how.size:
            grey = functional.interpolate(grey, self.how.size, mode="bilinear", antialias=True)
        return self.run(grey)[:rows]

    def _faster(self, tell: Tell) -> Run:
        """The compiled network if there is one and it is the faster."""
        size = self.how.size or (224, 224)
        sample = 255 * torch.rand((self.batch, 1, *size), device=self.mean.device)
        begun = time.perf_counter()
        try:
            compiled = torch.compile(self.plain, dynamic=False)
            speeds = [self._speed(run, sample) for run in (self.plain, compiled)]
        except Exception as problem:
            # Whatever the compiler lacks on this machine, the network runs without it.
            tell(f"not compiled: {type(problem).__name__}: {str(problem)[:200]}")
            return self.plain
        took = time.perf_counter() - begun
        tell("images/s plain {:,.0f}, compiled {:,.0f}; {:.0f} s".format(*speeds, took))
        return compiled if speeds[1] > speeds[0] else self.plain

    def _speed(self, run: Run, sample: torch.Tensor, rounds: int = 5) -> float:
        with torch.no_grad():
            for _ in range(2):
                float(run(sample)[0, 0])
            begun = time.perf_counter()
            # A number on the host is there only after everything before it.
            float(sum(run(sample)[0, 0] for _ in range(rounds)))
        return rounds * len(sample) / (time.perf_counter() - begun)
