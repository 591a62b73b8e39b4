"""What stands under deploy/ speaks of metrics that exist, and of commands that run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from anharmonic.cli import COMMANDS
from anharmonic.cli.serve import INGEST, READ
from tests.serve.full import Full
from tests.serve.running import running

DEPLOY = Path(__file__).parents[2] / "deploy"
NAME = re.compile(r"\bgamma_\w+")


def rules() -> list[dict[str, Any]]:
    return list(yaml.safe_load((DEPLOY / "prometheus-rules.yml").read_text())["groups"][0]["rules"])


def panels() -> list[dict[str, Any]]:
    return list(json.loads((DEPLOY / "grafana-dashboard.json").read_text())["panels"])


def test_rules_and_panels_name_metrics_that_are_there(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db"), Full()) as here:
        here.observe([[200.0, 0, 0], [1.0, 0, 0]], ids=["a", "a"])
        here.observe([[1.0, 0, 0]], ids=["a"])
        page = here.http.get("/metrics").text
    there = {line.split("{")[0] for line in page.splitlines() if not line.startswith("#")}
    asked = [rule["expr"] for rule in rules()]
    asked += [target["expr"] for panel in panels() for target in panel["targets"]]
    named = {name for each in asked for name in NAME.findall(each)}
    assert named <= there
    # What the issue promises is there, whoever asks.
    for name in ("score_bucket", "points_total", "drift_log_evidence", "alarms_total"):
        assert f"gamma_{name}" in there
    for name in ("model_calls_total", "compute_seconds_bucket", "skipped_total"):
        assert f"gamma_{name}" in there
    labels = set(re.findall(r'(\w+)="', page))
    assert labels <= {"model", "version", "segment", "reason", "le", "watched", "metric"}


def test_every_rule_says_what_and_how_bad() -> None:
    for rule in rules():
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in ("page", "warn", "info")
        assert rule["expr"].count("(") == rule["expr"].count(")")


def test_promtool_accepts_the_rules() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool here: it comes with Prometheus")
    for check, file in (("rules", "prometheus-rules.yml"), ("config", "prometheus.yml")):
        more = ["--syntax-only"] if check == "config" else []
        subprocess.run([promtool, "check", check, *more, str(DEPLOY / file)], check=True)


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_the_compose_file_starts_the_command_as_it_is() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yml").read_text())
    command = compose["services"]["anharmonic"]["command"][0]
    assert INGEST in command
    assert READ in command
    options = set(re.findall(r"--[a-z-]+", command))
    serve = COMMANDS["serve"].load("serve")
    assert options <= {option for parameter in serve.params for option in parameter.opts}
    for service in compose["services"].values():
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            if source.startswith("./") and source != "./data":
                assert (DEPLOY / source).is_file()
