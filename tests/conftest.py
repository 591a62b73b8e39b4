"""What several tests need."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def browser() -> str:
    """The path of a Chromium; the tests that look at pages mean nothing without one."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.fail("no chromium: install it with `apt-get install chromium` or `make chromium`")
    return path


@pytest.fixture(scope="module")
def chromium(browser: str) -> Iterator[Any]:
    """A browser for one module: while Playwright is open, nothing else may run an event loop."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield opened
        opened.close()
