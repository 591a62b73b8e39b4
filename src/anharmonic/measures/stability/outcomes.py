"""Whether predicted chances come true: random walks, and predicted against observed rates."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np

from anharmonic._core import tables
from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.statistics import Moments, share_interval
from anharmonic._core.streams import Stream
from anharmonic.errors import SettingsError
from anharmonic.measures.search import StepArguments, adversarial_search
from anharmonic.measures.search.result import Search, StepSettings
from anharmonic.measures.stability.nstep import FLIP, STABLE, SWAY, Event
from anharmonic.scores import Scores

__all__ = ["Calibration", "Observed", "calibration", "observed_flips"]


class Observed(NamedTuple):
    """Which of some random walks flipped, (points, walks), what they cost, and what counted."""

    flips: Any
    queries: int
    steps: int
    event: Event

    @property
    def rates(self) -> Floats:
        """The share of each point's walks that flipped, (points,)."""
        return np.asarray(self.flips.mean(axis=1))


def observed_flips(
    model: Any,
    points: Any,
    *,
    steps: int = 25,
    walks: int = 1,
    event: Event = "end",
    **arguments: Unpack[StepArguments],
) -> Observed:
    """Let random walks loose on each point, and see which end in another class.

    With the `event` "ever" a flip on the way counts too. A walk costs a query a step.

    >>> slope = lambda x: np.stack([x[:, 0], -x[:, 0]], axis=1)
    >>> found = observed_flips(slope, np.array([[9.0, 0.0]]), radius=0.1, scale=None, walks=3)
    >>> found.rates.tolist(), found.queries
    ([0.0], 78)
    """
    if walks < 1:
        raise SettingsError(f"walks must be at least 1, got {walks}")
    seeds = (
        generator(arguments.get("seed", 0), Stream.OBSERVED_WALKS)
        .integers(2**31, size=walks)
        .tolist()
    )
    flips, queries = [], 0
    for seed in seeds:
        arguments["seed"] = seed
        search = adversarial_search(
            model, points, climb="random", steps=steps, stop=event == "ever", **arguments
        )
        flips.append(
            search.flipped if event == "ever" else search.labels[:, -1] != search.labels[:, 0]
        )
        queries += int(search.queries.sum())
    return Observed(np.stack(flips, axis=1), queries, steps, event)


@dataclass(frozen=True, repr=False)
class Calibration:
    """Predicted chances of a flip in bins, beside how often there was one.

    - `predicted`, `observed` (bins,): mean chance and share of flips; empty bins are left out.
    - `low`, `high` (bins,): 95% interval of the share (Clopper and Pearson), walks taken as
      independent. `counts` (bins,): walks.
    - `brier`: mean squared difference of chance and outcome, 0 at best, with its error over
      points; `constant`: what the overall rate would score as everybody's chance.
    """

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    counts: Integers
    brier: Estimate
    constant: float

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One row a bin."""
        names = ("predicted", "observed", "low", "high", "counts")
        columns = {name: getattr(self, name) for name in names}
        return tables.frame(tables.arrow(columns, {"holds": "table"}), backend)

    @property
    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (f"{chance:.3f}", f"{share:.3f}", f"{low:.3f} … {high:.3f}", f"{count:,}")
            for chance, share, low, high, count in zip(
                self.predicted, self.observed, self.low, self.high, self.counts, strict=True
            )
        ]

    def __repr__(self) -> str:
        lines = [f"<calibration: Brier score {self.brier}, constant rate {self.constant:.4g}"]
        lines += [
            f"  predicted {chance}, observed {share} [{interval}] of {count}"
            for chance, share, interval, count in self._rows
        ]
        return "\n".join(lines) + ">"

    def _repr_html_(self) -> str:
        heads = ("predicted", "observed", "95% interval", "walks")
        cells = ["".join(f"<th>{each}</th>" for each in heads)]
        cells += ["".join(f"<td>{html.escape(each)}</td>" for each in row) for row in self._rows]
        rows = "".join(f"<tr>{row}</tr>" for row in cells)
        score = f"Brier score {self.brier}, constant rate {self.constant:.4g}"
        return f"<table><caption>{html.escape(score)}</caption>{rows}</table>"


def calibration(scores: Scores, observed: Observed | Search | Any, bins: int = 10) -> Calibration:
    """Predicted against observed flip rates, in bins of equal width.

    `scores` are from `nstep_robustness` (one less the paper's stability counts as its chance);
    `observed` from `observed_flips`, a search, or an array of flips (points,) or (points, walks).
    """
    chance = 1 - scores.values if scores.metric == STABLE else scores.values
    if scores.metric == SWAY:
        raise SettingsError("sway ranks and is no chance: ask nstep_robustness for kind='walks'")
    _same_event(scores, observed)
    flips = _flips(observed)
    if len(flips) != len(chance) or bins < 1:
        raise SettingsError(
            f"{len(flips)} points were observed and {len(chance)} predicted: give the same points"
        )
    walks = flips.shape[1]
    place = np.minimum((chance * bins).astype(np.int64), bins - 1)
    used = np.unique(place)
    counts = np.array([walks * int((place == each).sum()) for each in used])
    hits = np.array([int(flips[place == each].sum()) for each in used])
    intervals = [
        share_interval(hit, count)
        for hit, count in zip(hits.tolist(), counts.tolist(), strict=True)
    ]
    squares = Moments.of(((chance[:, None] - flips) ** 2).mean(axis=1))
    rate = float(flips.mean())
    return Calibration(
        predicted=np.array([chance[place == each].mean() for each in used]),
        observed=hits / counts,
        low=np.array([low for low, _ in intervals]),
        high=np.array([high for _, high in intervals]),
        counts=counts,
        brier=Estimate(float(squares.mean), float(squares.error)),
        constant=rate * (1 - rate),
    )


def _same_event(scores: Scores, observed: Any) -> None:
    """Refuse to hold a chance against something else than it was the chance of."""
    if isinstance(observed, Search):
        observed = Observed(None, 0, observed.settings.steps, "ever")
    known = scores.settings
    if not isinstance(observed, Observed) or not isinstance(known, StepSettings):
        return
    chance = scores.metric == FLIP
    if known.steps != observed.steps or (chance and known.event != observed.event):
        raise SettingsError(
            f"the scores are for {known.steps} steps and the event {known.event!r}, and "
            f"{observed.steps} steps and {observed.event!r} were observed: give both the same"
        )


def _flips(observed: Observed | Search | Any) -> Any:
    """Flips (points, walks) of 0 and 1, whatever they came as."""
    if isinstance(observed, Search):
        observed = observed.flipped
    array = np.asarray(observed.flips if isinstance(observed, Observed) else observed)
    return array.reshape(len(array), -1).astype(np.float64)
