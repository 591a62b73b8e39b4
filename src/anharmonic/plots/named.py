"""What Scores say about themselves: which model, what it decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from anharmonic._core.columns import named_rows
from anharmonic._core.protocols import Floats, Integers, Kind
from anharmonic._core.settings import Settings
from anharmonic.errors import SettingsError
from anharmonic.measures.compare import Comparison
from anharmonic.regions import Region, as_region, unmoved
from anharmonic.scores import Scores

__all__ = [
    *("Decisions", "Several", "decisions", "measured_region", "named", "others_text"),
    *("output_text", "row_names"),
]

Several = Scores | Mapping[str, Scores] | Comparison
"""One model's scores, those of several by name, or a comparison."""


def named(scores: Several) -> dict[str, Scores]:
    """Scores by name; a single one goes by its model's."""
    if isinstance(scores, Comparison):
        return dict(scores.scores)
    if isinstance(scores, Scores):
        return {scores.settings.model or "model": scores}
    if not scores:
        raise SettingsError("there are no scores: give some, or a dictionary of names and scores")
    return dict(scores)


def measured_region(points: object, scores: Scores) -> Region:
    """The points with those columns moving that moved when the scores were made, if any did."""
    if not scores.settings.moves:
        return unmoved(points)
    region = as_region(points)
    columns = scores.settings.columns
    return region.along(columns) if columns and set(columns) <= set(region.numeric) else region


def row_names(scores: Scores, region: Region | None) -> tuple[str, ...] | None:
    """What the user calls the rows: by the frame's index, or a column of ids; None if neither."""
    if region is not None and len(region) == len(scores):
        return region.row_names
    return named_rows(scores.index)


class Decisions(NamedTuple):
    """Which class (positions in `classes`) a model gave each point."""

    positions: Integers
    classes: tuple[str, ...]


def decisions(scores: Scores) -> Decisions | None:
    """The classes that were predicted, where the scores remember them."""
    settings, outputs = scores.settings, scores.outputs
    classes = settings.classes
    if settings.kind == "label" and (outputs.ndim == 1 or outputs.shape[1] == 1):
        codes, positions = np.unique(outputs.reshape(-1), return_inverse=True)
        by_code = _by_code(classes) if classes else {}
        names = tuple(by_code.get(code, f"{code:g}") for code in codes.tolist())
        return Decisions(positions.reshape(-1).astype(np.int64), names)
    if settings.kind not in ("probability", "logit", "onehot"):
        return None
    if outputs.ndim < 2 or outputs.shape[1] < 2:
        return None
    own_names = classes if classes and len(classes) == outputs.shape[1] else None
    names = tuple(own_names or (str(index) for index in range(outputs.shape[1])))
    return Decisions(np.argmax(outputs, axis=1).astype(np.int64), names)


def _by_code(classes: Sequence[str]) -> dict[float, str]:
    """What a label's number stands for: itself if all are numbers, else its position."""
    try:
        return {float(name): name for name in classes}
    except ValueError:
        return {float(position): name for position, name in enumerate(classes)}


def output_text(scores: Scores, row: int) -> str:
    """What the model answered at a row, in a few words."""
    return _answer_text(scores.settings, np.atleast_1d(scores.outputs[row]))


def others_text(scores: Scores, row: int) -> str:
    """What other rows say at a row, where the measure knows; nothing where it does not."""
    others = getattr(scores, "others", None)
    if others is None:
        return ""
    said = np.atleast_1d(others[row])
    if said.dtype.kind not in "fiub":
        return str(said[0])
    # Mean answers of classes are shares, and no class by itself.
    share = scores.settings.kind in ("label", "onehot")
    return _answer_text(scores.settings, said, "probability" if share else None)


def _answer_text(settings: Settings, outputs: Floats, kind: Kind | None = None) -> str:
    """An answer in a few words; `kind` where it is of another kind than the model's."""
    kind, classes = kind or settings.kind, settings.classes
    if kind == "label" and len(outputs) == 1 and classes:
        return _by_code(classes).get(float(outputs[0]), f"{outputs[0]:g}")
    if kind in ("probability", "logit", "onehot") and len(outputs) > 1:
        best = int(np.argmax(outputs))
        name = classes[best] if classes and len(classes) == len(outputs) else f"class {best}"
        return name if kind == "onehot" else f"{name} ({outputs[best]:.3g})"
    shown = ", ".join(f"{value:.4g}" for value in outputs[:4])
    return shown if len(outputs) <= 4 else f"{shown}, …"
