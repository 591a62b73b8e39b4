"""Kills at random moments: what a run loses, and whether it ends with the same bits.

`anharmonic gamma --out` is killed (SIGKILL, SIGTERM and SIGHUP in turn) after a random part of the
time an undisturbed run takes, then resumed until it is done. Three things must hold:
values and errors identical to the bit, no row asked again that the file held before a kill, and
nothing lost of more than a few seconds. Bar: all of that in 20 of 20 kills.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

import anharmonic as ah

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
MODEL = """
import os, time
import numpy as np
weights = np.random.default_rng(0).normal(size=(6, 3))
def answer(x):
    x = np.asarray(x)
    time.sleep(len(x) * {pause})
    with open(os.environ["ASKED"], "ab") as file:
        file.write(len(x).to_bytes(8, "little"))
    # Row by row, so that the answer does not depend on what else is asked for.
    return np.stack([np.sin(3 * (x * column).sum(axis=1)) for column in weights.T], axis=1)
"""


class Outcome(NamedTuple):
    """What some kills left behind."""

    kills: int
    same: bool
    needed: int
    asked: int
    codes: list[int]


def run(folder: Path, arguments: list[str], out: str, resume: bool) -> subprocess.Popen[bytes]:
    """The command, started."""
    again = ["--resume", f"{Path(out).stem}.partial.parquet"] if resume else []
    command = [sys.executable, "-m", "anharmonic", "gamma", "--model", "slow:answer"]
    command += ["--data", "points.npy", "--out", out, "--batch-size", "512", *arguments, *again]
    environment = {**os.environ, "ASKED": str(folder / f"{out}.asked"), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def killed(points: int, pause: float, kills: int, arguments: list[str], seed: int) -> Outcome:
    """An undisturbed run, and one that is killed so many times."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "slow.py").write_text(MODEL.format(pause=pause))
        np.save(folder / "points.npy", np.random.default_rng(seed).normal(size=(points, 6)))
        begun = time.perf_counter()
        assert run(folder, arguments, "whole.parquet", False).wait() == 0
        length = time.perf_counter() - begun
        codes, done, partial = [], 0, folder / "killed.partial.parquet"
        while done < kills:
            process = run(folder, arguments, "killed.parquet", partial.exists())
            try:
                process.wait(chance.uniform(0.1, 1.0) * length / kills * 4)
            except subprocess.TimeoutExpired:
                process.send_signal(SIGNALS[done % len(SIGNALS)])
                done += 1
            codes.append(process.wait())
            if codes[-1] == 0:
                break
        while not (folder / "killed.parquet").exists():
            assert run(folder, arguments, "killed.parquet", partial.exists()).wait() == 0
        assert not partial.exists()
        left = {each.name for each in folder.iterdir() if each.name.startswith(".")}
        assert not left, left
        return Outcome(
            done,
            same(folder / "whole.parquet", folder / "killed.parquet"),
            asked(folder / "whole.parquet.asked"),
            asked(folder / "killed.parquet.asked"),
            codes,
        )


def same(one: Path, other: Path) -> bool:
    """Whether two files hold the same scores to the bit, settings included."""
    first, second = ah.Scores.load(one), ah.Scores.load(other)
    columns = pq.read_table(one).equals(pq.read_table(other))
    return bool(columns) and first.summary() == second.summary()


def asked(file: Path) -> int:
    """Rows the model was asked for."""
    return int(np.frombuffer(file.read_bytes(), dtype="<i8").sum())


CASES: dict[str, list[str]] = {
    "plain": [],
    "a budget": ["--budget", "{budget}"],
    "a tolerance": ["--tolerance", "0.2"],
}


def main() -> None:
    points, pause, kills = 4000, 1e-4, 7
    wrong = 0
    for seed, (name, options) in enumerate(CASES.items()):
        arguments = [each.format(budget=points * 60) for each in options]
        found: Any = killed(points, pause, kills, arguments, seed)
        more = found.asked / found.needed - 1
        print(
            f"{name:12} {found.kills} kills, exit codes {found.codes}: "
            f"{'the same bits' if found.same else 'DIFFERENT'}, "
            f"{found.asked:,} rows asked where {found.needed:,} are needed ({more:+.1%})"
        )
        wrong += not found.same
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
