"""Adversarial inputs told from photos as they are: scores chosen on one half of the photos.

A detector sees one input and no other; larger should mean adversarial. The halves go by a photo's
place in the list, even or odd, and were fixed beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from anharmonic._core.auroc import Auroc, auroc_interval
from anharmonic._core.protocols import Floats, Integers
from studies.images.measurements import Measurements

__all__ = ["DETECTORS", "Detected", "changed_rows", "detected"]

Detector = Callable[[Measurements, str], Floats]
"""From measurements and the name of an attack ("attacked 8") to a score per input."""


def _margins(found: Measurements, attack: str) -> Floats:
    return found.arrays[f"{attack}/walks/margin"].astype(np.float64)


def _flat(found: Measurements, attack: str, kind: str, what: str = "changes") -> Floats:
    changes = found.arrays[f"{attack}/{kind}/{what}"].astype(np.float64)
    return changes.reshape(len(changes), -1)


def _margin(found: Measurements, attack: str) -> Floats:
    return -_margins(found, attack)


def _too_sure(found: Measurements, attack: str) -> Floats:
    """An attack that goes on after the flip makes a network surer than photos do."""
    return _margins(found, attack)


def _gamma(kind: str) -> Detector:
    return lambda found, attack: np.abs(_flat(found, attack, kind, "own").mean(axis=1))


def _sway(kind: str) -> Detector:
    def of(found: Measurements, attack: str) -> Floats:
        changes = _flat(found, attack, kind)
        return np.asarray(
            np.sqrt((changes**2).mean(axis=1)) / np.maximum(_margins(found, attack), 1e-6)
        )

    return of


def _z(kind: str) -> Detector:
    def of(found: Measurements, attack: str) -> Floats:
        changes = _flat(found, attack, kind)
        spread = np.maximum(changes.std(axis=1, ddof=1), 1e-6)
        return np.asarray(-(_margins(found, attack) + changes.mean(axis=1)) / spread)

    return of


def _fall(kind: str) -> Detector:
    """How far the margin falls on average, whatever it is: an attack's gain is soon lost."""
    return lambda found, attack: -_flat(found, attack, kind).mean(axis=1)


def _flips(kind: str) -> Detector:
    def of(found: Measurements, attack: str) -> Floats:
        ends = _margins(found, attack)[:, None] + _flat(found, attack, kind)
        return np.asarray((ends < 0).mean(axis=1))

    return of


DETECTORS: dict[str, Detector] = {
    "margin, small": _margin,
    "margin, large": _too_sure,
    "gamma, dense pairs": _gamma("dense"),
    **{
        f"{name}, {words}": make(kind)
        for kind, words in (("walks", "25 pixels"), ("dense", "dense"))
        for name, make in (("sway", _sway), ("z", _z), ("mean fall", _fall), ("flips", _flips))
    },
}


class Detected(NamedTuple):
    """One attack on one network: inputs whose class changed, and every detector's AUROC."""

    network: str
    attack: str
    changed: int
    attacked: int
    first: dict[str, float]
    second: dict[str, Auroc]

    @property
    def best(self) -> str:
        """The detector with the largest AUROC on the first half."""
        return max(self.first, key=lambda name: self.first[name])


def changed_rows(found: Measurements, attack: str) -> tuple[Integers, Integers]:
    """Places of the changed inputs among those attacked, and of the same photos as they are."""
    rows = found.arrays[f"{attack}/rows"]
    clean = {int(row): at for at, row in enumerate(found.arrays["attacked 0/rows"])}
    before = found.arrays["attacked 0/label"]
    places = np.array([clean[int(row)] for row in rows])
    changed = np.flatnonzero(found.arrays[f"{attack}/label"] != before[places])
    return changed, places


def detected(found: Measurements, attack: str) -> Detected:
    """Adversarial inputs that changed the class against all photos that were attacked."""
    changed, places = changed_rows(found, attack)
    halves: dict[int, dict[str, Auroc]] = {0: {}, 1: {}}
    for name, detector in DETECTORS.items():
        moved, still = detector(found, attack), detector(found, "attacked 0")
        for half in (0, 1):
            bad = moved[changed[changed % 2 == half]]
            good = still[places[np.arange(len(places)) % 2 == half]]
            flags = np.repeat([True, False], [len(bad), len(good)])
            halves[half][name] = auroc_interval(np.concatenate([bad, good]), flags)
    first = {name: each.value for name, each in halves[0].items()}
    return Detected(found.network, attack, len(changed), len(places), first, halves[1])
