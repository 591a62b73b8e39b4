"""Whether predicted chances come true: random walks, and predicted against observed rates."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from anharmonic._core import tables
from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.statistics import Moments, share_interval
from anharmonic._core.streams import Stream
from anharmonic.errors import SettingsError
from anharmonic.measures.search import StepArguments, adversarial_search, search_from
from anharmonic.measures.search.result import Search
from anharmonic.measures.search.step_rule import StepSettings
from anharmonic.measures.setup.batching import Flags
from anharmonic.measures.setup.settling import takes_arguments_of
from anharmonic.measures.stability.nstep import FLIP, STABLE, SWAY, Event
from anharmonic.scores import Scores

__all__ = ["Calibration", "Observed", "calibration", "observed_flips"]


class Observed(NamedTuple):
    """Which of some random walks flipped.

    Parameters
    ----------
    flips : (points, walks)
        Of bool.
    queries
        Rows the model was asked for.
    steps, event
        How long the walks were, and what counted as a flip.
    """

    flips: Flags
    queries: int
    steps: int
    event: Event

    @property
    def rates(self) -> Floats:
        """The share of each point's walks that flipped, (points,)."""
        return np.asarray(self.flips.mean(axis=1))


@takes_arguments_of(adversarial_search, StepArguments)
def observed_flips(
    model: object,
    points: object,
    *,
    steps: int = 25,
    walks: int = 1,
    event: Event = "end",
    **arguments: Unpack[StepArguments],
) -> Observed:
    """Start random walks at each point, and see which end in another class.

    Parameters
    ----------
    model, points
        Anything `as_model` takes, and rows, a DataFrame or a `regions.Region`.
    steps
        Of each walk; a walk costs one query per step.
    walks
        How many start at each point.
    event : "end" or "ever"
        With "ever" a flip on the way counts too.
    arguments
        As in `adversarial_search`.

    Examples
    --------
    >>> slope = lambda x: np.stack([x[:, 0], -x[:, 0]], axis=1)
    >>> observed = observed_flips(slope, np.array([[9.0, 0.0]]), radius=0.1, scale=None, walks=3)
    >>> observed.rates.tolist(), observed.queries
    ([0.0], 78)
    """
    if walks < 1:
        raise SettingsError(f"walks must be at least 1, got {walks}")
    seeds = (
        generator(arguments.get("seed", 0), Stream.OBSERVED_WALKS)
        .integers(2**31, size=walks)
        .tolist()
    )
    # Another seed per walk: a row's steps depend on the seed and its number alone.
    flips, queries = [], 0
    for seed in seeds:
        arguments["seed"] = seed
        # Steps as long as those of `nstep_robustness`, whose chances these are held against.
        search = search_from(
            model,
            points,
            share=1.0,
            climb="random",
            steps=steps,
            stop=event == "ever",
            **arguments,
        )
        flips.append(
            search.flipped if event == "ever" else search.labels[:, -1] != search.labels[:, 0]
        )
        queries += int(search.queries.sum())
    return Observed(np.stack(flips, axis=1), queries, steps, event)


@dataclass(frozen=True, repr=False)
class Calibration:
    """Predicted chances of a flip in bins, beside how often there was one.

    Parameters
    ----------
    predicted, observed : (bins,)
        Mean chance and share of flips; empty bins are left out.
    low, high : (bins,)
        95% interval of the share (Clopper and Pearson), walks taken as independent.
    counts : (bins,)
        Walks.
    brier
        Brier score: mean squared difference of chance and outcome, 0 at best, with its error
        over points.
    constant
        The Brier score of the overall rate as the chance of every point.
    """

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    counts: Integers
    brier: Estimate
    constant: float

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One row per bin."""
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
        cells = ["".join(f"<th>{head}</th>" for head in heads)]
        cells += ["".join(f"<td>{html.escape(text)}</td>" for text in row) for row in self._rows]
        rows = "".join(f"<tr>{row}</tr>" for row in cells)
        score = f"Brier score {self.brier}, constant rate {self.constant:.4g}"
        return f"<table><caption>{html.escape(score)}</caption>{rows}</table>"


def calibration(
    scores: Scores, observed: Observed | Search | ArrayLike, bins: int = 10
) -> Calibration:
    """Predicted against observed flip rates, in bins of equal width.

    Parameters
    ----------
    scores
        From `nstep_robustness`; one less the paper's stability counts as its chance.
    observed
        From `observed_flips`, a search, or an array of flips (points,) or (points, walks).
    bins
        How many.
    """
    chance = 1 - scores.values if scores.metric == STABLE else scores.values
    if scores.metric == SWAY:
        raise SettingsError("sway ranks and is no chance: ask nstep_robustness for kind='walks'")
    _check_same_event(scores, observed)
    flips = _flips(observed)
    if len(flips) != len(chance) or bins < 1:
        raise SettingsError(
            f"{len(flips)} points were observed and {len(chance)} predicted: give the same points"
        )
    walks = flips.shape[1]
    # The bin of each point; a chance of 1 belongs to the last.
    bin_of = np.minimum((chance * bins).astype(np.int64), bins - 1)
    used = np.unique(bin_of)
    counts = np.array([walks * int((bin_of == number).sum()) for number in used])
    hits = np.array([int(flips[bin_of == number].sum()) for number in used])
    intervals = [
        share_interval(hit, count)
        for hit, count in zip(hits.tolist(), counts.tolist(), strict=True)
    ]
    # The walks of one point share its chance: averaged first, so that points are independent.
    squares = Moments.of(((chance[:, None] - flips) ** 2).mean(axis=1))
    # Outcomes of 0 and 1 differ from a constant rate p by p·(1 − p) in mean square.
    rate = float(flips.mean())
    return Calibration(
        predicted=np.array([chance[bin_of == number].mean() for number in used]),
        observed=hits / counts,
        low=np.array([low for low, _ in intervals]),
        high=np.array([high for _, high in intervals]),
        counts=counts,
        brier=Estimate(float(squares.mean), float(squares.error)),
        constant=rate * (1 - rate),
    )


def _check_same_event(scores: Scores, observed: object) -> None:
    """Refuse to hold a chance against something else than it was the chance of."""
    if isinstance(observed, Search):
        steps, event = observed.settings.steps, "ever"
    elif isinstance(observed, Observed):
        steps, event = observed.steps, observed.event
    else:
        return
    settings = scores.settings
    if not isinstance(settings, StepSettings):
        return
    chance = scores.metric == FLIP
    if settings.steps != steps or (chance and settings.event != event):
        raise SettingsError(
            f"the scores are for {settings.steps} steps and the event {settings.event!r}, and "
            f"{steps} steps and {event!r} were observed: give both the same"
        )


def _flips(observed: Observed | Search | ArrayLike) -> Floats:
    """Flips (points, walks) of 0 and 1, whatever they came as."""
    if isinstance(observed, Search):
        observed = observed.flipped
    array = np.asarray(observed.flips if isinstance(observed, Observed) else observed)
    return array.reshape(len(array), -1).astype(np.float64)
