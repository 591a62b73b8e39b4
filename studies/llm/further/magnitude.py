"""The length of the deviation, |a − mean|, from what is kept: no answer is needed for it.

With vectors of length 1, a for the original and m for the mean of N others, the cosine c of a and m
is known from gamma, and the mean cosine of all N + 1 answers gives |a + N·m|². So

    |a + N·m|² = 1 + N²·|m|² + 2N·|m|·c

is a quadratic equation for |m|, and |a − m|² = 1 + |m|² − 2|m|·c.
"""

from __future__ import annotations

import numpy as np

from anharmonic._core.protocols import Floats

__all__ = ["magnitudes"]


def magnitudes(gammas: Floats, pairwise: Floats, others: int) -> Floats:
    """|a − mean| of each question, from gamma in sqrt(1 − cos θ) and 1 less the mean cosine.

    >>> equal = magnitudes(np.array([0.0]), np.array([0.0]), 10)
    >>> abs(float(equal[0])) < 1e-6
    True
    """
    cosine = 1 - np.asarray(gammas) ** 2
    count = others + 1
    # The mean cosine is over pairs of different answers.
    whole = count + count * (count - 1) * (1 - np.asarray(pairwise))
    # others²·x² + 2·others·cosine·x + (1 − whole) = 0, the root that is not negative.
    root = np.sqrt(np.maximum(cosine**2 - (1 - whole), 0.0))
    length = (root - cosine) / others
    return np.asarray(np.sqrt(np.maximum(1 + length**2 - 2 * length * cosine, 0.0)))
