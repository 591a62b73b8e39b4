"""Checks of rows: unseen values, drift, copies; with exact chances and natural twins."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from anharmonic.auditing.checks.drift import check_drift
from anharmonic.auditing.checks.duplicates import _one_sided, check_duplicates
from anharmonic.auditing.checks.unseen import check_range, check_unseen
from anharmonic.auditing.holding import held
from anharmonic.auditing.statistics import all_in_one
from tests.audit.cases import answers_of_people, context_of, numbers, people, smooth


def towns(seed):
    frame = people(600, seed)[["age", "town", "income"]]
    return frame[:400], frame[400:].reset_index(drop=True)


def ask(frame):
    return answers_of_people(frame)


def test_a_level_that_the_reference_lacks_has_an_exact_chance():
    known, new = towns(0)
    new.loc[:5, "town"] = "Rom"
    result = check_unseen(context_of(ask, known, new))
    (found,) = [entry for entry in result.candidates if entry.columns == ("town",)]
    # Levels of a hundred rows and more add nothing to the chance that one falls on one side.
    assert found.chance == pytest.approx(all_in_one(6, 200, 400))
    assert found.measured.value == 0.03
    assert "'Rom'" in found.what
    assert found.rows == tuple(range(6))


@pytest.mark.parametrize("repeated", [2, 4])
def test_codes_of_few_rows_each_that_the_reference_lacks_are_found_together(repeated):
    random = np.random.default_rng(0)
    codes = random.permutation([f"0{code}" for code in np.repeat(range(1000, 1300), repeated)])
    frame = pd.DataFrame({"code": codes, "size": random.normal(size=len(codes))})
    cut = 200 * repeated
    known, new = frame[:cut], frame[cut:].reset_index(drop=True)
    assert not held([check_unseen(context_of(lambda rows: rows["size"], known, new))], 0.001)
    # A number was made of a code on the way, and its leading zero is lost.
    new["code"] = new["code"].str.lstrip("0")
    (found,) = held([check_unseen(context_of(lambda rows: rows["size"], known, new))], 0.001)
    assert found.columns == ("code",)
    assert found.measured.value == 1


def test_numbers_beyond_both_ends_and_new_gaps_are_told_apart():
    known, new = towns(1)
    new["age"] = new["age"].astype(float)
    known = known.astype({"age": float})
    new.loc[:9, "age"] = 400.0
    new.loc[10:19, "age"] = -1.0
    new.loc[20:29, "age"] = np.nan
    context = context_of(ask_ages, known, new)
    results = check_unseen(context), check_range(context)
    told = [entry.what for result in results for entry in result.candidates]
    assert any("above" in text and "largest" in text for text in told)
    assert any("below" in text and "smallest" in text for text in told)
    assert any("are missing" in text for text in told)


def ask_ages(frame):
    return answers_of_people(frame.fillna(50))


def test_rows_drawn_alike_raise_nothing_as_often_as_promised():
    wrong = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {
                "rare": random.zipf(1.6, 500).clip(max=400).astype(str),
                "skew": random.lognormal(0, 2, 500),
                "flag": random.random(500) < 0.03,
            }
        )
        context = context_of(lambda rows: rows["skew"].to_numpy(), frame[:300], frame[300:])
        results = [check(context) for check in (check_unseen, check_drift, check_duplicates)]
        wrong += bool(held(results, 0.05))
    # At most 5%: 8 or more of 60 would be a chance of 1 in 100.
    assert wrong < 8


def test_a_shifted_column_drifts_and_the_others_do_not():
    known, new = numbers(500, 4), numbers(300, 4, seed=1)
    new[:, 2] += 0.8
    result = check_drift(context_of(smooth, known, new))
    kept = held([result], 0.05)
    assert [finding.columns for finding in kept] == [("2",)]
    assert kept[0].measured.low > 0.1
    assert result.tests == 5


@pytest.mark.parametrize("kind", [float, Decimal])
def test_numbers_in_a_column_of_objects_are_numbers(kind):
    known, new = ([kind(cell) for cell in numbers(300, 1, seed=seed)[:, 0]] for seed in (0, 1))
    known[0] = None
    moved = [cell + kind(2) for cell in new]
    for cells, found in ((new, []), (moved, ["column 'debt'"])):
        frames = [pd.DataFrame({"debt": each}, dtype=object) for each in (known, cells)]
        result = check_drift(context_of(lambda rows: np.arange(len(rows)) % 7.0, *frames))
        assert [entry.subject for entry in held([result], 0.05)] == found
    # All cells of new rows are missing: a column without a type to tell numbers by.
    frames = [pd.DataFrame({"debt": cells, "age": range(300)}) for cells in (new, [None] * 300)]
    (lost,) = check_unseen(context_of(lambda rows: rows["age"], *frames)).candidates
    assert "are missing" in lost.what


DAYS = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(300) % 50, "D")
ANSWERS = np.where(np.arange(300) % 3, "yes", "no")


@pytest.mark.parametrize(
    ("known", "new", "said"),
    [
        (ANSWERS, ANSWERS == "yes", "never shows"),
        (ANSWERS == "yes", ANSWERS, "never shows"),
        (DAYS, np.full(300, np.nan), "are missing"),
        (DAYS, np.arange(300) % 7, "never shows"),
    ],
    ids=["truth values", "texts", "gaps", "numbers"],
)
def test_a_column_of_another_type_is_found_and_stops_nothing(known, new, said):
    frames = [pd.DataFrame({"x": cells, "z": range(300)}) for cells in (known, new)]
    (found,) = held([check_unseen(context_of(lambda rows: rows["z"], *frames))], 0.05)
    assert said in found.what
    assert found.measured.value == 1


def test_answers_drift_with_what_the_model_reads():
    known, new = numbers(500, 2), numbers(300, 2, seed=1)
    new[:, 0] += 0.8
    names = {finding.name for finding in held([check_drift(context_of(smooth, known, new))], 0.05)}
    assert names == {"Drifted column", "Drifted answers"}


def test_a_few_new_rows_that_all_get_the_same_answer_are_no_drift():
    wrong = 0
    for seed in range(40):
        rows = numbers(1030, 1, seed=seed)
        # One row in fifteen is of the second class: of thirty, often none is.
        context = context_of(
            lambda x: np.stack([x[:, 0] <= 1.5, x[:, 0] > 1.5], 1) * 1.0, rows[:1000], rows[1000:]
        )
        wrong += any(found.columns == () for found in held([check_drift(context)], 0.005))
    assert wrong == 0


def test_levels_and_gaps_drift_too():
    known, new = towns(2)
    new.loc[:79, "town"] = "Ulm"
    new.loc[:59, "income"] = np.nan
    subjects = {
        finding.subject for finding in held([check_drift(context_of(ask, known, new))], 0.05)
    }
    assert "column 'town'" in subjects
    assert "the gaps in column 'income'" in subjects


@pytest.mark.parametrize("between", [False, True])
def test_copies_are_found_on_the_side_they_were_made(between):
    known, new = numbers(400), numbers(200, seed=1)
    if between:
        new[:20] = known[:20]
    else:
        known[-40:] = known[:40]
    (found,) = held([check_duplicates(context_of(smooth, known, new))], 0.05)
    assert found.subject == ("the new rows" if between else "the reference")
    assert found.measured.value == 0.1
    expected = range(20) if between else range(360, 380)
    assert found.rows == tuple(expected)


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_few_levels_are_twins_by_nature(seed):
    cells = np.random.default_rng(seed).integers(0, 3, size=(600, 5)).astype(float)
    result = check_duplicates(context_of(smooth, cells[:400], cells[400:]))
    assert held([result], 0.05) == ()


@pytest.mark.parametrize(("levels", "columns", "copies"), [(3, 6, 200), (3, 7, 60), (4, 6, 60)])
def test_copies_among_twins_by_nature_are_mostly_found(levels, columns, copies):
    found = 0
    for seed in range(20):
        cells = np.random.default_rng(seed).integers(0, levels, size=(900, columns)).astype(float)
        known, new = cells[:600], cells[600:]
        known = np.concatenate([known, known[:copies]])
        findings = held([check_duplicates(context_of(smooth, known, new))], 0.05)
        assert {finding.subject for finding in findings} <= {"the reference"}
        found += len(findings)
    assert found >= 15


def test_twins_by_nature_are_on_one_side_by_chance_as_often_as_said():
    """P(p ≤ α) ≤ α, of both chances; 400 draws know 5% to 1.1%."""
    chances = []
    for seed in range(400):
        kinds = np.random.default_rng(seed).zipf(1.5, size=300) % 500
        chances.append(_one_sided(kinds[:200], kinds[200:]))
    within, between = np.mean(np.array(chances) <= 0.05, axis=0)
    assert within <= 0.08
    assert between <= 0.08


def test_copies_in_rows_without_another_side():
    known = numbers(400)
    known[-40:] = known[:40]
    (found,) = held([check_duplicates(context_of(smooth, known))], 0.05)
    assert found.measured.value == 0.1
