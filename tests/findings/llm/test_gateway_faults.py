"""What was paid for arrives, what is not wanted is not paid for, and everything has a limit."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from anharmonic.serve.llm.gateway import Allowance, Policy
from tests.llm.gateways import CHAT, KEY, gateway, post, raw, touchy
from tests.llm.servers import Reply, Server, completion, words

pytestmark = pytest.mark.finding("security A9")
INLINE = {"x-anharmonic-score": "inline"}
PROGRAM = Path(sys.executable).with_name("anharmonic")


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("BEHIND", KEY)


def eventually(true, seconds=5.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_an_odd_temperature_loses_no_answer():
    with gateway(touchy) as (caller, _, _, _):
        for temperature in (None, "hot", True, -1, [1], 1e300):
            got = post(caller, {**CHAT, "temperature": temperature}, **INLINE)
            assert got.status_code == 200, temperature
            assert got.json()["choices"][0]["message"]["content"] == "yes"
            assert float(got.headers["x-anharmonic-gamma"]) > 0.3


def test_an_odd_count_of_tokens_loses_no_answer():
    usage = None

    def odd(asked, count):
        whole = json.loads(completion(touchy(asked, count).text, asked))
        return Reply(raw=json.dumps({**whole, "usage": usage}).encode())

    with gateway(odd) as (caller, _, _, _):
        for usage in ({"prompt_tokens": "lots"}, ["a"], {"completion_tokens": -5}):
            got = post(caller, **INLINE)
            assert got.status_code == 200, usage
            assert float(got.headers["x-anharmonic-gamma"]) > 0.3


def test_an_embedder_that_fails_loses_no_answer():
    def broken(texts):
        raise RuntimeError("out of memory")

    with gateway(touchy, embed=broken) as (caller, _, scores, _):
        got = post(caller, **INLINE)
    assert got.status_code == 200
    assert got.headers["x-anharmonic-problem"] == "not scored"
    assert scores[0].problem == "RuntimeError: out of memory"


def test_a_file_that_is_full_loses_no_answer():
    with gateway(touchy) as (caller, _, scores, app):
        app._scorer.told = lambda score: scores.full
        got = post(caller, **INLINE)
        assert got.status_code == 200
        assert "AttributeError" in caller.get("/anharmonic/status").json()["problem"]


def test_a_gamma_that_does_not_come_in_time_keeps_nobody_waiting():
    def slow(asked, count):
        found = touchy(asked, count)
        return found if found.text == "yes" else Reply("no", after=2.0)

    with gateway(slow) as (caller, _, scores, app):
        app._side._patience = 0.2
        began = time.monotonic()
        got = post(caller, **INLINE)
        assert time.monotonic() - began < 1.5
        assert got.status_code == 200
        assert got.headers["x-anharmonic-problem"] == "not scored"
        eventually(lambda: scores)
    assert scores[0].gamma.value > 0


class Dripping:
    """A server that streams forty pieces, one each 50 ms, and counts those it could send."""

    def __init__(self):
        self.sent, self.heads = 0, []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self.ended = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            line, _ = self._socket.accept()
            threading.Thread(target=self._answer, args=(line,), daemon=True).start()

    def _answer(self, line):
        self.heads.append(line.recv(65536))
        try:
            line.sendall(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(40):
                line.sendall(b"5\r\nhello\r\n")
                self.sent += 1
                time.sleep(0.05)
        except OSError:
            pass
        finally:
            self.ended.set()


def test_a_stream_that_is_left_is_left_upstream_too():
    dripping = Dripping()
    with gateway(touchy) as (caller, _, _, app):
        app._url = dripping.url
        chat = {**CHAT, "stream": True}
        with caller.stream("POST", "/v1/chat/completions", json=chat) as response:
            source = response.iter_raw()
            for _ in range(4):
                next(source)
        assert dripping.ended.wait(1.5)
    assert dripping.sent < 20


def test_a_chat_that_is_left_before_its_answer_is_left_upstream_too():
    with gateway(lambda *_: Reply("yes", after=30.0)) as (caller, behind, _, _):
        with pytest.raises(httpx.ReadTimeout):
            caller.post("/v1/chat/completions", json=CHAT, timeout=0.3)
        began = time.monotonic()
        eventually(lambda: behind.asked)
    assert time.monotonic() - began < 5  # else the gateway would wait for the answer to end


def test_a_torn_upload_goes_nowhere():
    body = json.dumps(CHAT).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
    head += b"Content-Type: application/json\r\n"
    with gateway(touchy) as (caller, behind, _, _):
        raw(caller, head + b"Content-Length: %d\r\n\r\n" % (len(body) + 10) + body)
        chunk = b"%x\r\n" % len(body) + body + b"\r\n"
        raw(caller, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk)
        time.sleep(0.2)
        assert not behind.headers
        assert post(caller).status_code == 200


def test_bodies_have_a_limit_counted_while_they_come():
    sent = 0

    def endless():
        nonlocal sent
        for _ in range(400):
            sent += 2**16
            yield b" " * 2**16

    with gateway(touchy, largest=10_000) as (caller, behind, _, _):
        headers = {"content-type": "application/json"}
        got = caller.post("/v1/chat/completions", content=b" " * 20_000, headers=headers)
        assert got.status_code == 413
        assert "10,000 bytes" in got.json()["error"]["message"]
        got = caller.post("/v1/chat/completions", content=endless(), headers=headers)
        assert got.status_code == 413
        assert not behind.headers
        assert post(caller).status_code == 200


def test_what_is_no_json_is_said():
    headers = {"content-type": "application/json"}
    with gateway(touchy) as (caller, behind, _, _):
        for body in (b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe\x00", b"", b"{", b"1" * 5000):
            got = caller.post("/v1/chat/completions", content=body, headers=headers)
            assert got.status_code == 400, body[:9]
        assert not behind.headers


def test_odd_chats_are_passed_on_unscored():
    with gateway(lambda *_: Reply("yes")) as (caller, _, scores, _):
        for messages in (None, 3, "x", [3], [[]], [{}], {"a": 1}, []):
            got = post(caller, {"messages": messages}, **INLINE)
            assert got.status_code in (200, 502)  # the test's server may stumble, the gateway not
        assert not scores


def test_clients_spend_no_more_than_their_share_of_the_budget():
    allowance = Allowance(16, daily=False, asked=0.5)
    with gateway(touchy, allowance=allowance) as (caller, behind, _, _):
        marks = ["x-anharmonic-gamma" in post(caller, **INLINE).headers for _ in range(5)]
        assert marks == [True, True, False, False, False]
        assert len(behind.asked) == 5 + 8
        status = caller.get("/anharmonic/status").json()
        assert (status["budget"]["spent"], status["passed_over"]) == (8, 3)
    with gateway(touchy, allowance=Allowance(asked=0.0)) as (caller, behind, _, _):
        assert "x-anharmonic-gamma" not in post(caller, **INLINE).headers
        assert len(behind.asked) == 1


def test_a_budget_begins_anew_every_day():
    day = [1]
    allowance = Allowance.read("10 per day")
    allowance.today = lambda: day[0]
    assert [allowance.take(6, asked=False) for _ in range(2)] == [True, False]
    allowance.settle(-6, asked=False)
    assert allowance.take(6, asked=False)
    day[0] = 2
    assert allowance.take(6, asked=False)
    assert Allowance.read("1,000").daily is False
    assert Allowance.read("none").calls is None
    with pytest.raises(ValueError, match="per day"):
        Allowance.read("a lot")


def test_a_server_that_breaks_off_is_seen_to():
    with gateway(lambda *_: Reply("yes" * 100, drop=True)) as (caller, _, _, _):
        with pytest.raises(httpx.RemoteProtocolError):
            post(caller)
        assert post(caller, **INLINE).status_code == 502
        assert caller.get("/anharmonic/status").json()["budget"]["spent"] == 0


def test_it_stops_in_time_whatever_waits(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\ndef size(texts):\n    return np.ones((len(texts), 2))\n"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Server(lambda *_: Reply("yes", after=1.0)) as behind:
        running = subprocess.Popen(
            [
                *(PROGRAM, "llm", "serve", behind.url, "--port", str(port), "--share", "1"),
                *("--embed", "mine:size", "--key", "BEHIND", "--out", "scores.jsonl"),
            ],
            cwd=tmp_path,
            stderr=subprocess.DEVNULL,
        )
        statuses = []

        def chat():
            address = f"http://127.0.0.1:{port}/v1/chat/completions"
            statuses.append(httpx.post(address, json=CHAT, timeout=30).status_code)

        try:
            threads = [threading.Thread(target=chat) for _ in range(12)]
            for _ in range(500):
                try:
                    httpx.get(f"http://127.0.0.1:{port}/anharmonic/status")
                    break
                except httpx.ConnectError:
                    time.sleep(0.02)
            for thread in threads:
                thread.start()
            eventually(lambda: len(behind.asked) >= 12)
            began = time.monotonic()
            running.send_signal(signal.SIGTERM)
            running.wait(timeout=10)
            assert time.monotonic() - began < 10
            for thread in threads:
                thread.join()
        finally:
            running.kill()
    assert statuses == [200] * 12


@pytest.mark.finding("coverage slips: gateway policy")
@pytest.mark.parametrize(
    ("policy", "verdict"),
    [
        (Policy(flag=0.2), "flagged"),
        (Policy(flag=0.99), "passed"),
        (Policy(flag=0.1, withhold=0.2), "withheld"),
    ],
)
def test_a_policy_judges_what_is_scored_in_line(policy, verdict):
    with gateway(touchy, share=1.0, policy=policy) as (caller, _, scores, _):
        got = post(caller, **{"x-anharmonic-score": "no"})  # no way around it
        assert got.headers["x-anharmonic-verdict"] == verdict
        (choice,) = got.json()["choices"]
        if verdict == "withheld":
            assert choice["finish_reason"] == "content_filter"
            assert choice["message"]["content"] is None
            assert "above 0.2" in choice["message"]["refusal"]
        else:
            assert choice["message"]["content"] == "yes"
        assert scores[0].answer == "yes"
        assert caller.get("/anharmonic/status").json()["verdicts"] == {verdict: 1}


def test_what_cannot_be_scored_is_passed_on_and_says_so():
    def broken(texts):
        return words(texts) * float("nan")

    with gateway(touchy, share=1.0, embed=broken, policy=Policy(withhold=0.1)) as (caller, *_):
        got = post(caller)
        assert got.headers["x-anharmonic-verdict"] == "unscored"
        assert got.json()["choices"][0]["message"]["content"] == "yes"
