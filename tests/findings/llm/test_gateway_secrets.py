"""The operator's key stays with the operator, and nobody gets in who should not."""

from __future__ import annotations

import asyncio
import base64
import gzip
import itertools
import json
import os
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anharmonic.errors import SettingsError
from anharmonic.llm.cache import Cache
from anharmonic.llm.runs import RunFile
from anharmonic.llm.types import Answer
from anharmonic.serve.llm.gateway import Entrance, ScoreFile
from anharmonic.serve.llm.gateway.masking import Mask
from tests.llm.gateways import CHAT, KEY, gateway, post, raw, touchy
from tests.llm.servers import Reply, completion

pytestmark = pytest.mark.finding("security A8")
INLINE = {"x-anharmonic-score": "inline"}
TOKEN = "for-the-clients-9876543210"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("BEHIND", KEY)


@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_a_key_that_is_echoed_does_not_reach_the_client(status):
    def echo(asked, count):
        body = json.dumps({"error": {"message": f"your key was Bearer {KEY}"}}).encode()
        return Reply(status=status, raw=body, headers={"X-Seen": f"Bearer {KEY}"})

    with gateway(echo) as (caller, _, _, _):
        got = post(caller)
    assert got.status_code == status
    assert KEY not in got.text + str(got.headers)
    assert got.json()["error"]["message"] == f"your key was Bearer {'*' * len(KEY)}"


@pytest.mark.parametrize("cut", [1, 7, len(KEY) - 1])
def test_nor_where_pieces_of_a_stream_cut_it(cut):
    event = b"data: " + KEY.encode() + b"\n\n"
    pieces = (event[: 6 + cut], event[6 + cut :], b"data: [DONE]\n\n")
    with gateway(lambda *_: Reply(pieces=pieces)) as (caller, _, _, _):
        got = post(caller, {**CHAT, "stream": True})
    assert got.content == b"data: " + b"*" * len(KEY) + b"\n\ndata: [DONE]\n\n"


def test_nor_packed():
    body = gzip.compress(completion(f"it is {KEY}"))
    packed = Reply(raw=body, headers={"Content-Encoding": "gzip"})
    with gateway(lambda *_: packed) as (caller, _, _, _):
        assert KEY not in post(caller).text
    other = Reply(raw=base64.b64encode(body), headers={"Content-Encoding": "secret"})
    with gateway(lambda *_: other) as (caller, _, _, _):
        assert post(caller).status_code == 502


def test_nor_what_is_kept_of_a_scored_chat():
    escaped = completion("it is sk-").replace(b"sk-", KEY.replace("-", "\\u002d").encode())
    with gateway(lambda *_: Reply(raw=escaped)) as (caller, _, scores, _):
        assert post(caller, **INLINE).status_code == 200
    assert scores[0].answer.startswith("it is *")
    assert KEY not in str(scores[0].plain())


@settings(max_examples=60, deadline=None)
@given(
    st.text('sk-behind/+"é&%', min_size=8, max_size=30),
    st.lists(st.binary(max_size=12), max_size=8),
    st.lists(st.integers(0, 200), max_size=12),
)
def test_masking_leaves_the_rest_and_the_length(secret, around, cuts):
    whole = secret.encode().join(around)
    ends = sorted({min(cut, len(whole)) for cut in cuts} | {0, len(whole)})
    mask = Mask(secret)

    async def masked():
        async def source():
            for first, last in itertools.pairwise(ends):
                yield whole[first:last]

        return b"".join([piece async for piece in mask.pieces(source())])

    found = asyncio.run(masked())
    assert len(found) == len(whole)
    assert secret.encode() not in found
    if len(around) < 2:
        assert found == mask(whole)


def test_a_placeholder_is_no_secret():
    assert Mask("ollama")(b"ask ollama") == b"ask ollama"
    assert Mask("")(b"ask") == b"ask"


PATHS = (
    *("/v1/..%2f..%2fadmin", "/v1/../admin", "/v1/%2e%2e/admin", "/v1/./chat/completions"),
    *("/v1//chat/completions", "/v1/models/..", "/v1/models/%2e%2e", "/v1/models\\..\\admin"),
    *("/v1/models/a%00b", "/v1/models/a%0d%0ax", "/v1/chat%2fcompletions", "/v1/models/a;b"),
    *("/v1/organization/admin_api_keys", "/v1/files", "/v1", "/", "/admin", "/V1/models"),
)


def test_no_path_leaves_what_clients_may_ask_for():
    with gateway(touchy) as (caller, behind, _, _):
        for path in PATHS:
            got = raw(caller, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert got.split()[1] in (b"400", b"404"), path
        assert not behind.headers


def test_models_may_be_asked_for_and_not_changed():
    with gateway(lambda *_: Reply("yes")) as (caller, behind, _, _):
        assert caller.get("/v1/models/meta-llama/Llama-3.1:8b").status_code == 200
        assert behind.headers[0].startswith("GET /v1/models/meta-llama/Llama-3.1:8b ")
        assert caller.delete("/v1/models/mine").status_code == 405
        assert caller.get("/v1/chat/completions").status_code == 405
        assert len(behind.headers) == 1


def test_a_further_path_may_be_opened():
    opened = Entrance(paths=("/v1/rerank",))
    with gateway(lambda *_: Reply("yes"), entrance=opened) as (caller, behind, _, _):
        assert caller.post("/v1/rerank", json=CHAT).status_code == 200
        assert behind.headers[0].startswith("POST /v1/rerank ")
    with pytest.raises(SettingsError, match="rerank"):
        Entrance(paths=("/v1/../admin",))


def test_with_a_token_nobody_gets_in_without_it():
    with gateway(touchy, entrance=Entrance(TOKEN)) as (caller, behind, _, _):
        assert post(caller).status_code == 401
        assert post(caller, authorization="Bearer wrong").status_code == 401
        assert caller.get("/anharmonic/status").status_code == 401
        assert not behind.headers
        assert post(caller, authorization=f"Bearer {TOKEN}").status_code == 200
        assert post(caller, **{"x-anharmonic-token": TOKEN}).status_code == 200
        assert TOKEN not in "".join(behind.headers)
        assert all(f"authorization: bearer {KEY}" in head.lower() for head in behind.headers)


def test_without_a_key_of_the_operator_clients_use_their_own(monkeypatch):
    monkeypatch.delenv("BEHIND")
    with gateway(touchy, entrance=Entrance(TOKEN)) as (caller, behind, _, _):
        post(caller, **{"x-anharmonic-token": TOKEN, "authorization": "Bearer mine"})
        post(caller, authorization=f"Bearer {TOKEN}")
        assert "authorization: Bearer mine" in behind.headers[0]
        assert "authorization" not in behind.headers[1].lower()
        assert TOKEN not in "".join(behind.headers)


def test_elsewhere_than_on_loopback_a_token_is_needed():
    with pytest.raises(SettingsError, match="token"):
        Entrance(hosts=None)
    with gateway(touchy, entrance=Entrance(TOKEN, hosts=None)) as (caller, _, _, _):
        assert post(caller, host="gate.example").status_code == 401
        got = post(caller, host="gate.example", authorization=f"Bearer {TOKEN}")
        assert got.status_code == 200


FOREIGN = (
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "null"},
    {"origin": "http://[evil"},
    {"origin": "http://127.0.0.1.evil.test"},
    {"host": "127.0.0.1:80@evil.test"},
    {"host": "evil.test"},
    {"host": ""},
)


def test_pages_of_others_get_nothing_not_even_by_an_image():
    with gateway(lambda *_: Reply("yes")) as (caller, behind, _, _):
        for headers in FOREIGN:
            for path in ("/v1/models", "/anharmonic/status"):
                assert caller.get(path, headers=headers).status_code in (400, 403), headers
        assert not behind.headers
        assert caller.get("/v1/models", headers={"sec-fetch-site": "none"}).status_code == 200


def test_headers_of_one_connection_stay_there():
    answered = Reply("yes", headers={"X-Anharmonic-Gamma": "0", "Keep-Alive": "timeout=9"})
    with gateway(lambda *_: answered) as (caller, behind, _, _):
        got = post(caller, connection="keep-alive, x-private", **{"x-private": "1"})
        assert "x-private" not in behind.headers[0].lower()
        # A server cannot make a gamma up either.
        assert not {"x-anharmonic-gamma", "keep-alive"} & set(got.headers)


@pytest.mark.finding("security A9")
def test_files_with_prompts_are_their_owners_alone(tmp_path, request):
    old = os.umask(0)  # which allows everything
    request.addfinalizer(lambda: os.umask(old))
    with Cache(tmp_path / "cache.sqlite") as cache:
        cache.put("x", Answer("y"))
        with ScoreFile(tmp_path / "scores.jsonl"), RunFile.open(tmp_path / "run.jsonl", {}):
            for file in tmp_path.iterdir():
                assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
            assert len(list(tmp_path.iterdir())) >= 3


def test_scores_go_on_after_a_torn_line(tmp_path):
    kept = tmp_path / "scores.jsonl"
    kept.write_text('{"gamma": 1}\n{"gam' + "m" * 200_000)
    with ScoreFile(kept) as file:
        file.append({"gamma": 2})
    assert [json.loads(line) for line in kept.read_text().splitlines()] == [
        {"gamma": 1},
        {"gamma": 2},
    ]


def test_a_server_that_is_away_is_said_without_its_address():
    with gateway(touchy) as (caller, _, _, app):
        app._url = "http://127.0.0.1:9/v1"
        got = post(caller)
    assert got.status_code == 502
    assert "127.0.0.1" not in got.text
