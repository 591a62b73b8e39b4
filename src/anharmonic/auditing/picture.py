"""What a picture shows, as numbers: drawn by `plots`, kept in files, read by anybody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.auditing.wording import number_of

__all__ = ["Bar", "Picture", "shares_of"]


class Bar(NamedTuple):
    """One line of a picture: a name, its number, an interval where it has one, and how it counts.

    `role` is "subject" for what the picture is about, "other" for what it is held against.
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    role: Literal["subject", "other"] = "other"


@dataclass(frozen=True)
class Picture:
    """Bars or dots with intervals, one line each; or shares of rows by bins or levels.

    Parameters
    ----------
    kind : "bars", "dots", "histograms" or "levels"
        Bars begin at 0; dots have intervals; histograms and levels compare sides.
    title, unit
        What is shown, and what its numbers are.
    bars
        The lines of bars and dots.
    bins
        What each bin or level is called, (bins,): bins by their lower ends.
    sides
        By the name of a side, the share of its rows in each bin, (bins,).
    mark
        A number that lines are held against, such as a limit.
    """

    kind: Literal["bars", "dots", "histograms", "levels"]
    title: str
    unit: str = ""
    bars: tuple[Bar, ...] = ()
    bins: tuple[str, ...] = ()
    sides: tuple[tuple[str, tuple[float, ...]], ...] = ()
    mark: float | None = None

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self) | {"bars": [bar._asdict() for bar in self.bars]}

    @classmethod
    def read(cls, kept: dict[str, Any]) -> Picture:
        """From what `plain` gave."""
        return cls(
            **kept
            | {
                "bars": tuple(Bar(**bar) for bar in kept["bars"]),
                "bins": tuple(kept["bins"]),
                "sides": tuple((name, tuple(shares)) for name, shares in kept["sides"]),
            }
        )


def shares_of(
    title: str,
    first: Floats,
    second: Floats,
    names: tuple[str, str],
    words: Callable[[float], str] = number_of,
    bins: int = 16,
) -> Picture:
    """Two sides' numbers as histograms over the same bins, the outermost tails put in the ends."""
    both = np.concatenate([first, second])
    low, high = np.quantile(both, [0.005, 0.995])
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    return Picture(
        "histograms",
        title,
        bins=tuple(words(float(start)) for start in edges[:-1]),
        sides=tuple(
            (name, tuple(_shares(np.clip(values, edges[0], edges[-1]), edges)))
            for name, values in zip(names, (first, second), strict=True)
        ),
    )


def _shares(values: Floats, edges: Floats) -> Sequence[float]:
    counts, _ = np.histogram(values, edges)
    shares: list[float] = (counts / max(1, len(values))).round(5).tolist()
    return shares
