"""Training: stacked networks learn as if alone, runs resume, and a NaN stops them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from anharmonic.errors import SettingsError, TrainingStopped
from anharmonic.training import (
    Adversarial,
    Attack,
    Batch,
    accuracy,
    lenet5,
    plain,
    robust_accuracy,
    stacked,
    train,
)
from tests.training.digits import digits, network, trained

IMAGES, LABELS = digits()
NEW, NEW_LABELS = IMAGES[1300:], LABELS[1300:]


def test_convolutions_as_matrices_are_the_same_network() -> None:
    images = torch.rand(3, 1, 28, 28)
    torch.testing.assert_close(lenet5(1)(images), lenet5(1, patches=True)(images))
    assert sum(weight.numel() for weight in lenet5().parameters()) == 61_706


def test_stacked_networks_learn_as_they_would_alone() -> None:
    first, second = network(0), network(1)
    pair = stacked([first, second])
    attack = Adversarial(Attack(0.05, steps=2))
    train(pair, IMAGES[:256], LABELS[:256], objective=attack, epochs=2, batch_size=64)
    alone = network(0)
    train(alone, IMAGES[:256], LABELS[:256], objective=attack, epochs=2, batch_size=64)
    for ours, theirs in zip(pair.separate()[0].parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-4, rtol=1e-3)
    assert (pair.separate()[0][0].weight != pair.separate()[1][0].weight).all()


def test_training_under_attack_pays_under_attack() -> None:
    module = network()
    objective = Adversarial(Attack(0.1, steps=5), warm=40)
    train(
        module,
        IMAGES[:1300],
        LABELS[:1300],
        objective=objective,
        epochs=8,
        batch_size=64,
        rate=3e-3,
    )
    attack = Attack(0.1, steps=20)
    ours, ordinary = (
        robust_accuracy(each, NEW, NEW_LABELS, attack) for each in (module, trained())
    )
    assert ours.low > ordinary.high
    assert accuracy(module, NEW, NEW_LABELS).value > 0.85


def test_spared_rows_are_not_attacked() -> None:
    module = trained()
    wrong = (NEW_LABELS + 1) % 10
    batch = Batch(torch.from_numpy(NEW), torch.from_numpy(wrong), np.arange(len(NEW)), 0)
    attacked = Adversarial(Attack(0.2, steps=1), spare_misclassified=True)(module, batch)
    missed = module(batch.points).argmax(1) != batch.labels
    torch.testing.assert_close(attacked[missed], plain(module, batch)[missed])


def test_an_interrupted_run_ends_where_an_uninterrupted_one_does(tmp_path: Path) -> None:
    data = IMAGES[:200], LABELS[:200]
    whole, halves = network(), network()
    train(whole, *data, epochs=3, batch_size=50)
    train(halves, *data, epochs=1, batch_size=50, checkpoint=tmp_path / "run.pt")
    again = network(5)
    history = train(again, *data, epochs=3, batch_size=50, checkpoint=tmp_path / "run.pt")
    assert [epoch.number for epoch in history] == [0, 1, 2]
    for one, other in zip(whole.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(one, other)
    with pytest.raises(SettingsError, match="another seed"):
        train(again, *data, epochs=4, batch_size=50, seed=1, checkpoint=tmp_path / "run.pt")


def test_a_loss_that_is_no_number_stops_before_it_changes_anything(tmp_path: Path) -> None:
    def breaking(module: torch.nn.Module, batch: Batch) -> torch.Tensor:
        return plain(module, batch) * (float("nan") if batch.step == 5 else 1.0)

    module, file = network(), tmp_path / "run.pt"
    with pytest.raises(TrainingStopped, match="step 5") as stopped:
        train(
            module,
            IMAGES[:200],
            LABELS[:200],
            objective=breaking,
            epochs=3,
            batch_size=50,
            checkpoint=file,
        )
    assert stopped.value.step == 5
    assert stopped.value.checkpoint == file
    assert all(torch.isfinite(weight).all() for weight in module.parameters())
    assert torch.load(file, weights_only=True)["history"][-1]["number"] == 0
