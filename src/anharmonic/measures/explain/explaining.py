"""`explain`: one point, what its neighbours say, which features bend, what would change it."""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from anharmonic import models
from anharmonic._core.arrays import to_numpy64
from anharmonic._core.estimate import Estimate
from anharmonic._core.margins import by_class, decides, labels_of
from anharmonic._core.protocols import Floats
from anharmonic.measures.explain.counterfactuals import Counterfactual, nearest_counterfactual
from anharmonic.measures.explain.rows import one_row
from anharmonic.measures.explain.shares import REMAINDER, Contributions, contributions, titled
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.search import Climb, StepArguments, prepare
from anharmonic.measures.search.result import StepSettings
from anharmonic.measures.setup.batching import answers
from anharmonic.measures.setup.sphere import rows_on_device

__all__ = ["Explanation", "explain"]

LISTED = 12
ROUNDING = 1e-9
"""A share this small beside the largest is rounding."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """One point, explained.

    - `names`, `values` (n,): the features that may move, and the point's own.
    - `label`: the class decided, None for a regression. `output`: that class's output (or the
      only one), and `around`: its mean over the neighbours at `radius`.
    - `deviation`: output less around, with its error. Its size is gamma.
    - `contributions`: each feature's share in it, None where there are too many features;
      `remainder` is what they leave of it: what features do together, and between the axes.
    - `counterfactual`: the nearest other decision the search found, None where it found none.
    - `queries`: rows the model was asked for in all.
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
        found = self.contributions
        return None if found is None else found.remainder(int(found.rows[0]))

    def features(self, most: int | None = None) -> list[tuple[str, float, float]]:
        """Name, value and contribution of each feature, the largest contribution first."""
        if self.contributions is None:
            return []
        shares = self.contributions.values[0]
        order = np.argsort(-np.abs(shares), kind="stable")[:most]
        return [
            (self.names[place], float(self.values[place]), float(shares[place]))
            for place in order.tolist()
        ]

    def parts(self, most: int) -> list[tuple[str, str, float]]:
        """Parts that add up to the deviation, with titles and values as text.

        The `most` largest features, all others as one, and what features do together; features
        that play no part are left out.
        """
        left = self.remainder
        if left is None:
            return []
        known = self.features()
        least = ROUNDING * max([abs(left), *(abs(share) for _, _, share in known)])
        listed = [
            (titled(name), f"{value:.4g}", share)
            for name, value, share in known
            if abs(share) > least
        ]
        found = listed[:most]
        if listed[most:]:
            together = sum(share for _, _, share in listed[most:])
            found.append((f"{len(listed) - most} others together", "", together))
        return [*found, (REMAINDER, "", left)]

    def summary(self) -> dict[str, Any]:
        """All of it as plain numbers and texts."""
        other = self.counterfactual
        return {
            "label": self.label,
            "output": _plain(self.output),
            "around": [_plain(each) for each in self.around],
            "deviation": [_plain(each) for each in self.deviation],
            "radius": self.radius,
            "features": [
                {"name": name, "value": value, "contribution": share}
                for name, value, share in self.features()
            ],
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
        said = f"{self.output:.4g}" if self.label is None else f"{self.label} ({self.output:.4g})"
        found = [
            f"Here the model says {said}; around, at radius {self.radius:.4g}, the mean is "
            f"{self.around}. The deviation is {self.deviation}."
        ]
        other = self.counterfactual
        if other is not None:
            few = ", ".join(
                f"{titled(change.name)} {change.before:.4g} → {change.after:.4g}"
                for change in other.changes[:LISTED]
            )
            more = f" and {len(other.changes) - LISTED} more" if len(other.changes) > LISTED else ""
            found.append(
                f"It would say {other.label} with {few}{more}: a change of {other.distance:.3g} "
                "units."
            )
        elif self.label is not None:
            found.append("The search found no other decision nearby.")
        return found

    def __repr__(self) -> str:
        bends = ", ".join(f"{name} {share:+.3g}" for name, _, share in self.parts(4))
        lines = [*self.sentences, *([f"Its parts: {bends}."] if bends else [])]
        return "<explanation: " + " ".join(lines) + f" {self.queries:,} queries>"

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{html.escape(each)}</p>" for each in self.sentences)
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{value}</td>"
            f"<td>{share:+.3g}</td></tr>"
            for name, value, share in self.parts(LISTED)
        )
        heads = "<tr><th>feature</th><th>value</th><th>share of the deviation</th></tr>"
        table = f"<table>{heads}{rows}</table>" if rows else ""
        return f"{said}{table}<p>{self.queries:,} queries</p>"


def explain(
    model: Any,
    point: Any,
    *,
    steps: int = 50,
    climb: Climb = "margin",
    counterfactual: bool = True,
    limit: int = 100_000,
    **arguments: Unpack[StepArguments],
) -> Explanation:
    """What a point's neighbours say, which features bend the model there, what would change it.

    `point` is one row: (n,), (1, …), a table of one row, a row of a table (a pandas Series), or a
    dictionary of names and values. Its scale and radius come from the
    `reference` data, or from `scale` and `radius`. Second differences along all n features cost
    2n+1 queries and are left out beyond `limit`. The `counterfactual` is the nearest other
    decision that a search of `steps` steps finds, brought closer afterwards. Other arguments
    are those of `adversarial_search`; a `grid` holds for the counterfactual only.

    >>> bowl = lambda x: x[:, 0] ** 2 - 4 * x[:, 1] ** 2
    >>> found = explain(bowl, np.array([1.0, 2.0]), radius=0.1, scale=None)
    >>> print(found.deviation, found.features(1)[0][0])
    0.015 ± 0 1
    """
    region = one_row(point, arguments.get("reference"))
    asked = models.as_model(model, output=arguments.get("output"))
    # Whatever follows is about the same outputs: the model has been told which.
    arguments = arguments | {"output": None}
    chooser, facts = prepare(asked, region, climb, **arguments)
    moving, alike = chooser.caller.region, facts.kind
    here = answers(
        chooser.caller, rows_on_device(chooser.caller, np.array([0]))[:, None], np.array([0])
    )
    decided = decides(here.shape[-1], alike)
    common: dict[str, Any] = {
        "radius": facts.radius,
        "scale": facts.scale,
        "bounds": facts.bounds,
        "seed": facts.seed,
        "batch_size": arguments.get("batch_size"),
    }
    scores = gamma(asked, moving, reduction="predicted", rotations=4, **common)
    deviation = Estimate(float(scores.signed[0]), float(scores.errors[0]))
    queries = 1 + scores.queries
    shares = None
    if 2 * moving.dimension + 1 <= limit:
        shares = contributions(asked, moving, reduction="predicted", limit=limit, **common)
        queries += shares.queries
        shares = replace(shares, deviations=np.array([deviation.value]))
    other = None
    if decided and counterfactual:
        other, spent = nearest_counterfactual(asked, region, steps=steps, climb=climb, **arguments)
        queries += spent
    output = float(scores.outputs[0])
    return Explanation(
        names=moving.columns,
        values=to_numpy64(moving.values)[0],
        shape=moving.shape,
        label=_name(int(labels_of(by_class(here, alike))[0, 0]), facts) if decided else None,
        output=output,
        around=Estimate(output - deviation.value, deviation.error),
        deviation=deviation,
        radius=facts.radius,
        contributions=shares,
        counterfactual=other,
        queries=queries,
        settings=facts.with_facts(steps=steps),
    )


def _name(label: int, facts: StepSettings) -> str:
    classes = facts.classes
    return str(classes[label]) if classes and label < len(classes) else str(label)


def _plain(number: float) -> float | None:
    return number if math.isfinite(number) else None
