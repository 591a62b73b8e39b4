"""Whether the installed packages fit each other, and whether any has a known hole.

`python .ci/audit.py [--offline]`. The first part needs no network: `pip check`, where what is
wrong with packages that this project brings fails, and what is wrong with others is only said.
The second asks pip-audit, and says of how many packages it learnt anything: behind a mirror it
finds "no vulnerabilities" because it finds nothing at all.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

PROJECT = "anharmonic"


def brought() -> set[str]:
    """The project's packages and all that they need in turn, of whatever extra."""
    found: set[str] = set()
    waiting = [PROJECT]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        try:
            needs = requires(name) or []
        except PackageNotFoundError:
            continue
        # Of other packages' extras nothing is asked, of this project's everything.
        wanted = [each for each in needs if name == PROJECT or "extra ==" not in each]
        waiting += [_plain(re.split(r"[^\w.-]", each, maxsplit=1)[0]) for each in wanted]
    return found


def fits() -> bool:
    """Whether the project's packages have all they need, in versions that they bear."""
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    lines = [] if done.returncode == 0 else done.stdout.splitlines()
    mine = brought()
    broken = [line for line in lines if _plain(line.split(" ", 1)[0]) in mine]
    for line in lines:
        print(f"{'broken' if line in broken else 'not of this project'}: {line}")
    if done.returncode and not lines:
        print(f"pip check could not be run: {done.stderr.strip()}")
        return False
    if not broken:
        print(f"pip check: the {len(mine)} packages of this project fit each other")
    return not broken


def holes() -> bool:
    """Whether no package has a known vulnerability, as far as that can be learnt from here."""
    program = shutil.which("pip-audit", path=str(Path(sys.executable).parent))
    if program is None:
        print("NOT AUDITED for known vulnerabilities: pip install pip-audit first")
        return True
    command = [program, "--local", "--progress-spinner", "off", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        print(f"NOT AUDITED for known vulnerabilities: pip-audit could not ask ({last[:200]})")
        return True
    known = [each for each in packages if "skip_reason" not in each]
    bad = [each for each in known if each["vulns"]]
    for each in bad:
        for hole in each["vulns"]:
            fixed = ", ".join(hole["fix_versions"]) or "no version yet"
            print(f"{each['name']} {each['version']}: {hole['id']}, fixed in {fixed}")
    if not known:
        print(f"NOT AUDITED for known vulnerabilities: none of {len(packages)} could be looked up")
    else:
        print(f"pip-audit: {len(bad)} of {len(known)} packages have known vulnerabilities", end="")
        print(f"; {len(packages) - len(known)} could not be looked up")
    return not bad


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    good = fits()
    if "--offline" not in sys.argv[1:]:
        good = holes() and good
    sys.exit(0 if good else 1)
