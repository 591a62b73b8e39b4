"""`python -m benchmarks.golden record FILE` before a change, `… compare FILE` after it."""

from __future__ import annotations

import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.golden.calls import CALLS
from benchmarks.golden.commands import COMMANDS, prepare, run_command
from benchmarks.golden.digest import digest
from benchmarks.golden.expected import reason_for

GOLDEN = Path(__file__).with_name("golden.json")


def record() -> dict[str, object]:
    """Every call and command, by name."""
    return dict(_recorded())


def _recorded() -> Iterator[tuple[str, object]]:
    for name, call in CALLS.items():
        begun = time.perf_counter()
        try:
            yield f"call {name}", digest(call())
        except Exception as problem:
            traceback.print_exc()
            yield f"call {name}", f"{type(problem).__name__}: {problem}"
        print(f"{time.perf_counter() - begun:6.1f} s  {name}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        for name in COMMANDS:
            yield f"command {name}", digest(run_command(name, Path(folder)))
            print(f"         command {name}", file=sys.stderr)


def differences(old: object, new: object, where: str = "") -> Iterator[str]:
    """The places in which two records differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            there = f"{where} › {name}"
            if name not in new or name not in old:
                yield f"{there}: {'gone' if name in old else f'new ({new[name]!r:.60})'}"
            else:
                yield from differences(old[name], new[name], there)
    elif old != new:
        yield f"{where}: {old!r:.300} → {new!r:.300}"


def main(way: str, path: Path) -> int:
    """Record, or compare and say what differs."""
    found = json.loads(json.dumps(record()))
    if way == "record":
        path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        print(f"{len(found)} calls and commands are recorded in {path.name}")
        return 0
    told = list(differences(json.loads(path.read_text()), found))
    reasons = Counter(why for line in told if (why := reason_for(line)) is not None)
    unnamed = [line for line in told if reason_for(line) is None]
    for why, count in reasons.items():
        print(f"{count:4} differences: {why}")
    print("\n".join(unnamed))
    print(f"{len(found)} calls and commands, {len(told)} differences, {len(unnamed)} not named")
    return 1 if unnamed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else GOLDEN))
