"""`explain`: one point, what its neighbours say, which features bend, what would change it."""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from anharmonic import models
from anharmonic._core.arrays import to_numpy64
from anharmonic._core.columns import titled
from anharmonic._core.estimate import Estimate
from anharmonic._core.margins import by_class, decides, labels_of
from anharmonic._core.protocols import Floats
from anharmonic.measures.explain.counterfactuals import (
    Counterfactual,
    in_words,
    nearest_counterfactual,
    value_at,
)
from anharmonic.measures.explain.rows import one_row
from anharmonic.measures.explain.shares import REMAINDER, Contributions, contributions
from anharmonic.measures.explain.switches import Switch, find_switches
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.search import Climb, StepArguments, adversarial_search, prepare
from anharmonic.measures.search.result import StepSettings
from anharmonic.measures.setup.batching import answers
from anharmonic.measures.setup.settling import SetupArguments, takes_arguments_of
from anharmonic.measures.setup.sphere import rows_on_device

__all__ = ["Explanation", "explain"]

LISTED = 12
SWITCHES = 5
ROUNDING = 1e-9
"""A share this small beside the largest is rounding."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """One point, explained.

    Parameters
    ----------
    names, values : (n,)
        The features that may move, and the point's own values.
    shape
        The shape of the point.
    label
        The class decided, None for a regression.
    output, around, radius
        That class's output (or the only one), and its mean over the neighbours at `radius`.
    deviation
        Output less around, with its error. Its size is gamma.
    contributions
        Each feature's share in it, None where there are too many features; `remainder` is what
        they leave of it: what features do together, and between the axes.
    counterfactual
        The nearest other decision that the search reached, None where it reached none.
    queries
        Rows the model was asked for in all.
    settings
        How it was measured.
    cells : (n,)
        The point's values as people read them, of a table of other than numbers.
    switches
        Of such a table: columns that change the decision alone, the most plausible value first.
    """

    names: tuple[str, ...]
    values: Floats
    shape: tuple[int, ...]
    label: str | None
    output: float
    around: Estimate
    deviation: Estimate
    radius: float
    contributions: Contributions | None
    counterfactual: Counterfactual | None
    queries: int
    settings: StepSettings
    cells: tuple[float | str, ...] = ()
    switches: tuple[Switch, ...] = ()

    @property
    def heat(self) -> Floats | None:
        """The contributions in the shape of the point, for images."""
        flat = len(self.shape) < 2 or int(np.prod(self.shape)) != len(self.names)
        if self.contributions is None or flat:
            return None
        return np.asarray(self.contributions.values[0].reshape(self.shape))

    @property
    def remainder(self) -> float | None:
        """The deviation less the shares of all features; None where these are not known."""
        shares = self.contributions
        return None if shares is None else shares.remainder(int(shares.rows[0]))

    def features(self, most: int | None = None) -> list[tuple[str, float, float]]:
        """Name, value and contribution of each feature, the largest contribution first."""
        if self.contributions is None:
            return []
        shares = self.contributions.values[0]
        order = np.argsort(-np.abs(shares), kind="stable")[:most]
        return [
            (self.names[column], float(self.values[column]), float(shares[column]))
            for column in order.tolist()
        ]

    def parts(self, most: int) -> list[tuple[str, str, float]]:
        """Parts that add up to the deviation, with titles and values as text.

        The `most` largest features, all others as one, and what features do together; features
        that play no part are left out.
        """
        left = self.remainder
        if left is None:
            return []
        features = self.features()
        least = ROUNDING * max([abs(left), *(abs(share) for _, _, share in features)])
        shown = dict(zip(self.names, self.cells, strict=True)) if self.cells else {}
        listed = [
            (titled(name), in_words(shown.get(name, value)), share)
            for name, value, share in features
            if abs(share) > least
        ]
        parts = listed[:most]
        if listed[most:]:
            together = sum(share for _, _, share in listed[most:])
            parts.append((f"{len(listed) - most} others together", "", together))
        return [*parts, (REMAINDER, "", left)]

    def summary(self) -> dict[str, object]:
        """All of it as plain numbers and texts."""
        other = self.counterfactual
        cells = dict(zip(self.names, self.cells, strict=True)) if self.cells else {}
        return {
            "label": self.label,
            "output": _plain(self.output),
            "around": [_plain(number) for number in self.around],
            "deviation": [_plain(number) for number in self.deviation],
            "radius": self.radius,
            "features": [
                {"name": name, "value": cells.get(name, value), "contribution": share}
                for name, value, share in self.features()
            ],
            **({"switches": [switch._asdict() for switch in self.switches]} if cells else {}),
            "remainder": self.remainder,
            "counterfactual": None
            if other is None
            else {
                "label": other.label,
                "margin": other.margin,
                "distance": other.distance,
                "steps": other.steps,
                "changes": [change._asdict() for change in other.changes],
            },
            "queries": self.queries,
            "settings": self.settings.plain(),
        }

    def to_json(self) -> str:
        """The summary as JSON."""
        return json.dumps(self.summary())

    @property
    def sentences(self) -> list[str]:
        """What there is to say, a sentence each."""
        answer = f"{self.output:.4g}" if self.label is None else f"{self.label} ({self.output:.4g})"
        sentences = [
            f"Here the model says {answer}; around, at radius {self.radius:.4g}, the mean is "
            f"{self.around}. The deviation is {self.deviation}."
        ]
        other = self.counterfactual
        if other is not None:
            changes = ", ".join(str(change) for change in other.changes[:LISTED])
            more = f" and {len(other.changes) - LISTED} more" if len(other.changes) > LISTED else ""
            sentences.append(
                f"It would say {other.label} with {changes}{more}: a change of "
                f"{other.distance:.3g} units."
            )
        elif self.label is not None:
            sentences.append("The search found no other decision nearby.")
        if self.switches:
            alone = "; ".join(str(switch) for switch in self.switches[:SWITCHES])
            sentences.append(f"One column alone changes it, the most plausible first: {alone}.")
        return sentences

    def __repr__(self) -> str:
        bends = ", ".join(f"{name} {share:+.3g}" for name, _, share in self.parts(4))
        lines = [*self.sentences, *([f"Its parts: {bends}."] if bends else [])]
        return "<explanation: " + " ".join(lines) + f" {self.queries:,} queries>"

    def _repr_html_(self) -> str:
        sentences = "".join(f"<p>{html.escape(text)}</p>" for text in self.sentences)
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{value}</td>"
            f"<td>{share:+.3g}</td></tr>"
            for name, value, share in self.parts(LISTED)
        )
        heads = "<tr><th>feature</th><th>value</th><th>share of the deviation</th></tr>"
        table = f"<table>{heads}{rows}</table>" if rows else ""
        return f"{sentences}{table}<p>{self.queries:,} queries</p>"


@takes_arguments_of(adversarial_search, StepArguments)
def explain(
    model: object,
    point: object,
    *,
    steps: int = 50,
    climb: Climb = "margin",
    counterfactual: bool = True,
    limit: int = 100_000,
    **arguments: Unpack[StepArguments],
) -> Explanation:
    """What a point's neighbours say, which features bend the model there, what would change it.

    Parameters
    ----------
    model
        Anything `as_model` takes.
    point
        One row: (n,), (1, …), a table of one row, a row of a table (a pandas Series), or a
        dictionary of names and values. Its scale and radius come from the `reference` data, or
        from `scale` and `radius`.
    steps, climb
        The most steps of the search for another decision, and where they go: as in
        `adversarial_search`.
    counterfactual
        Whether to look for the nearest other decision: what the search reaches, brought closer
        afterwards.
    limit
        Second differences along all n features cost 2n+1 queries and are left out beyond this.
    arguments
        As in `adversarial_search`; a `grid` holds for the counterfactual only.

    Examples
    --------
    >>> bowl = lambda x: x[:, 0] ** 2 - 4 * x[:, 1] ** 2
    >>> explanation = explain(bowl, np.array([1.0, 2.0]), radius=0.1, scale=None)
    >>> print(explanation.deviation, explanation.features(1)[0][0])
    0.015 ± 0 1
    """
    region = one_row(point, arguments.get("reference"))
    adapted = models.as_model(model, output=arguments.get("output"))
    # Whatever follows is about the same outputs: the adapted model gives no others.
    arguments = arguments | {"output": None}
    chooser, settings = prepare(adapted, region, climb, **arguments)
    moving, kind = chooser.caller.region, settings.kind
    here = answers(
        chooser.caller, rows_on_device(chooser.caller, np.array([0]))[:, None], np.array([0])
    )
    decided = decides(here.shape[-1], kind)
    settled: SetupArguments = {
        "radius": settings.radius,
        "scale": settings.scale,
        "bounds": settings.bounds,
        "seed": settings.seed,
        "batch_size": arguments.get("batch_size"),
    }
    scores = gamma(adapted, moving, reduction="predicted", rotations=4, **settled)
    deviation = Estimate(float(scores.signed[0]), float(scores.errors[0]))
    queries = 1 + scores.queries
    shares = None
    if 2 * moving.dimension + 1 <= limit:
        shares = contributions(adapted, moving, reduction="predicted", limit=limit, **settled)
        queries += shares.queries
        shares = replace(shares, deviations=np.array([deviation.value]))
    other = None
    if decided and counterfactual:
        other, spent = nearest_counterfactual(
            adapted, region, steps=steps, climb=climb, **arguments
        )
        queries += spent
    output = float(scores.outputs[0])
    law = moving.neighbourhood
    switches: tuple[Switch, ...] = ()
    if law is not None and decided:
        switches, spent = find_switches(chooser, settings)
        queries += spent
    values = to_numpy64(moving.values)[0]
    return Explanation(
        names=moving.columns,
        values=values,
        cells=()
        if law is None
        else tuple(value_at(law, column, code) for column, code in enumerate(values.tolist())),
        switches=switches,
        shape=moving.shape,
        label=_name(int(labels_of(by_class(here, kind))[0, 0]), settings) if decided else None,
        output=output,
        around=Estimate(output - deviation.value, deviation.error),
        deviation=deviation,
        radius=settings.radius,
        contributions=shares,
        counterfactual=other,
        queries=queries,
        settings=settings.with_facts(steps=steps),
    )


def _name(label: int, settings: StepSettings) -> str:
    """A class's name, or its number where it has none."""
    classes = settings.classes
    return str(classes[label]) if classes and label < len(classes) else str(label)


def _plain(number: float) -> float | None:
    """For JSON, which knows no NaN."""
    return number if math.isfinite(number) else None
