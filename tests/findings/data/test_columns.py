"""What moves: what the model reads, never an index, an id or a label, and it is said."""

from __future__ import annotations

from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import skops.io
import xgboost
from skl2onnx import to_onnx
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic._core.columns import shown
from anharmonic._core.files import read_data
from anharmonic.cli import app
from anharmonic.errors import InputError, MeasurementStopped, PointsError, SettingsError

MANY = 120


@pytest.fixture(scope="module")
def churn() -> pd.DataFrame:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "customer_id": 1_000_000 + random.permutation(MANY),
            "age": random.normal(40, 10, MANY),
            "balance": random.normal(0, 1000, MANY),
            "region": random.choice(["north", "south"], MANY),
        }
    )
    frame["churn"] = (frame["age"] + random.normal(0, 5, MANY) > 40).astype(int)
    return frame


@pytest.fixture(scope="module")
def pipeline(churn: pd.DataFrame):
    columns = ColumnTransformer(
        [("n", StandardScaler(), ["age", "balance"]), ("c", OneHotEncoder(), ["region"])]
    )
    return make_pipeline(columns, LogisticRegression()).fit(
        churn.drop(columns="churn"), churn["churn"]
    )


@pytest.fixture(scope="module")
def boosters(churn: pd.DataFrame):
    features, label = churn[["age", "balance"]], churn["churn"]
    light = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(features, label)
    xgb = xgboost.XGBClassifier(n_estimators=3).fit(features, label)
    graph = to_onnx(
        LogisticRegression(max_iter=500).fit(features.to_numpy(), label),
        features[:1].to_numpy(np.float32),
    )
    plain = LogisticRegression(max_iter=500).fit(features, label)
    search = GridSearchCV(LogisticRegression(max_iter=500), {"C": [1.0]}).fit(features, label)
    return {
        "lightgbm": light,
        "lightgbm booster": light.booster_,
        "xgboost": xgb,
        "xgboost booster": xgb.get_booster(),
        "onnx of two columns": graph.SerializeToString(),
        "scikit-learn": plain,
        "a search": search,
    }


@pytest.mark.finding("newcomer B4")
def test_columns_that_the_model_does_not_read_change_nothing(churn, pipeline) -> None:
    alone = ah.gamma(pipeline, churn[["age", "balance", "region"]])
    whole = ah.gamma(pipeline, churn)
    np.testing.assert_allclose(whole.values, alone.values, rtol=1e-9, atol=1e-15)
    assert whole.settings.radius == alone.settings.radius
    assert list(whole.settings.columns) == ["age", "balance", "region"]
    assert set(whole.settings.still) == {"customer_id", "churn"}


@pytest.mark.finding("newcomer B4")
@pytest.mark.parametrize(
    "kind",
    [
        *("lightgbm", "lightgbm booster", "xgboost", "xgboost booster"),
        *("onnx of two columns", "scikit-learn", "a search"),
    ],
)
def test_every_model_that_knows_its_inputs_decides(kind: str, churn, boosters) -> None:
    model = boosters[kind]
    wanted = churn[["age", "balance"]]
    # An ONNX graph of two columns knows how many they are, so it cannot leave out a label.
    extra = churn.drop(columns="churn") if kind.startswith("onnx") else churn
    alone, whole = (ah.gamma(model, each, ball="cross") for each in (wanted, extra))
    # How many rows go into a call is chosen by the clock, and products of matrices round by that.
    np.testing.assert_allclose(whole.values, alone.values, rtol=1e-9, atol=1e-15)
    assert list(whole.settings.columns) == ["age", "balance"]


@pytest.mark.finding("newcomer B4")
def test_names_decide_the_order_and_spaces_do_not_matter(churn) -> None:
    renamed = churn.rename(columns={"age": "mean age"})
    features = renamed[["mean age", "balance"]]
    light = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(features, churn["churn"])
    turned = renamed[["churn", "balance", "mean age"]]
    np.testing.assert_array_equal(ah.as_model(light.booster_)(turned), ah.as_model(light)(features))
    with pytest.raises(PointsError, match=r"reads mean_age.*there are balance"):
        ah.gamma(light.booster_, renamed[["balance"]].assign(other=1.0))


@pytest.mark.finding("newcomer B4")
def test_a_model_of_so_many_columns_says_which_cannot_be_told(churn, boosters) -> None:
    graph = boosters["onnx of two columns"]
    with pytest.raises(PointsError, match=r"takes 2 columns.*--columns"):
        ah.gamma(graph, churn)


@pytest.mark.finding("newcomer B4")
def test_a_comparison_moves_what_any_of_its_models_reads(churn, pipeline) -> None:
    one = LogisticRegression().fit(churn[["age"]], churn["churn"])
    found = ah.compare({"both": pipeline, "age": one}, churn, reference=churn.iloc[::-1])
    for scores in (*found.scores.values(), *found.at_reference.values()):
        assert list(scores.settings.columns) == ["age", "balance", "region"]
    assert "moved age, balance, region" in repr(found)
    assert "customer_id" in found._repr_html_()
    only = ah.compare({"both": pipeline, "age": one}, churn, moving=["age"])
    assert only.scores["both"].settings.columns == ("age",)


@pytest.mark.finding("newcomer B2", "newcomer B3")
@pytest.mark.parametrize("name", ["Unnamed: 0", "__index_level_0__", "customer_id", "id", "userId"])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_an_index_and_ids_stay_unless_asked_for(name: str, library: str, churn) -> None:
    frame = churn[["customer_id", "age"]].rename(columns={"customer_id": name})
    data = {"pandas": frame, "polars": pl.from_pandas(frame), "pyarrow": pa.table(frame)}[library]

    def model(table):
        return np.asarray(table["age"]) ** 2

    assert ah.gamma(model, data).settings.columns == ("age",)
    assert ah.gamma(model, data, moving=["age", name]).settings.columns == (name, "age")


@pytest.mark.finding("newcomer: moving= and NaN")
def test_nan_in_what_is_held_refuses_nothing(churn, pipeline) -> None:
    holes = churn.assign(churn=np.nan, customer_id=np.nan)
    whole, held = ah.gamma(pipeline, churn), ah.gamma(pipeline, holes)
    np.testing.assert_allclose(held.values, whole.values, rtol=1e-9, atol=1e-15)
    holes = churn.copy()
    holes.loc[[3, 7], "balance"] = np.nan
    for arguments in ((holes, None), (churn, holes)):
        with pytest.raises(MeasurementStopped, match=r"missing in balance.*fill them.*moving="):
            ah.gamma(pipeline, arguments[0], reference=arguments[1])
    assert ah.gamma(pipeline, churn, reference=holes, moving=["age"]).complete
    for measure in (ah.clever, ah.nstep_robustness, ah.adversarial_search, ah.baselines.flip_rate):
        measured = measure(pipeline, churn[:8], reference=holes, moving=["age"])
        assert list(measured.settings.columns) == ["age"]


@pytest.mark.finding("newcomer: reference")
def test_a_reference_may_have_its_columns_in_another_order(churn, pipeline) -> None:
    turned = churn[churn.columns[::-1]]
    scores = ah.gamma(pipeline, churn, reference=turned)
    straight = ah.gamma(pipeline, churn, reference=churn)
    np.testing.assert_allclose(scores.values, straight.values, rtol=1e-9, atol=1e-15)
    with pytest.raises(PointsError, match="same numeric columns"):
        ah.gamma(np.sum, np.ones((4, 2)), reference=np.ones((4, 3)))


@pytest.mark.finding("newcomer B12: scale")
def test_a_scale_of_another_length_is_explained(churn, pipeline) -> None:
    with pytest.raises(SettingsError, match=r"scale has .*\(3,\).* 2 columns move \(age, balance"):
        ah.gamma(pipeline, churn, scale=[1.0, 2.0, 3.0], moving=["age", "balance"])
    with pytest.raises(SettingsError, match=r"units come from the reference.*region: category"):
        ah.gamma(pipeline, churn, scale=[1.0, 2.0, 3.0])


@pytest.mark.finding("newcomer B16")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_two_columns_of_one_name_are_refused_in_a_line(ending: str, tmp_path: Path) -> None:
    twice = pd.DataFrame(np.eye(3), columns=["a", "b", "a"])
    for data in (twice, pa.Table.from_arrays([pa.array([1.0])] * 2, ["a", "a"])):
        with pytest.raises(PointsError, match="several columns are called a: rename"):
            ah.gamma(np.sum, data)
    file = tmp_path / f"twice.{ending}"
    twice.to_csv(file, index=False)
    if ending == "parquet":
        pq.write_table(pa.Table.from_arrays([pa.array([1.0])] * 2, ["a", "a"]), file)
    with pytest.raises(InputError, match="several columns called 'a': rename"):
        read_data(file)


@pytest.mark.finding("newcomer B4")
def test_every_table_says_what_moved_and_was_held(churn, pipeline, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    skops.io.dump(pipeline, "model.skops")
    churn.to_csv("churn.csv")
    commands = {
        "gamma": ["--model", "model.skops"],
        "compare": ["a=model.skops", "b=model.skops"],
        "sweep": ["a=model.skops", "--radii", "0.1"],
        "search": ["model.skops", "--steps", "2"],
        "nstep": ["model.skops", "--steps", "2"],
        "clever": ["model.skops", "--count", "2", "--blocks", "10"],
        "explain": ["model.skops"],
        "check": ["model.skops", "--max-gamma", "1"],
    }
    for name, arguments in commands.items():
        command = [name, *arguments, "--data", "churn.csv", "--trust"]
        found = CliRunner().invoke(app, command, catch_exceptions=False)
        assert found.exit_code == 0, (name, found.output)
        assert "age, balance" in found.stdout, name
        held = "customer_id, region, churn" if name == "clever" else "customer_id, churn"
        assert held in found.stdout, name
        assert "taken for an index" in found.stderr, name
    scores = ah.gamma(pipeline, churn)
    assert "moved age, balance, region; held customer_id, churn" in repr(scores)
    assert "customer_id, churn" in scores._repr_html_()
    assert scores.summary()["settings"]["still"] == ["customer_id", "churn"]


@pytest.mark.finding("newcomer B4")
def test_names_cannot_speak_to_a_terminal() -> None:
    assert "\x1b" not in shown(["\x1b[2Jgone"])


@pytest.mark.finding("newcomer: to_frame")
def test_a_frame_keeps_its_index(churn, pipeline) -> None:
    named = churn.set_index("customer_id")
    found = ah.gamma(pipeline, named).to_frame()
    pd.testing.assert_index_equal(found.index, named.index)
    assert ah.gamma(pipeline, named).to_frame("polars").columns == list(found.columns)


@pytest.mark.finding("coverage slips: --drop label")
def test_a_reference_without_the_label_is_measured_at(churn, pipeline) -> None:
    found = ah.compare({"m": pipeline}, churn[:60], reference=churn[60:].drop(columns="churn"))
    assert "reference" in found.places("m")


@pytest.mark.finding("newcomer B4")
def test_a_monitor_moves_what_the_model_reads_and_segments_by_what_it_does_not(churn, pipeline):
    watch = ah.Monitor(pipeline, churn, segment="churn", promise=False)
    assert watch.scorer.columns == ("age", "balance", "region")
    assert watch.update(churn[:20]).alarm is False
