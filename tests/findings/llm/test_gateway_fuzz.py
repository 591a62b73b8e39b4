"""500 random requests before a random server; `python -m benchmarks.gateway` sends 10,000."""

from __future__ import annotations

import pytest

from benchmarks.gateway import fuzzed


@pytest.mark.finding("security A8", "security A9")
def test_random_requests_find_no_fault():
    statuses, wrong = fuzzed(500)
    assert not wrong
    assert statuses["200"] > 50  # else nothing was tried
    assert statuses["400"] > 50
