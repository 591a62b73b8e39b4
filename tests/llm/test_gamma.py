"""gamma of functions whose answers are known, the cache, the budget, the seed."""

from __future__ import annotations

import inspect
import threading
from concurrent.futures import Future

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.errors import InputError, NotAModel, PointsError, SettingsError
from anharmonic.gate import below
from anharmonic.llm import Answer, Parameters, Request
from anharmonic.llm.cache import Cache, identity
from anharmonic.llm.clients import Function
from anharmonic.llm.dispatch import Budget, BudgetSpent, Price, Usage, ask
from anharmonic.llm.recipe import Recipe
from anharmonic.llm.records import Record
from tests.llm.servers import words

AXES = {"yes": [1.0, 0.0, 0.0], "no": [0.0, 1.0, 0.0], "maybe": [0.0, 0.0, 1.0]}


def axes(texts):
    return np.array([AXES[text] for text in texts])


def test_a_model_that_never_changes_its_mind():
    found = ah.llm.gamma(lambda prompt: "yes", ["a?", "b?"], embed=axes)
    assert found.values.tolist() == [0, 0]
    assert found.excess == (0, 0)
    assert (found.calls, found.refused, found.failed) == (42, 0, 0)


def test_a_model_that_changes_it_at_every_touch():
    touchy = lambda prompt: "yes" if prompt == "why?" else "no"  # noqa: E731
    found = ah.llm.gamma(touchy, ["why?"], embed=axes)
    assert found.values.tolist() == [1]
    assert found.scores0.values.tolist() == [0]
    assert found.excesses.tolist() == [1]
    assert found.answers == ["yes"]
    turned = ah.llm.gamma(touchy, ["why?"], embed=axes, unit="angle", gamma0=False)
    assert turned.values.tolist() == [90]
    assert turned.scores0 is None
    assert turned.calls == 11
    assert np.isnan(turned.excess.value)


def test_noise_of_the_sampler_is_in_gamma0_and_not_in_the_excess():
    random = np.random.default_rng(0)
    lock = threading.Lock()

    def noisy(prompt):
        with lock:
            return str(random.choice(["yes", "no", "maybe"]))

    found = ah.llm.gamma(noisy, [f"{n}?" for n in range(200)], embed=axes)
    assert found.mean.value > 0.5
    assert abs(found.excess.value) < 4 * found.excess.error


def test_a_classifier_is_measured_by_the_same_verb():
    def probabilities(texts):
        return np.array([[0.9, 0.1] if "good" in text else [0.1, 0.9] for text in texts])

    found = ah.llm.gamma(lambda prompt: prompt, ["so good"], embed=probabilities, perturb="case")
    assert found.values[0] > 0


def test_the_same_seed_asks_the_same():
    prompts = ["one?", "two?", "three?"]
    first = ah.llm.gamma(str, prompts, embed=words, count=4)
    again = ah.llm.gamma(str, prompts[::-1], embed=words, count=4)
    assert [r.trials for r in first.records] == [r.trials for r in again.records[::-1]]
    other = ah.llm.gamma(str, prompts, embed=words, count=4, seed=1)
    assert first.records[0].trials != other.records[0].trials


def test_resampling_raises_the_temperature_and_gives_each_answer_its_seed():
    seen = []
    client = Function(lambda request: seen.append(request) or "yes", whole=True)
    ah.llm.gamma(
        client, ["why?"], embed=axes, perturb="resample", count=3, resample_temperature=0.8
    )
    original, *resampled = seen[:4]
    assert original.parameters.temperature == 0
    assert original.seed is None
    assert {each.parameters.temperature for each in resampled} == {0.8}
    assert len({each.seed for each in resampled}) == 3
    assert [each.repeat for each in resampled] == [0, 1, 2]
    assert [each.repeat for each in seen[4:]] == [1, 2, 3]


def test_sampled_answers_never_share_a_seed():
    plan = Recipe(parameters=Parameters(0.7)).requests("why?")
    assert len({request.seed for request, _ in plan}) == 21


def test_scores_go_where_scores_go(tmp_path):
    found = ah.llm.gamma(str, [f"{n} a e o?" for n in range(9)], embed=words, perturb="typos")
    assert below(found.scores, 2.0).outcome == "below"
    loaded = ah.Scores.load(found.scores.save(tmp_path / "g.parquet"))
    np.testing.assert_array_equal(loaded.values, found.values)
    assert loaded.settings.plain()["perturb"] == "typos"
    assert found.summary()["queries"] == found.calls == 9 * 21
    assert "prompts" in found._repr_html_()
    table = found.to_frame()
    assert table["prompt"].tolist() == [f"{n} a e o?" for n in range(9)]
    np.testing.assert_array_equal(table["excess"], found.excesses)


def test_a_record_survives_json():
    record = ah.llm.gamma(str, ["a\x00\ud800?"], embed=words, count=3).records[0]
    import json

    again = Record.read(json.loads(json.dumps(record.plain())))
    assert again.trials == record.trials
    assert again.answer == record.answer
    assert again.repeats == record.repeats
    assert again.gamma[:4] == record.gamma[:4]
    assert again.excess == record.excess


def test_a_cache_answers_what_was_answered(tmp_path):
    calls = []

    def counted(prompt):
        calls.append(prompt)
        return "yes" if prompt.startswith("o") else "no"

    for expected in (42, 42):
        found = ah.llm.gamma(counted, ["one?", "two?"], embed=axes, cache=tmp_path / "c.sqlite")
        assert len(calls) == expected
    assert (found.calls, found.cached, found.cost) == (0, 42, 0)
    assert found.records[0].answer.cached


def test_what_an_answer_is_known_by(tmp_path):
    base = Request("p", Parameters(0.5, 7), 2, 3)
    others = [
        ("m", Request("p\x00", Parameters(0.5, 7), 2, 3)),
        ("m", Request("p", Parameters(0.6, 7), 2, 3)),
        ("m", Request("p", Parameters(0.5, 8), 2, 3)),
        ("m", Request("p", Parameters(0.5, 7, system="s"), 2, 3)),
        ("m", Request("p", Parameters(0.5, 7), 1, 3)),
        ("m", Request("p", Parameters(0.5, 7), 2, 4)),
        ("n", base),
    ]
    assert len({identity(*each) for each in [("m", base), *others]}) == 8
    with Cache(tmp_path / "c.sqlite") as cache:
        cache.put("a", Answer("text \ud800\x00", 3, 4))
        cache.put("b", Answer(error="500"))
        cache.put("c", Answer(refused=True, error="400"))
        assert cache.get("a") == Answer("text \ud800\x00", 3, 4, cached=True)
        assert cache.get("b") is None
        assert cache.get("c").refused
    (tmp_path / "no.sqlite").write_text("this is no database, whatever its name says" * 30)
    with pytest.raises(InputError, match="another file"):
        Cache(tmp_path / "no.sqlite")


def test_the_same_question_twice_is_paid_once():
    calls = []
    found = ah.llm.gamma(
        lambda prompt: calls.append(prompt) or "yes", ["why?"] * 5, embed=axes, count=2
    )
    assert len(found) == 5
    # Without a cache only what is under way at the same time is shared.
    assert len(calls) <= 25


def test_a_budget_in_calls():
    found = ah.llm.gamma(str, [f"{n}?" for n in range(10)], embed=words, count=4, budget=30)
    assert found.calls == 30
    assert np.isfinite(found.values).tolist() == [True] * 3 + [False] * 7
    assert found.scores.settings.stopped == "budget"


class Metered:
    """A client without a queue: every answer takes 10 and 1,000 tokens."""

    name = "metered"

    def __init__(self):
        self.batches = []

    def answers(self, requests):
        self.batches.append(len(requests))
        return [Answer("yes", 10, 1000) for _ in requests]


def test_a_budget_in_money_is_never_passed():
    price = Price(1.0, 3.0)
    usage = Usage(price, Budget(money=0.05))
    requests = [Request(str(n), Parameters(max_tokens=1000)) for n in range(100)]
    client = Metered()
    with pytest.raises(BudgetSpent):
        list(ask(client, requests, usage=usage))
    assert usage.cost <= 0.05
    assert usage.calls == sum(client.batches) > 10
    with pytest.raises(SettingsError, match="price"):
        Usage(budget=Budget(money=1.0))


def test_batches_keep_order_and_use_the_cache(tmp_path):
    class Echo(Metered):
        def answers(self, requests):
            self.batches.append(len(requests))
            return [Answer(each.prompt) for each in requests]

    client = Echo()
    requests = [Request(str(n % 70)) for n in range(100)]
    with Cache(tmp_path / "c.sqlite") as cache:
        for _ in range(2):
            found = [each.text for each in ask(client, requests, cache=cache)]
            assert found == [str(n % 70) for n in range(100)]
    assert sum(client.batches) == 70


class Slow:
    """A client that answers when told, to see how far ahead it is asked."""

    name, concurrency = "slow", 4

    def __init__(self):
        self.open, self.most = 0, 0

    def answers(self, requests):
        raise AssertionError

    def submit(self, request):
        promise = Future()
        self.open += 1
        self.most = max(self.most, self.open)
        threading.Timer(0.0005, self._answer, [promise]).start()
        return promise

    def _answer(self, promise):
        self.open -= 1
        if promise.set_running_or_notify_cancel():
            promise.set_result(Answer("yes"))


def test_only_a_few_are_under_way_however_many_there_are():
    client = Slow()
    drawn = 0

    def endless():
        nonlocal drawn
        while True:
            drawn += 1
            yield Request(str(drawn))

    answers = ask(client, endless())
    for done in range(300):
        assert next(answers).text == "yes"
        assert drawn - done <= 8 * 4 + 1
    answers.close()


def test_a_function_that_raises_is_a_failure_that_is_counted():
    def broken(prompt):
        if prompt.endswith("!"):
            raise ValueError("no bells")
        return "yes"

    found = ah.llm.gamma(broken, ["why!"], embed=axes, count=2)
    assert found.failed == 3
    assert found.records[0].answer.error == "ValueError: no bells"
    assert ah.llm.gamma(lambda prompt: None, ["?"], embed=axes, count=1).failed == 3


def test_what_cannot_be_measured_says_so():
    with pytest.raises(PointsError, match="brackets"):
        ah.llm.gamma(str, "why?", embed=axes)
    with pytest.raises(PointsError):
        ah.llm.gamma(str, [], embed=axes)
    with pytest.raises(NotAModel, match="function"):
        ah.llm.gamma(3, ["why?"], embed=axes)
    with pytest.raises(SettingsError):
        ah.llm.gamma(str, ["why?"], embed=axes, unit="radians")
    with pytest.raises(SettingsError, match="choose from control"):
        ah.llm.gamma(str, ["why?"], embed=axes, perturb="nothing")


def test_everything_public_is_documented():
    for package in (ah.llm, ah.llm.perturb, ah.llm.clients):
        for name in set(package.__all__) - {"Embed", "Change"}:  # shapes of functions
            assert inspect.getdoc(getattr(package, name)), name
