"""Every command, found by reflection: options of before, help, an example, one summary."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anharmonic.cli import COMMANDS
from anharmonic.cli import llm as language
from tests.commands import every_command

FILES = Path(__file__).with_name("files")
EVERY = dict(every_command())
BEFORE: dict[str, list[str]] = json.loads((FILES / "options.json").read_text())
RENAMED = {"gamma": {"--model"}, "monitor replay": {"file"}, "llm score": {"questions"}}


def options(command):
    return {option for each in command.params for option in (*each.opts, *each.secondary_opts)}


@pytest.mark.parametrize("name", [name for name in BEFORE if name in EVERY])
def test_options_of_before_are_still_taken(name):
    missing = {option for option in BEFORE[name] if option.startswith("--")} - options(EVERY[name])
    assert missing - {"--install-completion", "--show-completion"} == set()


def test_no_command_of_before_is_gone():
    groups = {"", "monitor", "llm", "reproduce"}
    assert set(BEFORE) - groups <= set(EVERY)


@pytest.mark.parametrize("name", EVERY)
def test_every_option_has_help_and_every_command_an_example(name):
    command = EVERY[name]
    assert [each.name for each in command.params if not getattr(each, "help", "")] == []
    assert command.help
    if not name.startswith("reproduce"):
        assert "Example: anharmonic" in command.help


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        *COMMANDS.items(),
        *((f"llm {name}", entry) for name, entry in language.COMMANDS.items()),
    ],
)
def test_the_list_says_what_the_command_says(name, entry):
    if name in EVERY:
        assert EVERY[name].help.split("\n")[0] == entry.summary


@pytest.mark.parametrize(
    "words", [["--help"], ["gamma", "--help"], ["no-such-command"]], ids=lambda each: each[0]
)
def test_help_imports_no_measure(words):
    told = (
        "import sys\nfrom anharmonic.cli import main\n"
        f"sys.argv = ['anharmonic', *{words!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'scipy', 'pyarrow', 'pandas', 'anharmonic.measures.gamma.measure'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))"
    )
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True)
    assert "HEAVY []" in done.stdout, done.stdout[-300:] + done.stderr[-300:]
    assert time.perf_counter() - begun < 5, "0.2 s on an idle machine"
