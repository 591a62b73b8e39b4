"""Projected gradient descent: the worst point in a ball that gradients find.

Every row is attacked on its own, with a radius of its own where one is given, and starts from
numbers that depend on (seed, row, restart) alone, so results do not depend on the batch size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.arrays import to_numpy
from anharmonic._core.protocols import Array, Draw, Floats, Integers
from anharmonic._core.randomness import normals, phases
from anharmonic._core.statistics import Rate
from anharmonic.errors import OutputError, SettingsError
from anharmonic.models.torch import evaluating, placed_on, scores_in

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

__all__ = ["Attack", "accuracy", "attack_distance", "correct", "decided", "robust_accuracy"]


@dataclass(frozen=True)
class Attack:
    """PGD in an L∞ or L2 ball: `attack(module, points, labels)` gives the points moved.

    Parameters
    ----------
    radius
        A number, or one for each row.
    norm
        inf or 2.
    steps, step
        How many steps of gradient ascent, and the length of one; by default 2.5·radius/steps,
        enough to cross the ball.
    restarts, start
        Rows that still keep their label start again from elsewhere in the ball; `start=False`
        starts at the points themselves, once.
    bounds
        (low, high) that points are kept within; None for none.
    seed
        Of the starts.
    batch_size
        Rows per call of the module.

    Examples
    --------
    >>> Attack(radius=0.3, steps=40).stride
    0.01875

    References
    ----------
    Madry et al., 2018.
    """

    radius: float | Array
    norm: float = np.inf
    steps: int = 40
    step: float | None = None
    restarts: int = 1
    start: bool = True
    bounds: tuple[float, float] | None = (0.0, 1.0)
    seed: int = 0
    batch_size: int = 1024

    def __post_init__(self) -> None:
        if self.norm not in (2, np.inf):
            raise SettingsError(f"PGD moves in balls of norm 2 or inf, not {self.norm}")
        if min(self.steps, self.restarts, self.batch_size) < 1:
            raise SettingsError("steps, restarts and batch_size are counts: give at least 1")
        if not (np.asarray(to_numpy(self.radius)) >= 0).all():
            raise SettingsError(f"a radius is at least 0, got {self.radius}")

    @property
    def stride(self) -> float | Array:
        """How far a step goes: a number, or one for each row."""
        return 2.5 * self.radius / self.steps if self.step is None else self.step

    def within(self, radius: float | Array) -> Attack:
        """The same attack in another ball.

        Parameters
        ----------
        radius
            A number, or one for each row.
        """
        return replace(self, radius=radius)

    def __call__(
        self,
        module: Module,
        points: Array,
        labels: Array,
        rows: Array | None = None,
        turn: int = 0,
    ) -> Tensor:
        """The points (rows, …) moved to where the module does worst on their labels.

        Parameters
        ----------
        module, points, labels
            A torch module, points (rows, …) and classes (rows,).
        rows
            The points' own numbers, which their randomness depends on.
        turn
            Another one starts elsewhere.
        """
        import torch

        points, labels = placed_on(points, module), torch.as_tensor(labels)
        numbers = np.arange(len(points)) if rows is None else np.asarray(to_numpy(rows))
        radii = torch.as_tensor(self.radius, dtype=points.dtype, device=points.device)
        if radii.ndim and radii.shape != (len(points),):
            raise SettingsError(
                f"{len(points)} points and radii of shape {tuple(radii.shape)}: give a number or "
                "one radius for each point"
            )
        moved: Tensor = points.clone()
        with evaluating(module):
            # Stacked networks share a batch: it must not be cut.
            size = len(points) if getattr(module, "copies", 1) > 1 else self.batch_size
            for start in range(0, len(points), size):
                batch = slice(start, start + size)
                moved[batch] = self._attack_batch(
                    module,
                    points[batch],
                    labels[batch].to(points.device),
                    radii[batch] if radii.ndim else radii.expand(len(points[batch])),
                    numbers[batch],
                    turn,
                )
        return moved

    def _attack_batch(
        self,
        module: Module,
        points: Tensor,
        labels: Tensor,
        radii: Tensor,
        rows: Integers,
        turn: int,
    ) -> Tensor:
        """Restarts until every row of a batch has lost its label, or they are used up."""
        result, unbroken = points.clone(), np.arange(len(points))
        for restart in range(self.restarts):
            # A slice copies nothing.
            chosen = slice(None) if len(unbroken) == len(points) else unbroken
            ball = _Ball(points[chosen], radii[chosen], self.norm, self.bounds)
            starts = points[chosen]
            if self.start:
                # Turns are far apart among the seeds, so that no two share a stream.
                starts = ball.sample(self.seed + (turn << 32), rows[chosen], restart)
            moved = self._ascend(module, starts, labels[chosen], ball)
            result[chosen] = moved
            if restart + 1 == self.restarts:
                break
            label_kept = decided(module, moved) == labels[chosen]
            unbroken = unbroken[label_kept.cpu().numpy()]
            if not len(unbroken):
                break
        return result

    def _ascend(self, module: Module, points: Tensor, labels: Tensor, ball: _Ball) -> Tensor:
        """Projected gradient ascent of the loss: a step along the gradient, then back inside."""
        import torch

        stride = 2.5 * ball.radii / self.steps if self.step is None else self.step
        stride = ball.shaped(torch.as_tensor(stride, dtype=points.dtype, device=points.device))
        for _ in range(self.steps):
            gradient = _loss_gradient(module, points, labels)
            points = ball.inside(points + stride * ball.direction(gradient))
        return points


@dataclass(frozen=True)
class _Ball:
    """Balls around rows of points, and how to stay inside."""

    centres: Tensor
    radii: Tensor
    norm: float
    bounds: tuple[float, float] | None

    def shaped(self, values: Tensor) -> Tensor:
        """Numbers (rows,) so that they multiply points (rows, …)."""
        return values.reshape((-1,) + (1,) * (self.centres.ndim - 1)) if values.ndim else values

    def sample(self, seed: int, rows: Integers, restart: int) -> Tensor:
        """Points uniform in the balls, the same for a row wherever it stands."""
        import torch

        flat = self.centres.flatten(1)
        draw = Draw(seed, np.asarray(rows, dtype=np.int64), np.full(len(rows), restart), flat)
        if self.norm == 2:
            index = torch.zeros(1, dtype=torch.int64, device=flat.device)
            away = normals(draw, index, flat.shape[1])[:, 0]
            # A normal vector's direction, and a length u^(1/n): uniform in an n-ball.
            share = (phases(draw, 1) / (2 * np.pi)).to(flat.dtype) ** (1 / flat.shape[1])
            away = share * away / away.norm(dim=1, keepdim=True)
        else:
            # Uniform in [−1, 1] in every coordinate: phases are angles from 0 to 2π.
            away = (phases(draw, flat.shape[1]) / np.pi - 1).to(flat.dtype)
        away = away.reshape(self.centres.shape)
        return self.inside(self.centres + self.shaped(self.radii) * away)

    def direction(self, gradient: Tensor) -> Tensor:
        """The step of length 1 that raises a linear loss most."""
        if self.norm == np.inf:
            return gradient.sign()
        length = gradient.flatten(1).norm(dim=1)
        return gradient / self.shaped(length.clamp_min(1e-30))

    def inside(self, points: Tensor) -> Tensor:
        """The nearest points that may be visited."""
        away = points - self.centres
        if self.norm == np.inf:
            reach = self.shaped(self.radii)
            away = away.clamp(-reach, reach)
        else:
            length = away.flatten(1).norm(dim=1)
            away = away * self.shaped((self.radii / length.clamp_min(1e-30)).clamp_max(1.0))
        moved = self.centres + away
        return moved if self.bounds is None else moved.clamp(*self.bounds)


def _loss_gradient(module: Module, points: Tensor, labels: Tensor) -> Tensor:
    """The gradient of every row's own loss; a sum keeps rows apart."""
    import torch

    with torch.enable_grad():
        points = points.detach().requires_grad_()
        logits = scores_in(module(points))
        if not logits.requires_grad:
            raise OutputError(
                "the module's output does not depend on its input by way of torch, so it has no "
                "gradient: leave out no_grad(), detach() and numpy in forward()"
            )
        loss = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
        return torch.autograd.grad(loss, points)[0]


def decided(module: Module, points: Tensor) -> Tensor:
    """The class with the largest output, (rows,), in eval mode and without gradients."""
    import torch

    with evaluating(module), torch.no_grad():
        classes: Tensor = scores_in(module(points)).argmax(dim=1)
    return classes


def correct(
    module: Module, points: Array, labels: Array, batch_size: int = 4096
) -> NDArray[np.bool_]:
    """Whether each point gets its label, (rows,) of bool.

    Parameters
    ----------
    module, points, labels
        A torch module, points (rows, …) and classes (rows,).
    batch_size
        Rows per call of the module.
    """
    import torch

    points, labels = placed_on(points, module), torch.as_tensor(labels)
    parts = [
        decided(module, points[start : start + batch_size]).cpu()
        for start in range(0, len(points), batch_size)
    ]
    hits: NDArray[np.bool_] = (torch.cat(parts) == labels.cpu()).numpy()
    return hits


def accuracy(module: Module, points: Array, labels: Array) -> Rate:
    """The share of points that get their label, with its interval.

    Parameters
    ----------
    module, points, labels
        A torch module, points (rows, …) and classes (rows,).
    """
    hits = correct(module, points, labels)
    return Rate.of(int(hits.sum()), len(hits))


def robust_accuracy(
    module: Module,
    points: Array,
    labels: Array,
    attack: Callable[[Module, Array, Array], Array],
) -> Rate:
    """The share of points that get their label before and after an attack.

    Parameters
    ----------
    module, points, labels
        A torch module, points (rows, …) and classes (rows,).
    attack
        An `Attack`, or any function from these three to the points moved.
    """
    clean = correct(module, points, labels)
    robust = clean & correct(module, attack(module, points, labels), labels)
    return Rate.of(int(robust.sum()), len(robust))


def attack_distance(
    module: Module,
    points: Array,
    labels: Array,
    attack: Attack | None = None,
    *,
    upper: float,
    rounds: int = 10,
) -> Floats:
    """The smallest radius at which an attack changes each label, (rows,); inf beyond `upper`.

    Parameters
    ----------
    module, points, labels
        A torch module, points (rows, …) and classes (rows,).
    attack
        PGD as `Attack` does it by default.
    upper
        The largest radius that is tried.
    rounds
        How often the interval of radii is halved, for each point on its own.

    Notes
    -----
    No attack is perfect, so the true distance is at most this.
    """
    import torch

    pgd = attack or Attack(0.0)
    points, labels = placed_on(points, module), torch.as_tensor(labels)
    # Bisection: every label is kept at `low`, as far as known, and lost at `high`.
    low = np.zeros(len(points))
    high = np.full(len(points), float(upper))
    broken = ~correct(module, pgd.within(upper)(module, points, labels), labels)
    for turn in range(rounds):
        middle = (low + high) / 2
        moved = pgd.within(torch.from_numpy(middle))(module, points, labels, turn=turn + 1)
        lost = ~correct(module, moved, labels)
        high, low = np.where(lost, middle, high), np.where(lost, low, middle)
        broken |= lost
    return cast(Floats, np.where(broken, high, np.inf))
