"""A newcomer's path, timed from nothing: `make newcomer` (or `python -m benchmarks.newcomer`).

Every step starts from the files of the last commit and an empty environment, without pip's cache,
so that installs and downloads count. What is fetched comes from the package index that pip is set
to use; the package itself from the checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
OWN_PIPELINE = """
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
import anharmonic as ah

random = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "age": random.integers(18, 80, 569),
        "income": random.lognormal(10, 0.5, 569),
        "plan": random.choice(["basic", "plus", "pro"], 569),
    }
)
X.loc[::17, "income"] = np.nan
y = random.random(569) < 1 / (1 + np.exp((X["age"] - 45) / 12 - (X["plan"] == "basic")))
columns = make_column_transformer((OneHotEncoder(), ["plan"]), remainder="passthrough")
model = make_pipeline(columns, HistGradientBoostingClassifier(random_state=0))
model.fit(X[:400], y[:400])
"""
"""What stands in for a newcomer's own work: numbers, a gap and a category."""


@dataclass(frozen=True)
class Step:
    """How long something took, how long it may take, and what was seen at the end."""

    name: str
    seconds: float
    bar: float
    seen: str

    @property
    def met(self) -> bool:
        return bool(self.seen) and self.seconds <= self.bar


def run(*words: object, folder: Path, seconds: float = 900) -> str:
    """What a command printed; one that fails stops the path."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
    alone = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env={**alone, "PIP_NO_CACHE_DIR": "1"},
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


@contextmanager
def fresh_clone() -> Iterator[Path]:
    """The files of the last commit, in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="anharmonic-newcomer-") as name:
        archive = subprocess.run(
            ["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True
        )
        subprocess.run(["tar", "-x", "-C", name], input=archive.stdout, check=True)
        yield Path(name)


def install(folder: Path, extras: str) -> Path:
    """A new environment with some extras; where its programs are."""
    run(sys.executable, "-m", "venv", "env", folder=folder)
    programs = folder / "env" / "bin"
    run(programs / "pip", "install", "--quiet", f".[{extras}]", folder=folder)
    return programs


def make_demo(folder: Path) -> str:
    """`make demo`, up to a page."""
    run("make", "demo", f"PYTHON={sys.executable}", folder=folder)
    size = (folder / "build" / "demo.html").stat().st_size
    return f"a page of {size / 1e6:.1f} MB"


def ten_lines(folder: Path) -> str:
    """README's ten lines from `scores = …` on, with one's own table and pipeline."""
    programs = install(folder, "sklearn")
    block = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(), flags=re.S)[0]
    (folder / "own.py").write_text(OWN_PIPELINE + block[block.index("scores = ") :])
    printed = run(programs / "python", "own.py", folder=folder)
    return re.sub(r"\s+", " ", printed.splitlines()[0])[:60]


def first_alarm(folder: Path) -> str:
    """`serve`, quiet traffic, drift, and the alarm in words."""
    programs = install(folder, "sklearn,service")
    printed = run(programs / "python", "examples/monitored_service.py", folder=folder)
    (told,) = [line for line in printed.splitlines() if line.startswith("told after")]
    return told.partition(";")[0]


def doctor(folder: Path) -> str:
    """`anharmonic doctor` after the usual install."""
    programs = install(folder, "sklearn,report")
    last = run(programs / "anharmonic", "doctor", folder=folder).strip().splitlines()[-1]
    return last if last == "All is well." else ""


PATH: dict[str, tuple[Callable[[Path], str], float]] = {
    "`make demo` to a page": (make_demo, 90),
    "README's ten lines, own pipeline with a gap and a category": (ten_lines, 180),
    "`serve` to a first alarm": (first_alarm, 300),
    "install, then `anharmonic doctor` green": (doctor, 180),
}


def main(as_json: bool = False) -> bool:
    """Walk the path; whether all bars were met."""
    steps = []
    for name, (walk, bar) in PATH.items():
        with fresh_clone() as folder:
            begun = time.perf_counter()
            seen = walk(folder)
            steps.append(Step(name, time.perf_counter() - begun, bar, seen))
        step = steps[-1]
        if not as_json:
            verdict = "met" if step.met else "MISSED"
            print(
                f"| {name} | {step.seconds:.0f} s | {bar:.0f} s: {verdict} | {seen} |", flush=True
            )
    if as_json:
        print(json.dumps([{"name": s.name, "seconds": s.seconds, "met": s.met} for s in steps]))
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", file=sys.stderr)
    return all(step.met for step in steps)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    raise SystemExit(0 if main(parser.parse_args().json) else 1)
