"""The largest eigenvalues of one graph's Laplacian against another's, and a check of them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from anharmonic._core.arrays import array_like, to_numpy64
from anharmonic._core.protocols import Array, Floats, Map
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import NotConverged
from anharmonic.measures.spectral.graph import Graph, SparseMatrix
from anharmonic.measures.spectral.lobpcg import (
    Apply,
    Problem,
    RitzPairs,
    lobpcg,
    ritz_pairs_within,
)
from anharmonic.measures.spectral.multigrid import (
    as_preconditioner,
    build_hierarchy,
    hierarchy_on_device,
    without_constants,
)
from anharmonic.measures.spectral.threads import single_thread
from anharmonic.models.torch_arrays import placed, sparse

__all__ = ["ROUGH", "TOLERANCE", "Spectrum", "leading", "solve_problem"]

DENSE = 800
"""Nodes up to which dense matrices are solved."""
SPARE = 2
"""Guard vectors beside those wanted: the last of a block converge slowly."""
ROUNDS = (60, 120, 240)
"""Of LOBPCG, in each of three tries."""
POWER_STEPS = 6
"""Power iterations of the fresh vectors that look for an overlooked eigenvalue."""
TOLERANCE, ROUGH = 1e-5, 1e-3
"""Of the eigenvalue: how far, at most, the top pair may be from an exact one; and where missed
neighbours move it further than that."""
THREADED = 10_000
"""Below this many nodes, threads cost more than they save."""
LOOSER = 100.0
"""By how much more than the first the last of the pairs may be off."""


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
    tolerance: float = TOLERANCE,
) -> Spectrum:
    """The largest λ of L_X v = λ L_Y v, orthogonal to the constants; outputs must be connected.

    These are the eigenvalues of L_Y⁺ L_X, of which SPADE is the largest (Cheng et al., 2021,
    eq. 8). Those of many points are iterated until their residuals are a share `tolerance` of λ,
    on a `device` of torch's where one is given.

    >>> cycle = Graph(4, np.array([[0, 1], [0, 3], [1, 2], [2, 3]]))
    >>> path = Graph(4, np.array([[0, 1], [1, 2], [2, 3]]))
    >>> leading(cycle, path, 1).values.round(10).tolist()
    [4.0]
    """
    rank = min(rank, inputs.size - 1)
    if inputs.size <= max(DENSE, 5 * (rank + SPARE)):
        return _dense(inputs.laplacian, outputs.laplacian, rank)
    return _iterative(inputs.laplacian, outputs.laplacian, rank, seed, device, tolerance)


def _dense(inputs: SparseMatrix, outputs: SparseMatrix, rank: int) -> Spectrum:
    """All at once, by LAPACK."""
    from scipy.linalg import eigh

    size = inputs.shape[0]
    # L_Y + 11ᵀ/size is positive definite, and moves only the constants' eigenvalue, to 0, the
    # smallest.
    regular = outputs.toarray() + 1 / size
    values, vectors = eigh(inputs.toarray(), regular, subset_by_index=[size - rank, size - 1])
    vectors = vectors - vectors.mean(axis=0)
    # From ascending to descending.
    values, vectors = values[::-1].copy(), _with_fixed_sign(vectors[:, ::-1])
    # Krylov and Weinstein's bound (rᵀ L_Y⁺ r)^½, as in `lobpcg`.
    residual = inputs @ vectors[:, 0] - values[0] * (outputs @ vectors[:, 0])
    bound = np.sqrt(max(residual @ np.linalg.solve(regular, residual), 0.0))
    return Spectrum(values, vectors, _accepted(float(bound / values[0]), TOLERANCE))


def _problem(
    inputs: SparseMatrix,
    outputs: SparseMatrix,
    columns: int,
    seed: int,
    device: str | None,
    parallel: Map = map,
) -> Problem:
    """The problem in main memory or on a device.

    Nodes are numbered so that neighbours are close in memory, which halves the time of products.
    """
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    order = reverse_cuthill_mckee(outputs, symmetric_mode=True)
    near: Array = inputs[order][:, order]
    far: Array = outputs[order][:, order]
    start: Array = generator(seed, Stream.EIGENVECTOR_START).standard_normal((len(order), columns))
    grid = build_hierarchy(far, seed)
    if device is not None:
        near, far, start = sparse(near, device), sparse(far, device), placed(start, device)
        grid = hierarchy_on_device(grid, device)

    def times(matrix: Array) -> Apply:
        # A device's products want columns without gaps; in main memory that is nothing to do.
        return lambda columns: matrix @ (columns if device is None else columns.contiguous())

    def back(vectors: Array) -> Floats:
        restored = np.empty(vectors.shape)
        restored[order] = to_numpy64(vectors)
        return restored

    precondition = as_preconditioner(grid)
    precondition = precondition if device is not None else _by_halves(precondition, parallel)
    return Problem(times(near), times(far), precondition, start, back, parallel)


def _by_halves(apply: Apply, parallel: Map) -> Apply:
    """The same with both halves of the columns side by side: always halves, for the same bits."""

    def apply_by_halves(columns: Floats) -> Floats:
        halves = np.array_split(columns, min(2, columns.shape[1]), axis=1)
        return np.concatenate(list(parallel(apply, halves)), axis=1)

    return apply_by_halves


def _iterative(
    inputs: SparseMatrix,
    outputs: SparseMatrix,
    rank: int,
    seed: int,
    device: str | None = None,
    tolerance: float = TOLERANCE,
) -> Spectrum:
    """By LOBPCG with a multigrid preconditioner, in threads or on a device."""
    with single_thread() if device is None else nullcontext(map) as threads:
        parallel = threads if inputs.shape[0] >= THREADED else map
        problem = _problem(inputs, outputs, rank + SPARE, seed, device, parallel)
        return solve_problem(problem, rank, seed, tolerance)


def solve_problem(problem: Problem, rank: int, seed: int, tolerance: float = TOLERANCE) -> Spectrum:
    """The largest eigenvalues of a problem by LOBPCG, checked."""
    vectors = problem.start
    for rounds in ROUNDS:
        try:
            pairs = lobpcg(problem, vectors, rank, rounds, tolerance)
            overlooked = _overlooked(problem, pairs, rank, seed)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise NotConverged(
                f"the eigenvalues cannot be found ({error}): raise neighbours, or "
                'score components="each"'
            ) from error
        bounds = pairs.bounds[:rank]
        if overlooked is None and bounds.max() <= tolerance:
            break
        # Go on from here, with what was overlooked in the place of the spare vectors.
        vectors = pairs.vectors
        if overlooked is not None:
            vectors[:, rank:] = overlooked[:, : vectors.shape[1] - rank]
    # The score is the first value, so the others may be less exact.
    lost = overlooked is not None
    residual = float("inf") if lost else float(max(bounds[0], bounds.max() / LOOSER))
    residual = _accepted(residual, tolerance)
    own_order = problem.back(pairs.vectors[:, :rank])
    return Spectrum(pairs.values[:rank], _with_fixed_sign(own_order), residual)


def _overlooked(problem: Problem, pairs: RitzPairs, rank: int, seed: int) -> Array | None:
    """Vectors with a larger quotient than the pairs kept, (size, 4), or None: there are none.

    A residual cannot tell the largest eigenvalue from another one. But a Rayleigh quotient of a
    vector outside the pairs' span that exceeds the last of them proves one to be missing (Courant
    and Fischer). Fresh random vectors, after a few power iterations, look for it.
    """
    kept = pairs.vectors[:, :rank]
    kept_outputs = problem.outputs(kept)
    fresh = array_like(
        generator(seed, Stream.EIGENVECTOR_FRESH).standard_normal((len(kept), 4)), kept
    )
    for _ in range(POWER_STEPS):
        # x ← L_Y⁺ L_X x with the approximate inverse, then (I − V Vᵀ L_Y) x, then unit length.
        fresh = problem.preconditioner(problem.inputs(without_constants(fresh)))
        fresh = fresh - kept @ (kept_outputs.T @ fresh)
        fresh = fresh / (fresh * fresh).sum(0) ** 0.5
    best = ritz_pairs_within(problem, fresh)
    return best.vectors if best.values[0] > pairs.values[rank - 1] * (1 + TOLERANCE) else None


def _accepted(residual: float, tolerance: float) -> float:
    """The residual, if it is within the tolerance (a NaN is not)."""
    if not residual <= tolerance:
        raise NotConverged(
            f"the largest eigenvalue is known to {residual:.1e} of itself only, not to "
            f"{tolerance:.0e}: raise neighbours, or measure fewer points"
        )
    return residual


def _with_fixed_sign(vectors: Floats) -> Floats:
    """The sign of an eigenvector is arbitrary: let its largest entry be positive."""
    largest = np.abs(vectors).argmax(axis=0)
    return np.asarray(vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])]))
