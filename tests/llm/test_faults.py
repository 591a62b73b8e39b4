"""A real server on loopback that misbehaves, in every way we know."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.errors import OutputError, RemoteError, SettingsError
from anharmonic.llm import Parameters, Request
from anharmonic.llm.clients import Endpoint, as_client
from anharmonic.llm.clients.throttle import Throttle
from tests.llm.servers import DROP, HANG, Reply, Server, completion, words

GOOD = Reply("Paris")


def once(bad: Reply):
    """Bad the first time a prompt comes, good afterwards."""
    return lambda asked, count: bad if count == 1 else GOOD


def endpoint(server, **about):
    return Endpoint(server.url, "m", **{"backoff": 0.01, "timeout": 5.0, **about})


def answered(behaviour, prompts=("capital of France?",), **about):
    with Server(behaviour) as server, endpoint(server, **about) as client:
        return server, client.answers([Request(prompt) for prompt in prompts])


@pytest.mark.parametrize(
    "bad",
    [
        Reply("slow down", status=429),
        Reply("oh no", status=500),
        Reply("gateway", status=502),
        HANG,
        DROP,
        Reply(raw=b"<html>oops"),
        Reply(raw=b'{"choices": []}'),
        Reply(raw=b'{"choices": [{"message": {"content": 3}}]}'),
        Reply(raw=b"\xff\xfe"),
    ],
)
def test_what_passes_is_tried_again(bad):
    server, (found,) = answered(once(bad), timeout=0.3)
    assert found.text == "Paris"
    assert found.attempts == 2
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (Reply("slow down", status=429), "429: slow down"),
        (Reply("oh no", status=500), "500: oh no"),
        (HANG, "no answer within 0.1 s"),
        (DROP, "RemoteProtocolError"),
        (Reply(raw=b"<html>"), "not a chat completion"),
    ],
)
def test_retries_are_bounded_and_the_reason_is_kept(bad, why):
    server, (found,) = answered(lambda *_: bad, timeout=0.1, retries=2)
    assert why in found.error
    assert not found.refused
    assert found.attempts == len(server.asked) == 3


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_heeded(form):
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    wait = {"seconds": "0.4", "date": later}[form]
    start = time.monotonic()
    answered(once(Reply("busy", status=429, headers={"Retry-After": wait})))
    assert time.monotonic() - start > 0.35


def test_nobody_asks_while_the_server_wants_a_pause():
    moments = []

    def behaviour(asked, count):
        moments.append(time.monotonic())
        if len(moments) == 1:
            return Reply("busy", status=429, headers={"Retry-After": "0.5"})
        return Reply("Paris", after=0.01)

    prompts = [str(n) for n in range(20)]
    _, found = answered(behaviour, prompts, concurrency=2)
    assert all(each.text == "Paris" for each in found)
    # At most the one call that was under way already falls into the pause.
    assert sum(moment - moments[0] < 0.45 for moment in moments) <= 2


def test_a_crowded_server_is_asked_less_at_once():
    def behaviour(asked, count):
        if server.behaviour_now() > 2:
            return Reply("too many", status=429)
        return Reply("Paris", after=0.02)

    server = Server(behaviour)
    server.behaviour_now = lambda: server._now
    with server, endpoint(server, concurrency=16, retries=8) as client:
        found = client.answers([Request(str(n)) for n in range(60)])
        complaints = len(server.asked) - 60
    assert all(each.text == "Paris" for each in found)
    assert complaints < 60


def test_a_wait_of_hours_ends_the_run():
    with pytest.raises(RemoteError, match="wait 7200 s: run again"):
        answered(lambda *_: Reply("later", status=429, headers={"Retry-After": "7200"}))


def test_a_server_that_is_gone_ends_the_run():
    with Server(lambda *_: GOOD) as server:
        url = server.url
    with (
        Endpoint(url, "m", backoff=0.001, retries=0) as client,
        pytest.raises(RemoteError, match="32 calls in a row"),
    ):
        client.answers([Request(str(n)) for n in range(100)])


def test_what_was_measured_before_the_end_is_kept():
    def dying(asked, count):
        last = "7" in asked["messages"][-1]["content"]
        return Reply("credit is spent", status=402) if last else GOOD

    prompts = [f"{n}?" for n in range(10)]
    with (
        Server(dying) as server,
        endpoint(server, concurrency=1) as client,
        pytest.raises(RemoteError, match="out of credit") as stop,
    ):
        ah.llm.gamma(client, prompts, embed=words, count=2, gamma0=False)
    partial = stop.value.partial
    assert len(partial.records) == 7
    assert np.isfinite(partial.values).sum() == 7
    table = partial.to_arrow()
    assert table["prompt"].to_pylist() == prompts
    assert table["answer"].to_pylist() == ["Paris"] * 7 + [None] * 3


def test_what_would_always_fail_is_raised_at_once():
    for status, advice in ((401, "ANHARMONIC_LLM_KEY"), (404, "model's name"), (302, "redirects")):
        with pytest.raises(RemoteError, match=advice):
            answered(lambda *_, status=status: Reply("no", status=status))


def test_an_empty_answer_is_a_failure_and_is_not_asked_again():
    server, (found,) = answered(lambda *_: Reply(""))
    assert found.error == "empty answer"
    assert len(server.asked) == 1


def test_what_a_server_says_cannot_move_the_cursor():
    _, (found,) = answered(lambda *_: Reply("no \x1b[2J\u202e", status=400))
    assert found.error == "400: no ␛[2J⟨U+202E⟩"


def test_a_new_name_for_a_parameter():
    def behaviour(asked, count):
        if "max_tokens" in asked:
            return Reply("Unsupported: use 'max_completion_tokens' instead.", status=400)
        return GOOD

    server, found = answered(behaviour, ["a", "b"])
    assert [each.text for each in found] == ["Paris", "Paris"]
    assert server.asked[-1]["max_completion_tokens"] == 256


def picky(asked, count):
    """Refuses control characters, as some servers do."""
    prompt = asked["messages"][-1]["content"]
    bad = any(ord(each) < 32 for each in prompt)
    return (
        Reply("invalid characters", status=400)
        if bad
        else Reply("Paris" if "france" in prompt.lower() else "Rome")
    )


def test_refusals_are_counted_and_leave_no_gamma():
    with Server(picky) as server, endpoint(server) as client:
        found = ah.llm.gamma(client, ["France?", "Italy?"], embed=words, count=4, perturb="control")
    assert found.refused == 8
    assert found.failed == 0
    assert np.isnan(found.values).all()
    assert found.scores0.values.tolist() == [0, 0]
    assert "8 refused" in repr(found)
    assert found.records[0].trials[0].answer.error == "400: invalid characters"
    assert found.records[0].plain()["problems"] == ["400: invalid characters"]


def test_gamma_stands_on_the_answers_that_came():
    with Server(picky) as server, endpoint(server) as client:
        found = ah.llm.gamma(client, ["France?"], embed=words, count=6, perturb="control+case")
    assert found.refused == 3
    assert found.scores.turns.tolist() == [3]
    assert found.values.tolist() == [0]


def test_an_original_without_an_answer_is_nan_not_zero():
    def behaviour(asked, count):
        return Reply("") if asked["messages"][-1]["content"] == "Why?" else GOOD

    with Server(behaviour) as server, endpoint(server) as client:
        found = ah.llm.gamma(client, ["Why?"], embed=words, count=3, perturb="control")
    assert np.isnan(found.values).all()
    assert found.failed == 4


@pytest.mark.parametrize(
    ("embed", "words_said"),
    [
        (lambda texts: np.ones((len(texts) + 1, 3)), "one vector for each"),
        (lambda texts: np.ones(len(texts)), "one vector for each"),
        (lambda texts: np.full((len(texts), 3), np.nan), "NaN"),
        (lambda texts: np.ones((len(texts), 2 + len(texts))), "one embedder, with one size"),
    ],
)
def test_a_wrong_embedding_is_said(embed, words_said):
    answers = lambda prompt: "yes" if prompt.startswith("0") else prompt  # noqa: E731
    with pytest.raises(OutputError, match=words_said):
        ah.llm.gamma(answers, [str(n) for n in range(9)], embed=embed, count=2)


def test_every_character_survives_the_way():
    prompt = "a\x00b\x1f \u200b\ud800 é 漢 \U0001f600"
    server, _ = answered(lambda *_: GOOD, [prompt])
    assert server.prompts == [prompt]


def test_parameters_reach_the_server():
    with Server(lambda *_: GOOD) as server, endpoint(server) as client:
        client.answers([Request("?", Parameters(0.7, 5, 0.9, "Be brief."), seed=3)])
        client.answers([Request("?")])
    sampled, plain = server.asked
    assert sampled["temperature"] == 0.7
    assert (sampled["max_tokens"], sampled["top_p"], sampled["seed"]) == (5, 0.9, 3)
    assert sampled["messages"][0] == {"role": "system", "content": "Be brief."}
    assert plain["temperature"] == 0
    assert "seed" not in plain


def test_never_more_at_once_than_allowed_and_always_as_many():
    with Server(lambda *_: Reply("Paris", after=0.2)) as server:
        with endpoint(server, concurrency=7) as client:
            client.answers([Request(str(n)) for n in range(28)])
        assert server.most == 7


def test_a_server_is_asked_again_unless_told_otherwise():
    with Server(lambda *_: GOOD) as server, endpoint(server) as client:
        found = ah.llm.gamma(client, ["why?"], embed=words, count=3)
        assert found.scores.settings.perturb == "resample"
        assert server.prompts == ["why?"] * 7
        assert sorted(each["temperature"] for each in server.asked) == [0] * 4 + [1] * 3
    assert ah.llm.gamma(str, ["why?"], embed=words).scores.settings.perturb == "control"


def test_answers_keep_their_order():
    def behaviour(asked, count):
        prompt = asked["messages"][-1]["content"]
        return Reply(f"answer {prompt}", after=0.03 * (int(prompt) % 3))

    _, found = answered(behaviour, [str(n) for n in range(30)], concurrency=8)
    assert [each.text for each in found] == [f"answer {n}" for n in range(30)]


def test_addresses():
    with pytest.raises(SettingsError, match="password"):
        Endpoint("https://me:secret@host/v1", "m")
    with pytest.raises(SettingsError, match="looks like"):
        Endpoint("api.openai.com", "m")
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        as_client("gpt-4o")
    assert Endpoint("http://h:1/v1/chat/completions?api-version=1", "m").name == "m@http://h:1/v1"


def test_a_completion_in_parts_and_a_filter():
    parts = completion("?").replace(b'"?"', b'[{"type": "text", "text": "Pa"}, {"text": "ris"}]')
    assert answered(lambda *_: Reply(raw=parts))[1][0].text == "Paris"
    filtered = completion("no").replace(b'"stop"', b'"content_filter"')
    found = answered(lambda *_: Reply(raw=filtered))[1][0]
    assert found.refused


def test_who_came_first_asks_first():
    async def order() -> list[str]:
        throttle, seen = Throttle(2), []

        async def call(name, again=False):
            async with throttle.turn(again):
                seen.append(name)
                await asyncio.sleep(0.01)

        calls = [asyncio.create_task(call(str(number))) for number in range(6)]
        await asyncio.sleep(0)
        calls[3].cancel()
        calls.append(asyncio.create_task(call("again", True)))
        await asyncio.gather(*calls, return_exceptions=True)
        assert throttle._running == 0
        return seen

    assert asyncio.run(order()) == ["0", "1", "again", "2", "4", "5"]
