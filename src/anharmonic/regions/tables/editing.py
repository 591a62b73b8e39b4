"""Texts as they come and edited: a code says by which random numbers, and how often.

Code 0 is the text itself. Any other is an address and a number of edits; the same code makes the
same text of the same row, so that nothing has to be kept.
"""

from __future__ import annotations

import numpy as np

from anharmonic._core.frames import is_missing
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic._core.text_changes import edit_text
from anharmonic.regions.tables.kinds import TextChange

__all__ = ["edited", "edited_again", "edits_of"]

EDITS = 16
"""One more than the most edits of a text."""
ADDRESSES = 1 << 44


def edits_of(codes: Floats) -> Floats:
    """How often the texts of these codes were edited."""
    return np.asarray(np.nan_to_num(codes) % EDITS)


def edited_again(codes: Floats, words: Integers) -> Floats:
    """Codes of texts with one edit more, by random words: whole numbers below 2⁵³."""
    count = np.minimum(edits_of(codes) + 1, EDITS - 1)
    return np.asarray((words % ADDRESSES) * EDITS + count, dtype=np.float64)


def edited(cell: object, code: float, change: TextChange | None) -> object:
    """A cell as its code says: as it is, or edited so many times."""
    if code == 0 or is_missing(cell):
        return cell
    address, count = divmod(int(code), EDITS)
    random = generator(address, Stream.TEXT_EDIT)
    for _ in range(count):
        cell = edit_text(str(cell), random) if change is None else change(cell, random)
    return cell
