"""`spade`: how far a model pulls apart what is close, from recorded inputs and outputs alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from array_api_compat import is_torch_array

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import SettingsError
from anharmonic.measures.spectral.pairs import Pairs, crowded, is_data, paired
from anharmonic.measures.spectral.result import SpadeScores, SpadeSettings
from anharmonic.measures.spectral.search import Search
from anharmonic.measures.spectral.solution import Components, Plan, Side, checked, side, solved
from anharmonic.models import as_model

__all__ = ["Stages", "scored", "spade"]

BLOCKS, LARGEST_BLOCK = 8, 2000
RECORDED = "recorded outputs"
CROWD = 4
"""A block has at least this many points for each neighbour, or its graph would be nearly full."""

Stages = Callable[[str], None]
"""Told the name of every stage as it begins."""


def spade(
    inputs: Any,
    outputs: Any,
    *,
    neighbours: int = 10,
    rank: int = 10,
    components: Components = "join",
    search: str | Search = "auto",
    scale: Any = None,
    output: Any = None,
    blocks: int = BLOCKS,
    seed: int = 0,
    progress: Stages | None = None,
) -> SpadeScores:
    """SPADE of recorded `inputs` and `outputs`, one row a point, or of a model at points.

    `spade(model, points)` asks the model, anything `as_model` takes, once a point. Distances
    between inputs are in raw units, as in the paper, unless `scale="auto"` standardises columns.
    `components` says what to do when the output graph is in parts: "join" them through their
    nearest pairs, score the "largest" or "each", or "refuse". `blocks` disjoint random blocks
    give the interval; 0 leaves it out.

    >>> random = np.random.default_rng(0)
    >>> points = random.normal(size=(400, 3))
    >>> smooth = spade(lambda x: x[:, :2], points)
    >>> rough = spade(lambda x: np.sin(9 * x[:, :2]), points)
    >>> smooth.score < rough.score
    True
    """
    plan = Plan(neighbours, rank, components, search, seed)
    if is_data(inputs):
        return scored(inputs, {RECORDED: outputs}, plan, blocks, scale, output, progress)[RECORDED]
    model = as_model(inputs, output=output)
    return scored(outputs, {model.name: model}, plan, blocks, scale, None, progress)[model.name]


def scored(
    points: Any,
    sources: Mapping[str, Any],
    plan: Plan,
    blocks: int = BLOCKS,
    scale: Any = None,
    output: Any = None,
    progress: Stages | None = None,
) -> dict[str, SpadeScores]:
    """Scores of several outputs or models over one input graph and the same blocks."""
    plan = checked(plan)
    if blocks < 0 or blocks == 1:
        raise SettingsError(f"{blocks} blocks: give 2 or more, or 0 for no interval")
    clock = _Clock(progress)
    if plan.search == "auto" and is_torch_array(points) and points.device.type == "cuda":
        plan = plan._replace(search="torch")
    with clock.stage("outputs"):
        pairs = paired(points, sources, scale, output)
    with clock.stage("input graph"):
        near = side(pairs.inputs, plan)
    with clock.stage("blocks of inputs"):
        groups = _blocks(len(pairs.rows), blocks, plan)
        parts = [(rows, side(pairs.inputs[rows], plan, measure=False)) for rows in groups]
    return {
        name: _one(name, pairs, near, parts, plan, _Clock(progress, clock.seconds))
        for name in sources
    }


def _one(
    name: str,
    pairs: Pairs,
    near: Side,
    parts: list[tuple[Integers, Side]],
    plan: Plan,
    clock: _Clock,
) -> SpadeScores:
    """One model's scores, once the input graphs are there."""
    outputs = pairs.outputs[name]
    with clock.stage("output graph"):
        tied = crowded(outputs, plan.neighbours, "outputs")
        far = side(outputs, plan)
    with clock.stage("eigenvalues"):
        found = solved(near, far, plan)
    with clock.stage("interval"):
        spread = _spread(outputs, parts, plan)
    settings = SpadeSettings.record(
        model=name,
        points=len(pairs.nodes),
        nodes=len(pairs.rows),
        copies=len(pairs.nodes) - len(pairs.rows),
        dimension=int(pairs.inputs.shape[1]),
        columns=list(pairs.columns),
        still=list(pairs.still),
        neighbours=plan.neighbours,
        rank=plan.rank,
        seed=plan.seed,
        components=plan.components,
        input_parts=near.graph.count,
        output_parts=far.graph.count,
        edges_added=found.added,
        edges_torn=found.torn,
        parts=[list(each) for each in found.parts],
        scale=None if pairs.units is None else pairs.units.tolist(),
        asked_search=plan.search if isinstance(plan.search, str) else "a function",
        search={"inputs": near.search, "outputs": far.search},
        recall={"inputs": near.recall, "outputs": far.recall},
        tied=tied,
        ties={"inputs": near.ties, "outputs": far.ties},
        same=bool(np.array_equal(outputs, pairs.inputs)),
        residual=found.residual,
        block_size=len(parts[0][0]) if parts else 0,
        seconds=clock.seconds,
    )
    rows = pairs.rows
    return SpadeScores(
        values=found.values[pairs.nodes],
        edges=rows[found.inputs.edges],
        edge_values=found.edge_values,
        eigenvalues=found.eigenvalues,
        vectors=found.vectors[pairs.nodes],
        output_edges=rows[_inside(found.outputs.edges, found.vectors)],
        blocks=spread,
        queries=pairs.queries // len(pairs.outputs),
        settings=settings,
    )


def _inside(edges: Integers, vectors: Floats) -> Integers:
    """Edges between nodes that were scored."""
    return edges[np.isfinite(vectors[:, 0])[edges].all(axis=1)]


def _blocks(nodes: int, count: int, plan: Plan) -> list[Integers]:
    """Disjoint random blocks of equal size, fewer where the points are few."""
    smallest = CROWD * (plan.neighbours + 1)
    count = min(count, nodes // smallest)
    if count < 2:
        return []
    size = min(nodes // count, LARGEST_BLOCK)
    order = generator(plan.seed, Stream.SPADE_BLOCKS).permutation(nodes)
    return [np.sort(order[start : start + size]) for start in range(0, count * size, size)]


def _spread(outputs: Floats, parts: list[tuple[Integers, Side]], plan: Plan) -> Floats:
    """The score of every block on its own."""
    # A block may be in parts where the whole is not; the interval then says how much that is.
    components = "join" if plan.components == "refuse" else plan.components
    single = plan._replace(rank=1, components=components)
    found = []
    for rows, part in parts:
        found.append(solved(part, side(outputs[rows], single, measure=False), single).score)
    return np.array(found)


class _Clock:
    """Seconds of every stage, and word of each as it begins."""

    def __init__(self, progress: Stages | None, seconds: Mapping[str, float] | None = None) -> None:
        self.progress = progress
        self.seconds: dict[str, float] = dict(seconds or {})

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        if self.progress is not None:
            self.progress(name)
        begun = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - begun
