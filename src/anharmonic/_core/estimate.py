"""A number with its error, as people read it."""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["Estimate"]


class Estimate(NamedTuple):
    """A number and its standard error.

    >>> print(Estimate(0.01416, 0.00023))
    0.01416 ± 0.00023
    """

    value: float
    error: float

    def __str__(self) -> str:
        if not math.isfinite(self.value):
            return "–"
        if not math.isfinite(self.error):
            return f"{self.value:.4g}"
        if self.error == 0:
            return f"{self.value:.4g} ± 0"
        digits = 1 - math.floor(math.log10(self.error))
        if abs(self.value) < 1e6 and 0 <= digits <= 8:
            return f"{self.value:.{digits}f} ± {self.error:.{digits}f}"
        return f"{self.value:.4g} ± {self.error:.2g}"

    @property
    def percent(self) -> str:
        """The same as a percentage.

        >>> Estimate(0.2684, 0.0151).percent
        '26.8 ± 1.5%'
        """
        if not math.isfinite(self.value):
            return "–"
        return f"{Estimate(100 * self.value, 100 * self.error)}%"
