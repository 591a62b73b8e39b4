"""Whether the installed packages fit each other, and whether any has a known vulnerability.

`python .ci/audit.py --offline` asks only whether they fit: `pip check`, where what is wrong with
packages that this project brings fails, and what is wrong with others is only said.

`python .ci/audit.py` also looks for known vulnerabilities, in a file of advisories in OSV's format
(`--database`, by default the one that `make advisories` keeps) or, without one, over the network
with pip-audit. Not to have looked is a failure: code 2. So is a file whose newest advisory is
older than `--max-age-days`: what it does not know it cannot deny.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distributions, requires
from pathlib import Path
from typing import Any

import advisories

PROJECT = "anharmonic"
FOUND, NOT_LOOKED = 1, 2


def brought() -> set[str]:
    """The project's packages and all that they need in turn, of whatever extra."""
    names: set[str] = set()
    waiting = [PROJECT]
    while waiting:
        name = waiting.pop()
        if name in names:
            continue
        names.add(name)
        try:
            needs = requires(name) or []
        except PackageNotFoundError:
            continue
        # Of other packages' extras nothing is asked, of this project's everything.
        wanted = [need for need in needs if name == PROJECT or "extra ==" not in need]
        waiting += [advisories.plain(re.split(r"[^\w.-]", need, maxsplit=1)[0]) for need in wanted]
    return names


def fits() -> bool:
    """Whether the project's packages have all they need, in versions that they bear."""
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    lines = [] if done.returncode == 0 else done.stdout.splitlines()
    mine = brought()
    broken = [line for line in lines if advisories.plain(line.split(" ", 1)[0]) in mine]
    for line in lines:
        print(f"{'broken' if line in broken else 'not of this project'}: {line}")
    if done.returncode and not lines:
        print(f"pip check could not be run: {done.stderr.strip()}")
        return False
    if not broken:
        print(f"pip check: the {len(mine)} packages of this project fit each other")
    return not broken


def installed() -> dict[str, str]:
    """Every package here and its version, but this project's own."""
    versions = {
        advisories.plain(one.metadata["Name"]): one.version
        for one in distributions()
        if one.metadata["Name"]
    }
    versions.pop(PROJECT, None)
    return versions


def look_in_file(path: Path, max_age_days: int) -> int:
    """Look every installed package up in a file of advisories."""
    try:
        database = advisories.Database.read(path)
    except (OSError, ValueError, KeyError) as problem:
        return _not_looked(f"{path} cannot be read ({problem}): run make advisories")
    age = database.age_days()
    if age > max_age_days:
        return _not_looked(
            f"the newest advisory in {path} is {age} days old, and {max_age_days} are allowed: "
            "run make advisories where there is a network"
        )
    packages = installed()
    holes = [hole for name, version in packages.items() for hole in database.holes(name, version)]
    return _report(holes, len(packages), f"{path.name}, {len(database)} advisories, {age} days old")


def look_over_the_network() -> int:
    """Ask pip-audit, which asks PyPI."""
    program = shutil.which("pip-audit", path=str(Path(sys.executable).parent))
    if program is None:
        return _not_looked("there is no file of advisories and no pip-audit: make advisories")
    command = [program, "--local", "--skip-editable", "--progress-spinner", "off", "-f", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return _not_looked(f"pip-audit could not ask ({last[:200]})")
    asked = [package for package in packages if "skip_reason" not in package]
    # Behind a mirror it knows nothing of any package, and "no vulnerability" would mean nothing.
    unknown = [package["name"] for package in packages if "skip_reason" in package]
    strangers = [name for name in unknown if advisories.plain(name) != PROJECT]
    if not asked or len(strangers) > len(packages) // 10:
        return _not_looked(f"{len(strangers)} of {len(packages)} packages could not be looked up")
    for name in strangers:
        print(f"could not be looked up: {name}")
    holes = [_hole(package, known) for package in asked for known in package["vulns"]]
    return _report(holes, len(asked), "pip-audit")


def _hole(package: dict[str, Any], known: dict[str, Any]) -> advisories.Hole:
    fixed = tuple(known["fix_versions"])
    return advisories.Hole(package["name"], package["version"], known["id"], fixed)


def _report(holes: Iterable[advisories.Hole], count: int, source: str) -> int:
    shown = sorted(holes)
    for hole in shown:
        print(hole)
    bad = len({hole.package for hole in shown})
    print(f"{bad} of {count} packages have known vulnerabilities ({source})")
    return FOUND if bad else 0


def _not_looked(reason: str) -> int:
    print(f"NOT AUDITED for known vulnerabilities: {reason}")
    return NOT_LOOKED


def main() -> int:
    """Code 0 if all is well, 1 if something is wrong, 2 if it could not be looked at."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--offline", action="store_true", help="only whether packages fit")
    parser.add_argument("--database", type=Path, default=advisories.KEPT)
    parser.add_argument("--max-age-days", type=int, default=30)
    chosen = parser.parse_args()
    good = fits()
    code = 0
    if not chosen.offline and (chosen.database.exists() or chosen.database != advisories.KEPT):
        code = look_in_file(chosen.database, chosen.max_age_days)
    elif not chosen.offline:
        code = look_over_the_network()
    return code or (0 if good else FOUND)


if __name__ == "__main__":
    sys.exit(main())
