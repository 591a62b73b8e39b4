"""Which reference rows a value is drawn from: the nearest in all but the column that moves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic.measures.setup.settling import settle
from anharmonic.measures.setup.table_rows import table_rows
from anharmonic.regions.tables.moving import alternatives


def table_of(frame, reference):
    """The rows of a frame, and the law that a reference gives them."""
    setup = settle(lambda rows: np.zeros(len(rows)), frame, reference=reference)
    return table_rows(setup.region)


def dense(many, seed):
    """Numbers so dense that the nearest rows in everything have a row's own flag, town and gap."""
    random = np.random.default_rng(seed)
    town = random.integers(3, size=many)
    return pd.DataFrame(
        {
            "x": random.normal(size=many),
            "y": np.where(random.random(many) < 0.2, np.nan, random.normal(size=many)),
            "flag": random.random(many) < 0.5,
            "colour": random.choice(["red", "green", None], many),
            "gain": np.where(random.random(many) < 0.7, 0, random.integers(1, 900, many)),
            **{f"town_{place}": (town == place).astype(int) for place in range(3)},
        }
    )


@pytest.mark.parametrize("many", [40, 900])
def test_donors_are_the_nearest_in_all_but_what_moves(many):
    """The definition written down a second time, without any candidates."""
    frame, reference = dense(30, 1), dense(many, 2)
    table = table_of(frame, reference)
    law, rows = table.law, np.arange(len(frame))
    squares = law.squares(table.values[:, None, :], law.donors.reference[None])
    total = squares.sum(axis=-1)
    total[total == 0] = np.inf
    kinds = {kind.name: kind.kind for kind in law.kinds}
    assert kinds == {
        **{"x": "number", "y": "number", "flag": "flag", "colour": "category", "gain": "spiked"},
        **dict.fromkeys(["town_0", "town_1", "town_2"], "one-hot"),
    }
    found = table.donors(rows)
    assert {site.movement for site in law.sites} == {"redraw", "gap"}
    for number, site in enumerate(law.sites):
        elsewhere = total - squares[..., list(site.columns)].sum(axis=-1)
        steps = np.rint(elsewhere * 2**20)
        expected = np.argsort(steps, axis=1, kind="stable")[:, :10]
        np.testing.assert_array_equal(np.sort(found[:, number]), np.sort(expected, axis=1))


def test_no_category_stands_still_where_numbers_are_dense():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": random.normal(size=1000),
            "y": random.normal(size=1000),
            "f": random.random(1000) < 0.5,
        }
    )
    scores = ah.gamma(lambda rows: rows["f"].to_numpy() * 1.0, frame[:200], reference=frame)
    assert (scores.values > 0).mean() > 0.95
    # Half of the rows that a flag is drawn from have the other one, whatever the row has.
    table = table_of(frame[:200], frame)
    drawn = table.law.by_column[2][table.donors(np.arange(200))[:, 0]]
    assert abs(drawn.mean() - 0.5) < 0.05
    own = frame["f"][:200].to_numpy()
    assert abs((drawn[own].mean()) - drawn[~own].mean()) < 0.1


@pytest.mark.parametrize("far", [1e7, 1e300])
def test_a_number_far_from_all_rows_leaves_the_other_columns_to_say_which_are_near(far):
    """Also whether it goes missing: without it the row is like any other."""
    reference = dense(200, 3)
    near, strange = dense(20, 4), dense(20, 4)
    near["y"], strange["y"] = 0.5, far
    usual, table = table_of(near, reference), table_of(strange, reference)
    rows = np.arange(20)
    gap = next(place for place, site in enumerate(table.law.sites) if site.movement == "gap")
    np.testing.assert_array_equal(table.donors(rows)[:, gap], usual.donors(rows)[:, gap])
    flag = next(n for n, site in enumerate(table.law.sites) if site.columns == (2,))
    # All rows with a number are as far; so those without one are nearer, and else the rest says.
    codes = table.law.donors.reference
    squares = table.law.squares(table.values[:, None, :], codes[None])
    elsewhere = squares.sum(axis=-1) - squares[..., 2]
    for row in rows:
        chosen = table.donors(rows)[row, flag]
        others = np.setdiff1d(np.arange(len(codes)), chosen)
        assert elsewhere[row, chosen].max() <= elsewhere[row, others].min() + 1e-5
        assert len(np.unique(elsewhere[row, chosen])) > 1


def test_what_comes_along_is_what_a_plain_search_finds():
    """Many columns of few rows: by chance many pairs are ruled out, one after the other."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.choice(list("abcde"), (96, 60))).rename(columns="c{}".format)
    table = table_of(frame[:6], frame)
    law, rows = table.law, np.arange(6)
    seen, known = law.pairs.seen, law.donors.reference
    donors, several = table.donors(rows), 0
    for site in (0, 7, 59):
        ends, _ = alternatives(law, table.values, donors, site)
        for row, place in np.ndindex(6, 10):
            donor, state, waiting = known[donors[row, site, place]], table.values[row].copy(), []
            if state[site] != donor[site]:
                state[site], waiting = donor[site], [site]
            while waiting:
                column = waiting.pop()
                mine = law.pairs.number(column, state[column])
                for other in np.flatnonzero(state != donor):
                    if not seen[mine, law.pairs.number(other, state[other])]:
                        state[other] = donor[other]
                        waiting.append(other)
            np.testing.assert_array_equal(ends[row, place], state)
            several += (state != table.values[row]).sum() > 2
    # What came along brought more along.
    assert several > 10
