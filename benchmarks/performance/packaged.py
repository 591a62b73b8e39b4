"""Tables of the package `pydataset`, beside NannyML in its environment; each with a shift."""

from __future__ import annotations

import io
import tarfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.performance.cases import Case, drifting, make_case, matrix

ARCHIVE = "pydataset/resources.tar.gz"


@lru_cache(maxsize=16)
def _packaged(rival: Path, path: str) -> Any:
    """A table out of the package's archive; `rival` is site-packages/nannyml/datasets/data."""
    import pandas as pd

    with tarfile.open(rival.parents[2] / ARCHIVE) as archive:
        member = archive.extractfile(f"resources/rdata/csv/{path}.csv")
        assert member is not None
        return pd.read_csv(io.BytesIO(member.read()), index_col=0)


def _sorted(
    name: str, kind: str, frame: Any, target: Any, by: Any, window: int, seed: int, noise: float
) -> Case:
    """Train on and refer to the lower 60% along a column, blurred; traffic goes upward."""
    features, listed = matrix(frame)
    random = np.random.default_rng(seed)
    spread = by + noise * by.std() * random.normal(size=len(by))
    again = by + noise * by.std() * random.normal(size=len(by))
    parts = drifting(spread < np.quantile(spread, 0.6), again, seed)
    names = tuple(map(str, frame.columns))
    return make_case(name, kind, features, target, listed, names, parts, window, seed)


def _in_time(
    name: str, kind: str, frame: Any, target: Any, when: Any, window: int, seed: int
) -> Case:
    """Train on the first 30% in time, refer to the next, send the rest; a seed drops some rows."""
    features, listed = matrix(frame)
    random = np.random.default_rng(seed)
    kept = np.flatnonzero(random.uniform(size=len(frame)) < 0.9)
    rows = kept[np.argsort(when[kept] + random.uniform(0, 1e-6, len(kept)), kind="stable")]
    train, reference, traffic = np.split(rows, [int(0.3 * len(rows)), int(0.6 * len(rows))])
    names = tuple(map(str, frame.columns))
    parts = train, reference, traffic
    return make_case(name, kind, features, target, listed, names, parts, window, seed)


def diamonds(folder: Path, rival: Path, seed: int) -> Case:
    """Prices: fitted on smaller stones, traffic grows."""
    frame = _packaged(rival, "ggplot2/diamonds")
    carat = frame["carat"].to_numpy(dtype=np.float64)
    price = frame["price"].to_numpy(dtype=np.float64)
    return _sorted("diamonds", "numbers", frame.drop(columns="price"), price, carat, 500, seed, 0.6)


def vietnam(folder: Path, rival: Path, seed: int) -> Case:
    """Who is ill in Vietnam: fitted on poorer households, traffic grows richer."""
    frame = _packaged(rival, "Ecdat/VietNamI")
    ill = (frame["illness"] > 0).to_numpy().astype(np.int64)
    inputs = frame[["lnhhexp", "age", "sex", "married", "educ", "insurance", "pharvis"]]
    by = frame["lnhhexp"].to_numpy(dtype=np.float64)
    return _sorted("vietnam", "classes", inputs, ill, by, 500, seed, 0.5)


def hours(folder: Path, rival: Path, seed: int) -> Case:
    """Hours that wives work: traffic grows in experience."""
    frame = _packaged(rival, "Ecdat/HI")
    target = frame["whrswk"].to_numpy(dtype=np.float64)
    by = frame["experience"].to_numpy(dtype=np.float64)
    inputs = frame.drop(columns=["whrswk", "wght", "whi"])
    return _sorted("hours", "numbers", inputs, target, by, 500, seed, 0.5)


def insured(folder: Path, rival: Path, seed: int) -> Case:
    """Whether wives are insured by their work: traffic has ever richer husbands."""
    frame = _packaged(rival, "Ecdat/HI")
    target = (frame["whi"] == "yes").to_numpy().astype(np.int64)
    by = frame["husby"].to_numpy(dtype=np.float64)
    inputs = frame.drop(columns=["whrswk", "wght", "whi"])
    return _sorted("insured", "classes", inputs, target, by, 500, seed, 0.5)


def movies(folder: Path, rival: Path, seed: int) -> Case:
    """Ratings of films, in the order of years."""
    frame = _packaged(rival, "ggplot2/movies")
    inputs = frame[["length", "votes", "Action", "Animation", "Comedy", "Drama", "Documentary",
                    "Romance", "Short"]]  # fmt: skip
    year = frame["year"].to_numpy(dtype=np.float64)
    rating = frame["rating"].to_numpy(dtype=np.float64)
    return _in_time("movies", "numbers", inputs, rating, year, 1000, seed)


def vocabulary(folder: Path, rival: Path, seed: int) -> Case:
    """Who knows more than six words of ten, in the order of years."""
    frame = _packaged(rival, "car/Vocab")
    target = (frame["vocabulary"] > 6).to_numpy().astype(np.int64)
    year = frame["year"].to_numpy(dtype=np.float64)
    return _in_time("vocabulary", "classes", frame[["sex", "education"]], target, year, 500, seed)


def doctor(folder: Path, rival: Path, seed: int) -> Case:
    """Visits to a doctor: traffic grows older."""
    frame = _packaged(rival, "Ecdat/DoctorContacts")
    target = frame["mdu"].to_numpy(dtype=np.float64)
    by = frame["age"].to_numpy(dtype=np.float64)
    return _sorted("doctor", "numbers", frame.drop(columns="mdu"), target, by, 500, seed, 0.5)


def food(folder: Path, rival: Path, seed: int) -> Case:
    """Whether food takes more than 40% of a household's money: traffic grows richer."""
    frame = _packaged(rival, "Ecdat/BudgetFood").dropna()
    target = (frame["wfood"] > 0.4).to_numpy().astype(np.int64)
    by = np.log(frame["totexp"].to_numpy(dtype=np.float64))
    return _sorted("food", "classes", frame.drop(columns="wfood"), target, by, 500, seed, 0.5)
