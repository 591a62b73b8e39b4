"""A monitor takes what gamma takes: texts, sparse matrices, arrays of objects, lists of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import anharmonic as ah
from anharmonic.errors import PointsError

MANY = 120
RANDOM = np.random.default_rng(0)
WORDS = [f"{one} {other}" for one in ("fine", "dull", "good") for other in ("film", "cast", "plot")]
TEXTS = [WORDS[place] for place in RANDOM.integers(0, 9, MANY)]
OBJECTS = np.empty((MANY, 2), dtype=object)
OBJECTS[:, 0], OBJECTS[:, 1] = RANDOM.choice(["a", "b"], MANY), RANDOM.integers(0, 5, MANY)
NUMBERS = RANDOM.normal(size=(MANY, 3))
MATRIX = sparse.random(MANY, 8, density=0.4, format="csr", random_state=0)
FORMS = {
    "list of texts": TEXTS,
    "texts that are missing": [None, *TEXTS[1:]],
    "Series of texts": pd.Series(TEXTS, index=range(7, 7 + MANY)),
    "polars Series": pl.Series(TEXTS),
    "objects": OBJECTS,
    "strings": OBJECTS[:, :1].astype(str),
    "csr": MATRIX,
    "coo array": sparse.coo_array(MATRIX),
    "list of rows": NUMBERS.tolist(),
}


def model(rows):
    cells = rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=object)
    sizes = [len(str(row)) % 5 for row in cells.tolist()]
    likely = 0.1 + 0.2 * np.array(sizes)
    return np.stack([likely, 1 - likely], axis=1)


def first(rows, count):
    return rows.tocsr()[:count] if sparse.issparse(rows) else rows[:count]


@pytest.mark.parametrize("form", FORMS)
def test_any_form_is_watched_and_comes_back_from_a_file(form, tmp_path):
    rows = FORMS[form]
    watch = ah.Monitor(model, rows, promise=False)
    assert {"gamma", "inputs", "prediction"} <= set(watch.watch)
    assert watch.update(first(rows, 10)) is not None
    watch.save(tmp_path / "monitor")
    back = ah.Monitor.load(tmp_path / "monitor", model)
    scores, again = watch.measure(first(rows, 10)), back.measure(first(rows, 10))
    alone = watch.measure(first(rows, 1))
    for name, values in scores.items():
        np.testing.assert_array_equal(again[name], values)
        np.testing.assert_allclose(alone[name], values[:1], rtol=1e-12)


FRAME = pd.DataFrame(NUMBERS, columns=list("abc"))
OTHERS = {
    "table": FRAME.assign(town=RANDOM.choice(["Ulm", "Bonn"], MANY)),
    "numbers": FRAME,
    "array": NUMBERS,
    "two columns": NUMBERS[:, :2],
    "sparse": MATRIX,
    "texts": TEXTS,
}


@pytest.mark.parametrize("watched", ["gamma", "inputs", "prediction", "gamma data"])
@pytest.mark.parametrize("reference", OTHERS)
def test_rows_that_are_not_like_the_references_are_refused_in_a_line(reference, watched):
    known = OTHERS[reference]
    watch = ah.Monitor(model, known, promise=False, watch=watched)
    for name, rows in OTHERS.items():
        # A table may have more columns than the reference.
        if name == reference or (reference, name) == ("numbers", "table"):
            continue
        with pytest.raises(PointsError):
            watch.update(first(rows, 5))


def test_segments_of_objects_and_of_sparse_rows():
    watch = ah.Monitor(model, OBJECTS, promise=False, watch="inputs", segment=0)
    assert set(watch.update(OBJECTS[:9]).scores) == {"inputs"}
    flags = sparse.csr_matrix(np.column_stack([np.arange(MANY) % 2, NUMBERS[:, 0]]))
    assert ah.Monitor(model, flags, promise=False, watch="inputs", segment=0)
