"""Web pages of elsewhere: they may not send, whatever the browser is made to do."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from tests.serve.running import running

RESET = {"content-type": "application/json"}


@pytest.mark.finding("security A3")
@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"origin": "http://evil.test"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:1"}, 403),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "text/plain"}, 415),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({}, 200),
    ],
)
def test_only_its_own_page_and_programs_may_reset(
    tmp_path: Path, more: dict[str, str], status: int
) -> None:
    with running(str(tmp_path / "m.db")) as here:
        here.observe([[200.0, 0, 0]])
        answer = here.http.post("/v1/reset", headers={**RESET, **more})
        assert answer.status_code == status
        assert here.http.get("/v1/status").json()["alarm"] is (status != 200)
        own = {"origin": here.url, **RESET}
        assert here.http.post("/v1/reset", headers=own).status_code == 200


@pytest.mark.finding("security A3")
def test_a_form_of_another_page_clears_no_alarm(chromium: Any, tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db")) as here:
        here.observe([[200.0, 0, 0]])
        page = chromium.new_context().new_page()
        form = f"<form method=post action={here.url}/v1/reset id=f></form>"
        page.route(
            "http://evil.test/",
            lambda route: route.fulfill(body=form, content_type="text/html"),
        )
        page.goto("http://evil.test/")
        page.evaluate("document.getElementById('f').submit()")
        page.wait_for_url(f"{here.url}/**")
        assert here.http.get("/v1/status").json()["alarm"] is True
        page.context.close()


@pytest.mark.finding("security A3")
def test_resets_and_refusals_leave_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with running(str(tmp_path / "m.db")) as here:
        here.http.post("/v1/reset", headers=RESET)
        here.http.post("/v1/reset", headers={**RESET, "origin": "http://evil.test"})
    assert "reset of toy@1 by 127.0.0.1: no alarm stood" in caplog.text
    assert "refused POST from 127.0.0.1" in caplog.text


@pytest.mark.finding("security A15: wrong tokens")
def test_wrong_tokens_are_slow_and_said_without_the_token(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    monkeypatch.setattr("anharmonic.serve.http.security.WRONG_SECONDS", 0.2)
    tokens = {"ingest_token": "ingest-0123456789", "read_token": "read-0123456789ab"}
    with running(str(tmp_path / "m.db"), **tokens) as here:
        for token, least in (("guess-of-a-token", 0.2), (tokens["read_token"], 0.0)):
            begun = time.monotonic()
            answer = here.http.get("/v1/status", headers={"authorization": f"Bearer {token}"})
            assert answer.status_code == (401 if least else 200)
            assert time.monotonic() - begun >= least
    assert "refused GET from 127.0.0.1: this needs the read token" in caplog.text
    assert "guess-of" not in caplog.text
