"""SpadeScores: a model's score, its points' and its edges', and what they depend on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anharmonic._core import tables
from anharmonic._core.columns import told
from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.settings import Settings
from anharmonic._core.statistics import Moments, half_widths
from anharmonic.errors import SettingsError
from anharmonic.measures.spectral.graph import Graph

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SpadeScores", "guide"]


@dataclass(frozen=True, kw_only=True)
class SpadeSettings(Settings):
    """Settings of `spade`.

    Parameters
    ----------
    nodes, copies
        Points that differ, and how many more are copies of them.
    neighbours, rank, components
        Of every point in both graphs, eigenvectors behind node scores, and what is done with
        an output graph in parts.
    input_parts, output_parts, edges_added, edges_torn, parts
        Components of both graphs, edges that join them, input edges between those of the
        outputs, and each component's size and score.
    asked_search, search, recall, tied, ties, same
        How neighbours were looked for and found, on both sides; the share of outputs with more
        copies than neighbours, those whose last neighbour is one of several as near, and
        whether outputs are the inputs themselves.
    residual, block_size, seconds
        To what share the score is known, points of a block, and seconds of every stage.
    """

    nodes: int = 0
    copies: int = 0
    neighbours: int = 0
    rank: int = 0
    components: str = "join"
    input_parts: int = 1
    output_parts: int = 1
    edges_added: int = 0
    edges_torn: int = 0
    parts: tuple[tuple[float, ...], ...] = ()
    asked_search: str = "auto"
    search: Mapping[str, str] = field(default_factory=dict)
    recall: Mapping[str, float] = field(default_factory=dict)
    tied: float = 0.0
    ties: Mapping[str, float] = field(default_factory=dict)
    same: bool = False
    residual: float = 0.0
    block_size: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class SpadeScores:
    """How much a model stretches the graph of its inputs.

    `score` is λ_max of L_X v = λ L_Y v; larger is less robust. Only scores at equal points and
    neighbours compare. `interval` is from `blocks`.

    Parameters
    ----------
    values : (points,)
        A point's mean score over its edges in the input graph; NaN where it was left out
        (`components="largest"`).
    edges, edge_values : (edges, 2), (edges,)
        The input graph's, as row numbers, and their scores.
    eigenvalues, vectors : (rank,), (points, rank)
        The largest λ first, and v with vᵀ L_Y v = 1.
    output_edges : (edges, 2)
        The output graph's, those included that join its components.
    blocks : (blocks,)
        Scores of disjoint random blocks of `settings.block_size` points.
    queries
        Of the model; none for recorded outputs.
    settings
        Also components, edges added, recall, and seconds of each stage.

    References
    ----------
    Cheng et al., SPADE: A Spectral Method for Black-Box Adversarial Robustness Evaluation,
    ICML 2021 (eq. 8, 14 and 17).
    """

    values: Floats
    edges: Integers
    edge_values: Floats
    eigenvalues: Floats
    vectors: Floats
    output_edges: Integers
    blocks: Floats
    queries: int
    settings: SpadeSettings = field(default_factory=SpadeSettings)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def score(self) -> float:
        """λ_max: the model's score."""
        return float(self.eigenvalues[0])

    @property
    def error(self) -> float:
        """Standard error of the score: its size times the spread of the blocks' logarithms.

        The score grows with the number of points, so blocks do not estimate it, and resampling
        with replacement would make copies that are each other's neighbours. But blocks are
        independent, and the spread of their logarithms is that of a new sample of their size;
        a larger sample, such as all points, was never seen to spread more.
        """
        if len(self.blocks) < 2:
            return float("nan")
        return self.score * float(np.log(self.blocks).std(ddof=1))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval for the score of as many new points; NaN where there were too few for blocks."""
        # On the logarithm, where the error is relative: score · exp(± t · error/score).
        width = float(half_widths(self.error / self.score, len(self.blocks), level))
        return self.score * float(np.exp(-width)), self.score * float(np.exp(width))

    @property
    def growth(self) -> Estimate:
        """The power of the number of points with which the score grows, from blocks to all."""
        if len(self.blocks) < 2:
            return Estimate(float("nan"), float("nan"))
        # The slope between two points of log score against log size: blocks, and all.
        larger = np.log(self.settings.nodes / self.settings.block_size)
        logarithms = Moments.of(np.log(self.blocks))
        rise = np.log(self.score) - float(logarithms.mean)
        # The score's own spread and that of the blocks' mean.
        spread = np.sqrt(float(logarithms.variance) + float(logarithms.error) ** 2)
        # Equal scores differ by rounding.
        return Estimate(*(round(float(number / larger), 9) for number in (rise, spread)))

    def worst(self, count: int = 10) -> Integers:
        """Rows of the largest node scores, the largest first."""
        # Rows without a score come last, and are then left out.
        values = np.where(np.isfinite(self.values), self.values, -np.inf)
        order = np.argsort(-values, kind="stable")[:count]
        return order[np.isfinite(values[order])].astype(np.int64)

    def graphs(self) -> tuple[Graph, Graph, Integers]:
        """The input and output graphs on the rows that were scored, and those rows."""
        rows = np.unique(self.output_edges)
        size = len(self)
        inputs, outputs = (Graph(size, edges) for edges in (self.edges, self.output_edges))
        return inputs.among(rows), outputs.among(rows), rows

    def summary(self) -> dict[str, object]:
        """The headline as plain numbers, ready for JSON."""
        return {
            "metric": "spade",
            "points": len(self),
            "score": self.score,
            "error": self.error,
            "interval95": list(self.interval()),
            "growth": list(self.growth),
            "eigenvalues": self.eigenvalues.tolist(),
            "blocks": self.blocks.tolist(),
            "queries": self.queries,
            "settings": self.settings.plain(),
        }

    def __repr__(self) -> str:
        settings = self.settings
        return (
            f"<spade {Estimate(self.score, self.error)} over {len(self):,} points, "
            f"{settings.neighbours} neighbours{_repairs(settings)}, {self.queries:,} queries>"
        )

    def _repr_html_(self) -> str:
        return tables.facts(self.facts())

    def facts(self) -> dict[str, str]:
        """What a reader must know beside the score, in words."""
        settings = self.settings
        low, high = self.interval()
        columns = told(settings)
        facts = {
            "SPADE score": str(Estimate(self.score, self.error)),
            "95% interval": f"{low:.4g} … {high:.4g}" if np.isfinite(low) else "too few points",
            "points": f"{len(self):,} ({settings.copies:,} copies)",
            "neighbours": f"{settings.neighbours} (recall {settings.recall['inputs']:.4f} of "
            f"inputs, {settings.recall['outputs']:.4f} of outputs)",
            "components": f"{settings.input_parts:,} of inputs, {settings.output_parts:,} of "
            f"outputs, {settings.edges_torn:,} input edges between those, "
            f"{settings.edges_added:,} edges added",
            **({"looked at": columns["moved"], "left out": columns["held"]} if columns else {}),
        }
        if len(self.blocks) > 1:
            facts["grows with points to the power"] = str(self.growth)
        if settings.tied:
            facts["outputs with more copies than neighbours"] = f"{settings.tied:.1%}"
        equal = settings.ties
        if any(equal.values()):
            facts["last neighbour chosen by row order"] = (
                f"{equal['inputs']:.1%} of inputs, {equal['outputs']:.1%} of outputs: "
                "others are as near"
            )
        if settings.same:
            facts["outputs"] = "are the inputs themselves, which scores 1 whatever they are"
        facts["queries"] = f"{self.queries:,}"
        facts["seconds"] = f"{sum(settings.seconds.values()):.1f}"
        return facts

    def to_arrow(self) -> pa.Table:
        """The points as a pyarrow Table: value, vector, and edges to later rows."""
        size = len(self)
        columns = {
            "value": self.values,
            "vector": self.vectors,
            "neighbours": _lists_by_row(self.edges, size, self.edges[:, 1]),
            "edge_values": _lists_by_row(self.edges, size, self.edge_values),
            "output_neighbours": _lists_by_row(self.output_edges, size, self.output_edges[:, 1]),
        }
        about = {
            "holds": "SPADE scores",
            "eigenvalues": self.eigenvalues.tolist(),
            "blocks": self.blocks.tolist(),
            "queries": self.queries,
            "settings": self.settings.plain(),
        }
        return tables.arrow(columns, about)

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One row per point, as the first installed of pandas, polars and pyarrow, or `backend`."""
        return tables.frame(self.to_arrow(), backend)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write Parquet, whole or not at all."""
        return tables.save(self.to_arrow(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SpadeScores:
        """Read what `save` wrote."""
        table, about = tables.load(path, "SPADE scores", "SpadeScores.save or spade --out")
        edges, edge_values = _edges(table["neighbours"]), _flat(table["edge_values"])
        eigenvalues = np.array(about["eigenvalues"])
        return cls(
            values=tables.column(table, "value"),
            edges=edges,
            edge_values=edge_values,
            eigenvalues=eigenvalues,
            vectors=tables.column(table, "vector"),
            output_edges=_edges(table["output_neighbours"]),
            blocks=np.array(about["blocks"]),
            queries=about["queries"],
            settings=SpadeSettings.read(about["settings"]),
        )


def _repairs(settings: SpadeSettings) -> str:
    """What was done about an output graph in parts, in words."""
    if settings.output_parts == 1:
        return ""
    crossed = f"{settings.output_parts:,} output components, {settings.edges_torn:,} input edges"
    if settings.components == "join":
        joints = f"joined by {settings.edges_added:,} edges, which the score measures"
        return f", {crossed} between them, {joints}"
    which = "each" if settings.components == "each" else "the largest"
    return f", {which} of {crossed} between them left out"


def _lists_by_row(edges: Integers, size: int, values: Array) -> pa.ListArray:
    """Values of edges as one list per row, that of the edge's lower end; edges are sorted."""
    import pyarrow as pa

    # Row i holds values[offsets[i] : offsets[i + 1]].
    offsets = np.searchsorted(edges[:, 0], np.arange(size + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))


def _flat(column: pa.ChunkedArray) -> Array:
    """The entries of all lists, one after the other."""
    return np.array(column.combine_chunks().flatten().to_numpy(zero_copy_only=False))


def _edges(column: pa.ChunkedArray) -> Integers:
    """Edges (edges, 2) from a list of later rows per row."""
    lists = column.combine_chunks()
    counts = np.asarray(lists.value_lengths().to_numpy(zero_copy_only=False), dtype=np.int64)
    return np.stack([np.repeat(np.arange(len(counts)), counts), _flat(column)], axis=1)


def guide(scores: SpadeScores, count: int = 100, *, apart: bool = False) -> Integers:
    """The most fragile points, as row numbers, for tests, labels or training.

    Parameters
    ----------
    scores
        Of `spade`.
    count
        How many points, at most.
    apart
        Leave out neighbours of points chosen before: they share edges, and so scores.
    """
    if count < 1:
        raise SettingsError(f"{count} points: give 1 or more")
    order = scores.worst(len(scores))
    if not apart:
        return order[:count]
    adjacency = Graph(len(scores), scores.edges).adjacency
    barred, chosen = np.zeros(len(scores), dtype=bool), []
    for row in order.tolist():
        if not barred[row]:
            chosen.append(row)
            # The row's own neighbours, read from the compressed rows.
            barred[adjacency.indices[adjacency.indptr[row] : adjacency.indptr[row + 1]]] = True
        if len(chosen) == count:
            break
    return np.array(chosen, dtype=np.int64)
