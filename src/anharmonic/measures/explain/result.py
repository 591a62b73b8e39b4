"""`Explanation`: one point, explained."""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass

import numpy as np

from anharmonic._core.columns import titled
from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic.measures.explain.counterfactuals import Counterfactual, in_words
from anharmonic.measures.explain.shares import REMAINDER, Contributions
from anharmonic.measures.explain.switches import Switch
from anharmonic.measures.over_data.supporters import Support
from anharmonic.measures.search.step_rule import StepSettings

__all__ = ["Explanation"]

LISTED = 12
SWITCHES = 5
SUPPORTERS = 3
"""Rows for and against an answer that a sentence names."""
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
    support
        Which reference rows hold the answer up, what these rest on in turn, and the way from
        neighbour to neighbour up to the boundary; None without a reference of rows.
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
    support: Support | None = None

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
            "support": None if self.support is None else self.support.summary(),
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
                f"{other.distance:.3g} unit{'' if f'{other.distance:.3g}' == '1' else 's'}."
            )
        elif self.label is not None:
            sentences.append("The search found no other decision nearby.")
        if self.switches:
            alone = "; ".join(str(switch) for switch in self.switches[:SWITCHES])
            sentences.append(f"One column alone changes it, the most plausible first: {alone}.")
        return [*sentences, *self._support_sentences]

    @property
    def _support_sentences(self) -> list[str]:
        """What the answer rests on, in the reference."""
        support = self.support
        if support is None:
            return []
        named = [
            f"{', '.join(f'{row.name} ({row.weight:.0%})' for row in rows[:SUPPORTERS])} {verb}"
            for rows, verb in (
                (support.agreeing, "agree"),
                (support.contradicting, "contradict it"),
            )
            if rows
        ]
        steps = ", ".join(f"{share:.0%}" for share in support.walk)
        return [
            f"Of the reference, rows that weigh {support.walk[0]:.0%} give the same answer: "
            f"{'; '.join(named)}. Their neighbours, and the neighbours of these: {steps} agree.",
            support.boundary_sentence,
        ]

    @property
    def parts_sentence(self) -> str:
        """How the parts add up to the deviation; nothing where they are not known."""
        left = self.remainder
        if left is None:
            return ""
        alone = self.deviation.value - left
        return (
            f"Features moved one at a time make {alone:+.3g} of the deviation, {REMAINDER} "
            f"{left:+.3g}: together {self.deviation.value:+.3g}."
        )

    def __repr__(self) -> str:
        bends = ", ".join(f"{name} {share:+.3g}" for name, _, share in self.parts(4))
        lines = [*self.sentences, *([f"Its parts: {bends}.", self.parts_sentence] if bends else [])]
        return "<explanation: " + " ".join(lines) + f" {self.queries:,} queries>"

    def _repr_html_(self) -> str:
        sentences = "".join(f"<p>{html.escape(text)}</p>" for text in self.sentences)
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{value}</td>"
            f"<td>{share:+.3g}</td></tr>"
            for name, value, share in self.parts(LISTED)
        )
        heads = "<tr><th>feature</th><th>value</th><th>share of the deviation</th></tr>"
        total = (
            "<tr><th style='text-align:left'>together, the deviation</th><td></td>"
            f"<td><b>{self.deviation.value:+.3g}</b></td></tr>"
        )
        table = f"<table>{heads}{rows}{total}</table>" if rows else ""
        return f"{sentences}{table}<p>{self.queries:,} queries</p>"


def _plain(number: float) -> float | None:
    """For JSON, which knows no NaN."""
    return number if math.isfinite(number) else None
