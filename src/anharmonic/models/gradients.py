"""Gradients of a model's outputs, where it has any to give."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from anharmonic.errors import NoGradient
from anharmonic.models.predictor import Chain, Predictor
from anharmonic.models.torch import Forward, placed_on
from anharmonic.protocols import Array, Model, Pull, Pullback

__all__ = ["pullback_of"]


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
    """One forward pass, and as many backward ones as there are questions.

    On a processor torch has two ways to take a convolution's gradient, and which is quicker (up
    to four times) depends on the network: `native` is found by trying both on the first points.
    """

    predict: Callable[[Array], Array]
    module: Any
    native: bool | None = None

    def __call__(self, points: Array) -> tuple[Array, Pull]:
        import torch

        points = placed_on(points, self.module).detach().requires_grad_()
        if self.native is None:
            self.native = points.device.type == "cpu" and self._native_is_quicker(points[:64])
        with _convolving(self.native):
            outputs = self.predict(points)
        outputs = outputs[:, None] if outputs.ndim == 1 else outputs
        if not outputs.requires_grad:
            raise NoGradient(
                "the module's output does not depend on its input by way of torch: leave out "
                "no_grad(), detach(), numpy and argmax, or pass gradients='differences'"
            )
        native = self.native

        def pull(weights: Array) -> Array:
            shaped = torch.as_tensor(weights, dtype=outputs.dtype, device=outputs.device)
            with _convolving(native):
                return torch.autograd.grad(outputs, points, shaped, retain_graph=True)[0]

        return outputs.detach(), pull

    def _native_is_quicker(self, points: Any) -> bool:
        import torch

        if not any("Conv" in type(part).__name__ for part in self.module.modules()):
            return False
        took = {}
        for native in (False, True, False, True):  # the first of each warms up
            begun = time.process_time()
            with _convolving(native):
                outputs = self.predict(points)
                if not outputs.requires_grad:
                    return False
                torch.autograd.grad(outputs.sum(), points)
            took[native] = time.process_time() - begun
        return took[True] < took[False]


@contextmanager
def _convolving(native: bool) -> Iterator[None]:
    """Without oneDNN, where that is the quicker way."""
    if not native:
        yield
        return
    from torch.backends import mkldnn

    switch: Any = mkldnn.set_flags
    # Switching it warns of things that other processors have.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        before = switch(False)
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            switch(*before)


def _forward(step: Any) -> Forward | None:
    """The pass through a torch module that a function begins with."""
    if isinstance(step, Chain):
        return _forward(step.steps[0])
    return step if isinstance(step, Forward) else None


def _tracked(step: Any) -> Any:
    if isinstance(step, Chain):
        return Chain((_tracked(step.steps[0]), *step.steps[1:]))
    return replace(step, tracked=True)
