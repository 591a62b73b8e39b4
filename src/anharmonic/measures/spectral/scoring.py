"""`spade`: how far a model pulls apart what is close, from recorded inputs and outputs alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import ArrayLike

from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import SettingsError
from anharmonic.measures.spectral.pairs import (
    Pairs,
    is_data,
    pair_inputs_and_outputs,
    share_of_crowded_rows,
)
from anharmonic.measures.spectral.result import SpadeScores, SpadeSettings
from anharmonic.measures.spectral.search import Search
from anharmonic.measures.spectral.solution import (
    Components,
    Plan,
    Side,
    build_side,
    checked_plan,
    solve,
)
from anharmonic.models import as_model

__all__ = ["Stages", "score_sources", "spade"]

BLOCKS, LARGEST_BLOCK = 8, 2000
"""Blocks behind an interval, and points of one at most."""
RECORDED = "recorded outputs"
CROWD = 4
"""A block has at least this many points for each neighbour, or its graph would be nearly full."""

Stages = Callable[[str], None]
"""Called with the name of every stage as it begins."""


def spade(
    inputs: object,
    outputs: object,
    *,
    neighbours: int = 10,
    rank: int = 10,
    components: Components = "join",
    search: str | Search = "auto",
    scale: ArrayLike | str | None = None,
    output: object = None,
    blocks: int = BLOCKS,
    seed: int = 0,
    progress: Stages | None = None,
) -> SpadeScores:
    """SPADE of recorded `inputs` and `outputs`, one row per point, or of a model at points.

    The score is the largest λ of L_X v = λ L_Y v, where L_X and L_Y are the Laplacians of the
    nearest-neighbour graphs of inputs and of outputs: large where neighbouring inputs have outputs
    far apart.

    Parameters
    ----------
    inputs : (points, n)
        Recorded inputs, or a model: `spade(model, points)` asks anything `as_model` takes, once
        per point.
    outputs : (points, columns)
        Recorded outputs, or the points where a model is asked.
    neighbours
        Nearest neighbours of every point in both graphs. Scores fall as it grows, so compare only
        those of equal numbers.
    rank
        Eigenvectors behind the scores of edges and points.
    components : "join", "largest", "each" or "refuse"
        What to do when the output graph is in parts: join them through their nearest pairs, score
        the largest or each, or raise an error.
    search
        How neighbours are looked for: see `neighbours`.
    scale : "auto", None or numbers
        Distances between inputs are in raw units, as in the paper, unless "auto" standardises
        columns, or numbers, one per column, divide them.
    output
        What a model is asked for: see `as_model`.
    blocks
        Disjoint random blocks of points that give the interval; 0 leaves it out.
    seed
        Of all that is random.
    progress
        Called with the name of every stage as it begins.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> points = random.normal(size=(400, 3))
    >>> smooth = spade(lambda x: x[:, :2], points)
    >>> rough = spade(lambda x: np.sin(9 * x[:, :2]), points)
    >>> smooth.score < rough.score
    True

    References
    ----------
    Cheng et al., SPADE: A Spectral Method for Black-Box Adversarial Robustness Evaluation,
    ICML 2021 (eq. 8, 14 and 17).
    """
    plan = Plan(neighbours, rank, components, search, seed)
    if is_data(inputs):
        recorded = {RECORDED: outputs}
        return score_sources(inputs, recorded, plan, blocks, scale, output, progress)[RECORDED]
    model = as_model(inputs, output=output)
    named = {model.name: model}
    return score_sources(outputs, named, plan, blocks, scale, None, progress)[model.name]


def score_sources(
    points: Array,
    sources: Mapping[str, object],
    plan: Plan,
    blocks: int = BLOCKS,
    scale: ArrayLike | str | None = None,
    output: object = None,
    progress: Stages | None = None,
) -> dict[str, SpadeScores]:
    """Scores of several outputs or models over one input graph and the same blocks."""
    plan = checked_plan(plan)
    if blocks < 0 or blocks == 1:
        raise SettingsError(f"{blocks} blocks: give 2 or more, or 0 for no interval")
    clock = _Clock(progress)
    if plan.search == "auto" and is_torch_array(points) and points.device.type == "cuda":
        plan = plan._replace(search="torch")
    with clock.stage("outputs"):
        pairs = pair_inputs_and_outputs(points, sources, scale, output)
    with clock.stage("input graph"):
        near = build_side(pairs.inputs, plan)
    with clock.stage("blocks of inputs"):
        groups = _blocks(len(pairs.rows), blocks, plan)
        parts = [(rows, build_side(pairs.inputs[rows], plan, measure=False)) for rows in groups]
    return {
        name: _score_source(name, pairs, near, parts, plan, _Clock(progress, clock.seconds))
        for name in sources
    }


def _score_source(
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
        tied = share_of_crowded_rows(outputs, plan.neighbours, "outputs")
        far = build_side(outputs, plan)
    with clock.stage("eigenvalues"):
        solution = solve(near, far, plan)
    with clock.stage("interval"):
        block_scores = _block_scores(outputs, parts, plan)
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
        edges_added=solution.added,
        edges_torn=solution.torn,
        parts=[list(part) for part in solution.parts],
        scale=None if pairs.units is None else pairs.units.tolist(),
        asked_search=plan.search if isinstance(plan.search, str) else "a function",
        search={"inputs": near.search, "outputs": far.search},
        recall={"inputs": near.recall, "outputs": far.recall},
        tied=tied,
        ties={"inputs": near.ties, "outputs": far.ties},
        same=bool(np.array_equal(outputs, pairs.inputs)),
        residual=solution.residual,
        block_size=len(parts[0][0]) if parts else 0,
        seconds=clock.seconds,
    )
    # Back from nodes to points: edges join the first of equal points, scores go to all of them.
    rows = pairs.rows
    return SpadeScores(
        values=solution.values[pairs.nodes],
        edges=rows[solution.inputs.edges],
        edge_values=solution.edge_values,
        eigenvalues=solution.eigenvalues,
        vectors=solution.vectors[pairs.nodes],
        output_edges=rows[_scored_edges(solution.outputs.edges, solution.vectors)],
        blocks=block_scores,
        queries=pairs.queries // len(pairs.outputs),
        settings=settings,
    )


def _scored_edges(edges: Integers, vectors: Floats) -> Integers:
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


def _block_scores(outputs: Floats, parts: list[tuple[Integers, Side]], plan: Plan) -> Floats:
    """The score of every block on its own."""
    # A block may be in parts where the whole is not; the interval then says how much that is.
    components = "join" if plan.components == "refuse" else plan.components
    single = plan._replace(rank=1, components=components)
    scores = []
    for rows, near in parts:
        far = build_side(outputs[rows], single, measure=False)
        scores.append(solve(near, far, single).score)
    return np.array(scores)


class _Clock:
    """Seconds of every stage; calls `progress` with its name as it begins."""

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
