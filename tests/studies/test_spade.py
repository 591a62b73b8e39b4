"""The study of SPADE's Tables 1 and 2 at a tiny size, on digits of our own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anharmonic.errors import InputError
from studies.mnist import Digits, read_mnist
from studies.spade.measuring import measured
from studies.spade.networks import FILE, RADII, Effort, Networks, trained
from studies.spade.study import spade_tables
from studies.spade.verdict import orders
from tests.studies.test_spade_training import write_digits

TINY = Effort(seeds=2, rows=60, epochs=1, batch=20, steps=2, attacked=10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    """Noise with a bright row for each class."""
    random, made = np.random.default_rng(0), tmp_path_factory.mktemp("digits")
    for part, count in (("train", 80), ("t10k", 320)):
        labels = np.arange(count) % 10
        images = random.integers(0, 60, size=(count, 28, 28))
        images[np.arange(count), 2 * labels] += 180
        write_digits(made, part, images, labels)
    return Path(made)


def test_networks_are_the_same_every_time_and_keep(folder: Path, tmp_path: Path) -> None:
    learned, asked = read_mnist(folder)
    lines: list[str] = []
    one, two = (trained(learned, asked, TINY, seed=3, tell=lines.append) for _ in range(2))
    assert len(lines) == 2 * (TINY.epochs + TINY.seeds * len(RADII))
    assert one.seeds.tolist() == [3] * 4 + [4] * 4
    np.testing.assert_array_equal(one.logits, two.logits)
    kept = Networks.load(one.save(tmp_path / FILE))
    np.testing.assert_array_equal(kept.logits, one.logits)
    assert kept.effort == TINY
    np.savez(tmp_path / "other.npz", weights=np.ones(3))
    with pytest.raises(InputError, match="logits"):
        Networks.load(tmp_path / "other.npz")


def test_the_page_has_both_tables_and_the_figure(folder: Path) -> None:
    page = spade_tables(folder, effort=TINY)
    rows = page.rows()
    assert rows["Model scores (Table 1): 10 neighbours, ε = 0.3"].paper == "33"
    assert "Distortion by geodesic distance (Table 2): 20 neighbours, ε = 0, top edges" in rows
    assert page.sections[2].pictures[0].draw().data[0].x == (5, 10, 15, 20)
    assert "--data DIR" in page.markdown()


def test_the_verdict_follows_the_scores() -> None:
    """Outputs made rougher with falling radius count as the claim's order, and only they do."""
    images = np.zeros((400, 28, 28))
    images[:, 0, :2] = np.random.default_rng(0).uniform(size=(400, 2))
    asked = Digits(images, np.zeros(400, dtype=int))
    logits = np.stack([np.sin((1 + 40 * (0.3 - radius)) * images[:, 0, :2]) for radius in RADII])
    few = TINY._replace(seeds=1)
    made = Networks(np.array(RADII), np.zeros(4, int), logits, np.ones(4), np.ones((4, 3)), few)
    assert orders(measured(made, asked, 0, lambda line: None), 10).larger == 0
    turned = replace(made, logits=logits[::-1])
    assert orders(measured(turned, asked, 0, lambda line: None), 10).smaller == 0
