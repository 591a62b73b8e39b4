"""The page about a replayed stream, in a real browser."""

from __future__ import annotations

import numpy as np

import anharmonic as ah


def test_a_replay_draws_on_a_phone(tmp_path, opened):
    random = np.random.default_rng(1)
    reference = random.normal(size=(800, 2)) - 1
    watch = ah.Monitor(lambda x: np.sin(3 * x[:, 0]) * (x[:, 0] > 0), reference, radius=0.3)
    stream = np.concatenate([reference[:300], random.normal(size=(300, 2)) + 1])
    found = ah.monitor.replay(watch, stream)
    shown = opened(ah.report.write_replay(tmp_path / "page.html", found, title="A <b>"), width=420)
    assert shown.page.locator(".panel .main-svg").count() >= 2
    assert shown.page.locator("h1").inner_text() == "A <b>"
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 420
    assert shown.said == []
    assert str(found.alarms[0]) in shown.page.locator(".lead").inner_text()
