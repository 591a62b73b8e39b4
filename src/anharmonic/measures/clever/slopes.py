"""How steep a margin is at many points: one forward pass, one backward pass per target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, cast

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from anharmonic._core.margins import by_class
from anharmonic._core.protocols import Array, Floats, Integers, Kind, Pullback
from anharmonic.errors import NoGradient, OutputError, SettingsError, listed
from anharmonic.measures.clever.sampling import dual_norm
from anharmonic.measures.setup.batching import ModelCaller, answers, numbers
from anharmonic.models.gradients import pullback_of

__all__ = ["ClassPairs", "Differences", "Gradients", "Slopes", "slopes_of"]

Gradients = Literal["auto", "torch", "differences"]
DIFFERENCE = 1e-3
"""The step of a central difference, in radii."""
DIFFERENCE_POINTS = 1 << 21
"""Numbers of the points behind the differences of one call."""


@dataclass(frozen=True)
class ClassPairs:
    """For some rows their classes (rows,) and rivals (rows, targets); -1 is no rival."""

    classes: Integers
    targets: Integers


class Slopes(Protocol):
    """Dual norms of margins' gradients, (points, targets), at points (points, n) of some rows."""

    @property
    def rows_per_call(self) -> int:
        """How many points to hand over at once."""

    @property
    def queries_per_point(self) -> int:
        """What a point costs."""

    def __call__(self, points: Array, rows: Integers, pairs: ClassPairs) -> Floats: ...

    def gradients(self, points: Array, rows: Integers, pairs: ClassPairs) -> Floats:
        """Gradients themselves, (points, n) in scaled units, of margins to one rival per row."""


def slopes_of(
    caller: ModelCaller,
    units: Floats,
    norm: float,
    radius: float,
    gradients: Gradients,
    batch_size: int | None,
) -> Slopes:
    """Gradients as they are wanted, or the best there are."""
    if gradients not in ("auto", "torch", "differences"):
        raise SettingsError(f'gradients {gradients!r}: give "auto", "torch" or "differences"')
    back = None if gradients == "differences" else pullback_of(caller.model)
    # Points of a table go to the model as a table, through which no gradient passes.
    if back is not None and caller.region.is_table:
        back = None
    if back is None and gradients == "torch":
        raise NoGradient(
            f"{caller.model.name} gives no gradients of such points: pass a torch module and "
            "arrays, or gradients='differences', which asks the model twice per feature"
        )
    if back is not None:
        return AutogradSlopes(caller, back, units, norm, batch_size)
    return Differences(caller, units, norm, DIFFERENCE * radius)


@dataclass(frozen=True)
class AutogradSlopes:
    """By the model's own gradients, which automatic differentiation gives."""

    caller: ModelCaller
    back: Pullback
    units: Floats
    norm: float
    batch_size: int | None
    queries_per_point: int = 1

    @property
    def rows_per_call(self) -> int:
        if self.batch_size:
            return self.batch_size
        one = self.caller.model.place(self.caller.region.values[:1])
        # Small calls stay in a processor's caches; a device of its own wants large ones.
        return 256 if is_numpy_array(one) or str(one.device) == "cpu" else 16384

    def __call__(self, points: Array, rows: Integers, pairs: ClassPairs) -> Floats:
        gradients = self._margin_gradients(points, rows, pairs)
        norms = [dual_norm(gradient, self.norm) for gradient in gradients]
        # (points, targets)
        slopes = np.stack([numbers(norm) for norm in norms], axis=1).astype(np.float64)
        return _checked_finite(slopes, rows)

    def gradients(self, points: Array, rows: Integers, pairs: ClassPairs) -> Floats:
        (gradient,) = self._margin_gradients(points, rows, pairs)
        return _checked_finite(numbers(gradient).astype(np.float64), rows)

    def _margin_gradients(
        self, points: Array, rows: Integers, pairs: ClassPairs
    ) -> Iterator[Array]:
        """The gradient of the margin to each rival in turn, (points, n), in scaled units."""
        region = self.caller.region
        outputs, pull = self.back(region.restored(points, rows))
        # By the chain rule a gradient in scaled units is that in raw ones times the units.
        units = array_namespace(outputs).asarray(
            self.units, dtype=outputs.dtype, device=device(outputs)
        )
        # Columns that are held still have gradients too, which are left out.
        moving = [region.names.index(name) for name in region.columns] if region.still else None
        for target in pairs.targets.T:
            gradient = pull(_weights(pairs.classes, target, outputs.shape[1], self.kind))
            flat = gradient.reshape((len(rows), -1))
            flat = flat if moving is None else flat[:, moving]
            yield flat * units

    @property
    def kind(self) -> Kind:
        return self.caller.model.kind


def _weights(classes: Integers, targets: Integers, columns: int, kind: Kind) -> Floats:
    """Each row's margin as weights of its outputs: e_class − e_target, (rows, columns)."""
    width = max(columns, 2)
    rows = np.arange(len(classes))
    weights = np.zeros((len(classes), width))
    weights[rows, classes] += 1
    weights[rows, targets] -= 1
    if columns > 1:
        return weights
    # One column stands for two classes: (1-p, p), or (0, x).
    return weights[:, 1:] - (weights[:, :1] if kind == "probability" else 0.0)


@dataclass(frozen=True)
class Differences:
    """By central differences, for black boxes: two queries per feature."""

    caller: ModelCaller
    units: Floats
    norm: float
    step: float

    @property
    def rows_per_call(self) -> int:
        # A point has 2n neighbours of n numbers.
        return max(1, DIFFERENCE_POINTS // (2 * len(self.units) ** 2))

    @property
    def queries_per_point(self) -> int:
        return 2 * len(self.units)

    def __call__(self, points: Array, rows: Integers, pairs: ClassPairs) -> Floats:
        jacobian = self._jacobian(points, rows)
        every = np.arange(len(rows))
        # The class's own gradient and each rival's, (points, features).
        own = jacobian[every, :, pairs.classes]
        norms = [dual_norm(own - jacobian[every, :, rival], self.norm) for rival in pairs.targets.T]
        return _checked_finite(np.stack(norms, axis=1), rows)

    def gradients(self, points: Array, rows: Integers, pairs: ClassPairs) -> Floats:
        jacobian = self._jacobian(points, rows)
        every = np.arange(len(rows))
        rival = jacobian[every, :, pairs.targets[:, 0]]
        return _checked_finite(jacobian[every, :, pairs.classes] - rival, rows)

    def _jacobian(self, points: Array, rows: Integers) -> Floats:
        """Changes of every class's output, (points, features, classes)."""
        xp = array_namespace(points)
        lengths = xp.asarray(self.step * self.units, dtype=points.dtype, device=device(points))
        steps = xp.eye(len(self.units), dtype=points.dtype, device=device(points)) * lengths
        # (points, 2 features, features): one step up and one down along every feature.
        both = xp.concat((points[:, None] + steps, points[:, None] - steps), axis=1)
        outputs = answers(self.caller, both, rows)
        ahead, behind = np.split(by_class(outputs, self.caller.model.kind), 2, axis=1)
        # (f(x + h) − f(x − h)) / 2h, in units: the scaled step is the same for every feature.
        return cast(Floats, (ahead - behind) / (2 * self.step))


def _checked_finite(values: Floats, rows: Integers) -> Floats:
    """The values (points, …), if all are finite."""
    bad = np.unique(rows[~np.isfinite(values).all(axis=1)]).tolist()
    if bad:
        raise OutputError(
            f"the model's gradient is NaN or infinite near rows {listed(bad)}: leave them out, "
            "or give bounds= so that their neighbours stay legal"
        )
    return values
