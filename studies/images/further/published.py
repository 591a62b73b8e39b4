"""The supplement's Table 1 as it was published, and what follows from it alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

__all__ = ["TABLE", "PublishedRow", "correlations", "exceptions"]


class PublishedRow(NamedTuple):
    """One class of one network; `probability` is the table's P_C, shares are in percent."""

    name: str
    network: str
    logit: float
    mean_logit: float
    probability: float
    gamma: float
    metric: float
    accuracy: float
    stability: float


TABLE = tuple(
    PublishedRow(*row)
    for row in (
        ("Chicken", "ResNet", -0.12, -9.35, 0.911, 0.042, 0.32, 34, 57),
        ("Chicken", "ViT", 8.91, -6.9e-5, 0.881, 0.027, 0.45, 70, 68),
        ("Butterfly", "ResNet", 0.038, -9.09, 0.929, 0.038, 0.36, 36, 52),
        ("Butterfly", "ViT", 8.84, -3.0e-5, 0.873, 0.034, 0.37, 60, 67),
        ("Sheep", "ResNet", 0.05, -9.86, 0.953, 0.037, 0.38, 40, 58),
        ("Sheep", "ViT", 8.07, 4.5e-5, 0.762, 0.022, 0.44, 71, 81),
        ("Cat", "ResNet", 0.96, -9.55, 0.973, 0.054, 0.25, 80, 73),
        ("Cat", "ViT", 10.18, 2.8e-4, 0.963, 0.082, 0.12, 83, 76),
        ("Dog", "ResNet", 0.99, -10.03, 0.984, 0.040, 0.36, 87, 72),
        ("Dog", "ViT", 11.07, 1.2e-4, 0.985, 0.039, 0.37, 94, 80),
        ("Elephant", "ResNet", 0.96, -10.08, 0.984, 0.041, 0.35, 89, 75),
        ("Elephant", "ViT", 12.98, 1.8e-6, 0.995, 0.027, 0.51, 90, 81),
        ("Horse", "ResNet", 1.71, -9.56, 0.987, 0.038, 0.38, 67, 72),
        ("Horse", "ViT", 8.95, 3.9e-5, 0.885, 0.020, 0.54, 89, 88),
        ("Spider", "ResNet", 1.94, -9.74, 0.992, 0.035, 0.41, 66, 78),
        ("Spider", "ViT", 10.99, 2.6e-5, 0.983, 0.029, 0.48, 73, 82),
        ("Cow", "ResNet", 1.84, -10.00, 0.993, 0.033, 0.44, 79, 92),
        ("Cow", "ViT", 9.72, -2.2e-5, 0.944, 0.022, 0.54, 90, 90),
        ("Squirrel", "ResNet", 4.08, -9.72, 0.999, 0.044, 0.33, 79, 88),
        ("Squirrel", "ViT", 11.72, 1.0e-4, 0.992, 0.044, 0.33, 77, 84),
    )
)


def correlations(rows: tuple[PublishedRow, ...] = TABLE) -> dict[str, float]:
    """Spearman's correlation of each column with the stability.

    >>> {name: round(value, 2) for name, value in correlations().items()}
    {'probability': 0.42, 'gamma': -0.29, 'metric': 0.4, 'accuracy': 0.61}
    """
    stability = [row.stability for row in rows]
    return {
        name: float(spearmanr([getattr(row, name) for row in rows], stability).statistic)
        for name in ("probability", "gamma", "metric", "accuracy")
    }


def exceptions(rows: tuple[PublishedRow, ...] = TABLE) -> dict[str, list[str]]:
    """Classes in which the network that is steadier on average is not, and not more accurate.

    >>> exceptions()
    {'stability': ['Cow', 'Squirrel'], 'accuracy': ['Squirrel']}
    """
    found = {}
    for what in ("stability", "accuracy"):
        values = {(row.name, row.network): getattr(row, what) for row in rows}
        names, networks = (list(dict.fromkeys(key[at] for key in values)) for at in (0, 1))
        means = {each: np.mean([values[name, each] for name in names]) for each in networks}
        first, second = sorted(networks, key=lambda each: -means[each])
        found[what] = [name for name in names if values[name, first] < values[name, second]]
    return found
