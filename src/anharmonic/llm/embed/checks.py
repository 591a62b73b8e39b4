"""Checks of every embedder's texts and vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anharmonic._core.protocols import Array, Floats
from anharmonic.errors import OutputError, PointsError, listed

__all__ = ["texts_to_embed", "unit_vectors"]


def texts_to_embed(texts: Sequence[str]) -> list[str]:
    """The texts as a list; an empty one has no meaning, so it is refused.

    Parameters
    ----------
    texts
        What an embedder was called with.

    Examples
    --------
    >>> texts_to_embed(["Rome", "Paris"])
    ['Rome', 'Paris']
    """
    if isinstance(texts, str):
        raise PointsError("an embedder takes a list of texts: put a single one in brackets")
    checked = list(texts)
    if not all(isinstance(text, str) for text in checked):
        raise PointsError("an embedder takes texts: turn everything else into text first")
    empty = [row for row, text in enumerate(checked) if not text.strip()]
    if empty:
        raise PointsError(
            f"there is nothing to embed in text {listed(empty)}: leave empty answers out"
        )
    # Half a surrogate pair is no text to anybody else.
    return [text.encode("utf-8", "replace").decode() for text in checked]


def unit_vectors(vectors: Array, count: int, size: int | None = None) -> Floats:
    """Vectors of length 1, (count, D), from what an embedder gave.

    Parameters
    ----------
    vectors : array (count, D)
        Of any length but 0.
    count
        How many texts there were.
    size
        D, where it is known.

    Examples
    --------
    >>> unit_vectors([[3.0, 4.0]], 1).tolist()
    [[0.6, 0.8]]
    """
    try:
        table: Floats = np.asarray(vectors, dtype=float)
    except (TypeError, ValueError):
        raise OutputError(
            "the embedder's vectors differ in size: use one model for a whole run"
        ) from None
    if table.ndim != 2 or len(table) != count:
        raise OutputError(
            f"the embedder made {table.shape} from {count} texts: it must give a vector for each"
        )
    if size is not None and table.shape[1] != size:
        raise OutputError(
            f"the embedder gave vectors of {size} numbers, now of {table.shape[1]}: "
            "use one embedder, with one size, for a whole run"
        )
    lengths = np.linalg.norm(table, axis=1)
    bad = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0))).tolist()
    if bad:
        raise OutputError(
            f"the vector of text {listed(bad)} holds NaN or infinity, or has no length: "
            "look at what the embedder got"
        )
    unit: Floats = table / lengths[:, None]
    return unit
