"""The data sets of gamma over the data, in the halves that study gave them.

One set of its second half, iris, was run while the code was written, so it stands with the first.
"""

from __future__ import annotations

from studies.over_data.sets import CHOSEN_ON as FIRST_HALF
from studies.over_data.sets import TESTED_ON as SECOND_HALF

__all__ = ["CHOSEN_ON", "TESTED_ON"]

SEEN = ("iris",)
CHOSEN_ON = (*FIRST_HALF, *SEEN)
TESTED_ON = tuple(name for name in SECOND_HALF if name not in SEEN)
