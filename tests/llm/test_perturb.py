"""Perturbations: what each may change, determinism, and how even they are."""

from __future__ import annotations

import unicodedata
from importlib.metadata import EntryPoint, EntryPoints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anharmonic.errors import SettingsError
from anharmonic.llm import perturb
from anharmonic.llm.perturb import changes

prompts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def drawn(change, prompt, count=300):
    return [change(prompt, np.random.default_rng(seed)) for seed in range(count)]


def test_control_characters_as_in_the_paper():
    tails = [each.removeprefix("why? ") for each in drawn(perturb.control, "why?", 3000)]
    codes = np.array([ord(each) for tail in tails for each in tail])
    assert {len(tail) for tail in tails} == {1, 2, 3}
    assert set(codes) == set(range(1, 32))
    assert abs(np.mean([len(tail) for tail in tails]) - 2) < 0.1
    with_nul = {each for text in drawn(perturb.control_nul, "", 3000) for each in text[1:]}
    assert {ord(each) for each in with_nul} == set(range(32))


def test_unicode_is_printable():
    for text in drawn(perturb.unicode, "why?"):
        assert text.startswith("why? ")
        assert all(unicodedata.category(each)[0] in "LNPS" for each in text[5:])


@settings(max_examples=60, deadline=None)
@given(prompts, st.integers(0, 1000))
def test_the_words_stay_where_only_marks_are_added(prompt, seed):
    rng = np.random.default_rng(seed)
    spaced = perturb.whitespace(prompt, rng)
    assert "".join(spaced.split()) == "".join(prompt.split())
    assert 1 <= len(spaced) - len(prompt) <= 3
    hidden = perturb.zero_width(prompt, rng)
    assert 1 <= len(hidden) - len(prompt) <= 3
    bare = "".join(each for each in hidden if each not in changes.ZERO_WIDTH)
    assert bare == "".join(each for each in prompt if each not in changes.ZERO_WIDTH)
    cased = perturb.case(prompt, rng)
    assert len(cased) == len(prompt)
    assert sum(one != two for one, two in zip(cased, prompt, strict=True)) <= 3


def test_typos_are_small_and_frequent():
    texts = drawn(perturb.typos, "What is the capital of France?")
    assert all(abs(len(text) - 30) <= 3 for text in texts)
    assert sum(text != "What is the capital of France?" for text in texts) > 290
    assert perturb.typos("123", np.random.default_rng(0)) == "123"


def test_turns_and_seeds():
    kinds = perturb.named("control+resample")
    found = [perturb.perturbed("why?", kinds, seed=3, turn=turn) for turn in range(6)]
    assert [each.resampled for each in found] == [False, True] * 3
    assert [each.prompt for each in found[1::2]] == ["why?"] * 3
    assert len({each.prompt for each in found[::2]}) == 3
    assert found[0] != perturb.perturbed("why?", kinds, seed=4, turn=0)
    own = lambda prompt, rng: prompt.upper()  # noqa: E731
    assert perturb.perturbed("why?", perturb.named([own, "case"]), 0, 0).prompt == "WHY?"


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(SettingsError, match=r"control, .*zero_width"):
        perturb.named("gibberish")
    with pytest.raises(SettingsError):
        perturb.named([])


def test_anyone_can_add_one(monkeypatch):
    entry = EntryPoint("upper", "builtins:str.upper", changes.GROUP)
    monkeypatch.setattr(changes, "entry_points", lambda **about: EntryPoints([entry]))
    assert "upper" in perturb.names()
    assert perturb.named("upper") == [str.upper]


def test_synonyms_lie_about_the_word():
    table = {"good": [0.0, 0.0], "fine": [1.0, 0.0], "bad": [-2.0, 0.0], "odd": [0.0, 9.0]}
    change = perturb.synonyms(table, neighbours=3)
    drawn_words = [text.split()[1] for text in drawn(change, "a Good day", 3000)]
    steps = np.array([table[word.lower()] for word in drawn_words])
    assert {word[0] for word in drawn_words} <= {"F", "B", "O"}
    assert abs(steps[:, 0].mean()) < 0.1
    assert abs(steps[:, 1].mean()) < 0.1
    assert change("nothing known here", np.random.default_rng(0)) == "nothing known here"


def test_isotropy_of_known_steps():
    def one_way(prompt, rng):
        return prompt + "a"

    def both_ways(prompt, rng):
        return prompt + ("a" if rng.integers(2) else "b")

    def embed(texts):
        return np.array([[t.count("a") - t.count("b"), 1.0] for t in texts])

    questions = [f"{n}?" for n in range(50)]
    straight = perturb.isotropy(one_way, questions, embed, count=4)
    assert straight.drift == (1.0, 0.0)
    assert straight.distance == (1.0, 0.0)
    assert straight.dimensions == 1.0
    centred = perturb.isotropy(both_ways, questions, embed, count=4)
    assert abs(centred.drift.value) < 4 * centred.drift.error
    assert perturb.isotropy("resample", questions, embed).unchanged == 1.0


def test_even_steps_show_as_even():
    random = np.random.default_rng(0)

    def embed(texts):
        return random.normal(size=(len(texts), 30)) * ([[0.0]] + [[1.0]] * (len(texts) - 1))

    found = perturb.isotropy("control", [f"{n}" for n in range(40)], embed)
    assert found.dimensions == pytest.approx(found.even, rel=0.05)
