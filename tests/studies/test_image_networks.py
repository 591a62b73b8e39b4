"""The study's own networks: trained, padded to one batch size, and measured by its command."""

from __future__ import annotations

import sys

import numpy as np
import torch

from anharmonic.images import Preprocessing, classifier
from studies.images import __main__ as command
from studies.images.attention import Pictures, network, read_cifar, save, trained
from studies.images.fast import Fast
from studies.images.measurements import read_measurements

RANDOM = np.random.default_rng(0)


def test_a_transformer_is_trained_and_the_same_seed_trains_the_same(tmp_path):
    pixels = RANDOM.integers(0, 255, (12, 32, 32)).astype(np.uint8)
    for part in ("train", "test"):
        np.savez(tmp_path / f"{part}.npz", pixels=pixels, labels=np.arange(12) % 3)
    train, test = read_cifar(tmp_path)
    assert isinstance(train, Pictures)
    said: list[str] = []
    small = {"epochs": 2, "batch": 6, "width": 64, "depth": 1}
    one, right = trained(train, test, tell=said.append, **small)
    other, _ = trained(train, test, **small)
    assert 0 <= right <= 1
    assert "epoch 2 of 2" in said[0]
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_padding_changes_no_answer():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2)
    ).eval()
    how = Preprocessing((8, 8))
    pixels = torch.as_tensor(RANDOM.uniform(0, 255, (5, 20, 20)), dtype=torch.float32)
    fast = Fast(net, how, 8, "cpu", compiling=False, half=False)
    with torch.no_grad():
        torch.testing.assert_close(fast(pixels), classifier(net, how)(pixels))
        assert fast(pixels[:1]).shape == (1, 2)


def test_the_command_measures_and_goes_on(tmp_path, monkeypatch, capsys):
    torch.manual_seed(0)
    save(network(classes=3, width=64, depth=1), tmp_path / "vit")
    photos = RANDOM.integers(0, 255, (4, 100, 100)).astype(np.float32)
    np.savez(tmp_path / "photos.npz", pixels=photos, names=[f"{each}.png" for each in range(4)])
    asked = ["images", "vit", "--weights", str(tmp_path / "vit"), "--tiny", "--few", "2"]
    asked += ["--photos", str(tmp_path / "photos.npz"), "--out", str(tmp_path / "found")]
    monkeypatch.setattr(sys, "argv", [*asked, "--gamma-seconds=-1"])
    command.main()
    (found,) = read_measurements(tmp_path / "found")
    assert len(found) == 2
    assert found.facts["photos"] == ["0.png", "1.png"]
    assert found.facts["date"].count("-") == 2
    capsys.readouterr()
    resume = ["--resume", str(tmp_path / "found" / "vit.npz")]
    monkeypatch.setattr(sys, "argv", [*asked, *resume, "--gamma-seconds=-1"])
    command.main()
    assert "queries in" not in capsys.readouterr().out
