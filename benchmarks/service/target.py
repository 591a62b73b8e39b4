"""A service in a process of its own, over a store, with a LightGBM model."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import numpy as np

__all__ = ["FEATURES", "Target", "free_port"]

FEATURES, REFERENCE = 10, 2000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _prepared(folder: Path) -> tuple[Path, Path]:
    """A trained model and reference points, made once."""
    model, reference = folder / "model.joblib", folder / "reference.npy"
    if not model.exists():
        import joblib
        from lightgbm import LGBMClassifier

        random = np.random.default_rng(0)
        points = random.normal(size=(5000, FEATURES))
        label = np.sin(2 * points[:, 0]) + points[:, 1] * points[:, 2] > 0
        trained = LGBMClassifier(n_estimators=100, num_leaves=31, n_jobs=1, verbose=-1)
        joblib.dump(trained.fit(points, label), model)
        np.save(reference, random.normal(size=(REFERENCE, FEATURES)))
    return model, reference


class Target:
    """Starts on entering, ends on leaving; `kill` and `start` in between."""

    def __init__(self, store: Path | str, folder: Path, *more: str) -> None:
        self.store, self.folder, self.more, self.port = store, folder, more, free_port()

    def prepare(self) -> None:
        """Make the model and the reference, where they are not there."""
        _prepared(self.folder)

    def start(self) -> None:
        model, reference = _prepared(self.folder)
        script = "from anharmonic.cli import main; main()"
        options = {
            **{"--model": model, "--reference": reference, "--store": self.store},
            **{"--port": self.port, "--name": "bench"},
        }
        words = [str(word) for pair in options.items() for word in pair]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        self.log = (self.folder / "service.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-c", script, "serve", *words, "--trust", *self.more],
            stdout=self.log,
            stderr=self.log,
            env=environment,
        )
        deadline = time.monotonic() + 60
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.folder / "service.log").read_text()[-2000:])
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """As a power cut would: no handler runs."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()

    def __enter__(self) -> Target:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End it in order; what was never started or is over stays so."""
        if not hasattr(self, "process"):
            return
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
