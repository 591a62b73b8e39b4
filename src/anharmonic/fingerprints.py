"""Whether two measurements were made at the same points."""

from __future__ import annotations

import json
from hashlib import blake2b

import numpy as np

from anharmonic.protocols import Floats
from anharmonic.regions import Region, host

__all__ = ["fingerprint"]

ROWS = 1 << 16


def fingerprint(region: Region, units: Floats) -> str:
    """A short text that is the same for the same points, moved in the same columns and units.

    Columns that stay count by name, in whatever order and type they came.

    >>> import numpy as np
    >>> from anharmonic.regions import points
    >>> one, other = points([[1.0, 2.0]]), points(np.array([[1.0, 2.0]], dtype=np.float32))
    >>> fingerprint(one, np.ones(2)) == fingerprint(other, np.ones(2))
    True
    """
    still = sorted(region.still)
    digest = blake2b(json.dumps([region.columns, still]).encode(), digest_size=16)
    digest.update(np.asarray(units, dtype="<f8").tobytes())
    for start in range(0, len(region), ROWS):
        chunk = host(region.values[start : start + ROWS])
        digest.update(np.ascontiguousarray(chunk, dtype="<f8").data)
    for name in still:
        digest.update("\x1f".join(_texts(region, name)).encode())
    return digest.hexdigest()


def _texts(region: Region, name: str) -> list[str]:
    if region.is_table:
        return [str(each) for each in region.source[name].to_list()]
    return [str(each) for each in host(region.source[:, region.names.index(name)]).tolist()]
