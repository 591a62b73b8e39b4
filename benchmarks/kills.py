"""Kills at random moments: what a run loses, and whether it ends with the same bits.

`anharmonic gamma --out` is killed (SIGKILL, SIGTERM and SIGHUP in turn) at random moments and
resumed until it is done. The file must be the same to the bit as an undisturbed run's, and
nothing that was kept may be asked for again: a run that is killed no more asks for exactly the
rows that the file did not hold. What a kill costs is the rows asked for since the last save.
Bar: 20 of 20 kills.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

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
    """What some kills left behind: rows `lost` to each, and rows asked for `again` at the end."""

    codes: list[int]
    lost: list[int]
    again: int
    needed: int
    same: bool


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
    codes: list[int] = []
    lost: list[int] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "slow.py").write_text(MODEL.format(pause=pause))
        np.save(folder / "points.npy", np.random.default_rng(seed).normal(size=(points, 6)))
        begun = time.perf_counter()
        assert run(folder, arguments, "whole.parquet", False).wait() == 0
        length, needed = time.perf_counter() - begun, asked(folder / "whole.parquet.asked")
        partial, log = folder / "killed.partial.parquet", folder / "killed.parquet.asked"
        while len(codes) < kills and not (folder / "killed.parquet").exists():
            before, had = asked(log), kept(partial)
            process = run(folder, arguments, "killed.parquet", partial.exists())
            try:
                process.wait(chance.uniform(0.3, 0.5) * length)
                break
            except subprocess.TimeoutExpired:
                process.send_signal(SIGNALS[len(codes) % len(SIGNALS)])
            codes.append(process.wait())
            lost.append(asked(log) - before - (kept(partial) - had))
        before, had = asked(log), kept(partial)
        if not (folder / "killed.parquet").exists():
            assert run(folder, arguments, "killed.parquet", partial.exists()).wait() == 0
            again = asked(log) - before - (needed - had)
        else:
            again = 0
        # A lock that a kill left is taken over by the next run; nothing else may be left.
        left = [each.name for each in folder.glob(".*") if each.suffix != ".lock"]
        assert not left, left
        return Outcome(codes, lost, again, needed, same(folder))


def kept(partial: Path) -> int:
    """Rows whose answers a file holds."""
    return ah.Scores.load(partial).queries if partial.exists() else 0


def same(folder: Path) -> bool:
    """Whether the two files hold the same scores to the bit, settings included."""
    one, other = folder / "whole.parquet", folder / "killed.parquet"
    alike = ah.Scores.load(one).summary() == ah.Scores.load(other).summary()
    return alike and bool(pq.read_table(one).equals(pq.read_table(other)))


def asked(file: Path) -> int:
    """Rows the model was asked for."""
    return int(np.frombuffer(file.read_bytes(), dtype="<i8").sum()) if file.exists() else 0


KILLS, MOST_RUNS = 20, 18
CASES = {"plain": [], "budget": ["--budget", "{budget}"], "tolerance": ["--tolerance", "0.4"]}


def main() -> None:
    """Kill until there were twenty, in each of three ways to spend queries."""
    points, pause, wrong, kills = 4000, 1e-4, 0, 0
    # A run that starts slowly is killed less often before it ends.
    for seed, name in enumerate(islice(cycle(CASES), MOST_RUNS)):
        arguments = [each.format(budget=points * 60) for each in CASES[name]]
        found = killed(points, pause, 7, arguments, seed)
        kills, wrong = kills + len(found.codes), wrong + (not found.same) + (found.again != 0)
        print(
            f"{name:10} exit codes {found.codes}: {'same bits' if found.same else 'DIFFERENT'}, "
            f"{found.needed:,} rows needed, "
            f"{found.lost} lost to kills ({pause * 1e6:.0f} µs each), {found.again} asked again",
            flush=True,
        )
        if kills >= KILLS:
            break
    print(f"{kills} kills, {wrong} wrong")
    sys.exit(1 if wrong or kills < KILLS else 0)


if __name__ == "__main__":
    main()
