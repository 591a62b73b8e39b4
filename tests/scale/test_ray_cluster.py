"""The example of a Ray cluster, held against Ray's own schema; `make scale` has it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
FILE = Path(__file__).parents[2] / "deploy" / "ray" / "cluster.yaml"


def cluster() -> dict[str, Any]:
    return dict(yaml.safe_load(FILE.read_text()))


def test_ray_takes_it_as_it_is() -> None:
    util = pytest.importorskip("ray.autoscaler._private.util")
    prepared = util.prepare_config(cluster())
    util.validate_config(prepared)
    assert len(prepared["provider"]["worker_ips"]) == prepared["max_workers"]
    with pytest.raises(Exception, match="was unexpected"):
        util.validate_config({**prepared, "workers": 3})


def test_it_installs_what_there_is() -> None:
    (extras,) = re.findall(r"anharmonic\[(.*?)\]", FILE.read_text())
    known = tomllib.loads((FILE.parents[2] / "pyproject.toml").read_text())["project"]
    assert set(extras.split(",")) <= set(known["optional-dependencies"])
    text = " ".join(
        [*cluster()["head_start_ray_commands"], *cluster()["worker_start_ray_commands"]]
    )
    # Nothing is told to anybody, and no dashboard is open to all.
    assert text.count("RAY_USAGE_STATS_ENABLED=0") == 2
    assert "0.0.0.0" not in text
