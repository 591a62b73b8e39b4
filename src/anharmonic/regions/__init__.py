"""Where to measure: points, a grid, the hull of data, a window of traffic.

A region is points plus what is needed to move them: which columns may move and how, how to put a
moved point back into the form the model knows, and the volume where one is known.
"""

from anharmonic.regions.making import as_region, grid, hull, points, unmoved, window
from anharmonic.regions.region import Region, require_finite

__all__ = ["Region", "as_region", "grid", "hull", "points", "require_finite", "unmoved", "window"]
