"""Killed in the middle of its work, the service loses nothing it has acknowledged.

Once here; `python -m benchmarks.service` does it twenty times.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.service.kills import survived


def test_what_was_acknowledged_survives_kills(tmp_path: Path) -> None:
    assert survived(tmp_path, kills=1, seconds=0.8)
