"""`fix`: proposals that help are made, others are not, and what cannot be tried is said."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic.cli import app
from anharmonic.errors import InputError, SettingsError


def noisy(rows: int = 500, share: float = 0.2, seed: int = 0):
    points, labels = make_classification(rows, 5, class_sep=1.5, flip_y=0, random_state=seed)
    wrong = np.random.default_rng(seed).random(rows) < share
    return points, np.where(wrong, 1 - labels, labels), wrong, labels


ROWS, TRAIN = 800, 650


@pytest.fixture(scope="module")
def found():
    points, labels, *_ = noisy(ROWS)
    tree = DecisionTreeClassifier(random_state=0)
    return ah.fix(tree, points[:TRAIN], labels[:TRAIN], pool=points[TRAIN:], count=40)


def test_wrong_labels_are_found_and_leaving_them_out_helps(found):
    *_, wrong, _ = noisy(ROWS)
    proposal = found["look"]
    assert proposal.helps
    assert proposal.gain.interval.low > 0
    assert wrong[:TRAIN][proposal.rows].mean() > 0.6
    assert "Correct them or leave them out" in proposal.sentence


def test_every_proposal_says_what_it_measured(found):
    for proposal in found.tried:
        if proposal.gain is None:
            assert not proposal.helps
            assert "not measured" in proposal.sentence
            continue
        low, high = proposal.gain.interval.low, proposal.gain.interval.high
        assert low <= proposal.gain.interval.value <= high
        assert "[" in proposal.sentence
        assert "held-out rows" in proposal.sentence
        if proposal.helps:
            assert low > 0
    assert {proposal.kind for proposal in found.tried} <= set(ah.fixes.KINDS)
    assert set(found.left_out) | {each.kind for each in found.tried} == set(ah.fixes.KINDS)


def test_a_tree_that_memorises_noise_is_told_to_stop_earlier(found):
    proposal = found["capacity"]
    assert proposal.helps
    assert proposal.settings["min_samples_leaf"] > 1
    assert len(proposal.evidence["frontier"]) == 6


def test_rows_to_label_are_of_the_pool(found):
    rows = found["label"].rows
    assert len(rows) == len(set(rows.tolist())) == 40
    assert rows.max() < 150


def test_what_helps_helps_on_rows_that_had_no_part(found):
    points, given, *_ = noisy(ROWS)
    tree = DecisionTreeClassifier(random_state=0)
    look = found["look"].rows
    kept = np.setdiff1d(np.arange(TRAIN), look)
    true = noisy(ROWS)[3]
    before = tree.fit(points[:TRAIN], given[:TRAIN]).score(points[TRAIN:], true[TRAIN:])
    after = tree.fit(points[kept], given[kept]).score(points[TRAIN:], true[TRAIN:])
    assert after > before


@pytest.mark.slow
def test_the_same_seed_gives_the_same_proposals():
    points, labels, *_ = noisy(200)
    tree = DecisionTreeClassifier(random_state=0)
    one, other = (
        ah.fix(tree, points, labels, pool=points, count=9, kinds=["label", "look"], seed=3)
        for _ in range(2)
    )
    assert one.summary() == other.summary()


def test_labels_without_structure_lead_to_no_proposal_about_rows():
    random = np.random.default_rng(0)
    shown = 0
    for seed in range(2):
        points, labels = random.normal(size=(200, 3)), random.integers(0, 2, 200)
        fixes = ah.fix(
            DecisionTreeClassifier(max_depth=3, random_state=0),
            points,
            labels,
            pool=random.normal(size=(50, 3)),
            count=20,
            kinds=["label", "look", "region"],
            seed=seed,
        )
        shown += len(fixes)
    assert shown == 0


def test_a_model_that_cannot_be_fitted_is_asked_alone():
    points, labels, *_ = noisy(1000, share=0.1)
    tree = DecisionTreeClassifier(random_state=0).fit(points[:200], labels[:200])

    def model(rows):
        return tree.predict_proba(rows)

    with pytest.raises(InputError, match="held_out="):
        ah.fix(model, points[:200], labels[:200])
    fixes = ah.fix(
        model,
        points[:200],
        labels[:200],
        held_out=(points[200:900], labels[200:900]),
        pool=points[900:],
    )
    assert "cannot be fitted anew" in fixes.left_out["capacity"]
    assert fixes.refits == 0
    assert {each.kind for each in fixes.tried} >= {"label", "look", "smooth"}
    for kind in ("label", "look", "region"):
        assert "was not measured" in fixes[kind].sentence
        assert fixes[kind].verdict == "not measured"
        assert fixes[kind].gain is None
        assert not fixes[kind].helps
    assert fixes["smooth"].helps
    assert fixes["smooth"].settings["radius"] > 0


def test_held_out_rows_take_the_place_of_folds():
    points, labels, *_ = noisy(400)
    fixes = ah.fix(
        DecisionTreeClassifier(random_state=0),
        points[:200],
        labels[:200],
        held_out=(points[200:], labels[200:]),
        kinds=["look"],
    )
    assert fixes["look"].gain.rows == 200


def test_numbers_are_fixed_too():
    random = np.random.default_rng(0)
    rows = random.uniform(size=(300, 2))
    labels = rows[:, 0] + 0.3 * random.normal(size=300)
    fixes = ah.fix(
        DecisionTreeRegressor(random_state=0), rows, labels, pool=random.uniform(size=(40, 2))
    )
    assert fixes.metric == "r2"
    assert fixes["capacity"].helps
    assert len(fixes["label"].rows) == 40


def table(rows: int = 300):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "height": random.normal(size=rows).round(3),
            "visits": random.poisson(3, rows),
            "colour": random.choice(["red", "green", "blue"], rows),
        }
    )
    frame.loc[::9, "colour"] = None
    sure = frame["height"] + (frame["colour"] == "red") + frame["visits"] / 4 > 1
    frame["bought"] = np.where(sure ^ (random.random(rows) < 0.15), "yes", "no")
    return frame


def pipeline():
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder="passthrough"
    )
    return make_pipeline(encoder, DecisionTreeClassifier(random_state=0))


def test_the_command_takes_a_table_as_it_is(tmp_path):
    skops = pytest.importorskip("skops.io")
    frame = table()
    train, pool = frame[:240], frame[240:].drop(columns="bought")
    train.to_csv(tmp_path / "train.csv", index=False)
    pool.to_parquet(tmp_path / "pool.parquet")
    model = pipeline().fit(train.drop(columns="bought"), train["bought"])
    skops.dump(model, tmp_path / "model.skops")
    words = ["fix", str(tmp_path / "model.skops"), "--reference", str(tmp_path / "train.csv")]
    words += ["--labels", "bought", "--pool", str(tmp_path / "pool.parquet"), "--count", "12"]
    words += ["--kind", "label", "--kind", "look", "--trust", "--folds", "2"]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "out"), "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert {each["kind"] for each in said["tried"]} == {"label", "look"}
    written = json.loads((tmp_path / "out" / "fixes.json").read_text())
    assert written["tried"][0]["rows"] == said["tried"][0]["rows"]
    chosen = pd.read_csv(tmp_path / "out" / "label.csv")
    assert chosen["row"].tolist() == said["tried"][0]["rows"]
    assert chosen["height"].tolist() == pool["height"].iloc[chosen["row"]].tolist()
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "proposals help" in shown.output


def test_mistakes_are_told_before_any_work():
    points, labels, *_ = noisy(100)
    tree = DecisionTreeClassifier()
    with pytest.raises(SettingsError, match="kinds="):
        ah.fix(tree, points, labels, kinds=["capcity"])
    with pytest.raises(InputError, match="one per row"):
        ah.fix(tree, points, labels[:50])
    with pytest.raises(InputError, match="missing"):
        ah.fix(tree, points, [None, *labels[1:]])
    with pytest.raises(SettingsError, match="no parameter"):
        ah.fix(tree, points, labels, grid={"leaves": [1]})
    with pytest.raises(SettingsError, match="choose of accuracy"):
        ah.fix(tree, points, labels, metric="r2")
    with pytest.raises(KeyError, match="pool="):
        _ = ah.fix(tree, points, labels, kinds=["label", "look"])["label"]


def test_it_shows_itself(found):
    assert "proposals help" in repr(found)
    assert "smoothing" in found._repr_html_()
    assert len(found.to_frame()) == len(found.tried)
    assert json.dumps(found.summary())


def test_an_unfitted_pipeline_of_text_labels():
    frame = table()
    fixes = ah.fix(
        make_pipeline(pipeline()[0], LogisticRegression(max_iter=500)),
        frame.drop(columns="bought"),
        frame["bought"],
        kinds=["look", "region"],
    )
    assert fixes.model == "Pipeline"


def test_a_region_that_lacks_data_is_named_and_more_rows_there_help():
    random = np.random.default_rng(0)

    def law(rows, share):
        frame = pd.DataFrame(
            {
                "dose": random.uniform(size=rows),
                "age": random.uniform(20, 80, rows).round(),
                "clinic": np.where(random.random(rows) < share, "north", "south"),
            }
        )
        # In the north it is the other way round.
        band = np.floor(4 * frame["dose"]) % 2 == 1
        return frame, np.where(band ^ (frame["clinic"] == "north"), "sick", "well")

    # Few rows of training are from the north, and half of what is asked for.
    train, traffic = law(600, 0.06), law(600, 0.5)
    encoder = make_column_transformer((OneHotEncoder(), ["clinic"]), remainder="passthrough")
    model = make_pipeline(encoder, StandardScaler(), KNeighborsClassifier(5))
    fixes = ah.fix(model, *train, held_out=traffic, kinds=["region"])
    proposal = fixes["region"]
    assert proposal.helps, proposal.sentence
    assert "clinic is not south" in proposal.sentence or "clinic is north" in proposal.sentence
    assert (train[0]["clinic"].iloc[proposal.rows] == "north").mean() > 0.9
