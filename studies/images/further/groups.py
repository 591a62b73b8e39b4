"""Ten groups of ImageNet's animals, in place of the ten classes of Animals-10.

ImageNet numbers its animals by kind, so that a group is a few runs of numbers. They were fixed
before anything was measured.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from anharmonic._core.protocols import Integers
from anharmonic.errors import InputError

__all__ = ["GROUPS", "classes_of", "groups_of"]

GROUPS: dict[str, tuple[tuple[int, int], ...]] = {
    "fish": ((0, 6), (389, 397)),
    "birds": ((7, 24), (80, 100), (127, 146)),
    "amphibians, reptiles": ((25, 68),),
    "spiders, crabs, snails": ((69, 79), (107, 126), (327, 329)),
    "insects": ((300, 326),),
    "hounds, terriers": ((151, 199),),
    "other dogs": ((200, 268),),
    "wolves, cats, bears": ((269, 299),),
    "primates": ((365, 384),),
    "other mammals": ((101, 106), (147, 150), (330, 364), (385, 388)),
}
"""First and last class of every run."""


def classes_of(names: Sequence[str]) -> Integers:
    """The class's number that every file name begins with."""
    numbers = [re.match(r"(\d+)_", name) for name in names]
    if None in numbers:
        raise InputError("file names must begin with the class's number, as 281_tabby.png does")
    return np.array([int(number[1]) for number in numbers if number is not None])


def groups_of(classes: Integers) -> list[str]:
    """The group of every class.

    >>> groups_of(np.array([0, 281, 397, 151]))
    ['fish', 'wolves, cats, bears', 'fish', 'hounds, terriers']
    """
    named = {
        number: name
        for name, runs in GROUPS.items()
        for first, last in runs
        for number in range(first, last + 1)
    }
    unknown = [number for number in classes.tolist() if number not in named]
    if unknown:
        raise InputError(f"class {unknown[0]} is no animal of ImageNet's first 398 classes")
    return [named[number] for number in classes.tolist()]
