"""How far perturbed prompts move, and how evenly to all sides, in an embedder's space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import Moments
from anharmonic.errors import SettingsError
from anharmonic.llm.perturb.changes import Kind, named, perturbed
from anharmonic.llm.types import Embed

__all__ = ["Isotropy", "isotropy"]


@dataclass(frozen=True)
class Isotropy:
    """What a perturbation does to prompts, in an embedder's space.

    Parameters
    ----------
    distance
        How far a perturbed prompt is from its original, mean over the prompts.
    drift
        The squared length of a prompt's mean step over its mean squared step, noise taken out: 0
        for a ball centred on the prompt, 1 where all go to the same side.
    dimensions, even
        How many directions the steps fill (participation ratio), and what steps of equal spread
        in all directions would show with as many prompts.
    unchanged
        The share of perturbed prompts that are the original.
    """

    distance: Estimate
    drift: Estimate
    dimensions: float
    even: float
    unchanged: float

    def __str__(self) -> str:
        return (
            f"distance {self.distance}, drift {self.drift}, {self.dimensions:.1f} dimensions "
            f"({self.even:.1f} if even), {self.unchanged:.1%} unchanged"
        )


def isotropy(
    kind: Kind, prompts: Sequence[str], embed: Embed, *, count: int = 10, seed: int = 0
) -> Isotropy:
    """Perturb each prompt `count` times and see where the embedder puts the results.

    Parameters
    ----------
    kind
        The perturbation, by name or as a function; see `named`.
    prompts
        The originals.
    embed
        Texts to vectors (texts, D).
    count
        Perturbed prompts per original.
    seed
        Of the perturbations.

    Examples
    --------
    >>> letters = lambda texts: np.array([[len(t), t.count("a"), 1.0] for t in texts])
    >>> isotropy("control", ["what is a?", "why?"], letters).drift.value > 0.5
    True
    """
    if count < 2 or not prompts:
        raise SettingsError("isotropy needs prompts, and each perturbed at least twice")
    changes = named(kind)
    steps, same = [], 0
    for prompt in prompts:
        texts = [perturbed(prompt, changes, seed, turn).prompt for turn in range(count)]
        same += texts.count(prompt)
        vectors = np.asarray(embed([prompt, *texts]), dtype=float)
        steps.append(vectors[1:] - vectors[0])
    moved = np.array(steps)  # (prompts, count, D)
    lengths = np.linalg.norm(moved, axis=-1)
    distance, drift = Moments.of(lengths.mean(axis=1)), Moments.of(_drifts(moved))
    return Isotropy(
        Estimate(float(distance.mean), float(distance.error)),
        Estimate(float(drift.mean), float(drift.error)),
        _participation(moved.reshape(-1, moved.shape[-1])),
        _if_even(len(prompts) * count, moved.shape[-1]),
        same / (len(prompts) * count),
    )


def _drifts(moved: Floats) -> Floats:
    """For each prompt the mean product of two different steps, over the mean squared step."""
    count = moved.shape[1]
    # |mean|² = squares/N + (1 − 1/N)·product, so the product of different steps has no noise in it.
    squares = np.sum(moved**2, axis=(1, 2)) / count
    means = np.sum(moved.mean(axis=1) ** 2, axis=1)
    products = (count * means - squares) / (count - 1)
    shares: Floats = np.divide(products, squares, out=np.zeros(len(squares)), where=squares > 0)
    return shares


def _participation(steps: Floats) -> float:
    """(Σλ)² / Σλ² of the steps' second moments: 1 for a line, D for a ball."""
    # Both Gram matrices have the same eigenvalues λ but zeros: the smaller one is taken. Its trace
    # is Σλ and the sum of its squared entries Σλ².
    gram = steps @ steps.T if len(steps) < steps.shape[1] else steps.T @ steps
    total = float(np.trace(gram))
    return total**2 / float(np.sum(gram**2)) if total else 0.0


def _if_even(count: int, dimension: int) -> float:
    """What normal steps of equal spread would show: 1/D and the noise's 1/count, together."""
    return 1 / (1 / dimension + 1 / count)
