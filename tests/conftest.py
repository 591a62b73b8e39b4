"""What several tests need."""

from __future__ import annotations

import shutil

import pytest


@pytest.fixture(scope="session")
def browser() -> str:
    """The path of a Chromium; the tests that look at pages mean nothing without one."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.fail("no chromium: install it with `apt-get install chromium` or `make chromium`")
    return path
