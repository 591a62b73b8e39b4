"""Cells of all types over HTTP: what is taken, what is refused, and that it is refused alone."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import anharmonic as ah
from anharmonic.monitor.rows import segments_of
from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.monitor.arrow import events_of_arrow
from anharmonic.serve.monitor.cloudevents import events_of_cloudevents
from anharmonic.serve.monitor.inference import rows_of_request
from anharmonic.serve.monitor.row_schema import RowSchema
from tests.serve.running import running
from tests.serve.standin import StandIn


def table(library: str, **columns: Any) -> Any:
    return pd.DataFrame(columns) if library == "pandas" else pl.DataFrame(columns)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("gaps", [False, True])
def test_truth_values_stay_what_they_are(library: str, gaps: bool) -> None:
    reference = table(library, a=[1.0, 2.0, 3.0], member=[True, False, None if gaps else True])
    schema = RowSchema.of(reference)
    rows = [schema.row([1.0, True]), schema.row([1.0, None]), schema.row([1.0, False])]
    built = schema.points(rows)["member"].to_list()
    assert [None if cell is None or cell != cell else cell for cell in built] == [True, None, False]
    whole = schema.points(rows[:1])["member"]
    assert whole.to_list() == [True]
    for wrong in ("false", 0, 1.0, "yes"):
        with pytest.raises(BadRequest, match=r"member holds true and false .* send one, or null"):
            schema.row([1.0, wrong])


def test_truth_values_come_by_the_open_protocol() -> None:
    schema = RowSchema.of(pd.DataFrame({"a": [1.0, 2.0], "member": [True, False]}))
    inputs = [
        {"name": "a", "datatype": "FP64", "shape": [2], "data": [1.0, 2.0]},
        {"name": "member", "datatype": "BOOL", "shape": [2], "data": [True, False]},
    ]
    told = rows_of_request(json.dumps({"inputs": inputs}).encode(), schema, None)
    assert told.rows == [[1.0, True], [2.0, False]]
    head = [dict(part) for part in inputs]
    for part, size in zip(head, (16, 2), strict=True):
        del part["data"]
        part["parameters"] = {"binary_data_size": size}
    text = json.dumps({"inputs": head}).encode()
    body = text + np.array([1.0, 2.0]).tobytes() + np.array([True, False]).tobytes()
    assert rows_of_request(body, schema, str(len(text))).rows == [[1.0, True], [2.0, False]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_text_of_typed_columns_is_checked(library: str) -> None:
    days = pd.to_datetime(["2026-01-01", "2026-01-02"])
    schema = RowSchema.of(table(library, a=[1.0, 2.0], day=days))
    row = schema.row([1.0, "2026-03-04"])
    assert str(schema.points([row])["day"].to_list()[0])[:10] == "2026-03-04"
    assert schema.row([1.0, None]) == [1.0, None]
    with pytest.raises(BadRequest, match=r"day holds Datetime.*got 'zzz'.*such as '2026-01-01"):
        schema.row([1.0, "zzz"])


@pytest.mark.parametrize("typed", ["category", "object"])
def test_categories_that_are_numbers_are_sent_as_numbers_or_by_name(typed: str) -> None:
    codes = pd.Series([1, 2, 3, 10] * 2, dtype=object).astype(typed)
    schema = RowSchema.of(pd.DataFrame({"a": np.arange(8.0), "code": codes}))
    rows = [schema.row([1.0, cell]) for cell in (3, 3.0, "3", 10, None, 7)]
    assert rows[1] == [1.0, 3]
    built = schema.points(rows)["code"].tolist()
    assert built[:4] + built[5:] == [3, 3, 3, 10, 7]
    assert pd.isna(built[4])
    with pytest.raises(BadRequest, match="code holds numbers and got 'inf'"):
        schema.row([1.0, float("inf")])
    texts = RowSchema.of(pd.DataFrame({"a": [1.0, 2.0], "code": ["1", "2"]}))
    with pytest.raises(BadRequest, match="not numeric and got a int: send text"):
        texts.row([1.0, 3])


def test_a_model_that_goes_by_the_places_of_categories_answers_alike() -> None:
    sizes = pd.Categorical(["S", "M", "L", "M"], categories=["S", "M", "L"], ordered=True)
    reference = pd.DataFrame({"a": np.arange(4.0), "size": sizes})
    schema = RowSchema.of(reference)
    one = schema.points([schema.row([2.0, "L"])])["size"]
    assert one.cat.codes.tolist() == [2]
    assert one.cat.ordered
    # What the reference does not have comes behind it.
    further = schema.points([schema.row([2.0, cell]) for cell in ("XL", "M", None)])["size"]
    assert further.cat.codes.tolist() == [3, 1, -1]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_dates_and_enumerations_of_other_libraries_are_taken(library: str) -> None:
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    columns = pl.DataFrame({
        "day": [date(2026, 1, 1), date(2026, 1, 2)],
        "at": [moment, moment],
        "size": pl.Series(["S", "L"], dtype=pl.Enum(["S", "M", "L"])),
    })  # fmt: skip
    reference: Any = columns if library == "polars" else columns.to_arrow()
    schema = RowSchema.of(reference)
    rows = [schema.row(["2026-03-04", "2026-03-04T10:00:00Z", "M"]), schema.row([None] * 3)]
    built = schema.points(rows)
    told = pl.DataFrame(built)
    assert told.row(0) == (date(2026, 3, 4), datetime(2026, 3, 4, 10, tzinfo=UTC), "M")
    assert told.row(1) == (None, None, None)
    with pytest.raises(BadRequest, match="day holds Date and got 'zzz'"):
        schema.row(["zzz", None, None])
    if library == "polars":
        with pytest.raises(BadRequest, match="size holds Enum and got 'XL'"):
            schema.row([None, None, "XL"])


def seen_days(rows: Any) -> Any:
    return np.asarray(rows["age"], dtype=float) / 40


def test_a_bad_day_beside_a_gap_fails_alone(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    reference = pd.DataFrame({
        "age": random.normal(40, 9, 400),
        "day": pd.to_datetime("2026-01-01") + pd.to_timedelta(random.integers(0, 99, 400), "D"),
    })  # fmt: skip
    watched = ah.Monitor(seen_days, reference, watch="prediction")
    with running(str(tmp_path / "m.db"), watched, reference) as here, ThreadPoolExecutor(4) as pool:
        bad = [pool.submit(here.observe, [{"age": None, "day": "zzz"}]) for _ in range(2)]
        good = [pool.submit(here.observe, [{"age": 40, "day": "2026-02-01"}]) for _ in range(2)]
        assert [one.result().status_code for one in bad] == [422, 422]
        assert [one.result().status_code for one in good] == [200, 200]
        assert "day holds" in bad[0].result().json()["detail"]


class Fragile(StandIn):
    """Cannot observe a row with −777 in its second column."""

    def observed(self, points: Any, *others: Any, **more: Any) -> Any:
        if (np.asarray(points, dtype=float)[:, 1] == -777).any():
            raise RuntimeError("a row that nobody thought of")
        return super().observed(points, *others, **more)


def test_what_cannot_be_observed_fails_its_own_request(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db"), Fragile()) as here:
        here.monitor.free.clear()
        with ThreadPoolExecutor(8) as pool:
            first = pool.submit(here.observe, [[1.0, 0, 0]])
            deadline = time.monotonic() + 10
            while not here.monitor.asking:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            # These wait together while the model is busy.
            bad = pool.submit(here.observe, [[1.0, -777, 0]])
            good = [pool.submit(here.observe, [[1.0, 0, 0]]) for _ in range(4)]
            while here.service.pipeline.points < 5:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            here.monitor.free.set()
            assert first.result().status_code == 200
            assert {each.result().status_code for each in good} == {200}
            assert bad.result().status_code == 422
            assert "nobody thought" not in bad.result().text
        assert here.monitor.seen == 5
        assert here.observe([[1.0, 0, 0]]).status_code == 200


def test_segments_of_whole_numbers_are_those_of_the_reference() -> None:
    reference = pd.DataFrame({"a": [1.0, 2.0], "shop": [3, 4]})
    schema = RowSchema.of(reference, "shop")
    points = schema.points([schema.row([1.0, 3]), schema.row([1.0, None])])
    names = segments_of(points, "shop")
    assert names is not None
    assert names.tolist() == ["3", ""]
    known = segments_of(reference, "shop")
    assert known is not None
    assert known.tolist() == ["3", "4"]


def test_times_without_a_zone_are_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        schema = RowSchema.of(np.zeros((3, 1)))
        stamps = pa.array([1_767_225_600_000_000], pa.timestamp("us"))
        for kind in (
            stamps,
            stamps.cast(pa.timestamp("us", "UTC")),
            stamps.cast(pa.timestamp("ns")),
        ):
            made = pa.table({"0": pa.array([1.0]), "_time": kind})
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, made.schema) as stream:
                stream.write_table(made)
            (event,) = events_of_arrow(sink.getvalue().to_pybytes(), schema)
            assert event.time == 1_767_225_600
        for text in ("2026-01-01T00:00:00", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"):
            attributes = {"id": "a", "source": "s", "type": "t", "specversion": "1.0"}
            headers = {f"ce-{name}": value for name, value in attributes.items()} | {
                "ce-time": text
            }
            body = json.dumps({"instances": [[1.0]]}).encode()
            (event,) = events_of_cloudevents(headers, body, schema)
            assert event.time == 1_767_225_600
    finally:
        monkeypatch.undo()
        time.tzset()
