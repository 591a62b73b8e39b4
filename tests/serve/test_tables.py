"""The service over a table as it is: categories, counts, gaps, and levels it has never seen."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import anharmonic as ah
from tests.serve.running import running
from tests.tables.people import people

COLUMNS = ["age", "income", "sex", "pregnant", "children", "member"]


def model(rows: pd.DataFrame):
    filled = rows["income"].fillna(20_000).to_numpy(dtype=float)
    return (rows["age"].to_numpy(dtype=float) + 5 * (rows["sex"] == "male") - filled / 4000) / 10


def test_rows_with_gaps_and_new_levels_are_scored(tmp_path: Path) -> None:
    frame, _ = people(900)
    frame = frame[COLUMNS].reset_index(drop=True)
    watched = ah.Monitor(model, frame[:600], promise=False)
    with running(str(tmp_path / "store.db"), watched, frame[:600]) as here:
        rows = frame[600:620].astype(object).where(frame[600:620].notna(), None)
        points = rows.to_dict("records")
        points[3]["income"] = None
        points[5]["sex"] = "unknown"
        answered = here.observe(points)
        assert answered.status_code == 200, answered.text
        status = here.http.get("/v1/status").json()
        assert (status["seen"], status["scored"], status["skipped"]) == (20, 20, 0)
        # A count that the reference always has cannot be missing.
        assert here.observe([points[0] | {"age": None}]).status_code == 200
        assert here.http.get("/v1/status").json()["skipped"] == 1
