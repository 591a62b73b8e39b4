"""Which licences the installed packages have, and whether all may be used beside Apache-2.0.

`python .ci/licences.py [--write FILE]`: code 1 if a licence is not on the list. pip-licenses reads
them; what it cannot read is looked up by hand once and written into KNOWN.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ALLOWED = (
    *("mit", "mit-0", "mit-cmu", "bsd", "0bsd", "apache", "psf", "python software foundation"),
    *("isc", "iscl", "mpl", "mozilla", "zlib", "cc0", "unlicense", "public domain", "boost"),
    *("bsl-1.0", "afl", "cnri", "lgpl", "hpnd", "llvm"),
)
"""Words of names. LGPL and MPL bind changes to their own files, and none is made."""
NAMED = re.compile(rf"\b(?:{'|'.join(map(re.escape, ALLOWED))})(?=v?\d|[^a-z]|$)", re.I)

REFUSED = re.compile(
    r"\bA?GPL|proprietary|commercial|non.?commercial|SSPL|BUSL|business source", re.I
)
"""Beside "LGPL", which is no word that begins with GPL."""

KNOWN = {
    "hnswlib": "Apache-2.0",
    "huey": "MIT",
    "skops": "MIT",
}
"""What these packages' own repositories say where their metadata say nothing."""

EXCEPTIONS = {"docutils": "public domain and BSD but for an Emacs mode; only twine brings it"}
"""What is refused by its licence and used nevertheless, and why that is right."""


def licences() -> dict[str, tuple[str, str]]:
    """Version and licence of every installed package."""
    command = [sys.executable, "-m", "piplicenses", "--format=json", "--with-system"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {
        package["Name"]: (package["Version"], _licence(package["Name"], package["License"]))
        for package in told
    }


def _licence(name: str, told: str) -> str:
    if told == "UNKNOWN":
        return KNOWN.get(name.lower(), told)
    # Some packages write the whole text in place of a name.
    return " ".join(told.splitlines()[0].split())


def allowed(licence: str) -> bool:
    """Whether it is named on the list, and not refused.

    >>> [allowed(name) for name in ("MIT License", "LGPL-3.0-only", "GPL-3.0", "UNKNOWN")]
    [True, True, False, False]
    >>> allowed("Business Source License 1.1"), allowed("Limited licence")
    (False, False)
    """
    return not REFUSED.search(licence) and bool(NAMED.search(licence))


def listed(packages: dict[str, tuple[str, str]]) -> str:
    """A table for people."""
    lines = ["| package | version | licence |", "|---|---|---|"]
    lines += [
        f"| {name} | {version} | {licence} |"
        for name, (version, licence) in sorted(packages.items(), key=lambda one: one[0].lower())
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """List them, and fail for what is not allowed."""
    packages = licences()
    if "--write" in sys.argv:
        Path(sys.argv[sys.argv.index("--write") + 1]).write_text(listed(packages))
    bad = {
        name: licence
        for name, (_, licence) in packages.items()
        if not allowed(licence) and name not in EXCEPTIONS
    }
    for name in sorted(EXCEPTIONS.keys() & packages.keys()):
        print(f"{name}: {packages[name][1]}, used because {EXCEPTIONS[name]}")
    for name, licence in bad.items():
        print(f"{name}: {licence} is not on the list of .ci/licences.py")
    print(f"licences: {len(packages) - len(bad)} of {len(packages)} packages are on the list")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
