"""The largest eigenvalues of one graph's Laplacian against another's, and a check of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from anharmonic.errors import MissingExtra, NotConverged
from anharmonic.protocols import Floats
from anharmonic.randomness import generator
from anharmonic.spectral.graph import Graph

__all__ = ["Spectrum", "leading", "multigrid", "single_thread"]

DENSE = 800
SPARE = 2
ROUNDS = (60, 120, 240)
CLIMBS = 6
DAMPING = 2 / 3
TOLERANCE = 1e-5
"""Of the eigenvalue: how far, at most, the top pair may be from an exact one."""
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


def leading(inputs: Graph, outputs: Graph, rank: int, seed: int = 0) -> Spectrum:
    """The largest λ of L_X v = λ L_Y v, orthogonal to the constants; outputs must be connected.

    >>> cycle = Graph(4, np.array([[0, 1], [0, 3], [1, 2], [2, 3]]))
    >>> path = Graph(4, np.array([[0, 1], [1, 2], [2, 3]]))
    >>> leading(cycle, path, 1).values.round(10).tolist()
    [4.0]
    """
    rank = min(rank, inputs.size - 1)
    if inputs.size <= max(DENSE, 5 * (rank + SPARE)):
        return _dense(inputs.laplacian, outputs.laplacian, rank)
    return _iterative(inputs.laplacian, outputs.laplacian, rank, seed)


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
    return Spectrum(values, vectors, _accepted(float(bound / values[0])))


def _iterative(inputs: Any, outputs: Any, rank: int, seed: int) -> Spectrum:
    """Block conjugate gradients on the quotient (LOBPCG), preconditioned by multigrid on L_Y."""
    size = inputs.shape[0]
    vectors = _without_constants(generator(seed, 22).standard_normal((size, rank + SPARE)))
    with single_thread():
        approximate = multigrid(outputs, seed)
        for rounds in ROUNDS:
            try:
                vectors = _climbed(inputs, outputs, vectors, approximate, rounds)
                found = _ritz(inputs, outputs, vectors)
            except (np.linalg.LinAlgError, ValueError) as problem:
                raise NotConverged(
                    f"the eigenvalues cannot be found ({problem}): raise neighbours, or "
                    'score components="each"'
                ) from problem
            bounds = _bounds(inputs, outputs, found, approximate)[:rank]
            missed = _missed(inputs, outputs, found, rank, approximate, seed)
            if bounds.max() <= TOLERANCE and not missed:
                break
    residual = _accepted(float("inf") if missed else max(bounds[0], bounds.max() / LOOSER))
    return Spectrum(found.values[:rank], _signed(found.vectors[:, :rank]), residual)


def _climbed(inputs: Any, outputs: Any, vectors: Floats, approximate: Any, rounds: int) -> Floats:
    """The vectors after some rounds of LOBPCG, orthogonal to the constants."""
    from scipy.sparse.linalg import LinearOperator, lobpcg

    level = float(outputs.diagonal().mean()) / len(vectors)

    def whole(columns: Any) -> Any:
        # Constants added, so that no vector has length 0.
        return outputs @ columns + level * columns.sum(axis=0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it warns of is checked by the caller
        _, vectors = lobpcg(
            inputs,
            vectors,
            B=LinearOperator(outputs.shape, matvec=whole, matmat=whole, dtype=np.float64),
            M=LinearOperator(
                outputs.shape, matvec=approximate, matmat=approximate, dtype=np.float64
            ),
            tol=1e-5,
            maxiter=rounds,
            largest=True,
        )
    return np.asarray(_without_constants(vectors))


def _without_constants(vectors: Any) -> Any:
    return vectors - vectors.mean(axis=0)


def _ritz(inputs: Any, outputs: Any, vectors: Floats) -> Spectrum:
    """The best eigenpairs within the span of some vectors."""
    from scipy.linalg import eigh

    values, mixing = eigh(vectors.T @ (inputs @ vectors), vectors.T @ (outputs @ vectors))
    return Spectrum(values[::-1].copy(), vectors @ mixing[:, ::-1], float("nan"))


def _bounds(inputs: Any, outputs: Any, found: Spectrum, approximate: Any) -> Floats:
    """How far each eigenvalue can be from an exact one, as a share of it.

    With vᵀ L_Y v = 1 that is the length of the residual in the norm of L_Y's inverse, for which
    one multigrid cycle stands in.
    """
    misfits = inputs @ found.vectors - found.values * (outputs @ found.vectors)
    squares = np.einsum("ij,ij->j", misfits, approximate(misfits))
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)) / found.values)


def _missed(
    inputs: Any, outputs: Any, found: Spectrum, rank: int, approximate: Any, seed: int
) -> bool:
    """Whether fresh random vectors climb above what was found: then something larger is there.

    A residual cannot tell the largest eigenvalue from another one; a quotient above it can.
    """
    kept = found.vectors[:, :rank]
    weights = outputs @ kept
    fresh = generator(seed, 23).standard_normal((len(kept), 4))
    for _ in range(CLIMBS):
        fresh = approximate(inputs @ _without_constants(fresh))
        fresh = fresh - kept @ (weights.T @ fresh)
        fresh /= np.linalg.norm(fresh, axis=0)
    return bool(_ritz(inputs, outputs, fresh).values[0] > found.values[rank - 1] * (1 + TOLERANCE))


def _accepted(residual: float) -> float:
    if not residual <= TOLERANCE:
        raise NotConverged(
            f"the largest eigenvalue is known to {residual:.1e} of itself only, not to "
            f"{TOLERANCE:.0e}: raise neighbours, or measure fewer points"
        )
    return residual


def _signed(vectors: Floats) -> Floats:
    """The sign of an eigenvector is arbitrary: let its largest entry be positive."""
    largest = np.abs(vectors).argmax(axis=0)
    return np.asarray(vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])]))


@contextmanager
def single_thread() -> Iterator[None]:
    """Hold BLAS to one thread: on blocks this narrow more threads are several times slower."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError as problem:
        raise MissingExtra("threadpoolctl", "spade") from problem
    with threadpool_limits(1):
        yield


def multigrid(laplacian: Any, seed: int) -> Any:
    """One symmetric multigrid cycle as an approximate inverse of a connected graph's Laplacian.

    It takes and gives columns orthogonal to the constants, (size,) or (size, columns).
    """
    try:
        import pyamg
    except ImportError as problem:
        raise MissingExtra("pyamg", "spade") from problem
    from scipy.sparse import csr_matrix

    state = np.random.get_state()  # noqa: NPY002
    # pyamg draws from numpy's global generator: lend it a seeded one and put the old one back.
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        hierarchy = pyamg.smoothed_aggregation_solver(
            csr_matrix(laplacian), B=np.ones((laplacian.shape[0], 1)), max_coarse=200
        )
    finally:
        np.random.set_state(state)  # noqa: NPY002
    levels = [
        (level.A, DAMPING / level.A.diagonal()[:, None], level.P, level.R)
        for level in hierarchy.levels[:-1]
    ]
    coarsest = np.linalg.pinv(hierarchy.levels[-1].A.toarray(), hermitian=True)

    def cycle(wanted: Any, depth: int = 0) -> Any:
        # All columns at once, which is why the smoother is Jacobi's and not Gauss and Seidel's.
        if depth == len(levels):
            return coarsest @ wanted
        matrix, inverse, finer, coarser = levels[depth]
        found = inverse * wanted
        found += finer @ cycle(coarser @ (wanted - matrix @ found), depth + 1)
        return found + inverse * (wanted - matrix @ found)

    def approximate(columns: Any) -> Any:
        wanted = _without_constants(columns)
        return _without_constants(cycle(wanted.reshape(len(wanted), -1))).reshape(columns.shape)

    return approximate
