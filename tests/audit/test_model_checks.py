"""Checks of a model: failures, repeats, dead regions, leaks, labels, memorising, segments."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from anharmonic.auditing.checks.accuracy import check_accuracy
from anharmonic.auditing.checks.answering import check_failures, check_repeats
from anharmonic.auditing.checks.dead import check_dead
from anharmonic.auditing.checks.describing import describe_rows
from anharmonic.auditing.checks.fragile import check_fragile, flip_chances
from anharmonic.auditing.checks.labels import check_labels
from anharmonic.auditing.checks.leak import check_leak
from anharmonic.auditing.checks.leaning import check_leaning, with_exchanged
from anharmonic.auditing.checks.memorising import check_memorising
from anharmonic.auditing.checks.segments import check_segments
from anharmonic.auditing.holding import held
from anharmonic.auditing.wrong_labels import flipped_share, swapped_share
from anharmonic.auditing.yardsticks import _model
from anharmonic.models import as_model
from anharmonic.regions import unmoved
from tests.audit.cases import answers_of_people, context_of, numbers, people, smooth

ROWS, NEW = numbers(600), numbers(400, seed=1)
TRUTH = (ROWS[:, 0] + 0.8 * ROWS[:, 1] + 0.3 * numbers(600, 1, seed=2)[:, 0] > 0).astype(int)
NOISY = np.where(np.random.default_rng(3).random(600) < 0.2, 1 - TRUTH, TRUTH)
LINEAR = LogisticRegression().fit(ROWS, TRUTH)


def names(result):
    return [finding.name for finding in held([result], 0.05)]


def test_rows_that_the_model_cannot_answer_are_counted_and_left_out():
    def fails(points):
        if (points[:, 0] > 1.5).any():
            raise ValueError("too much\nof it")
        return smooth(points)

    context = context_of(fails, ROWS, NEW)
    result = check_failures(context)
    assert {finding.side for finding in result.candidates} == {"reference", "new"}
    found = next(finding for finding in result.candidates if finding.side == "new")
    bad = np.flatnonzero(NEW[:, 0] > 1.5)
    assert found.rows == tuple(bad[:20].tolist())
    assert found.measured.value == pytest.approx(len(bad) / 400)
    assert "too much" in found.what
    assert len(context.new.answers) == 400 - len(bad)


def test_an_answer_that_varies_is_told_from_one_that_does_not():
    random = np.random.default_rng(0)
    noisy = lambda points: smooth(points) + 0.01 * random.normal(size=(len(points), 2))  # noqa: E731
    assert names(check_repeats(context_of(noisy, ROWS))) == ["Answers that vary"]
    assert names(check_repeats(context_of(smooth, ROWS))) == []


def test_a_model_that_single_precision_flips_is_found():
    large, new = np.round(1e8 * ROWS), np.round(1e8 * NEW)

    def odd(points):
        return smooth(np.where(np.asarray(points) % 2 == 1, 1.0, -1.0))

    assert names(check_repeats(context_of(odd, large, new))) == ["Sensitive to precision"]


def test_a_dead_region_is_found_and_described():
    def dead(points):
        answers = smooth(points)
        answers[(points[:, 2] > 0.2) & (points[:, 2] < 1.0)] = [0.4, 0.6]
        return answers

    result = check_dead(context_of(dead, ROWS, NEW))
    (found,) = held([result], 0.05)
    assert found.columns == ("2",)
    inside = np.concatenate([ROWS, NEW])[:, 2]
    assert found.measured.value == pytest.approx(np.mean((inside > 0.2) & (inside < 1.0)))
    assert names(check_dead(context_of(smooth, ROWS, NEW))) == []


def test_votes_that_are_unanimous_are_no_dead_region():
    rare = ((ROWS[:, 0] > 1.9) | (numbers(600, 1, seed=5)[:, 0] > 2.3)).astype(int)
    forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=0).fit(ROWS, rare)
    shares = forest.predict_proba(ROWS)[:, 1]
    assert (shares == 0).mean() > 10 * max(np.mean(shares == one) for one in set(shares) - {0.0})
    assert names(check_dead(context_of(forest, ROWS, NEW, labels=rare))) == []
    # Without labels nothing says whether anything should vary there.
    assert names(check_dead(context_of(forest, ROWS, NEW))) == []


def test_answers_that_are_decisions_only_are_no_dead_region():
    decide = LogisticRegression().fit(ROWS, ROWS[:, 0] > 1.9).predict
    hard = as_model(lambda points: decide(points).astype(int), output="onehot", classes=[0, 1])
    labels = (ROWS[:, 0] > 1.9).astype(int)
    assert names(check_dead(context_of(hard, ROWS, NEW, labels=labels))) == []


def test_a_sure_answer_where_labels_vary_is_a_dead_region():
    def dead(points):
        answers = smooth(points)
        answers[np.abs(points[:, 2]) < 0.5] = [1.0, 0.0]
        return answers

    assert names(check_dead(context_of(dead, ROWS, NEW, labels=TRUTH))) == ["Dead region"]


def test_numbers_that_are_clipped_where_nothing_varies_are_no_dead_region():
    counts = np.random.default_rng(4).poisson(np.maximum(0.02, 2 * ROWS[:, 0]))

    def clipped(points):
        return np.maximum(0.02, 2 * np.asarray(points)[:, 0])

    assert names(check_dead(context_of(clipped, ROWS, NEW, labels=counts))) == []


def test_leaves_of_a_small_tree_are_no_dead_region():
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(ROWS, TRUTH)
    assert names(check_dead(context_of(tree, ROWS, NEW, labels=TRUTH))) == []


def test_rows_are_described_by_their_column():
    frame = people(400)[["age", "town"]]
    context = context_of(answers_of_people, frame)
    part = context.part(context.reference)
    place = describe_rows(part, (frame["town"] == "Kiel").to_numpy())
    assert (place.column, place.words, place.fit) == ("town", "column 'town' is 'Kiel'", 1.0)
    ages = describe_rows(part, frame["age"].between(30, 44).to_numpy())
    assert (ages.column, ages.words) == ("age", "column 'age' is from 30 to 44")


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_leaked_label_is_named(kind):
    labels = TRUTH if kind == "classes" else ROWS[:, 0] * 3 + numbers(600, 1, seed=5)[:, 0]
    leak = labels + 0.01 * numbers(600, 1, seed=4)[:, 0]
    rows = np.column_stack([ROWS, leak])
    model = (LogisticRegression() if kind == "classes" else Ridge()).fit(rows, labels)
    (found,) = held([check_leak(context_of(model, rows, labels=labels))], 0.05)
    assert found.columns == ("3",)
    clean = (LogisticRegression() if kind == "classes" else Ridge()).fit(ROWS, labels)
    assert names(check_leak(context_of(clean, ROWS, labels=labels))) == []


def test_a_label_that_one_column_explains_with_others_like_it_is_no_leak():
    twin = np.column_stack([ROWS[:, 0], ROWS[:, 0] + 0.01 * ROWS[:, 1], ROWS[:, 2]])
    labels = (ROWS[:, 0] > 0).astype(int)
    model = LogisticRegression().fit(twin, labels)
    assert names(check_leak(context_of(model, twin, labels=labels))) == []


def test_wrong_labels_are_found_and_overlap_is_not_called_so():
    wrong = np.random.default_rng(1).random(600) < 0.12
    flipped = np.where(wrong, 1 - TRUTH, TRUTH)
    model = LogisticRegression().fit(ROWS, flipped)
    (found,) = held([check_labels(context_of(model, ROWS, labels=flipped))], 0.05)
    assert found.measured.low < 0.12 < found.measured.high
    assert wrong[list(found.rows)].mean() > 0.8
    assert names(check_labels(context_of(LINEAR, ROWS, labels=TRUTH))) == []


def test_swapped_numbers_are_estimated():
    random = np.random.default_rng(0)
    said = random.normal(0, 3, 1500)
    labels = said + random.standard_t(4, 1500)
    measured, chance = swapped_share(labels, said, 0.02)
    assert measured.low <= 0.01
    assert chance > 0.01
    swapped = random.random(1500) < 0.1
    labels[swapped] = random.permutation(labels)[swapped]
    measured, chance = swapped_share(labels, said, 0.02)
    assert measured.low <= 0.1 <= measured.high
    assert chance < 1e-4


def test_labels_that_are_skewed_by_nature_belong_to_no_other_rows():
    random = np.random.default_rng(0)
    said = np.exp(random.normal(0, 1, 1500))
    labels = said * np.exp(random.normal(0, 0.7, 1500))
    measured, chance = swapped_share(labels, said, 0.02)
    assert measured.low <= 0.02
    assert chance > 0.01


@pytest.mark.parametrize("grades", [2, 5])
def test_numbers_of_a_few_grades_are_not_called_wrong(grades):
    score = ROWS @ [1.0, 0.8, 0.0] + 0.3 * numbers(600, 1, seed=2)[:, 0]
    labels = np.clip(np.round(score + grades / 2), 0, grades - 1)
    result = check_labels(context_of(Ridge().fit(ROWS, labels), ROWS, labels=labels))
    assert not result.candidates
    assert f"{grades} different values" in result.summary


def test_errors_that_are_too_small_for_labels_of_other_rows_are_not_called_so():
    random = np.random.default_rng(0)
    # Where a number stands in other rows too its label is known exactly, and else by a hair.
    rows = np.stack([random.choice(random.lognormal(size=300), 900), random.normal(size=900)], 1)
    labels = np.exp(rows[:, 0] / 2)
    result = check_labels(context_of(Ridge().fit(rows, labels), rows, labels=labels))
    assert not result.candidates
    assert "larger errors than there are" in result.summary


def test_changed_labels_are_estimated_where_classes_overlap():
    random = np.random.default_rng(0)
    odds = random.normal(0, 3, 3000)
    answers = np.column_stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))])
    labels = (random.random(3000) < answers[:, 1]).astype(int)
    measured, chance = flipped_share(answers, labels, 0.0)
    assert measured.low == 0
    assert chance > 0.05
    changed = np.where(random.random(3000) < 0.1, 1 - labels, labels)
    measured, chance = flipped_share(answers, changed, 0.0)
    assert 0 < measured.low <= 0.1 <= measured.high
    assert chance < 1e-4


def test_memorising_is_found_where_labels_are_noisy_and_every_model_loses_much():
    random = np.random.default_rng(5)
    odds = 1.5 * ROWS[:, 0]
    labels = (random.random(600) < 1 / (1 + np.exp(-odds))).astype(int)
    tree = DecisionTreeClassifier(random_state=0).fit(ROWS, labels)
    result = check_memorising(context_of(tree, ROWS, NEW, labels=labels))
    assert names(result) == ["Memorised training rows"]
    # No ratio of losses gets large: the quick model itself loses a third.
    assert result.candidates[0].measured.value < 1.5


def test_a_tree_that_memorised_is_found_and_a_linear_model_is_not():
    tree = DecisionTreeClassifier(random_state=0).fit(ROWS, NOISY)
    (found,) = held([check_memorising(context_of(tree, ROWS, NEW, labels=NOISY))], 0.05)
    assert found.name == "Memorised training rows"
    assert "fully grown tree" in found.comparison or "nearest row" in found.comparison
    linear = LogisticRegression().fit(ROWS, NOISY)
    assert names(check_memorising(context_of(linear, ROWS, NEW, labels=NOISY))) == []


@pytest.mark.slow
def test_numbers_that_were_memorised():
    labels = ROWS[:, 0] + numbers(600, 1, seed=7)[:, 0]
    tree = DecisionTreeRegressor(random_state=0).fit(ROWS, labels)
    assert names(check_memorising(context_of(tree, ROWS, NEW, labels=labels))) == [
        "Memorised training rows"
    ]
    ridge = Ridge().fit(ROWS, labels)
    assert names(check_memorising(context_of(ridge, ROWS, NEW, labels=labels))) == []


def test_scores_of_labelled_new_rows_are_held_against_quick_models():
    truth = (NEW[:, 0] + 0.8 * NEW[:, 1] > 0).astype(int)
    poor = DecisionTreeClassifier(max_depth=1).fit(ROWS, TRUTH)
    result = check_accuracy(context_of(poor, ROWS, NEW, labels=TRUTH, new_labels=truth))
    (found,) = held([result], 0.05)
    right = float((poor.predict(NEW) == truth).mean())
    assert result.picture.bars[0].value == pytest.approx(right)
    assert found.name == "A quick model does better"
    good = check_accuracy(context_of(LINEAR, ROWS, NEW, labels=TRUTH, new_labels=truth))
    assert names(good) == []


def test_a_region_with_more_errors_is_named():
    truth = (NEW[:, 0] + 0.8 * NEW[:, 1] > 0).astype(int)

    def wrong_there(points):
        answers = LINEAR.predict_proba(points)
        answers[points[:, 2] > 0.6] = answers[points[:, 2] > 0.6][:, ::-1]
        return answers

    context = context_of(wrong_there, ROWS, NEW, labels=TRUTH, new_labels=truth)
    found = held([check_segments(context)], 0.05)
    assert ("2",) in {finding.columns for finding in found}


def test_a_model_that_is_wrong_everywhere_alike_has_no_region_with_more_errors():
    truth = (NEW[:, 0] + 0.8 * NEW[:, 1] > 0).astype(int)

    def wrong_anywhere(points):
        answers = LINEAR.predict_proba(points)
        # Digits far behind the point say nothing of where a row is.
        chosen = (points[:, 2] * 1e6) % 1 < 0.25
        answers[chosen] = answers[chosen][:, ::-1]
        return answers

    context = context_of(wrong_anywhere, ROWS, NEW, labels=TRUTH, new_labels=truth)
    result = check_segments(context)
    assert "it errs most beside" in result.summary
    assert not held([result], 0.05)


def test_a_region_is_held_against_the_most_bent_of_the_quick_models_as_good_as_the_best():
    random = np.random.default_rng(10)
    noisy = np.where(random.random(600) < 0.3, 1 - TRUTH, TRUTH)
    context = context_of(LINEAR, ROWS, NEW, labels=noisy)
    bent = {
        peer.words: float(context.bends.of(peer.name, peer.fitted, peer.new).new.mean)
        for peer in context.peers
    }
    assert len(bent) > 1
    assert context.judge.yardstick.words != max(bent, key=bent.get)
    assert f"beside {max(bent, key=bent.get)} where" in check_segments(context).summary


def test_decisions_of_a_tree_that_memorised_are_more_fragile():
    tree = DecisionTreeClassifier(random_state=0).fit(ROWS, NOISY)
    result = check_fragile(context_of(tree, ROWS, NEW, labels=NOISY, budget=None))
    assert names(result) == ["Fragile decisions"]
    assert names(check_fragile(context_of(LINEAR, ROWS, NEW, labels=TRUTH))) == []


def test_chances_to_flip_are_calibrated():
    random = np.random.default_rng(0)
    true = random.beta(0.4, 3, 4000)
    chances, _ = flip_chances(random.binomial(16, true), 16)
    again = random.random(4000) < true
    for low, high in ((0, 0.05), (0.05, 0.15), (0.15, 0.3), (0.3, 1.0)):
        inside = (chances >= low) & (chances < high)
        reach = 3 * np.sqrt(chances[inside].mean() / inside.sum())
        assert abs(again[inside].mean() - chances[inside].mean()) < reach


def test_the_model_leans_on_what_it_reads():
    result = check_leaning(context_of(smooth, ROWS, NEW))
    values = {bar.name: bar.value for bar in result.picture.bars}
    assert values["column 0"] > 0.2
    assert values["column 1"] == values["column 2"] == 0


def test_a_column_is_exchanged_and_nothing_else():
    frame = people(5)
    order = np.array([1, 2, 3, 4, 0])
    changed = with_exchanged(unmoved(frame), "town", order).source.to_native()
    assert changed["town"].tolist() == frame["town"].iloc[order].tolist()
    pd.testing.assert_frame_equal(changed.drop(columns="town"), frame.drop(columns="town"))


def test_a_category_of_many_codes_that_gives_the_label_away_is_a_leak():
    random = np.random.default_rng(7)
    codes = np.array([f"{label}{code}" for label in (0, 1) for code in range(40)])
    table = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    noisy = np.where(random.random(600) < 0.1, 1 - TRUTH, TRUTH)
    table["ref"] = codes[40 * noisy + random.integers(40, size=600)]
    table["branch"] = random.choice([f"b{code}" for code in range(80)], 600)
    model = lambda frame: smooth(frame[["a", "b", "c"]].to_numpy())  # noqa: E731
    (found,) = check_leak(context_of(model, table, labels=noisy)).candidates
    assert found.columns == ("ref",)
    assert names(check_leak(context_of(model, table.drop(columns="ref"), labels=noisy))) == []


def test_a_reference_of_few_rows_is_held_to_fits_of_as_few_at_new_rows():
    # A curve that rises steeply: a fit to four fifths of the rows errs more than one to all.
    labels = (ROWS[:, 0] > 0).astype(int)
    context = context_of(
        LINEAR, ROWS[:80], NEW, labels=labels[:80], new_labels=(NEW[:, 0] > 0).astype(int)
    )
    yardstick = context.judge.yardstick
    assert yardstick.new_by_fold.shape == (5, *yardstick.new.shape)
    assert not (yardstick.new_by_fold[0] == yardstick.new_by_fold[1]).all()
    fewer = [yardstick._replace(new_by_fold=1 - yardstick.new_by_fold)]
    context.__dict__["yardsticks"] = fewer
    context.__dict__["judge"] = context.judge._replace(yardstick=fewer[0])
    # Fits of the folds that err everywhere at new rows leave nothing to hold against the labels.
    assert not check_labels(context).candidates


def test_without_labels_of_new_rows_memorising_is_expected_and_said_to_be():
    tree = DecisionTreeClassifier(random_state=0).fit(ROWS, NOISY)
    truth = (NEW[:, 0] + 0.8 * NEW[:, 1] > 0).astype(int)
    (guessed,) = check_memorising(context_of(tree, ROWS, NEW, labels=NOISY)).candidates
    assert "expected" in guessed.what
    assert guessed.severity == "medium"
    assert guessed.next_step.startswith("Find labels of some new rows first")
    known = context_of(tree, ROWS, NEW, labels=NOISY, new_labels=truth)
    (counted,) = check_memorising(known).candidates
    assert counted.severity == "high"
    assert counted.next_step.startswith("Fit a simpler model")


def test_the_forest_adds_its_votes_up_in_one_order():
    # Several workers add in the order they finish: the same seed gave other last digits.
    assert {_model("forest", task, 0).n_jobs for task in ("classes", "numbers")} == {1}
