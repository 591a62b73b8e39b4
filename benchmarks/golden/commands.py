"""Commands as a user types them, and what they print and write."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.golden.digest import page_text, steady

__all__ = ["COMMANDS", "prepare", "run_command"]

MODULE = """
import numpy as np

def bent(x):
    x = np.asarray(x)
    return np.stack([np.sin(3 * x[:, 0]) * (x[:, 0] > 0), x[:, 1], x[:, 0] * x[:, 1]], axis=1)

def talk(prompt):
    return prompt[::-1]
"""
ON = "--data points.csv --drop target"
COMMANDS: dict[str, str] = {
    "gamma": f"gamma --model forest.onnx {ON} --json",
    "gamma table": f"gamma --model forest.onnx {ON} --seed 3 --out scores.parquet",
    "gamma pickled": f"gamma --model tree.joblib --trust {ON} --reference train.csv --json",
    "gamma function": "gamma --model golden_model:bent --data plane.npy --radius 0.2 --json",
    "gamma onehot": f"gamma --model forest.onnx {ON} --output onehot --ball simplex --json",
    "check": f"check forest.onnx {ON} --max-gamma 0.5 --json",
    "check baseline": "check --scores scores.parquet --baseline scores.parquet",
    "check fails": f"check forest.onnx {ON} --max-gamma 0.0001",
    "compare": f"compare a=forest.onnx b=linear.onnx {ON} --reference train.csv --json",
    "compare table": f"compare a=forest.onnx b=linear.onnx {ON}",
    "sweep": f"sweep a=forest.onnx b=linear.onnx {ON} --radii 0.2,0.5 --json",
    "sweep table": f"sweep a=forest.onnx {ON} --radii 0.2,0.5",
    "report": f"report a=forest.onnx b=linear.onnx {ON} --out report.html",
    "search": f"search linear.onnx {ON} --climb margin --climb random --steps 3 --json",
    "search table": f"search linear.onnx {ON} --steps 3",
    "nstep": f"nstep linear.onnx {ON} --kind sway --json",
    "nstep table": f"nstep linear.onnx {ON} --steps 5",
    "explain": f"explain linear.onnx {ON} --row 7 --json",
    "explain table": f"explain linear.onnx {ON} --row 7 --html why.html",
    "clever": "clever golden_model:bent --data few.npy --radius 0.3 --json",
    "clever table": "clever golden_model:bent --data few.npy --radius 0.3",
    "spade": "spade --inputs plane.npy --outputs bent.npy --json",
    "spade page": "spade --model golden_model:bent --data plane.npy --html spade.html",
    "replay": "monitor replay stream.npy --model golden_model:bent --reference quiet.npy --json",
    "replay page": "monitor replay stream.npy --model golden_model:bent --reference quiet.npy "
    "--out replay.html",
    "plan": "gamma plan --data plane.npy --radius 0.2 --out queries.parquet",
    "card": "card CARD.md wine=scores.parquet",
    "llm score": "llm score questions.jsonl --model golden_model:talk --json --out run.jsonl",
    "reproduce": "reproduce functions",
    "no model": f"gamma --model missing.onnx {ON}",
    "no column": "gamma --model forest.onnx --data points.csv --drop nothing",
    "version": "--version",
}
WRITTEN = {
    "report": "report.html",
    "explain table": "why.html",
    "spade page": "spade.html",
    "replay page": "replay.html",
    "card": "CARD.md",
}


def prepare(folder: Path) -> None:
    """Models and data for the commands."""
    import joblib
    from skl2onnx import to_onnx
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    data = load_iris(as_frame=True)
    x, y = data.data, data.target
    one = x.to_numpy()[:1].astype(np.float32)
    for name, model in {
        "forest": RandomForestClassifier(10, random_state=0),
        "linear": LogisticRegression(max_iter=500),
    }.items():
        graph = to_onnx(model.fit(x.to_numpy(), y), one, options={"zipmap": False})
        (folder / f"{name}.onnx").write_bytes(graph.SerializeToString())
    joblib.dump(DecisionTreeClassifier(random_state=0).fit(x, y), folder / "tree.joblib")
    data.frame[::3].to_csv(folder / "points.csv", index=False)
    data.frame.to_csv(folder / "train.csv", index=False)
    (folder / "golden_model.py").write_text(MODULE)
    random = np.random.default_rng(0)
    plane = random.normal(size=(80, 2))
    np.save(folder / "plane.npy", plane)
    np.save(folder / "few.npy", plane[:6])
    scope: dict[str, Any] = {}
    exec(MODULE, scope)
    np.save(folder / "bent.npy", scope["bent"](plane))
    np.save(folder / "quiet.npy", random.normal(size=(800, 2)) - [1, 0])
    stream = random.normal(size=(900, 2)) - [1, 0]
    stream[400:, 0] += 1.5
    np.save(folder / "stream.npy", stream)
    (folder / "CARD.md").write_text("---\nlicense: mit\n---\n# A model\n")
    questions = [{"prompt": text} for text in ("what is a tree?", "who are you?")]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))


def run_command(name: str, folder: Path) -> dict[str, Any]:
    """Exit code, words and files of one command."""
    environment = {**os.environ, "COLUMNS": "160", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, "-m", "anharmonic", *COMMANDS[name].split()],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
    )
    told: dict[str, Any] = {"code": done.returncode}
    if "--json" in COMMANDS[name] and done.returncode == 0:
        told["json"] = _without_seconds(json.loads(done.stdout))
    else:
        told["out"] = _steady(done.stdout, folder)
        told["error"] = _steady(done.stderr, folder)
    if name in WRITTEN:
        told["page"] = page_text((folder / WRITTEN[name]).read_text(), str(folder))
    if name == "plan":
        told["questions"] = pd.read_parquet(folder / "queries.parquet").to_numpy()
    return told


def _without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_seconds(v) for k, v in value.items() if "seconds" not in k}
    return [_without_seconds(part) for part in value] if isinstance(value, list) else value


def _steady(text: str, folder: Path) -> str:
    """Words without bars and folders, and steady."""
    lines = [line for line in text.replace(str(folder), "FOLDER").splitlines() if "━" not in line]
    shown = "\n".join(lines)
    # SPADE's table has a row of seconds for each of its stages.
    stages = r"(│\s+(?:seconds|outputs|input graph|output graph|eigenvalues|interval"
    return steady(re.sub(stages + r"|blocks of inputs)\s+│ )[\d.]+", r"\1SECONDS", shown))
