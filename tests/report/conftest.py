"""Reports of real measurements, and pages as readers have them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import anharmonic as ah
from anharmonic._core.settings import Settings
from anharmonic.measures.explain import worst_contributions


class Measured(NamedTuple):
    """What a report can be made from."""

    found: object
    sweep: object
    contributions: dict
    points: object


@pytest.fixture(scope="session")
def measured() -> Measured:
    table, y = load_breast_cancer(return_X_y=True, as_frame=True)
    known, points = table[:400], table[400:460]
    models = {
        "linear": make_pipeline(StandardScaler(), LogisticRegression()),
        "shallow tree": DecisionTreeClassifier(max_depth=2, random_state=0),
        "deep tree": DecisionTreeClassifier(random_state=0),
    }
    for model in models.values():
        model.fit(known, y[:400])
    found = ah.compare(models, points, reference=known)
    parts = {
        name: worst_contributions(model, points, found.scores[name])
        for name, model in models.items()
    }
    sweep = ah.sweep(models, points, [0.5, 1.0], reference=known)
    return Measured(found, sweep, parts, points)


class Opened:
    """A page as a reader has it, and everything it did on the way."""

    def __init__(self, chromium, path, width=1280, **options) -> None:
        phone = width < 600
        self.context = chromium.new_context(
            viewport={"width": width, "height": 800}, has_touch=phone, is_mobile=phone, **options
        )
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda problem: self.said.append(str(problem)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.said.append("dialog"), dialog.dismiss()))
        self.page.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            self.page.wait_for_selector("html[data-drawn=all]", state="attached")


@pytest.fixture
def opened(chromium):
    """Open a page at some width; closed again after the test."""
    pages: list[Opened] = []

    def open_page(path, **options):
        pages.append(Opened(chromium, path, **options))
        return pages[-1]

    yield open_page
    for each in pages:
        each.context.close()


def many_scores(count: int, seed: int) -> ah.Scores:
    """Scores of as many points, without a model."""
    random = np.random.default_rng(seed)
    values = np.abs(random.normal(size=count)) * 0.01 * (1 + seed)
    settings = Settings.record(model=str(seed), kind="value", radius=0.1, seed=0, points=count)
    return ah.Scores(
        metric="gamma",
        values=values,
        errors=np.full(count, 0.001),
        squared=values**2,
        signed=values,
        outputs=values,
        turns=np.full(count, 4),
        queries=49 * count,
        settings=settings,
    )
