"""The largest eigenvalues of one graph's Laplacian against another's, and a check of them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.arrays import array_like, to_numpy64
from anharmonic._core.protocols import Floats, Map
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import NotConverged
from anharmonic.measures.spectral.graph import Graph
from anharmonic.measures.spectral.lobpcg import Apply, Climb, Problem, best_within, climbed
from anharmonic.measures.spectral.multigrid import (
    approximately,
    hierarchy,
    moved,
    without_constants,
)
from anharmonic.measures.spectral.threads import single_thread
from anharmonic.models.torch_arrays import placed, sparse

__all__ = ["ROUGH", "TOLERANCE", "Spectrum", "climb", "leading"]

DENSE = 800
SPARE = 2
ROUNDS = (60, 120, 240)
CLIMBS = 6
TOLERANCE, ROUGH = 1e-5, 1e-3
"""Of the eigenvalue: how far, at most, the top pair may be from an exact one; and where missed
neighbours move it further than that."""
THREADED = 10_000
"""Nodes from which on threads are worth their changing of places."""
LOOSER = 100.0
"""How much further the last of the pairs may be."""


class Spectrum(NamedTuple):
    """Eigenvalues (rank,), the largest first, vectors (size, rank) and how exact the first is.

    Vectors are orthogonal to the constants and have vᵀ L_Y v = 1. `residual` bounds the relative
    distance from the first eigenvalue to an exact one; the error itself is about its square.
    """

    values: Floats
    vectors: Floats
    residual: float


def leading(
    inputs: Graph,
    outputs: Graph,
    rank: int,
    seed: int = 0,
    device: str | None = None,
    to: float = TOLERANCE,
) -> Spectrum:
    """The largest λ of L_X v = λ L_Y v, orthogonal to the constants; outputs must be connected.

    Pairs of many points are searched until their residuals are a share `to` of λ, on a `device`
    of torch's where one is given.

    >>> cycle = Graph(4, np.array([[0, 1], [0, 3], [1, 2], [2, 3]]))
    >>> path = Graph(4, np.array([[0, 1], [1, 2], [2, 3]]))
    >>> leading(cycle, path, 1).values.round(10).tolist()
    [4.0]
    """
    rank = min(rank, inputs.size - 1)
    if inputs.size <= max(DENSE, 5 * (rank + SPARE)):
        return _dense(inputs.laplacian, outputs.laplacian, rank)
    return _iterative(inputs.laplacian, outputs.laplacian, rank, seed, device, to)


def _dense(inputs: Any, outputs: Any, rank: int) -> Spectrum:
    from scipy.linalg import eigh

    size = inputs.shape[0]
    # A constant's share added to L_Y lets it be inverted and moves only the constants' eigenvalue,
    # to 0, the smallest.
    whole = outputs.toarray() + 1 / size
    values, vectors = eigh(inputs.toarray(), whole, subset_by_index=[size - rank, size - 1])
    vectors = vectors - vectors.mean(axis=0)
    values, vectors = values[::-1].copy(), _signed(vectors[:, ::-1])
    misfit = inputs @ vectors[:, 0] - values[0] * (outputs @ vectors[:, 0])
    bound = np.sqrt(max(misfit @ np.linalg.solve(whole, misfit), 0.0))
    return Spectrum(values, vectors, _accepted(float(bound / values[0]), TOLERANCE))


def _posed(
    inputs: Any, outputs: Any, columns: int, seed: int, device: str | None, each: Map = map
) -> Problem:
    """The problem in main memory or on a device.

    Nodes are numbered so that neighbours are close in memory, which halves the time of products.
    """
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    order = reverse_cuthill_mckee(outputs, symmetric_mode=True)
    near, far = (each[order][:, order] for each in (inputs, outputs))
    start: Any = generator(seed, Stream.EIGENVECTOR_START).standard_normal((len(order), columns))
    grid = hierarchy(far, seed)
    if device is not None:
        near, far, start = sparse(near, device), sparse(far, device), placed(start, device)
        grid = moved(grid, device)

    def times(matrix: Any) -> Apply:
        # A device's products want columns without gaps; in main memory that is nothing to do.
        return lambda columns: matrix @ (columns if device is None else columns.contiguous())

    def back(vectors: Any) -> Floats:
        restored = np.empty(vectors.shape)
        restored[order] = to_numpy64(vectors)
        return restored

    inverse = approximately(grid)
    inverse = inverse if device is not None else _halved(inverse, each)
    return Problem(times(near), times(far), inverse, start, back, each)


def _halved(apply: Apply, each: Map) -> Apply:
    """The same with both halves of the columns side by side: always halves, for the same bits."""

    def halved(columns: Floats) -> Floats:
        halves = np.array_split(columns, min(2, columns.shape[1]), axis=1)
        return np.concatenate(list(each(apply, halves)), axis=1)

    return halved


def _iterative(
    inputs: Any,
    outputs: Any,
    rank: int,
    seed: int,
    device: str | None = None,
    to: float = TOLERANCE,
) -> Spectrum:
    with single_thread() if device is None else nullcontext(map) as each:
        each = each if inputs.shape[0] >= THREADED else map
        return climb(_posed(inputs, outputs, rank + SPARE, seed, device, each), rank, seed, to)


def climb(problem: Problem, rank: int, seed: int, to: float = TOLERANCE) -> Spectrum:
    """The largest eigenvalues of a problem by LOBPCG, checked."""
    vectors = problem.start
    for rounds in ROUNDS:
        try:
            found = climbed(problem, vectors, rank, rounds, to)
            overlooked = _overlooked(problem, found, rank, seed)
        except (np.linalg.LinAlgError, ValueError) as problem_found:
            raise NotConverged(
                f"the eigenvalues cannot be found ({problem_found}): raise neighbours, or "
                'score components="each"'
            ) from problem_found
        bounds = found.bounds[:rank]
        if overlooked is None and bounds.max() <= to:
            break
        vectors = found.vectors
        if overlooked is not None:
            vectors[:, rank:] = overlooked[:, : vectors.shape[1] - rank]
    lost = overlooked is not None
    residual = float("inf") if lost else float(max(bounds[0], bounds.max() / LOOSER))
    residual = _accepted(residual, to)
    return Spectrum(found.values[:rank], _signed(problem.back(found.vectors[:, :rank])), residual)


def _overlooked(problem: Problem, found: Climb, rank: int, seed: int) -> Any:
    """Fresh random vectors that climbed above what was found, or None: there is nothing larger.

    A residual cannot tell the largest eigenvalue from another one; a quotient above it can.
    """
    kept = found.vectors[:, :rank]
    weights = problem.outputs(kept)
    fresh = array_like(
        generator(seed, Stream.EIGENVECTOR_FRESH).standard_normal((len(kept), 4)), kept
    )
    for _ in range(CLIMBS):
        fresh = problem.inverse(problem.inputs(without_constants(fresh)))
        fresh = fresh - kept @ (weights.T @ fresh)
        fresh = fresh / (fresh * fresh).sum(0) ** 0.5
    best = best_within(problem, fresh)
    return best.vectors if best.values[0] > found.values[rank - 1] * (1 + TOLERANCE) else None


def _accepted(residual: float, to: float) -> float:
    if not residual <= to:
        raise NotConverged(
            f"the largest eigenvalue is known to {residual:.1e} of itself only, not to "
            f"{to:.0e}: raise neighbours, or measure fewer points"
        )
    return residual


def _signed(vectors: Floats) -> Floats:
    """The sign of an eigenvector is arbitrary: let its largest entry be positive."""
    largest = np.abs(vectors).argmax(axis=0)
    return np.asarray(vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])]))
