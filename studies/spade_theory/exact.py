"""All pairs and all eigenvectors of some points: how tight the bound is, and Theorem 3.

With v the eigenvectors of L_X v = λ L_Y v, vᵀL_Y v = 1, and a = (vᵀ(e_p − e_q))² for each of them,
distances are d_Y = Σ a and d_X = Σ a/λ, the distortion is their ratio, and the score of an edge of
rank r is Σ λ·a over the r largest λ. So one dense eigenproblem gives all of it exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.measures.spectral import SpadeScores, spade

__all__ = ["Exact", "exact", "slope"]

TOP, ALIGNED = 0.2, 0.05
"""Shares of edges: those of the largest scores, and those most in line with one eigenvector."""


class Exact(NamedTuple):
    """What Theorems 1 and 3 speak of, for one set of points."""

    score: float
    """λ_max, the bound."""
    largest: float
    """The largest distortion of all pairs."""
    largest_edge: float
    """The largest distortion of the input graph's edges."""
    correlation: float
    """Spearman's, of edges' scores (rank 1) with their distortion."""
    correlation_ten: float
    """The same of scores of rank 10."""
    slope: float
    """Of log score (rank 10) against log distortion, all edges."""
    slope_top: float
    """Of the fifth of the edges with the largest scores."""
    slope_aligned: float
    """Of the twentieth most in line with one eigenvector; of all eigenvectors' own scores."""
    alignment: float
    """The largest share of one eigenvector in an edge: Theorem 3 asks for nearly 1."""
    alignment_mean: float

    @property
    def looseness(self) -> float:
        """How many times the bound is above what it bounds."""
        return self.score / self.largest


def exact(flat: Floats, logits: Floats, neighbours: int = 10, seed: int = 0) -> Exact:
    """All of it, for a few thousand points: time grows with the third power of their number."""
    from scipy.stats import spearmanr

    scores = spade(flat, logits, neighbours=neighbours, rank=10, blocks=0, seed=seed)
    values, vectors, rows = spectrum(scores)
    far, near = (_distances(vectors * np.sqrt(weight)) for weight in (1.0, 1 / values))
    np.fill_diagonal(near, 1.0)
    ratios = far / near
    edges = np.searchsorted(rows, scores.edges)
    bends = np.square(vectors[edges[:, 0]] - vectors[edges[:, 1]])
    distorted = ratios[edges[:, 0], edges[:, 1]]
    by_rank = {rank: bends[:, -rank:] @ values[-rank:] for rank in (1, 10)}
    # Theorem 3's u = L_Y v: an edge is Σ (uᵀe)·v, so shares of (uᵀe)² say what it is made of.
    shares = _shares(scores, vectors, edges)
    largest = shares.max(axis=1)
    aligned = largest >= np.quantile(largest, 1 - ALIGNED)
    top = by_rank[10] >= np.quantile(by_rank[10], 1 - TOP)
    whole = bends @ values
    return Exact(
        score=float(values[-1]),
        largest=float(ratios.max()),
        largest_edge=float(distorted.max()),
        correlation=float(spearmanr(by_rank[1], distorted).statistic),
        correlation_ten=float(spearmanr(by_rank[10], distorted).statistic),
        slope=slope(distorted, by_rank[10]),
        slope_top=slope(distorted[top], by_rank[10][top]),
        slope_aligned=slope(distorted[aligned], whole[aligned]),
        alignment=float(largest.max()),
        alignment_mean=float(largest.mean()),
    )


def spectrum(scores: SpadeScores) -> tuple[Floats, Floats, Integers]:
    """All λ in ascending order without the constants' 0, their v (nodes, λ), and the rows."""
    from scipy.linalg import eigh

    inputs, outputs, rows = scores.graphs()
    size = len(rows)
    # L_Y + 11ᵀ/size moves the constants' eigenvalue alone.
    regular = outputs.laplacian.toarray() + 1 / size
    values, vectors = eigh(inputs.laplacian.toarray(), regular)
    vectors = vectors[:, 1:] - vectors[:, 1:].mean(axis=0)
    return np.asarray(values[1:]), np.asarray(vectors), rows


def _distances(embedded: Floats) -> Floats:
    """Squared distances of all pairs, which are resistances in this embedding."""
    products = embedded @ embedded.T
    own = np.diag(products)
    return np.maximum(own[:, None] + own[None, :] - 2 * products, 0.0)


def _shares(scores: SpadeScores, vectors: Floats, edges: Integers) -> Floats:
    """(uᵀe)² of every edge and eigenvector, as shares of their sum, (edges, eigenvectors)."""
    _, outputs, _ = scores.graphs()
    turned = np.asarray(outputs.laplacian @ vectors)
    squares = np.square(turned[edges[:, 0]] - turned[edges[:, 1]])
    return np.asarray(squares / squares.sum(axis=1, keepdims=True))


def slope(distortion: Floats, score: Floats) -> float:
    """Of the logarithms, by least squares: the power of the distortion that scores grow with."""
    kept = (distortion > 0) & (score > 0)
    across, up = np.log(distortion[kept]), np.log(score[kept])
    across = across - across.mean()
    return float(across @ up / (across @ across))
