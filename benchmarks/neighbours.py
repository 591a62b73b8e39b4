"""The neighbour search of SPADE beside faiss, on the same rows in one run.

    pip install faiss-cpu; python -m benchmarks.neighbours

Exact search of 10 neighbours, both on two threads: rows of 784 features as images have, and rows
of 10 as logits have. Times alternate, so that a machine that slows down is fair to both.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from anharmonic import spectral

CASES = ((10_000, 784), (10_000, 10), (40_000, 784))
NEIGHBOURS = 10
ROUNDS = 3


def rows_like_images(rows: int, features: int) -> NDArray[np.float32]:
    """Rows near a surface of few dimensions, as real ones are."""
    random = np.random.default_rng(0)
    inner = random.normal(size=(rows, min(12, features)))
    mixed = np.tanh(inner @ random.normal(size=(inner.shape[1], features)))
    return (mixed + 0.05 * random.normal(size=mixed.shape)).astype(np.float32)


def by_faiss(values: NDArray[np.float32]) -> NDArray[np.int64]:
    """Exact neighbours by `IndexFlatL2`, the row itself left out."""
    import faiss

    faiss.omp_set_num_threads(2)
    index = faiss.IndexFlatL2(values.shape[1])
    index.add(values)
    return np.asarray(index.search(values, NEIGHBOURS + 1)[1][:, 1:])


def by_us(values: NDArray[np.float32]) -> NDArray[np.int64]:
    """The search that `spade` chooses by itself."""
    return np.asarray(spectral.neighbours(values, NEIGHBOURS))  # type: ignore[arg-type]


def seconds(search: Callable[[NDArray[np.float32]], object], values: NDArray[np.float32]) -> float:
    """What one search takes."""
    begun = time.perf_counter()
    search(values)
    return time.perf_counter() - begun


def main() -> None:
    """Print seconds of both and how far they agree."""
    for rows, features in CASES:
        values = rows_like_images(rows, features)
        ours, theirs = by_us(values), by_faiss(values)
        same = np.mean([len(set(a) & set(b)) for a, b in zip(ours, theirs, strict=True)])
        pairs = [(seconds(by_us, values), seconds(by_faiss, values)) for _ in range(ROUNDS)]
        us, them = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(
            f"{rows:,} × {features}: ours {us:.2f} s, faiss {them:.2f} s, "
            f"faiss takes {them / us:.2f} times ours; {same / NEIGHBOURS:.4f} of neighbours agree"
        )


if __name__ == "__main__":
    main()
