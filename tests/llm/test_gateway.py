"""The gateway, a real one before a real server: nothing changed on the way, gamma on the side."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

from anharmonic.cli import app as command
from anharmonic.errors import AnharmonicError
from anharmonic.llm.recipe import Recipe
from anharmonic.serve.llm.drift import ChatWatch, quiet_time, way_of_measuring
from tests.llm.gateways import CHAT, KEY, gateway, post, touchy
from tests.llm.servers import Reply, Server

PROGRAM = Path(sys.executable).with_name("anharmonic")


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("BEHIND", KEY)


def test_chats_pass_through_and_nothing_is_scored_unasked():
    with gateway(touchy) as (caller, behind, scores, _):
        got = post(caller, authorization="Bearer of-the-caller")
        assert got.json()["choices"][0]["message"]["content"] == "yes"
        assert behind.asked == [CHAT]
        assert f"authorization: bearer {KEY}" in behind.headers[0].lower()
        assert "of-the-caller" not in behind.headers[0]
        assert KEY not in str(got.headers) + got.text
        assert not scores
        assert caller.get("/anharmonic/status").json()["chats"] == 1


def test_gamma_in_a_header_when_asked():
    with gateway(touchy, repeats=4) as (caller, behind, scores, _):
        got = post(caller, **{"x-anharmonic-score": "inline"})
        gamma, gamma0 = (float(got.headers[f"x-anharmonic-{name}"]) for name in ("gamma", "gamma0"))
        assert gamma > 0.3
        assert gamma0 == 0
        assert got.json()["choices"][0]["message"]["content"] == "yes"
        # The answer that was given is not asked for again: 1 + 4 perturbed + 4 repeated.
        assert len(behind.asked) == 9
        for asked in behind.asked:
            assert asked["messages"][:3] == CHAT["messages"][:3]
            assert asked["model"] == "some-model"
            assert asked["messages"][3]["content"].startswith("really?")
        assert scores[0].calls == 8
        assert scores[0].answer == "yes"
        assert "x-anharmonic" not in "".join(behind.headers).lower()


def test_a_share_is_scored_in_the_background():
    with gateway(touchy, share=0.5) as (caller, _, scores, app):
        for _ in range(12):
            assert "x-anharmonic-gamma" not in post(caller).headers
        expected = {number for number in range(12) if app._scorer.chosen(number)}
        assert 0 < len(expected) < 12
    # The gateway finishes what it has begun before it ends.
    assert {each.number for each in scores} == expected
    assert all(each.gamma.value > 0.3 for each in scores)


def test_a_stream_passes_untouched_piece_by_piece():
    def events(texts):
        lines = [json.dumps({"choices": [{"delta": {"content": text}}]}) for text in texts]
        return tuple(f"data: {line}\n\n".encode() for line in [*lines, "[DONE]"])

    gate = threading.Event()
    pieces = events(["y", "e", "s"])

    def behaviour(asked, count):
        return Reply(pieces=pieces, gate=gate) if asked.get("stream") else touchy(asked, count)

    with gateway(behaviour, share=1.0) as (caller, behind, scores, _):
        chat = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
        with caller.stream("POST", "/v1/chat/completions", json=chat) as response:
            assert response.headers["content-type"] == "text/event-stream"
            source = response.iter_raw()
            first = next(source)
            assert first == pieces[0]  # before the server has sent the second
            gate.set()
            assert first + b"".join(source) == b"".join(pieces)
    assert scores[0].answer == "yes"
    assert scores[0].gamma.value > 0.3
    assert all("stream" not in asked for asked in behind.asked[1:])


def test_errors_and_other_paths_pass_through():
    with gateway(lambda *_: Reply("no such model", status=404), share=1.0) as (
        caller,
        _,
        scores,
        _,
    ):
        got = post(caller)
        assert got.status_code == 404
        assert got.json()["error"]["message"] == "no such model"
        assert caller.get("/elsewhere").status_code == 404
        assert not scores
    with gateway(touchy) as (caller, _, _, app):
        app._url = "http://127.0.0.1:9"
        got = post(caller)
        assert got.status_code == 502
        assert "ConnectError" in got.text


def test_a_page_in_a_browser_cannot_use_it():
    with gateway(touchy) as (caller, behind, _, _):
        text = {"content-type": "text/plain"}
        got = caller.post("/v1/chat/completions", content=json.dumps(CHAT), headers=text)
        assert got.status_code == 415
        got = post(caller, host="evil.example:80")
        assert got.status_code == 403
        assert post(caller, origin="https://evil.example").status_code == 403
        assert not behind.asked
        assert post(caller, origin="http://localhost:3000").status_code == 200


def test_a_chat_that_cannot_be_scored_is_still_answered():
    def fragile(asked, count):
        if asked["messages"][-1]["content"] != "really?":
            return Reply(f"bad {KEY}", status=401)
        return Reply("yes")

    with gateway(fragile) as (caller, _, scores, _):
        got = post(caller, **{"x-anharmonic-score": "inline"})
        assert got.status_code == 200
        assert got.headers["x-anharmonic-gamma"] == "nan"
    assert "BEHIND" in scores[0].problem
    assert KEY not in scores[0].problem


class Moody:
    """Keeps to its answer until it is told to waver."""

    wavering = False

    def __call__(self, asked, count):
        return touchy(asked, count) if self.wavering else Reply("yes")


def test_answers_that_become_unsteady_raise_an_alarm():
    moody = Moody()
    # A quiet time in which most answers were as steady as this server's first are.
    watch = ChatWatch(np.random.default_rng(0).choice([0, 0.1], p=[0.8, 0.2], size=100))
    inline = {"x-anharmonic-score": "inline"}
    with gateway(moody, watch=watch) as (caller, _, _, _):

        def seen():
            return caller.get("/anharmonic/status").json()["watch"]

        for _ in range(15):
            post(caller, **inline)
        assert seen()["weighed"] == 15
        assert not seen()["alarms"]
        moody.wavering = True
        while not seen()["alarm"]:
            assert post(caller, **inline).headers["x-anharmonic-gamma"] > "0.3"
            assert seen()["weighed"] < 60
        (alarm,) = seen()["alarms"]
        assert (alarm["watched"], alarm["direction"]) == ("gamma", "up")
        assert 5 <= alarm["since"] <= alarm["at"] == alarm["chat"] == seen()["weighed"] - 1
        assert seen()["evidence"]["gamma up"] >= seen()["line"]
        assert caller.get("/anharmonic/reset").status_code == 404
        evil = caller.post("/anharmonic/reset", headers={"origin": "https://evil.example"})
        assert evil.status_code == 403
        assert seen()["alarm"]
        assert caller.post("/anharmonic/reset").json()["watch"]["alarms"] == []


def test_a_chat_without_a_gamma_is_counted_and_not_weighed():
    def silent(asked, count):
        return Reply("yes" if asked["messages"][-1]["content"] == "really?" else "")

    watch = ChatWatch(np.zeros(30))
    with gateway(silent, watch=watch) as (caller, _, _, _):
        post(caller, **{"x-anharmonic-score": "inline"})
        found = caller.get("/anharmonic/status").json()["watch"]
        assert (found["weighed"], found["without_gamma"]) == (0, 1)


def test_a_reference_that_was_measured_otherwise_is_refused(tmp_path):
    way = way_of_measuring(Recipe(count=4), "minilm")
    kept = tmp_path / "scores.jsonl"
    lines = [{"gamma": [gamma, 0.1], "way": way} for gamma in (0.25, None, 0.5)]
    kept.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert quiet_time(kept, way).tolist() == [0.25, 0.5]
    with pytest.raises(AnharmonicError, match="count 4, here 5"):
        quiet_time(kept, {**way, "count": 5})
    with pytest.raises(AnharmonicError, match="too small"):
        ChatWatch(quiet_time(kept, way))
    kept.write_text('{"gamma": 1}\n')
    with pytest.raises(AnharmonicError, match="llm serve --out"):
        quiet_time(kept, way)


def test_from_a_shell(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def size(texts):\n    return np.array([[len(t), 1.0] for t in texts])\n"
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "asked.csv").write_text("prompt\n" + "".join(f"q{n}?\n" for n in range(40)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    alike = ("--embed", "mine:size", "--count", "3", "--key", "BEHIND", "--perturb", "control")
    with Server(lambda *_: Reply("yes")) as steady:
        quiet = ["llm", "score", "asked.csv", "--model", "m", "--url", steady.url, *alike]
        command([*quiet, "--out", "quiet.jsonl", "--no-gamma0", "--json"], standalone_mode=False)
    with Server(touchy) as behind:
        words = [
            *(PROGRAM, "llm", "serve", behind.url, "--port", str(port), "--share", "0", *alike),
            *("--out", "scores.jsonl", "--reference", "quiet.jsonl", "--false-alarms", "1 per 100"),
        ]
        running = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10) as caller:
                while True:
                    assert running.poll() is None
                    try:
                        watched = caller.get("/anharmonic/status").json()["watch"]
                        break
                    except httpx.ConnectError:
                        time.sleep(0.02)
                assert watched["reference"] == 40
                while not watched["alarm"]:
                    got = post(caller, **{"x-anharmonic-score": "inline"})
                    assert got.json()["choices"][0]["message"]["content"] == "yes"
                    watched = caller.get("/anharmonic/status").json()["watch"]
                    assert watched["weighed"] < 150
        finally:
            running.terminate()
            said = running.communicate()[1]
    assert "watching gamma against 40 of a quiet time" in said
    assert "alarm: gamma rose" in said
    kept = (tmp_path / "scores.jsonl").read_text()
    way = way_of_measuring(Recipe("control", count=3), "mine:size")
    assert len(quiet_time("scores.jsonl", way)) == watched["weighed"]
    assert KEY not in kept + said
