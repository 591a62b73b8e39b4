"""`support`: which rows hold an answer up, and which contradict it."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from anharmonic._core import tables
from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import SettingsError
from anharmonic.measures.over_data.arranging import arrange
from anharmonic.measures.over_data.asking import ask_rows, compared_columns, decided
from anharmonic.measures.over_data.encoding import encode
from anharmonic.measures.over_data.fitting import forest_weights
from anharmonic.measures.over_data.nearest import neighbour_weights
from anharmonic.measures.over_data.recorded import Answered
from anharmonic.measures.over_data.smoothing import Data
from anharmonic.measures.over_data.weights import Forest, Neighbours, chosen_weights
from anharmonic.measures.setup.settling import DEFAULTS, SetupArguments, takes_setup
from anharmonic.regions import Region, unmoved

__all__ = ["Support", "Supporter", "support"]

LISTED = 10


class Supporter(NamedTuple):
    """Another row: its number, its weight in the mean, and what the model answers there.

    `name` is what the user calls it, or its number.
    """

    row: int
    weight: float
    answer: str
    agrees: bool
    name: str = ""


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
    boundary
        The likeliest way from neighbour to neighbour up to the first row that contradicts the
        answer, with the weight of each in the mean of the one before; empty where none is reached.
    name
        What the user calls the row, or its number.
    """

    row: int
    answer: str
    gamma: float
    supporters: tuple[Supporter, ...]
    walk: tuple[float, ...]
    queries: int
    boundary: tuple[Supporter, ...] = ()
    name: str = ""

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
            "boundary": [other._asdict() for other in self.boundary],
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
            f"Row {self.name or self.row}: the model says {self.answer}, and other rows weighing "
            f"{self.walk[0]:.0%} agree; walking on from neighbour to neighbour {steps}."
        )

    @property
    def boundary_sentence(self) -> str:
        """The way to the boundary, for people."""
        if not self.boundary:
            return "No row that neighbours of neighbours lead to says otherwise."
        *between, last = self.boundary
        over = f"over {', '.join(row.name for row in between)} " if between else ""
        count = len(self.boundary)
        return (
            f"The boundary is {count} {'step' if count == 1 else 'steps'} away: the likeliest way "
            f"from neighbour to neighbour leads {over}to {last.name}, where the model says "
            f"{last.answer}."
        )

    def __repr__(self) -> str:
        names = [
            f"{word} {', '.join(f'{other.name} ({other.weight:.0%})' for other in others[:LISTED])}"
            for word, others in (("for it", self.agreeing), ("against it", self.contradicting))
            if others
        ]
        return f"<support: {self.sentence} Rows {'; '.join(names)}. {self.boundary_sentence}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(other.name)}</td><td>{other.weight:.1%}</td><td>{html.escape(other.answer)}</td>"
            f"<td>{'agrees' if other.agrees else 'contradicts'}</td></tr>"
            for other in self.supporters[: 2 * LISTED]
        )
        heads = "<tr><th>row</th><th>weight</th><th>answer</th><th></th></tr>"
        boundary = html.escape(self.boundary_sentence)
        return f"<p>{html.escape(self.sentence)}</p><table>{heads}{rows}</table><p>{boundary}</p>"


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
    reference
        The rows that may hold the answer up, such as those the model was trained on; the other
        `rows` where none are given.
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
    reference = arguments["reference"]
    known = region if reference is None else unmoved(reference)
    columns = compared_columns(adapted, region, arguments["moving"])
    batch_size, seed = arguments["batch_size"], arguments["seed"]
    others = ask_rows(adapted, known, batch_size)
    data, order = arrange(encode([known], columns), others, others, chosen, seed)
    matrix = _matrix(chosen, data)
    if reference is None:
        place = int(data.own[np.flatnonzero(order == row)[0]])
        own, here = np.asarray(matrix[[place]].toarray())[0], others.answers[row]
        queries = others.queries
    else:
        one = region.rows(np.array([row]))
        asked = ask_rows(adapted, one, batch_size)
        own = _weights_of_one(chosen, data, (one, known), columns, asked, others)
        here, queries = asked.answers[0], others.queries + 1
    agree = _agreeing(data.answers, here)
    walk, at = [float(own[agree].sum())], own
    for _ in range(max(1, steps) - 1):
        at = np.asarray(at @ matrix)
        walk.append(float(at[agree].sum()))
    heaviest = np.argsort(-own, kind="stable")[: int((own > 0).sum())]
    answers = _names(data.answers, adapted.classes)
    called = known.row_names

    def other_row(place: int, weight: float) -> Supporter:
        number = int(data.number[place])
        name = str(number) if called is None else called[number]
        return Supporter(number, weight, answers[place], bool(agree[place]), name)

    own_name = region.row_names
    return Support(
        row,
        _names(here[None, :], adapted.classes)[0],
        float(np.linalg.norm(here - own @ data.answers)),
        tuple(other_row(place, float(own[place])) for place in heaviest.tolist()),
        tuple(walk),
        queries,
        tuple(other_row(*step) for step in _way_to_boundary(own, matrix, agree)),
        str(row) if own_name is None else own_name[row],
    )


def _weights_of_one(
    weights: Forest | Neighbours,
    data: Data,
    parts: tuple[Region, Region],
    columns: list[str] | None,
    asked: Answered,
    others: Answered,
) -> Floats:
    """The weights of the reference's distinct rows, as `data` has them, for one other row."""
    both, _ = arrange(encode(parts, columns), asked, others, weights, data.seed)
    row = np.asarray(_matrix(weights, both).toarray())[0]
    # The order is that of hashes of the cells as coded here, which may differ: go by numbers.
    place = np.empty(int(both.number.max()) + 1, dtype=np.int64)
    place[both.number] = np.arange(len(both.number))
    return np.asarray(row[place[data.number]])


def _way_to_boundary(
    own: Floats, matrix: sparse.csr_array, agree: NDArray[np.bool_]
) -> list[tuple[int, float]]:
    """The likeliest way to a row that contradicts: rows, and the weight of each step.

    The product of weights is largest where the sum of −log weight is smallest (Dijkstra).
    """
    from scipy.sparse.csgraph import dijkstra

    if agree.all():
        return []
    count = len(own)
    # The row itself stands behind all others; sure steps cost next to nothing, not nothing.
    graph = sparse.csr_array(sparse.vstack([matrix, sparse.csr_array(own[None, :])]))
    graph.eliminate_zeros()
    graph.data = -np.log(np.minimum(graph.data, 1 - 1e-12))
    graph.resize((count + 1, count + 1))
    lengths, before = dijkstra(graph, indices=count, return_predecessors=True)
    far = np.where(agree, np.inf, lengths[:count])
    if not np.isfinite(far).any():
        return []
    way, here = [], int(np.argmin(far))
    while here != count:
        last = int(before[here])
        weight = own[here] if last == count else matrix[[last], [here]]
        way.append((here, float(np.asarray(weight).reshape(-1)[0])))
        here = last
    return way[::-1]


def _matrix(weights: Forest | Neighbours, data: Data) -> sparse.csr_array:
    """The weights of all reference rows for one another."""
    # One scored row stands for each reference row: copies have the same weights.
    first: Integers = np.unique(data.own, return_index=True)[1]
    if isinstance(weights, Forest):
        return forest_weights(weights, data, first, os.cpu_count() or 1)
    return neighbour_weights(weights, data, first)


def _agreeing(answers: Floats, here: Floats) -> NDArray[np.bool_]:
    """Which rows answer as this one does, (rows,)."""
    if answers.shape[1] > 1:
        return np.asarray(answers.argmax(axis=1) == here.argmax())
    return np.asarray(np.abs(answers - here)[:, 0] <= np.abs(answers.mean() - here)[0])


def _names(answers: Floats, classes: tuple[object, ...] | None) -> list[str]:
    if classes is not None and answers.shape[1] == len(classes):
        return [str(classes[index]) for index in answers.argmax(axis=1).tolist()]
    if answers.shape[1] > 1:
        return [str(index) for index in answers.argmax(axis=1).tolist()]
    return [f"{value:.4g}" for value in answers[:, 0].tolist()]
