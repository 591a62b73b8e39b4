"""Changed requests, at the service and through the proxy; the ten thousand are a benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest
import uvicorn

from benchmarks.service.mutated import mutated
from benchmarks.service.proxied import upstream
from tests.serve.conftest import free_port
from tests.serve.running import running, served


@pytest.mark.finding("security A15: 500 instead of 422")
@pytest.mark.parametrize("behind", [False, True])
def test_changed_requests_do_no_harm(tmp_path: Path, behind: bool) -> None:
    config = uvicorn.Config(upstream, port=free_port(), log_level="error", lifespan="off")
    with served(config) as url:
        more = {"upstream": url, "upstream_model": "bench"} if behind else {}
        with running(str(tmp_path / "m.db"), **more) as here:
            found = mutated(here.url, 300, columns=3, seed=1)
            assert here.http.get("/readyz").status_code == 200
    assert found.well, found
    assert found.good == 15
    assert {200, 422, 415} <= set(found.statuses)
