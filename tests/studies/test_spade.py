"""The study of SPADE's Tables 1 and 2 at a tiny size, on digits of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anharmonic.errors import InputError
from studies.mnist import read_mnist
from studies.spade.case import CIFAR, MNIST
from studies.spade.measuring import Found, Remembered
from studies.spade.networks import FILE, RADII, Effort, Networks, trained
from studies.spade.results import measure, read
from studies.spade.study import spade_cifar_tables, spade_tables, tables_page
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


@pytest.mark.slow
def test_networks_are_the_same_every_time_and_keep(folder: Path, tmp_path: Path) -> None:
    learned, asked = read_mnist(folder)
    lines: list[str] = []
    one, two = (trained(learned, asked, TINY, seed=3, tell=lines.append) for _ in range(2))
    assert len(lines) == 2 * (TINY.epochs + TINY.seeds * len(RADII))
    assert one.seeds.tolist() == [3] * 5 + [4] * 5
    np.testing.assert_array_equal(one.logits, two.logits)
    kept = Networks.load(one.save(tmp_path / FILE))
    np.testing.assert_array_equal(kept.logits, one.logits)
    assert kept.effort == TINY
    np.savez(tmp_path / "other.npz", weights=np.ones(3))
    with pytest.raises(InputError, match="logits"):
        Networks.load(tmp_path / "other.npz")


@pytest.mark.slow
def test_the_page_has_both_tables_and_the_figure(folder: Path) -> None:
    page = spade_tables(folder, effort=TINY)
    rows = page.rows()
    assert rows["Model scores (Table 1): 10 neighbours, ε = 0.3"].paper == "33"
    assert rows["Model scores (Table 1): 10 neighbours, ε = 0.4"].paper == ""
    assert "Distortion by geodesic distance (Table 2): 20 neighbours, ε = 0, top edges" in rows
    assert "Random edges (observation 2): 10 neighbours, ε = 0.3 less 0.4" in rows
    assert page.sections[2].pictures[0].draw().data[0].x == (5, 10, 15, 20, 50, 100)
    assert "--data MNIST" in page.markdown()


def made(roughness: dict[float, float], seeds: int = 2) -> tuple[Any, Any]:
    """Points on a square, and outputs that turn as often as the radius's roughness says."""
    flat = np.random.default_rng(0).uniform(size=(400, 2))
    networks = {
        f"{radius} {seed}": (
            {"radius": radius, "seed": seed, "clean": 0.9, "robust": [radius] * 4},
            np.sin(turns * (1 + 0.01 * seed) * flat),
        )
        for radius, turns in roughness.items()
        for seed in range(seeds)
    }
    return flat, networks


ABOUT = {"seed": 0, "clean": 400, "attacked": 100, "networks": "made up"}


@pytest.mark.slow
def test_the_verdict_follows_the_scores() -> None:
    """Outputs made rougher with falling radius count as the claim's order, and only they do."""
    for falling in (True, False):
        turns = {radius: 1 + 40 * (0.4 - radius if falling else radius) for radius in RADII}
        found = measure(*made(turns), ABOUT, MNIST)
        counted = orders(found, 10)
        assert (counted.larger == 0) if falling else (counted.smaller == 0)
        lines = tables_page(found, "").verdict
        assert lines[0].startswith("Confirmed at" if falling else "Not confirmed")
        assert (" is -" in lines[2]) == falling


def test_a_stopped_measurement_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    flat, networks = made({0.0: 9.0, 2.0: 2.0}, seeds=2)
    first = dict(list(networks.items())[:3])
    out = tmp_path / "spade-cifar.json"
    measure(flat, first, ABOUT, CIFAR, out)
    lines: list[str] = []
    measure(flat, networks, ABOUT, CIFAR, out, lines.append)
    assert sum("is measured" in line for line in lines) == 1
    whole = measure(flat, networks, ABOUT, CIFAR)
    kept = read(out, CIFAR)
    np.testing.assert_allclose(kept.values(10), whole.values(10), rtol=1e-5)
    assert kept.trained == (0.0, 2.0)
    assert "ε = 0 over 2" in spade_cifar_tables(tmp_path).markdown()
    with pytest.raises(InputError, match="spade_cifar"):
        spade_cifar_tables(tmp_path / "nowhere")


def test_graphs_in_parts_are_said() -> None:
    flat, networks = made({0.0: 2.0, 8.0: 2.0})
    name, (about, logits) = list(networks.items())[-1]
    networks[name] = (about, np.where(flat[:, :1] > 0.5, 100.0, 0.0) + 0.1 * logits)
    found: Found = measure(flat, networks, ABOUT, CIFAR)
    assert found.joined(10).tolist() == [False, False, False, True]
    assert any("1 at ε = 8" in line for line in tables_page(found, "").verdict)


def test_remembered_neighbours_are_the_neighbours() -> None:
    from anharmonic.measures.spectral import neighbours

    flat = np.random.default_rng(1).normal(size=(80, 3))
    search = Remembered.of(flat, 20)
    np.testing.assert_array_equal(search(flat, 7), neighbours(flat, 7))
    for others in (flat[:40], np.sin(5 * flat)):
        np.testing.assert_array_equal(search(others, 7), neighbours(others, 7))
