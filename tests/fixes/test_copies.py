"""Copies of a row are never on both sides of a cut."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import anharmonic as ah
from anharmonic.errors import InputError, PointsError
from anharmonic.fixes.copies import keys_of, numbered, with_keys, without_copies_of
from anharmonic.fixes.holding_out import cut_folds, random_half
from anharmonic.fixes.inner_folds import INNER, inner_folds
from anharmonic.fixes.rows import Data, stack_rows, take_rows, with_columns_of

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.normal(size=(60, 3))
LABELS = (POINTS[:, 0] > 0) * 1
THRICE = Data(np.repeat(POINTS, 3, axis=0), np.repeat(LABELS, 3))


def test_keys_are_equal_for_copies_alone_and_follow_the_rows():
    (data,) = with_keys([THRICE], seed=1)
    assert len(np.unique(data.keys)) == 60
    assert (data.keys.reshape(60, 3) == data.keys[::3, None]).all()
    chosen = RANDOM.permutation(180)[:50]
    assert data.take(chosen).keys.tolist() == data.keys[chosen].tolist()
    # Several tables are compared with one another.
    one, other = with_keys([Data(POINTS[:40], LABELS[:40]), Data(POINTS[30:], LABELS[30:])], 1)
    assert np.isin(other.keys, one.keys).tolist() == [True] * 10 + [False] * 20


def test_halves_keep_copies_together_and_are_halves():
    one, other = random_half(keys_of(THRICE, 0), 3, 1)
    assert sorted([*one, *other]) == list(range(180))
    assert not set(one // 3) & set(other // 3)
    assert len(one) == len(other) == 90
    # Keys themselves do not matter, the rows they are of do.
    renamed = random_half(-7 * keys_of(THRICE, 0), 3, 1)
    assert [half.tolist() for half in renamed] == [one.tolist(), other.tolist()]
    assert numbered(np.array([5, 2, 5, 9])).tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize("classes", [False, True])
def test_inner_folds_keep_copies_together_and_are_those_of_a_search_without_any(classes):
    for inside, outside in inner_folds(THRICE, classes):
        assert sorted([*inside, *outside]) == list(range(180))
        assert not set(inside // 3) & set(outside // 3)
    cut = (StratifiedKFold if classes else KFold)(INNER)
    expected = [outside.tolist() for _, outside in cut.split(POINTS, LABELS)]
    made = inner_folds(Data(POINTS, LABELS), classes)
    assert [outside.tolist() for _, outside in made] == expected


def test_inner_folds_fit_to_every_class_that_they_score():
    for rare in (1, 2, 4):
        labels = np.zeros(60, dtype=int)
        labels[[7, 20, 33, 41][:rare]] = 1
        for inside, outside in inner_folds(Data(POINTS, labels), True):
            assert set(labels[outside]) <= set(labels[inside])
            assert set(labels[inside]) == {0, 1}
    with pytest.raises(PointsError, match="3 at least"):
        inner_folds(Data(np.repeat(POINTS[:2], 20, axis=0), np.repeat([0, 1], 20)), True)
    with pytest.raises(PointsError, match="more rows of a class"):
        inner_folds(Data(POINTS[:6], np.arange(6)), True)


def test_a_rare_class_does_not_end_a_search():
    labels = np.zeros(60, dtype=int)
    labels[:2] = 1
    model = LogisticRegression()
    fixes = ah.fix(model, POINTS, labels, kinds=["capacity"], folds=2)
    assert "capacity" in {each.kind for each in fixes.tried}


def test_what_a_search_raises_is_said_in_words():
    model = KNeighborsClassifier()
    fixes = ah.fix(model, POINTS, LABELS, kinds=["capacity"], grid={"n_neighbors": [0]})
    assert "n_neighbors=[0, 5]" in fixes.left_out["capacity"]
    assert "grid=" in fixes.left_out["capacity"]


def test_neighbours_are_no_more_than_rows():
    fixes = ah.fix(KNeighborsClassifier(), POINTS, LABELS, kinds=["capacity"])
    frontier = fixes["capacity"].evidence["frontier"]
    # Of 60 rows 7 of 8 folds have 52 or 53, two thirds of which are fitted to.
    assert [line["n_neighbors"] for line in frontier] == [1, 3, 5, 10, 20]


def test_held_out_copies_of_reference_rows_are_left_out_and_said():
    tree = DecisionTreeClassifier(random_state=0)
    rows, labels = RANDOM.normal(size=(40, 3)), RANDOM.integers(0, 2, 40)
    fixes = ah.fix(
        tree,
        POINTS,
        LABELS,
        held_out=(np.concatenate([POINTS[:10], rows]), np.concatenate([LABELS[:10], labels])),
        kinds=["look"],
    )
    assert fixes["look"].gain.rows == 40
    note = "10 of 50 held-out rows are copies of reference rows and were left out."
    assert list(fixes.notes) == fixes.summary()["notes"] == [note]
    assert note in repr(fixes)
    assert note in fixes._repr_html_()
    with pytest.raises(InputError, match="all 60 held-out rows are copies"):
        ah.fix(tree, POINTS, LABELS, held_out=(POINTS, LABELS), kinds=["look"])
    apart = Data(rows, labels)
    one, other = with_keys([Data(POINTS, LABELS), apart], 0)
    assert without_copies_of(one, other) is other


def test_folds_need_as_many_distinct_rows():
    tree = DecisionTreeClassifier()
    with pytest.raises(InputError, match=r"3 distinct rows.*fewer folds="):
        ah.fix(tree, np.tile(POINTS[:3], (20, 1)), np.tile([0, 1, 0], 20), kinds=["look"])
    with pytest.raises(InputError, match=r"60 distinct rows.*fewer folds="):
        ah.fix(tree, POINTS, LABELS, kinds=["look"], folds=100)


def texts(rows: int) -> list[str]:
    random = np.random.default_rng(0)
    words = random.choice(["good", "bad"], rows)
    return [f"a {word} film, number {number}" for number, word in enumerate(words)]


def test_texts_are_told_apart_and_what_compares_them_is_left_out():
    given = texts(120)
    labels = np.array([int("good" in text) for text in given])
    doubled = Data(given * 2, np.tile(labels, 2))
    for fold in cut_folds(doubled, None, 4, seed=0):
        assert not set(fold.found_on.rows) & set(fold.held_out.rows)
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    for rows in (given, pd.Series(given), np.array(given)):
        fixes = ah.fix(
            model, rows, labels, pool=given[:20], count=5, folds=2, kinds=["label", "look"]
        )
        assert len(fixes["label"].rows) == 5
        assert "vectors of the texts" in fixes.left_out["look"]


def test_sparse_rows_are_cut_and_joined_as_they_are():
    dense = np.where(POINTS > 0, POINTS, 0)
    for form in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        some = take_rows(form(dense), np.array([3, 1, 7]))
        assert sparse.issparse(some)
        assert some.toarray().tolist() == dense[[3, 1, 7]].tolist()
        both = stack_rows([some, some])
        assert sparse.issparse(both)
        assert both.toarray().tolist() == dense[[3, 1, 7, 3, 1, 7]].tolist()
    folds = cut_folds(Data(sparse.csr_matrix(dense), LABELS), None, 4, seed=0)
    alike = cut_folds(Data(dense, LABELS), None, 4, seed=0)
    for one, other in zip(folds, alike, strict=True):
        assert one.held_out.rows.toarray().tolist() == other.held_out.rows.tolist()


def test_a_pool_has_the_columns_of_the_reference():
    frame = pd.DataFrame(POINTS, columns=list("abc"))
    wider = frame.assign(note="new", number=range(60))[["note", "c", "b", "a", "number"]]
    assert with_columns_of(frame, wider, "pool").equals(frame)
    tree = DecisionTreeClassifier(random_state=0)
    plain, wide = (
        ah.fix(tree, frame, LABELS, pool=pool, count=5, kinds=["label"]) for pool in (frame, wider)
    )
    assert plain.summary() == wide.summary()
    with pytest.raises(PointsError, match="the pool has no column b"):
        ah.fix(tree, frame, LABELS, pool=wider.drop(columns="b"), kinds=["label"])


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_missing_labels_of_any_kind_are_told(missing):
    labels = pd.Series([missing, *LABELS[1:].tolist()], dtype=object)
    with pytest.raises(InputError, match="1 labels of the reference are missing"):
        ah.fix(DummyClassifier(), POINTS, labels)
    with pytest.raises(InputError, match="missing"):
        ah.fix(DummyClassifier(), POINTS, pd.Series([pd.NA] + ["a"] * 59, dtype="string"))
