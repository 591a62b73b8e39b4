"""References and frames that are written unlike the sample: texts, categories, fewer columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

import anharmonic as ah
from anharmonic.errors import InputError
from anharmonic.sources import files
from tests.scale.generated import table

LETTERS = list("xyz")


def letter_model(frame):
    """Knows texts and categories alike."""
    x = np.asarray(frame["f0"], dtype=float)
    return np.sin(3 * x) + np.asarray([cell == "x" for cell in frame["c"]], dtype=float)


def rows(count, seed=0, letters=LETTERS):
    frame = table(count, seed).to_pandas()
    return frame.assign(c=np.random.default_rng(seed).choice(letters, count))


def as_category(frame, **options):
    return frame.assign(c=pd.Categorical(frame["c"], **options))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    as_category(rows(300)).to_parquet(tmp_path / "in" / "rows.parquet")
    return tmp_path


def test_a_reference_of_texts_is_one_of_categories(folder):
    known = rows(200, 1, [*LETTERS, "w"])
    known.to_csv(folder / "texts.csv", index=False)
    as_category(known).to_parquet(folder / "categories.parquet")
    source = files(folder / "in")
    texts, categories = (
        ah.gamma(letter_model, source, reference=files(folder / name))
        for name in ("texts.csv", "categories.parquet")
    )
    # A CSV file holds all digits of a number.
    np.testing.assert_array_equal(texts.to_scores().values, categories.to_scores().values)
    models = {"one": letter_model, "two": lambda frame: 2 * letter_model(frame)}
    compared = ah.compare(models, source, reference=files(folder / "texts.csv"))
    assert compared.ranking == ["one", "two"]


def test_what_cannot_be_the_categories_is_named(folder):
    numbers = rows(200, 1).assign(c=pd.Categorical([b"\xff"] * 200))
    numbers.to_parquet(folder / "bytes.parquet")
    with pytest.raises(InputError, match=r"column c has categories of .*: write it alike"):
        ah.gamma(letter_model, files(folder / "in"), reference=files(folder / "bytes.parquet"))


def test_a_reference_may_lack_what_the_model_does_not_read(tmp_path):
    known = table(200, 1).to_pandas()
    known.to_parquet(tmp_path / "known.parquet")
    new = table(300).to_pandas()
    gaps = pd.array([None if row % 7 == 0 else row for row in range(300)], dtype="Int64")
    new = new.assign(segment=pd.Categorical(["u", "v"] * 150), note=gaps)
    new.to_parquet(tmp_path / "new.parquet")
    names = [f"f{number}" for number in range(4)]
    model = LinearRegression().fit(new[names], new["f0"])
    other = LinearRegression().fit(new[names], new["f1"])
    source, reference = files(tmp_path / "new.parquet"), files(tmp_path / "known.parquet")
    stored = ah.gamma(model, source, reference=reference)
    assert stored.settings.radius == ah.gamma(model, source, reference=known).settings.radius
    assert len(ah.compare({"a": model, "b": other}, source, reference=reference).scores["a"]) == 300


@pytest.mark.parametrize("ordered", [False, True])
def test_a_scorer_of_categories_takes_texts(ordered):
    frame = rows(300)
    score = ah.scorer(letter_model, as_category(frame, categories=LETTERS, ordered=ordered))
    expected = score(as_category(frame, categories=LETTERS, ordered=ordered))
    # A row's random numbers depend on what is in it, however that is written.
    pd.testing.assert_frame_equal(score(frame), expected)
    assert expected["value"].notna().all()


def test_a_scorer_tells_rows_apart_by_lists_too():
    plain = table(100)
    lists = pa.array([[row, 1] for row in range(100)])
    beside = {
        "l": lists,
        "b": pa.array([b"\xff"] * 100),
        "d": pa.array([1] * 100).cast("duration[s]"),
    }
    odd = pa.table({**{name: plain[name] for name in plain.column_names}, **beside})
    score = ah.scorer(lambda frame: np.sin(3 * np.asarray(frame["f0"], dtype=float)), odd)
    whole = score(odd)["value"].to_numpy()
    np.testing.assert_array_equal(score(odd.slice(40))["value"].to_numpy(), whole[40:])
    again = odd.set_column(4, "l", pa.array([[row, 2] for row in range(100)]))
    assert (score(again)["value"].to_numpy() != whole).mean() > 0.9


def test_folders_are_features_of_scorers_and_audits_too(tmp_path):
    frames = []
    for day in (1, 2, 3):
        (tmp_path / f"day={day}").mkdir()
        frame = table(100, day).to_pandas()
        frame.to_parquet(tmp_path / f"day={day}" / "rows.parquet")
        frames.append(frame.assign(day=day))
    whole = pd.concat(frames, ignore_index=True)
    model = LinearRegression().fit(whole, whole["f0"] * whole["day"])
    score = ah.scorer(model, files(tmp_path), radius=0.2)
    assert score.columns == ("f0", "f1", "f2", "f3", "day")
    assert score(whole)["value"].notna().all()
    assert ah.audit(model, files(tmp_path), budget=3000).queries > 0
