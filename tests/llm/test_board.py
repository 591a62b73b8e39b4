"""Searches, leaderboards and ratings, from known answers; their pages hold no script."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic.cli import app
from anharmonic.errors import InputError, SettingsError
from anharmonic.llm.differences import differences
from anharmonic.llm.pages.boards import write_board
from anharmonic.llm.pages.searches import write_searches
from anharmonic.llm.prompt_search import WAYS, search
from anharmonic.llm.questions import Question
from anharmonic.llm.rating import krippendorff
from anharmonic.llm.recipe import Recipe
from anharmonic.llm.runs import RunFile, run
from tests.llm.servers import words

SCRIPT = "<script>alert(1)</script>\x1b[2J"


def letters(texts):
    """Vectors that turn with the number of foreign characters in a text."""
    strange = np.array([sum(ord(each) > 127 for each in text) for text in texts])
    return np.stack([np.cos(strange / 9), np.sin(strange / 9)], axis=1)


def test_a_search_climbs_where_gamma_grows():
    def uneasy(prompt):
        # The more foreign characters, the more one more of them changes the answer.
        return "a" + "é" * sum(ord(each) > 127 for each in prompt) ** 2

    searches = [
        search(uneasy, "why?", embed=lambda t: letters(t) + 0.01, way=way, steps=3, count=4)
        for way in WAYS
    ]
    for found in searches:
        assert len(found.steps) == 4
        assert found.candidates == 12
        assert found.steps[0].prompt == "why?"
    greedy, _, best = searches
    assert greedy.gain.value > 0
    assert greedy.steps[-1].prompt.startswith("why? ")
    assert len(greedy.steps[-1].prompt) > len(best.steps[-1].prompt)
    assert "greedy" in repr(greedy)


def test_no_way_asks_more_than_the_ascent_may():
    calls = {}
    for way in WAYS:
        found = search(str, "why a e o?", embed=words, way=way, steps=3, count=4)
        calls[way] = found.calls
        # 3·4 candidates at 5 calls, 4 measured afresh at 4, and the start.
        assert found.calls <= 3 * 4 * 5 + 4 * 4 + 5
    again = search(str, "why a e o?", embed=words, steps=3, count=4)
    assert again.calls == calls["greedy"]
    short = search(str, "why a e o?", embed=words, steps=3, count=4, budget=40)
    assert short.calls <= 40
    assert len(short.steps) < 4
    with pytest.raises(SettingsError, match="greedy, random, best"):
        search(str, "why?", embed=words, way="up")


def test_differences_are_found_and_shown():
    parts = differences("the cat sat", "the black cat sat\n", words=True)
    assert [part.text.strip() for part in parts if part.changed] == ["black", ""]
    assert "".join(part.text for part in parts) == "the black cat sat\n"
    assert differences("a", "a\u200b")[-1].text == "⟨U+200B⟩"


def test_a_search_page_is_readable_and_harmless(tmp_path):
    def rude(prompt):
        return f"{SCRIPT} {len(prompt)}"

    found = [search(rude, f"why {SCRIPT}?", embed=words, steps=2, count=3, way=way) for way in WAYS]
    text = write_searches(tmp_path / "s.html", found, f"anharmonic {SCRIPT}").read_text()
    assert "<script" not in text.lower()
    assert "&lt;script&gt;alert(1)" in text
    assert "\x1b" not in text
    assert "␛" in text
    assert "<mark>" in text
    for way in WAYS:
        assert f"<h2>{way}</h2>" in text


def made(folder, model, data, shift, count=40, **about):
    """A run of a model whose answers turn by `shift` more letters where the prompt changes."""
    random = np.random.default_rng(len(model))
    noise = {f"{n}?": int(random.integers(0, 3)) for n in range(count)}

    def answer(prompt):
        own = prompt.split()[0]
        return "a" + "é" * (0 if prompt == own else shift + noise[own])

    recipe = Recipe(count=3, repeats=0, **about)
    header = {"model": model, "client": model, "data": data, "embed": "letters"}
    path = folder / f"{model[:3]}-{data}.jsonl"
    with RunFile.open(path, {**header, "recipe": recipe.plain()}) as file:
        asked = [Question(f"q{n}", f"{n}?", "odd" if n % 2 else "even") for n in range(count)]
        run(file, ah.llm.as_client(answer), asked, recipe, letters)
    return path


def test_a_leaderboard_orders_models_and_says_what_is_real(tmp_path):
    paths = [made(tmp_path, name, data, shift) for name, shift in (("steady", 1), ("uneasy", 6))
             for data in ("web", "truth")]  # fmt: skip
    board = ah.llm.leaderboard(paths)
    assert board.models == ("steady", "uneasy")
    for contest in board.contests:
        (pair,) = contest.differences
        assert (pair.larger, pair.smaller, pair.real) == ("uneasy", "steady", True)
        assert contest.shared == 40
    means = [board.run("steady", data).mean.value for data in ("web", "truth")]
    assert board.overall("steady").value == pytest.approx(np.mean(means))
    done = CliRunner().invoke(app, ["llm", "leaderboard", *map(str, paths), "--json"])
    assert json.loads(done.stdout)["models"][0]["model"] == "steady"
    done = CliRunner().invoke(app, ["llm", "leaderboard", *map(str, paths)])
    assert "uneasy > steady by" in done.stdout


def test_what_was_measured_differently_is_not_compared(tmp_path):
    paths = [made(tmp_path, "one", "web", 1), made(tmp_path, "two", "web", 2, unit="angle")]
    (contest,) = ah.llm.leaderboard(paths).contests
    assert not contest.alike
    assert not contest.differences
    with pytest.raises(InputError, match="both of one"):
        ah.llm.leaderboard([paths[0], paths[0]])
    with pytest.raises(InputError, match="needs runs"):
        ah.llm.leaderboard([])
    (tmp_path / "no.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match="no run"):
        ah.llm.leaderboard([tmp_path / "no.jsonl"])


def test_a_board_page_is_harmless(tmp_path):
    paths = [made(tmp_path, SCRIPT, "web", 1), made(tmp_path, "tame", "web", 4)]
    page = write_board(tmp_path / "b.html", ah.llm.leaderboard(paths)).read_text()
    assert "<script" not in page.lower()
    assert "\x1b" not in page
    assert page.count("<svg") == 2
    assert "real" in page


def test_agreement_as_published():
    # Krippendorff (2011), the example with missing marks: interval alpha 0.849.
    table = """
        1 2 3 3 2 1 4 1 2 . . .
        1 2 3 3 2 2 4 1 2 5 . 3
        . 3 3 3 2 3 4 2 2 5 1 .
        1 2 3 3 2 4 4 1 2 5 1 .
    """
    rows = [line.split() for line in table.strip().splitlines()]
    units = [[float(mark) for mark in unit if mark != "."] for unit in zip(*rows, strict=True)]
    assert round(krippendorff(units), 3) == 0.849
    assert np.isnan(krippendorff([[1.0], [2.0]]))
    assert abs(krippendorff(np.random.default_rng(0).integers(1, 6, (5000, 2)))) < 0.05


def test_ratings_by_model_and_domain(tmp_path):
    paths = [made(tmp_path, "steady", "web", 1), made(tmp_path, "uneasy", "web", 6)]
    lines = ["id,model,annotator,rating"]
    for path in paths:
        found = ah.llm.read_run(path)
        order = np.argsort(np.argsort(-found.values))
        for name, place in zip(found.ids, order, strict=True):
            mark = 1 + place * 4 // len(found)
            lines += [f"{name},{found.model},ann,{mark}", f"{name},{found.model},bob,{mark}"]
    lines.append("q999,steady,ann,3")
    (tmp_path / "r.csv").write_text("\n".join(lines))
    found = ah.llm.ratings(paths, tmp_path / "r.csv")
    groups = {each.group: each for each in found.correlations}
    assert set(groups) == {"all", "model steady", "model uneasy", "domain even", "domain odd"}
    assert groups["all"].answers == 80
    value, low, high = groups["model steady"].spearman
    assert -1 <= low <= value <= high < -0.5
    assert found.agreement.alpha == 1.0
    assert found.agreement.annotators == 2
    assert found.unmatched == 1
    done = CliRunner().invoke(app, ["llm", "ratings", *map(str, paths), str(tmp_path / "r.csv")])
    assert done.exit_code == 0
    assert "Krippendorff" in done.stdout
    (tmp_path / "bad.csv").write_text("id,rating\nq1,good\n")
    with pytest.raises(InputError, match="such as 4"):
        ah.llm.ratings(paths[:1], tmp_path / "bad.csv")


def test_a_search_from_a_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "walker.py").write_text(
        "import numpy as np\n"
        "def size(texts):\n    return np.array([[len(t), 1.0] for t in texts])\n"
        "def echo(prompt):\n    return prompt * 2\n"
    )
    done = CliRunner().invoke(
        app,
        [
            *("llm", "search", "why?\x07", "--model", "walker:echo", "--embed", "walker:size"),
            *("--steps", "2", "--count", "3", "--page", "p.html"),
        ],
    )
    assert done.exit_code == 0, done.output
    for word in ("greedy", "random", "best", "±"):
        assert word in done.stdout
    assert "\x07" not in done.stdout
    assert (tmp_path / "p.html").exists()
