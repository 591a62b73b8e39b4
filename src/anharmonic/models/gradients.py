"""Gradients of a model's outputs, where it has any to give."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from anharmonic._core.protocols import Array, Model, Pull, Pullback
from anharmonic.errors import AnharmonicError, MeasurementStopped, NoGradient
from anharmonic.models.outputs_offered import OutputFunction
from anharmonic.models.predictor import Chain, Predictor
from anharmonic.models.torch import Forward, placed_on

if TYPE_CHECKING:
    import torch

__all__ = ["pullback_of"]

Hook = Callable[["torch.nn.Module", "tuple[torch.Tensor, ...]", "torch.Tensor"], None]


def pullback_of(model: Model) -> Pullback | None:
    """How to pull gradients back through a model: its own `pullback`, torch's, or None.

    >>> from anharmonic.models import as_model
    >>> pullback_of(as_model(lambda points: points)) is None
    True
    """
    own: Pullback | None = getattr(model, "pullback", None)
    if own is not None:
        return own
    forward = _forward(model.predict) if isinstance(model, Predictor) else None
    if forward is None:
        return None
    assert isinstance(model, Predictor)
    return TorchPullback(_tracked(model.predict), forward.module)


@dataclass(eq=False)
class TorchPullback:
    """One forward pass, and one backward pass for each vector of weights.

    On a processor torch has two functions for a convolution's gradient, and which is quicker (up
    to six times) depends on its shape: `native` says of each convolution whether it is quicker
    without oneDNN, found by trying both on the first points.
    """

    predict: OutputFunction
    module: torch.nn.Module
    native: dict[torch.nn.Module, bool] | None = None

    def __call__(self, points: Array) -> tuple[Array, Pull]:
        import torch

        points = placed_on(points, self.module).detach().requires_grad_()
        if self.native is None:
            on_cpu = points.device.type == "cpu"
            self.native = self._quicker_without_onednn(points[:64]) if on_cpu else {}
        with _hooked(self.native, self._choose_onednn):
            try:
                outputs = self.predict(points)
            except AnharmonicError:
                raise
            except Exception as problem:
                raise MeasurementStopped.because(problem) from problem
        outputs = outputs[:, None] if outputs.ndim == 1 else outputs
        if not outputs.requires_grad:
            raise NoGradient(
                "the module's output does not depend on its input by way of torch: leave out "
                "no_grad(), detach(), numpy and argmax, or pass gradients='differences'"
            )

        def pull(weights: Array) -> Array:
            # The vector-Jacobian product: (rows, columns) of weights to (rows, …) of gradients.
            shaped = torch.as_tensor(weights, dtype=outputs.dtype, device=outputs.device)
            with _onednn_restored():
                return torch.autograd.grad(outputs, points, shaped, retain_graph=True)[0]

        return outputs.detach(), pull

    def _choose_onednn(
        self, part: torch.nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor
    ) -> None:
        """A forward hook: switch oneDNN just before a convolution's gradient is taken."""
        native = bool(self.native and self.native[part])
        if output.requires_grad:
            output.register_hook(lambda gradient: _switch(not native))  # type: ignore[no-untyped-call]

    def _quicker_without_onednn(self, points: torch.Tensor) -> dict[torch.nn.Module, bool]:
        from torch.nn.modules.conv import _ConvNd

        parts = list(self.module.modules())
        if any(type(part).__name__ == "OptimizedModule" for part in parts):
            return {}  # hooks inside a compiled module are not called
        quicker: dict[torch.nn.Module, bool] = {}
        calls: list[tuple[torch.nn.Module, torch.Tensor, torch.Tensor]] = []

        def keep(
            part: torch.nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor
        ) -> None:
            calls.append((part, inputs[0], output))

        with _hooked([part for part in parts if isinstance(part, _ConvNd)], keep):
            self.predict(points)
        for part, before, after in calls:
            if before.requires_grad and after.requires_grad:
                quicker[part] = _seconds(before, after, False) < _seconds(before, after, True)
        return quicker


def _seconds(before: torch.Tensor, after: torch.Tensor, onednn: bool) -> float:
    """What a gradient from after to before takes: the least of three, as others share the cores."""
    import torch

    took = []
    with _onednn_restored():
        _switch(onednn)
        for _ in range(3):
            begun = time.process_time()
            torch.autograd.grad(after.sum(), before, retain_graph=True)
            took.append(time.process_time() - begun)
    return min(took)


@contextmanager
def _hooked(parts: Iterable[torch.nn.Module], hook: Hook) -> Iterator[None]:
    handles = [part.register_forward_hook(hook) for part in parts]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _switch(onednn: bool) -> None:
    import torch

    # The public switch sets other things of oneDNN besides, and warns of some.
    torch._C._set_mkldnn_enabled(onednn)


@contextmanager
def _onednn_restored() -> Iterator[None]:
    """With or without oneDNN afterwards, as before."""
    import torch

    before = torch._C._get_mkldnn_enabled()
    try:
        yield
    finally:
        _switch(before)


def _forward(step: OutputFunction) -> Forward | None:
    """The pass through a torch module that a function begins with."""
    if isinstance(step, Chain):
        return _forward(step.steps[0])
    return step if isinstance(step, Forward) else None


def _tracked(step: OutputFunction) -> OutputFunction:
    """The same function with a forward pass that keeps what gradients need."""
    if isinstance(step, Chain):
        return Chain((_tracked(step.steps[0]), *step.steps[1:]))
    return replace(step, tracked=True) if isinstance(step, Forward) else step
