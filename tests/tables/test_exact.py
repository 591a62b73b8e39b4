"""What is known exactly of gamma in tables: lists of neighbours, harmonic functions, lines."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic.measures.setup.settling import settle
from anharmonic.measures.setup.table_rows import table_ball, table_rows
from anharmonic.regions.tables.listing import list_neighbours


def small(many=200, seed=0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "colour": random.choice(["red", "green", "blue"], many),
            "size": random.choice(["S", "L"], many),
            "rooms": random.integers(0, 4, many),
        }
    )


def lookup(frame, seed=1):
    """A table of random answers: as rough as a model can be."""
    random = np.random.default_rng(seed)
    answers = {
        key: random.normal() for key in product(["red", "green", "blue"], ["S", "L"], range(4))
    }
    return np.array([answers[key] for key in frame.itertuples(index=False, name=None)])


def law_of(frame, reference):
    setup = settle(lambda rows: np.zeros(len(rows)), frame, reference=reference)
    return setup, table_rows(setup.region)


def test_few_neighbours_are_all_asked_for_and_gamma_is_their_weighted_mean():
    frame, reference = small(30), small(200, seed=5)
    scores = ah.gamma(lookup, frame, reference=reference)
    assert scores.settings.complete
    assert scores.settings.ball == "complete"
    assert (scores.errors == 0).all()
    setup, table = law_of(frame, reference)
    states, weights = list_neighbours(table.law, table.values, table.donors, setup.radius, 64)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)
    rows = np.repeat(np.arange(30), states.shape[1])
    answers = lookup(setup.region.restored(states.reshape(-1, 3), rows)).reshape(30, -1)
    expected = np.abs(lookup(frame) - (weights * answers).sum(axis=1))
    np.testing.assert_allclose(scores.values, expected, rtol=1e-12, atol=1e-14)


def test_the_list_is_what_would_be_drawn():
    """The law written down a second time: one row, many draws, the same frequencies."""
    frame, reference = small(3, seed=2), small(120, seed=3)
    setup, table = law_of(frame, reference)
    law, every = table.law, np.arange(3)
    states, weights = list_neighbours(law, table.values, table.donors, setup.radius, 64)
    drawn = ah.gamma(
        lookup, frame, reference=reference, ball=table_ball(None, 500, False), rotations=40
    )
    answers = lookup(
        setup.region.restored(states.reshape(-1, 3), np.repeat(every, states.shape[1]))
    ).reshape(3, -1)
    mean = (weights * answers).sum(axis=1)
    around = drawn.outputs - drawn.signed
    # 20,000 draws: the mean is known to a hundredth of the answers' spread.
    np.testing.assert_allclose(around, mean, atol=0.04)


def by_hand(reference, row, column, count=10):
    """The donors of a category by the definition: nearest in all else, copies of the row out."""
    codes = {name: {v: i for i, v in enumerate(sorted(reference[name].unique()))} for name in row}
    spread = reference["rooms"].std(ddof=0)
    far = []
    for _, other in reference.iterrows():
        squares = {
            name: ((row["rooms"] - other["rooms"]) / spread) ** 2
            if name == "rooms"
            else 2.0 * (codes[name].get(row[name]) != codes[name][other[name]])
            for name in row
        }
        total = sum(squares.values())
        far.append(total - squares[column] if total else np.inf)
    return np.argsort(np.round(np.array(far), 9), kind="stable")[:count]


def test_donors_are_the_nearest_in_everything_else():
    reference, frame = small(40, seed=7), small(6, seed=8)
    _, table = law_of(frame, reference)
    donors = table.donors(np.arange(6))
    for place, column in enumerate(["colour", "size"]):
        assert table.law.sites[place].columns == (place,)
        for row in range(6):
            expected = by_hand(reference, dict(frame.iloc[row]), column)
            assert sorted(donors[row, place]) == sorted(expected)


def test_harmonic_functions_on_the_graph_read_zero():
    """F = Pf inside, any values on a boundary: the Dirichlet problem on the table's own graph."""
    every = pd.DataFrame(
        list(product(["red", "green", "blue"], ["S", "L"], range(4))),
        columns=["colour", "size", "rooms"],
    )
    setup, table = law_of(every, every)
    states, weights = list_neighbours(table.law, table.values, table.donors, setup.radius, 64)
    key = {tuple(row): place for place, row in enumerate(table.values)}
    transition = np.zeros((24, 24))
    for row in range(24):
        for state, weight in zip(states[row], weights[row], strict=True):
            transition[row, key[tuple(state)]] += weight
    inside = np.arange(24) % 5 != 0
    answers = np.random.default_rng(0).normal(size=24)
    system = np.eye(24) - transition
    right = -system[np.ix_(inside, ~inside)] @ answers[~inside]
    answers[inside] = np.linalg.solve(system[np.ix_(inside, inside)], right)
    known = {
        tuple(row): answer for row, answer in zip(every.itertuples(False), answers, strict=True)
    }

    def model(rows):
        return np.array([known[tuple(row)] for row in rows.itertuples(index=False)])

    scores = ah.gamma(model, every, reference=every)
    assert scores.values[inside].max() < 1e-12
    assert scores.values[~inside].max() > 1e-2


def test_straight_lines_in_whole_numbers_read_zero_and_squares_their_mean_square():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.integers(0, 100, 200), "b": random.integers(0, 50, 200)})

    def line(rows):
        return 3.0 * rows["a"].to_numpy() - 2.0 * rows["b"].to_numpy()

    scores = ah.gamma(line, frame, ball="auto pairs")
    assert scores.settings.kinds == ("whole", "whole")
    assert scores.values.max() < 1e-9

    def square(rows):
        return (rows["a"].to_numpy() / units[0]) ** 2 + (rows["b"].to_numpy() / units[1]) ** 2

    units = scores.settings.scale
    squares = ah.gamma(square, frame, ball="auto pairs", rotations=16)
    # The mean square of the steps is what the radius says, but for rows whose steps would leave.
    assert 0.75 < squares.mean / squares.settings.radius**2 <= 1.05


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tables_of_numbers_are_measured_as_arrays_are(dtype):
    random = np.random.default_rng(0)
    values = random.normal(size=(60, 4)).astype(dtype)
    frame = pd.DataFrame(values, columns=list("abcd"))

    def model(rows):
        return np.sin(np.asarray(rows, dtype=np.float64)).sum(axis=1)

    one, other = ah.gamma(model, frame), ah.gamma(model, values.astype(np.float64))
    # A frame's columns are summed in another order than an array's.
    np.testing.assert_allclose(one.values, other.values, rtol=1e-12)
    assert one.settings.kinds == ()
    assert one.settings.ball == other.settings.ball


def test_constants_read_zero_in_any_table():
    from tests.tables.people import people

    frame, _ = people()
    scores = ah.gamma(lambda rows: np.full((len(rows), 2), 0.5), frame)
    assert scores.values.max() == 0


def _rooms(rows):
    """A model that can be sent to another process."""
    return rows["rooms"].to_numpy() ** 2.0 + (rows["colour"].to_numpy() == "red")


@pytest.mark.parametrize("batch_size", [7, 1000])
def test_calls_and_workers_change_no_bit(batch_size):
    frame, reference = small(40), small(150, seed=4).assign(price=np.arange(150) / 7)
    frame = frame.assign(price=np.linspace(0, 20, 40))

    def model(rows):
        return lookup(rows[["colour", "size", "rooms"]]) * np.sin(rows["price"].to_numpy())

    common = {"reference": reference, "ball": "auto pairs"}
    plain = ah.gamma(model, frame, batch_size=64, **common)
    shared = ah.workers.threads(2)
    other = ah.gamma(model, frame, batch_size=batch_size, map=shared, **common)
    np.testing.assert_allclose(other.values, plain.values, rtol=1e-12, atol=1e-13)
    processes = ah.workers.processes(2)
    apart = ah.gamma(_rooms, frame, map=processes, **common)
    alone = ah.gamma(_rooms, frame, **common)
    np.testing.assert_array_equal(apart.values, alone.values)
    half = ah.gamma(model, frame[:20], **common)
    np.testing.assert_allclose(half.values, plain.values[:20], rtol=1e-12, atol=1e-13)


def test_intervals_hold_the_truth():
    held = count = 0
    for seed in range(4):
        frame, reference = small(60, seed), small(200, seed + 50)
        truth = ah.gamma(lookup, frame, reference=reference)
        drawn = ah.gamma(
            lookup, frame, reference=reference, ball=table_ball(None, 12, False), seed=seed
        )
        low, high = drawn.intervals()
        held += int(((low <= truth.values) & (truth.values <= high)).sum())
        count += len(frame)
    assert held / count >= 0.93


def test_a_constant_reads_exactly_zero_where_all_neighbours_are_asked_for():
    """Weights add up to 1 but for rounding, which is none of the model's."""
    frame = small(40)
    scores = ah.gamma(lambda rows: np.tile([0.3, 0.6, 0.1], (len(rows), 1)), frame)
    assert scores.settings.complete
    assert (scores.values == 0).all()
