"""A gate for releases: one candidate passes, another is stopped, and CI gets JUnit.

pip install 'anharmonic[sklearn]' && python examples/ci_gate.py
In a pipeline the same is one line: anharmonic check model.onnx --data holdout.parquet
--baseline released.parquet --junit gamma.xml, which ends with code 0 or 100.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import joblib
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import anharmonic as ah


def command(folder: Path, *words: str) -> int:
    """What a pipeline would run; its exit code."""
    done = subprocess.run([sys.executable, "-m", "anharmonic", *words], cwd=folder)
    return done.returncode


def main() -> None:
    rows, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    models = {
        "released": LogisticRegression(C=1.0),
        "good": LogisticRegression(C=0.5),
        "bad": RandomForestClassifier(10, random_state=0),  # as accurate, and full of steps
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        holdout = rows[400:]
        holdout.to_parquet(folder / "holdout.parquet")
        for label, model in models.items():
            model = make_pipeline(StandardScaler(), model).fit(rows[:400], labels[:400])
            print(f"{label}: accuracy {model.score(holdout, labels[400:]):.3f}")
            joblib.dump(model, folder / f"{label}.joblib")

        # Once, when it was released: its scores are kept beside the hold-out rows.
        released = joblib.load(folder / "released.joblib")
        ah.gamma(released, holdout).save(folder / "released.parquet")

        # A .joblib runs code when it is opened, hence --trust; .onnx files need no such word.
        told = ("--trust", "--data", "holdout.parquet", "--baseline", "released.parquet")
        codes = {
            label: command(
                folder,
                *("check", f"{label}.joblib", *told, "--margin", "0.01", "--junit", f"{label}.xml"),
            )
            for label in ("good", "bad")
        }
        print(codes)
        assert codes == {"good": 0, "bad": 100}
        print((folder / "bad.xml").read_text())


if __name__ == "__main__":
    main()
