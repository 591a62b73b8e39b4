"""What commands on several models share: their names, their data, their arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from anharmonic.cli.options import load, name_and_value, points_data, reference_data, split
from anharmonic.comparison import Comparison
from anharmonic.errors import SettingsError
from anharmonic.explanation import Contributions, worst_contributions
from anharmonic.protocols import Model
from anharmonic.regions import Region, points

__all__ = ["Asked", "asked", "explained"]

WORST = 5
MOST_FEATURES = 1000
"""With more features than this, explaining a few points costs more than measuring many."""


class Asked(NamedTuple):
    """Models by name, where to measure them, and the data that sets the scale."""

    models: dict[str, Model]
    region: Region
    reference: Any


def asked(
    models: list[str],
    data: Path | None,
    reference: Path | None,
    *,
    output: str | None,
    trust: bool,
    columns: str | None,
    drop: str | None,
    moving: str | None,
) -> Asked:
    """The models and data that a command line names."""
    if data is None:
        raise SettingsError("give --data, or see --help")
    sources = dict(name_and_value(each) for each in models)
    if len(sources) < len(models):
        raise SettingsError("two models have the same name: give each its own")
    return Asked(
        {name: load(source, output, trust) for name, source in sources.items()},
        points(points_data(data, columns, drop, reference), moving=split(moving)),
        reference_data(reference, columns, drop),
    )


def explained(given: Asked, found: Comparison) -> dict[str, Contributions]:
    """What is behind the worst points of every model, where that can be said at little cost."""
    first = next(iter(found.scores.values())).settings
    if first["dimension"] > MOST_FEATURES or first["reduction"] == "angle":
        return {}
    return {
        name: worst_contributions(model, given.region, found.scores[name], WORST)
        for name, model in given.models.items()
    }
