"""Gamma in the log of a plain loop, of Lightning, and in scikit-learn's searches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.training import (
    GammaLog,
    gamma_scorer,
    lightning_callback,
    steadiest_within_one_error,
    train,
)
from tests.training.digits import digits, network

IMAGES, LABELS = digits()
HELD, HELD_LABELS = IMAGES[1300:1330], LABELS[1300:1330]


def test_a_plain_loop_logs_gamma_beside_the_loss() -> None:
    log = GammaLog(HELD, HELD_LABELS, radius=0.5, every=2)
    module = network()
    history = train(module, IMAGES[:200], LABELS[:200], epochs=4, batch_size=50, hooks=[log])
    assert [sorted(epoch.logged) for epoch in history] == [
        [],
        ["gamma", "gamma_error", "validation_loss"],
    ] * 2
    now = ah.gamma(module, HELD, radius=0.5, ball="auto pairs")
    assert history[-1].logged["gamma"] == pytest.approx(now.mean)
    assert sorted(log.scores) == [1, 3]
    assert module.training


@pytest.mark.filterwarnings("ignore")
def test_lightning_logs_gamma(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning.pytorch")

    class Digits(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.net = network()

        def forward(self, points: torch.Tensor) -> Any:
            return self.net(points)

        def training_step(self, batch: Any, index: int) -> Any:
            return torch.nn.functional.cross_entropy(self(batch[0]), batch[1])

        def validation_step(self, batch: Any, index: int) -> None:
            loss = torch.nn.functional.cross_entropy(self(batch[0]), batch[1])
            self.log("validation_loss", loss)

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters())

    data = torch.utils.data.TensorDataset(
        torch.from_numpy(IMAGES[:100]), torch.from_numpy(LABELS[:100])
    )
    loader = torch.utils.data.DataLoader(data, batch_size=50)
    log = GammaLog(HELD, radius=0.5)
    trainer = lightning.Trainer(
        max_epochs=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[lightning_callback(log)],
        default_root_dir=tmp_path,
        accelerator="cpu",
    )
    trainer.fit(Digits(), loader, loader)
    assert sorted(log.scores) == [0, 1]
    assert float(trainer.callback_metrics["gamma"]) == pytest.approx(log.scores[1].mean, rel=1e-5)
    assert "validation_loss" in trainer.callback_metrics


def test_a_search_prefers_the_steadier_of_equals() -> None:
    from sklearn.datasets import make_moons
    from sklearn.model_selection import GridSearchCV, cross_validate
    from sklearn.svm import SVC

    points, labels = make_moons(200, noise=0.25, random_state=0)
    scorer = gamma_scorer(reference=points, count=40, radius=0.3)
    search = GridSearchCV(
        SVC(gamma=1.0),
        {"C": [0.3, 1.0, 1000.0], "gamma": [1.0, 30.0]},
        scoring={"score": "accuracy", "gamma": scorer},
        refit=steadiest_within_one_error(),
        cv=3,
    ).fit(points, labels)
    means, gammas = (search.cv_results_[f"mean_test_{name}"] for name in ("score", "gamma"))
    assert gammas[search.best_index_] > gammas.min()
    assert means[search.best_index_] > means.max() - 0.1
    assert search.best_params_["C"] < 1000
    found = cross_validate(SVC(), points, labels, scoring=scorer, cv=3)
    assert (found["test_score"] < 0).all()
    with pytest.raises(SettingsError, match="mean_test_gamma"):
        steadiest_within_one_error()({"mean_test_score": np.ones(2)})
