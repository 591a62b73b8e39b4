"""`anharmonic search` and `anharmonic explain`, in processes of their own, as a user runs them."""

from __future__ import annotations

import json

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import anharmonic as ah
from tests.command import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("search")
    data = load_iris(as_frame=True)
    model = LogisticRegression(max_iter=500).fit(data.data, data.target_names[data.target])
    joblib.dump(model, path / "model.joblib")
    data.frame.to_csv(path / "points.csv", index=False)
    np.save(path / "images.npy", np.round(np.random.default_rng(0).uniform(0, 255, (6, 5, 5))))
    (path / "mine.py").write_text(
        "import numpy as np\ncalls = 0\n"
        "def halves(x):\n"
        "    flat = np.asarray(x).reshape(len(x), -1)\n"
        "    return np.stack([flat[:, :12].mean(axis=1), flat[:, 13:].mean(axis=1)], axis=1)\n"
        "def fragile(x):\n"
        "    global calls\n    calls += 1\n"
        "    if calls > 3:\n        raise RuntimeError('the server is gone')\n"
        "    return halves(x)\n"
    )
    return path


TABLE = ("model.joblib", "--trust", "--data", "points.csv", "--drop", "target")
IMAGES = ("--data", "images.npy", "--radius", "100", "--bounds", "0,255", "--grid", "1")


def test_ways_side_by_side(folder):
    both = ("--climb", "margin", "--climb", "random", "--radius", "0.3", "--out", "found.parquet")
    done = run(folder, "search", *TABLE, *both)
    for words in ("margin", "random", "95% interval", "queries per flip", "150 (100.0%)"):
        assert words in done.stdout
    margin, random = (
        ah.Search.load(folder / f"found-{climb}.parquet") for climb in ("margin", "random")
    )
    assert margin.rate.value > random.rate.value
    assert margin.path(3).shape[1] == 4


def test_rows_that_flip_are_listed_by_the_names_of_the_data(folder):
    import pandas as pd

    frame = pd.read_csv(folder / "points.csv")
    frame.index = [f"flower {row}" for row in range(len(frame))]
    frame.to_csv(folder / "named.csv")
    words = ("model.joblib", "--trust", "--data", "named.csv", "--drop", "target")
    done = run(folder, "search", *words, "--count", "3")
    assert "0.1 of the nearest-neighbour distance" in " ".join(done.stdout.split())
    assert "decisions changed within a distance" in done.stdout
    assert "the nearest 3 of" in done.stdout
    assert done.stdout.count("flower ") == 3
    (told,) = json.loads(run(folder, "search", *words, "--json").stdout)
    listed = [row["name"] for row in told["flipped_rows"]]
    assert listed[0] in done.stdout
    assert len(listed) == told["flipped"]
    within = told["curve"]["within"]
    assert [part["share"] for part in within] == sorted(part["share"] for part in within)


def test_json_and_images(folder):
    done = run(folder, "search", "mine:halves", *IMAGES, "--steps", "9", "--json")
    (found,) = json.loads(done.stdout)
    assert found["points"] == 6
    assert found["climb"] == "margin"
    assert 0 <= found["interval95"][0] <= found["rate"] <= found["interval95"][1] <= 1
    assert done.stderr == ""


def test_what_was_found_is_kept_and_gone_on_from(folder):
    common = (*IMAGES, "--steps", "5", "--no-stop", "--out", "broken.parquet")
    done = run(folder, "search", "mine:fragile", *common, code=1)
    assert "server is gone" in done.stderr
    assert "--resume broken.partial.parquet" in " ".join(done.stderr.split())
    run(folder, "search", "mine:halves", *common, "--resume", "broken.partial.parquet")
    found = ah.Search.load(folder / "broken.parquet")
    assert found.complete
    assert found.taken.tolist() == [5] * 6


def test_a_row_explained(folder):
    done = run(folder, "explain", *TABLE, "--row", "17", "--html", "page.html")
    assert "Here the model says setosa" in done.stdout
    assert "It would say versicolor" in done.stdout
    assert "petal length (cm)" in done.stdout
    page = (folder / "page.html").read_text()
    assert "It would say versicolor" in page
    assert "plotly" in page
    assert 'src="http' not in page


def test_a_row_as_json(folder):
    done = run(folder, "explain", *TABLE, "--row", "17", "--json")
    found = json.loads(done.stdout)
    assert found["label"] == "setosa"
    assert found["counterfactual"]["label"] == "versicolor"
    assert len(found["features"]) == 4


def test_mistakes_are_named(folder):
    done = run(folder, "explain", *TABLE, "--row", "150", code=1)
    assert "rows 0 to 149" in done.stderr
    done = run(folder, "search", "mine:halves", code=2)
    assert "--data" in done.stderr


def test_how_long_decisions_last(folder):
    done = run(folder, "nstep", *TABLE, "--radius", "0.3", "--observe", "2", "--out", "n.parquet")
    for words in ("flip chance", "least stable rows", "150 points", "Brier score", "±"):
        assert words in done.stdout
    saved = ah.Scores.load(folder / "n.parquet")
    assert saved.settings.nstep == "walks"
    assert saved.queries == 150 * 21


def test_least_stable_first_whatever_is_asked(folder):
    told = {}
    for kind in ("sway", "paper"):
        done = run(folder, "nstep", "mine:halves", *IMAGES, "--kind", kind, "--json")
        told[kind] = json.loads(done.stdout)
        assert len(told[kind]["least_stable_rows"]) == 5
    images = np.load(folder / "images.npy").reshape(6, -1)
    margin = np.abs(images[:, :12].mean(axis=1) - images[:, 13:].mean(axis=1))
    assert told["sway"]["least_stable_rows"][0] == int(np.argmin(margin))


def test_nstep_says_what_to_do_next(folder):
    assert "--data" in run(folder, "nstep", "model.joblib", code=2).stderr
    ever = ("--event", "ever")
    assert "takes 'drift'" in run(folder, "nstep", *TABLE, *ever, code=1).stderr
