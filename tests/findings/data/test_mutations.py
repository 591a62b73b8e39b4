"""Damaged files are read or refused, and nothing else.

A few dozen here; `python -m benchmarks.mutations` reads a thousand of each kind.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.mutations import LOADERS, counted, written

COUNT = 24


@pytest.mark.finding("security A11", "security A15")
def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    # A machine that is busy with other tests is no hang.
    found = counted(written(tmp_path, LOADERS, COUNT, seed=1), seconds=60)
    for loader, outcomes in found.items():
        assert outcomes["read"] + outcomes["refused"] == COUNT, (loader, outcomes)
        if loader.endswith(" untrusted"):
            assert outcomes["refused"] == COUNT
