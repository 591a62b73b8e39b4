"""torch modules: on their own device, in eval mode and without gradients, left as found."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from array_api_compat import is_torch_array

from anharmonic._core.extras import needs
from anharmonic._core.protocols import Array
from anharmonic.errors import DeviceFull, NotAModel, OutputError, first_line
from anharmonic.models.outputs_offered import ModelOutputs, raw_outputs

__all__ = ["Forward", "evaluating", "placed_on", "scores_in", "torch_outputs"]

if TYPE_CHECKING:
    import torch
    from torch.nn import Module


def torch_outputs(module: object) -> ModelOutputs:
    """A module's outputs as a detached tensor; asked for probabilities, taken as logits."""
    needs("torch", "torch")
    import torch

    if not isinstance(module, torch.nn.Module):
        raise NotAModel(
            f"A {type(module).__name__} is no model: pass a torch.nn.Module or a function."
        )
    if any(weights.dtype == torch.bfloat16 for weights in module.parameters()):
        warnings.warn(
            "a network in bfloat16 rounds its answers to three digits, up to two fifths of "
            "gamma: measure it in float32, or in float16 with images.classifier(…, "
            "precision='float16')",
            stacklevel=2,
        )
    classes = getattr(module, "classes", None)
    named = tuple(classes) if isinstance(classes, tuple | list) else None
    return ModelOutputs(
        type(module).__name__, raw_outputs(Forward(module)), named, place=Place(module)
    )


@dataclass(frozen=True, eq=False)
class Place:
    """Points on the device and in the precision of the module's first float, or as it says.

    On the CPU they stay numpy arrays, which share their memory with tensors: at work as small
    as a chunk's, numpy is the quicker of the two and leaves torch's threads to the module. A
    module without any parameter or buffer takes points where and as they are.
    """

    module: Module

    def __call__(self, points: Array) -> Array:
        placed = placed_on(points, self.module)
        shared = placed.device.type == "cpu" and not is_torch_array(points)
        # numpy has no bfloat16, and its half precision is slow.
        return placed.numpy() if shared and placed.element_size() >= 4 else placed


def placed_on(points: Array, module: Module) -> torch.Tensor:
    """Points as a tensor where the module can use it."""
    import torch

    if not is_torch_array(points):
        array = np.ascontiguousarray(points)
        array = array if array.dtype.kind == "f" else array.astype(np.float64)
        # An array that must not be written to is copied, so that it stays untouched.
        points = torch.from_numpy(array) if array.flags.writeable else torch.tensor(array)
    tensor: torch.Tensor = points
    for weights in chain(module.parameters(), module.buffers()):
        if weights.is_floating_point():
            wanted = getattr(module, "points_dtype", weights.dtype)
            return tensor.to(device=weights.device, dtype=wanted)
    return tensor


@dataclass(frozen=True, eq=False)
class Forward:
    """One forward pass that leaves no trace: modes and gradient state are as before.

    `tracked` keeps what gradients need, for a caller who takes them.
    """

    module: Module
    tracked: bool = False

    def __call__(self, points: Array) -> Array:
        import torch

        with evaluating(self.module), torch.set_grad_enabled(self.tracked):
            try:
                answer = scores_in(self.module(placed_on(points, self.module)))
                return answer if self.tracked else answer.detach()
            except torch.cuda.OutOfMemoryError as problem:
                reason = first_line(problem)
        # Out of the handler no frame of the failed call holds tensors, so memory can be freed.
        torch.cuda.empty_cache()
        raise DeviceFull(
            f"{len(points):,} rows are too many for the device ({reason}): ask with a smaller "
            "batch_size="
        )


def scores_in(answer: object) -> Array:
    """The tensor of scores in what a module returned."""
    if is_torch_array(answer):
        return answer
    if isinstance(answer, Mapping) and answer:
        return scores_in(answer["logits"] if "logits" in answer else next(iter(answer.values())))
    if hasattr(answer, "logits"):
        return scores_in(answer.logits)
    if isinstance(answer, tuple | list) and answer:
        return scores_in(answer[0])
    raise OutputError(
        f"The module answers a {type(answer).__name__}, not a tensor: wrap it in a function that "
        "returns the tensor to measure."
    )


@dataclass
class Borrowed:
    """A module's training flags as they were before the first of `callers` came."""

    callers: int
    flags: list[tuple[Module, bool]]


_lock = threading.Lock()
_borrowed: dict[int, Borrowed] = {}


@contextmanager
def evaluating(module: Module) -> Iterator[None]:
    """Eval mode while anyone is inside; the last one out restores every submodule's own flag.

    Counted across threads, or the first to leave would switch training on under the others.
    Flags are set one by one because `eval()` may be overridden to do what cannot be undone.
    """
    with _lock:
        held = _borrowed.get(id(module))
        if held is None:
            held = Borrowed(0, [(part, part.training) for part in module.modules()])
            _borrowed[id(module)] = held
            _set_training((part, False) for part, training in held.flags if training)
        held.callers += 1
    try:
        yield
    finally:
        with _lock:
            held.callers -= 1
            if held.callers == 0:
                del _borrowed[id(module)]
                _set_training((part, True) for part, training in held.flags if training)


def _set_training(flags: Iterator[tuple[Module, bool]]) -> None:
    for part, training in flags:
        part.training = training
