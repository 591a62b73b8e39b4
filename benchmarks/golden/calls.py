"""Calls of the library that every public measure takes part in, by name."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import anharmonic as ah
from anharmonic import baselines, gate, monitor, regions, spectral, stability, workers
from anharmonic.llm import rivals
from benchmarks.golden.digest import page_text

__all__ = ["CALLS"]


class Data(NamedTuple):
    """A real table and models of it."""

    train: pd.DataFrame
    new: pd.DataFrame
    labels: Any
    models: dict[str, Any]


@cache
def data() -> Data:
    """Breast cancer, and a forest, a boosted model and a linear one of it."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = load_breast_cancer(return_X_y=True, as_frame=True)
    x = x.iloc[:, :8]
    train, new = x[:300], x[300:360]
    fitted = {
        "forest": RandomForestClassifier(20, random_state=0).fit(train, y[:300]),
        "boosted": HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(train, y[:300]),
        "linear": make_pipeline(StandardScaler(), LogisticRegression()).fit(train, y[:300]),
    }
    return Data(train, new, y, fitted)


@cache
def network() -> Any:
    import torch

    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3)
    ).eval()


def wave(x: Any) -> Any:
    return np.sin(2 * x[:, 0]) + x[:, 1] ** 2


def classes(x: Any) -> Any:
    """Three logits with a bent boundary."""
    return np.stack([x[:, 0], np.sin(2 * x[:, 1]), x[:, 0] * x[:, 1]], axis=1)


def points(rows: int = 40, columns: int = 3, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(rows, columns))


def floats(rows: int = 30) -> Any:
    return points(rows, 6).astype(np.float32)


def table(scores: Any) -> dict[str, Any]:
    """All that scores hold and say."""
    low, high = scores.intervals()
    frame = scores.to_frame()
    columns = {
        name: np.array(frame[name].tolist()) for name in frame.columns if name != "squared_error"
    }
    return {
        "columns": columns,
        "intervals": [low, high],
        "worst": scores.worst(),
        "summary": scores.summary(),
        "repr": repr(scores),
        "html": page_text(scores._repr_html_()),
    }


def interrupted() -> Any:
    """A run that its model stops, gone on with."""
    calls = 0

    def failing(x: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise RuntimeError("gone")
        return wave(x)

    given: dict[str, Any] = {"radius": 0.3, "ball": "simplex", "batch_size": 50}
    try:
        ah.gamma(failing, points(), **given)
    except ah.errors.MeasurementStopped as stop:
        partial = stop.partial
        return table(ah.gamma(wave, points(), resume=partial, **given))
    raise AssertionError("the model did not stop")


def noisy() -> Any:
    random = np.random.default_rng(5)
    return table(
        ah.gamma(lambda x: wave(x) + 0.01 * random.normal(size=len(x)), points(), radius=0.3)
    )


def saved(scores: Any, kind: Any) -> Any:
    """Written and read again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        scores.save(path)
        return table(kind.load(path))


def spade_facts(scores: Any) -> dict[str, Any]:
    summary = scores.summary()
    settings = {name: fact for name, fact in summary["settings"].items() if name != "seconds"}
    return {
        "summary": summary | {"settings": settings},
        "values": scores.values,
        "frame": np.array(scores.to_frame()["value"].tolist()),
        "repr": repr(scores),
    }


def search_facts(found: Any) -> dict[str, Any]:
    return {
        "flips": found.flips,
        "labels": found.labels,
        "margins": found.margins,
        "choices": found.choices,
        "end": found.end(np.arange(len(found))),
        "summary": found.summary(),
        "repr": repr(found),
    }


def watched(**given: Any) -> dict[str, Any]:
    """A monitor over a stream that changes, in batches, stopped and started in between."""
    random = np.random.default_rng(3)
    reference = random.normal(size=(800, 3))
    watch = ah.Monitor(classes, reference, seed=0, **given)
    stream = random.normal(size=(1200, 3))
    stream[500:, 1] *= 3
    told = [watch.update(stream[begin : begin + 40]) for begin in range(0, 600, 40)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "monitor"
        watch.save(path)
        again = ah.Monitor.load(path, classes)
    told += [again.update(stream[begin : begin + 40]) for begin in range(600, 1200, 40)]
    return {
        "alarms": [str(alarm) for seen in told for alarm in seen.alarms],
        "summary": repr(again),
        "html": page_text(again._repr_html_()),
    }


def replayed() -> dict[str, Any]:
    random = np.random.default_rng(3)
    stream = random.normal(size=(900, 3))
    stream[400:, 1] *= 3
    watch = ah.Monitor(classes, random.normal(size=(800, 3)), seed=0)
    found = monitor.replay(watch, stream)
    return {"summary": found.summary(), "repr": repr(found)}


def planned() -> Any:
    """A model that is asked elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "queries.parquet"
        ah.plan(points(), path, radius=0.3)
        asked = pd.read_parquet(path)
        names = [name for name in asked.columns if name not in ("query", "row", "turn")]
        return table(ah.collect(path, wave(asked[names[-3:]].to_numpy())))


def words(texts: Any) -> Any:
    """Letters counted, as an embedding."""
    return np.array([[text.count(letter) + 0.1 for letter in "aeiout"] for text in texts])


def language(**given: Any) -> dict[str, Any]:
    found = ah.llm.gamma(str, ["what is a tree?", "who are you?", "why?"], embed=words, **given)
    return {
        "values": found.values,
        "errors": found.scores.errors,
        "excesses": found.excesses,
        "summary": found.summary(),
        "repr": repr(found),
        "answers": found.answers,
    }


def prompts() -> dict[str, Any]:
    found = ah.llm.search(str, "who are you?", embed=words, steps=2, count=3)
    return {"steps": [step.__dict__ for step in found.steps], "repr": repr(found)}


def written(write: Callable[[Path], Any]) -> str:
    """The words of a page that is written."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        write(path)
        return page_text(path.read_text(), folder)


def card() -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "README.md"
        path.write_text("---\nlicense: mit\n---\n# A model\n")
        scores = ah.gamma(data().models["forest"], data().new, reference=data().train)
        ah.card.add_to_card(path, {"new": scores})
        return path.read_text()


def penalty() -> Any:
    import torch

    x = torch.as_tensor(points(20, 6), dtype=torch.float32)
    found = ah.training.gamma_penalty(network(), x, radius=0.3, seed=0)
    return found.detach().numpy()


def scorer() -> float:
    given = data()
    return float(ah.training.gamma_scorer(radius=0.5)(given.models["forest"], given.new, None))


def figure(made: Any) -> Any:
    return made.to_json()


def forest(**given: Any) -> Any:
    found = data()
    return ah.gamma(found.models["forest"], found.new, reference=found.train, **given)


def explained(**given: Any) -> dict[str, Any]:
    found = data()
    told = ah.explain(found.models["linear"], found.new.iloc[[3]], reference=found.train, **given)
    return {"summary": told.summary(), "repr": repr(told)}


def shared() -> Any:
    found = data()
    told = ah.contributions(found.models["linear"], found.new[:5], reference=found.train)
    return {name: value for name, value in vars(told).items() if isinstance(value, np.ndarray)}


def compared(**given: Any) -> dict[str, Any]:
    found = data()
    told = ah.compare(found.models, found.new, reference=found.train, **given)
    return {"summary": told.summary(), "repr": repr(told), "html": page_text(told._repr_html_())}


def swept() -> dict[str, Any]:
    found = data()
    told = ah.sweep(found.models, found.new, reference=found.train, radii=[0.2, 0.5])
    return {"chosen": repr(told), "means": [part.summary() for part in told.comparisons]}


def report() -> str:
    found = data()
    told = ah.compare(found.models, found.new, reference=found.train)
    return written(lambda path: ah.report.write(path, told, points=found.new))


def map_of() -> dict[str, Any]:
    grid = regions.grid([(-2, 2), (-2, 2)], 12)
    return table(ah.gamma(classes, grid, radius=0.2, output="onehot"))


def judged() -> list[str]:
    old = ah.gamma(lambda x: np.sin(2 * x[:, 0]), points(), radius=0.3)
    new = ah.gamma(lambda x: np.sin(2.2 * x[:, 0]), points(), radius=0.3)
    verdicts = gate.below(new, 0.05), gate.no_worse(new, old), gate.no_worse(old, new)
    return [str(verdict.summary()) for verdict in verdicts]


def spade(**given: Any) -> Any:
    return ah.spade(points(120, 3), classes(points(120, 3)), **given)


def spade_compared() -> str:
    x = points(150, 3)
    return repr(spectral.compare(x, {"a": classes(x), "b": np.tanh(3 * classes(x))}))


def gates_of_flips() -> dict[str, Any]:
    chances = stability.nstep_robustness(classes, points(columns=2), radius=0.2)
    seen = stability.observed_flips(classes, points(columns=2), radius=0.2)
    return {"calibration": repr(stability.calibration(chances, seen)), **table(chances)}


def rival_scores() -> dict[str, float]:
    answers = ["a tree is a plant", "a tree", "the plant", "a tree is tall"]
    functions = (rivals.length, rivals.disagreement, rivals.lexical, rivals.pairwise)
    return {rival.__name__: rival(answers, words(answers)) for rival in functions}


def baseline(name: str) -> Any:
    return table(getattr(baselines, name)(classes, points(columns=2), radius=0.3, output="logit"))


def searched(climb: Any) -> Any:
    return search_facts(ah.adversarial_search(classes, Flat, radius=0.3, steps=4, climb=climb))


def nstep(kind: Any) -> Any:
    return table(ah.nstep_robustness(classes, Flat, radius=0.2, kind=kind))


Flat = points(40, 2)
CALLS: Mapping[str, Callable[[], Any]] = {
    "gamma function": lambda: table(ah.gamma(wave, points(), radius=0.3)),
    "gamma automatic radius": lambda: table(ah.gamma(wave, points())),
    "gamma forest": lambda: table(forest()),
    "gamma forest label": lambda: table(forest(output="label")),
    "gamma forest onehot": lambda: table(forest(output="onehot", reduction="predicted")),
    "gamma forest logit angle": lambda: table(
        ah.gamma(data().models["linear"], data().new, reduction="angle")
    ),
    "gamma budget": lambda: table(forest(budget=4000)),
    "gamma tolerance": lambda: table(forest(tolerance=0.05)),
    "gamma moving": lambda: table(forest(moving=["mean radius", "mean area"])),
    "gamma threads": lambda: table(ah.gamma(wave, points(), radius=0.3, map=workers.threads(2))),
    "gamma bounds": lambda: table(
        ah.gamma(wave, np.clip(points(), -1, 1) * 0.9, radius=0.5, bounds=(-1, 1))
    ),
    "gamma plain simplex": lambda: table(
        ah.gamma(wave, points(), radius=0.3, ball="simplex", rotations=0, noise="ignore")
    ),
    "gamma sampled cross": lambda: table(
        ah.gamma(wave, points(20, 30), radius=0.3, ball="cross", directions=6)
    ),
    "gamma random pairs": lambda: table(
        ah.gamma(wave, points(), radius=0.3, ball="random pairs", directions=8, seed=7)
    ),
    "gamma many dimensions": lambda: table(ah.gamma(wave, points(10, 400), radius=0.3)),
    "gamma network": lambda: table(ah.gamma(network(), floats(), radius=0.3, scale=None)),
    "gamma network batches": lambda: table(
        ah.gamma(network(), floats(), radius=0.3, scale=None, batch_size=17)
    ),
    "gamma grid": map_of,
    "gamma hull": lambda: table(
        ah.gamma(classes, regions.hull(Flat, 50, seed=1), radius=0.2, output="onehot")
    ),
    "gamma interrupted": interrupted,
    "gamma noisy": noisy,
    "gamma saved": lambda: saved(forest(), ah.Scores),
    "gamma raw units": lambda: table(ah.gamma(wave, points(), radius=0.3, scale=None)),
    **{
        f"baseline {name}": partial(baseline, name)
        for name in ("flip_rate", "mean_change", "lipschitz", "confidence", "margin", "great")
    },
    "baseline saved": lambda: saved(baselines.flip_rate(classes, Flat, radius=0.5), ah.Scores),
    **{
        f"search {climb}": partial(searched, climb)
        for climb in ("margin", "output", "gamma", "random")
    },
    "search table": lambda: search_facts(
        ah.adversarial_search(
            data().models["linear"], data().new[:10], steps=3, reference=data().train
        )
    ),
    **{f"nstep {kind}": partial(nstep, kind) for kind in ("walks", "drift", "sway", "paper")},
    "nstep calibration": gates_of_flips,
    "explain": explained,
    "contributions": shared,
    "compare": compared,
    "compare flip rate": lambda: compared(measure=baselines.flip_rate),
    "sweep": swept,
    "clever": lambda: table(ah.clever(classes, Flat[:10], radius=0.5, output="logit")),
    "clever network": lambda: table(
        ah.clever(network(), floats(6), radius=0.3, scale=None, norm="inf", targets="top2")
    ),
    "clever saved": lambda: saved(
        ah.clever(classes, Flat[:6], radius=0.5, output="logit"), ah.CleverScores
    ),
    "spade": lambda: spade_facts(spade()),
    "spade neighbours": lambda: spade_facts(spade(neighbours=5, components="largest")),
    "spade compare": spade_compared,
    "monitor": lambda: watched(),
    "monitor channels": lambda: watched(watch=("gamma", "confidence")),
    "replay": replayed,
    "gate": judged,
    "measured like": lambda: table(
        ah.measured_like(forest(), data().models["boosted"], data().new)
    ),
    "plan and collect": planned,
    "language": language,
    "language typos": lambda: language(perturb="typos", count=4, unit="angle"),
    "language search": prompts,
    "language rivals": rival_scores,
    "report": report,
    "card": card,
    "training penalty": penalty,
    "training scorer": scorer,
    "plot distribution": lambda: figure(ah.plots.distribution(forest())),
    "plot worst points": lambda: figure(ah.plots.worst_points(forest(), data().new)),
    "plot search": lambda: figure(
        ah.plots.search_strip(ah.adversarial_search(classes, Flat, radius=0.3, steps=4))
    ),
}
