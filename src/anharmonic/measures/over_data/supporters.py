"""`support`: which rows hold an answer up, and which contradict it."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
from scipy import sparse

from anharmonic._core import tables
from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import SettingsError
from anharmonic.measures.over_data.arranging import arrange
from anharmonic.measures.over_data.asking import ask_rows, compared_columns, decided
from anharmonic.measures.over_data.encoding import encode
from anharmonic.measures.over_data.fitting import forest_weights
from anharmonic.measures.over_data.nearest import neighbour_weights
from anharmonic.measures.over_data.smoothing import Data
from anharmonic.measures.over_data.weights import Forest, Neighbours, chosen_weights
from anharmonic.measures.setup.settling import DEFAULTS, SetupArguments, takes_setup
from anharmonic.regions import unmoved

__all__ = ["Support", "Supporter", "support"]

LISTED = 10


class Supporter(NamedTuple):
    """Another row: its number, its weight in the mean, and what the model answers there."""

    row: int
    weight: float
    answer: str
    agrees: bool


@dataclass(frozen=True, repr=False)
class Support:
    """What one row's answer rests on.

    Parameters
    ----------
    row, answer
        The row, and what the model answers there: a class, or a number.
    gamma
        How far that is from the mean of the other rows' answers.
    supporters
        The other rows that count, the heaviest first. A row agrees where its answer is the same
        class, or for numbers where it is nearer to the answer than the mean of all rows is.
    walk
        The weight of agreeing rows after one step to a neighbour, after two, and so on: where it
        falls quickly, the answer is an island.
    queries
        Rows the model was asked for.
    """

    row: int
    answer: str
    gamma: float
    supporters: tuple[Supporter, ...]
    walk: tuple[float, ...]
    queries: int

    @property
    def agreeing(self) -> list[Supporter]:
        """Rows that hold the answer up, the heaviest first."""
        return [other for other in self.supporters if other.agrees]

    @property
    def contradicting(self) -> list[Supporter]:
        """Rows that contradict it, the heaviest first."""
        return [other for other in self.supporters if not other.agrees]

    def summary(self) -> dict[str, object]:
        """All of it as plain values."""
        return {
            "row": self.row,
            "answer": self.answer,
            "gamma": self.gamma,
            "supporters": [other._asdict() for other in self.supporters],
            "walk": list(self.walk),
            "queries": self.queries,
        }

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One row per other row that counts."""
        columns = {
            name: [getattr(other, name) for other in self.supporters] for name in Supporter._fields
        }
        return tables.frame(tables.arrow(columns, {"holds": "support"}), backend)

    @property
    def sentence(self) -> str:
        """What there is to say, for people."""
        steps = ", ".join(f"{share:.0%}" for share in self.walk)
        return (
            f"Row {self.row}: the model says {self.answer}, and other rows weighing "
            f"{self.walk[0]:.0%} agree; walking on from neighbour to neighbour {steps}."
        )

    def __repr__(self) -> str:
        names = [
            f"{word} {', '.join(f'{other.row} ({other.weight:.0%})' for other in others[:LISTED])}"
            for word, others in (("for it", self.agreeing), ("against it", self.contradicting))
            if others
        ]
        return f"<support: {self.sentence} Rows {'; '.join(names)}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{other.row}</td><td>{other.weight:.1%}</td><td>{html.escape(other.answer)}</td>"
            f"<td>{'agrees' if other.agrees else 'contradicts'}</td></tr>"
            for other in self.supporters[: 2 * LISTED]
        )
        heads = "<tr><th>row</th><th>weight</th><th>answer</th><th></th></tr>"
        return f"<p>{html.escape(self.sentence)}</p><table>{heads}{rows}</table>"


@takes_setup
def support(
    model: object,
    rows: object,
    row: int,
    *,
    weights: object = "auto",
    steps: int = 3,
    **setup: Unpack[SetupArguments],
) -> Support:
    """Which rows hold the answer at one row up, and which contradict it.

    Parameters
    ----------
    model
        Anything `as_model` takes.
    rows, row
        Rows of any kind, and the number (from 0) of the one to explain.
    weights : "auto", "forest", "neighbours", `Forest` or `Neighbours`
        As in `gamma_data`.
    steps
        How far to walk on from neighbour to neighbour.
    moving, output, batch_size, seed
        As in `gamma`.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.arange(20.0)[:, None]
    >>> island = lambda x: np.stack([x[:, 0] != 7, x[:, 0] == 7], axis=1).astype(float)
    >>> support(island, line, 7, weights=Neighbours(2)).walk
    (0.0, 0.5, 0.0)
    """
    arguments = DEFAULTS | setup
    chosen = chosen_weights(weights)
    if not isinstance(chosen, Forest | Neighbours):
        raise SettingsError(
            f"weights of kind {chosen.name!r} cannot be walked along: give a forest or neighbours"
        )
    region = unmoved(rows)
    if not 0 <= row < len(region):
        raise SettingsError(f"row {row} of {len(region):,} rows: give a number from 0 on")
    adapted = decided(model, arguments["output"])
    asked = ask_rows(adapted, region, arguments["batch_size"])
    columns = compared_columns(adapted, region, arguments["moving"])
    data, order = arrange(encode([region], columns), asked, asked, chosen, arguments["seed"])
    place = int(data.own[np.flatnonzero(order == row)[0]])
    matrix = _matrix(chosen, data)
    agree = _agreeing(data.answers, place)
    walk, at = [], np.zeros(len(data.answers))
    at[place] = 1.0
    for _ in range(max(1, steps)):
        at = np.asarray(at @ matrix)
        walk.append(float(at[agree].sum()))
    own = np.asarray(matrix[[place]].toarray())[0]
    heaviest = np.argsort(-own, kind="stable")[: int((own > 0).sum())]
    names = _names(data.answers, adapted.classes)
    mean = own @ data.answers
    return Support(
        row,
        names[place],
        float(np.linalg.norm(asked.answers[row] - mean)),
        tuple(
            Supporter(int(data.number[other]), float(own[other]), names[other], bool(agree[other]))
            for other in heaviest.tolist()
        ),
        tuple(walk),
        asked.queries,
    )


def _matrix(weights: Forest | Neighbours, data: Data) -> sparse.csr_array:
    """The weights of all reference rows for one another."""
    # One scored row stands for each reference row: copies have the same weights.
    first: Integers = np.unique(data.own, return_index=True)[1]
    if isinstance(weights, Forest):
        return forest_weights(weights, data, first, os.cpu_count() or 1)
    return neighbour_weights(weights, data, first)


def _agreeing(answers: Floats, place: int) -> Any:
    """Which rows answer as the one at `place` does, (rows,)."""
    if answers.shape[1] > 1:
        return answers.argmax(axis=1) == answers[place].argmax()
    return np.abs(answers - answers[place])[:, 0] <= np.abs(answers.mean() - answers[place])[0]


def _names(answers: Floats, classes: tuple[object, ...] | None) -> list[str]:
    if classes is not None and answers.shape[1] == len(classes):
        return [str(classes[index]) for index in answers.argmax(axis=1).tolist()]
    if answers.shape[1] > 1:
        return [str(index) for index in answers.argmax(axis=1).tolist()]
    return [f"{value:.4g}" for value in answers[:, 0].tolist()]
