"""Known vulnerabilities from a file: OSV's records of PyPI, whole (a zip) or those that matter.

`python .ci/advisories.py` fetches them, keeps those about packages that are installed, and
writes `.ci/advisories.json`, which `make audit` reads where there is no network. The records are
the Python Packaging Advisory Database's and GitHub's, CC-BY 4.0.
"""

from __future__ import annotations

import io
import json
import re
import sys
import urllib.request
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, NamedTuple

from packaging.version import InvalidVersion, Version

KEPT = Path(__file__).with_name("advisories.json")
SOURCE = "https://osv-vulnerabilities.storage.googleapis.com/PyPI/all.zip"
"""Where OSV publishes all records of PyPI."""


class Hole(NamedTuple):
    """A vulnerability of an installed package."""

    package: str
    version: str
    name: str
    fixed: tuple[str, ...]

    def __str__(self) -> str:
        fixed = ", ".join(self.fixed) or "no version yet"
        return f"{self.package} {self.version}: {self.name}, fixed in {fixed}"


@dataclass(frozen=True)
class Database:
    """Records in OSV's format, by the package they are about."""

    records: tuple[dict[str, Any], ...]
    modified: datetime

    @classmethod
    def read(cls, path: Path) -> Database:
        """A zip of records, a folder of them, or a JSON list."""
        if path.is_dir():
            records = [json.loads(file.read_text()) for file in sorted(path.rglob("*.json"))]
        elif zipfile.is_zipfile(path):
            records = records_in_zip(path.read_bytes())
        else:
            records = json.loads(path.read_text())
        if not records:
            raise ValueError("no advisory in it")
        newest = max(_time(record["modified"]) for record in records)
        return cls(tuple(record for record in records if "withdrawn" not in record), newest)

    def __len__(self) -> int:
        return len(self.records)

    def age_days(self) -> int:
        """Days since the newest record was written."""
        return (datetime.now(UTC) - self.modified).days

    def holes(self, package: str, version: str) -> list[Hole]:
        """What is known of this version of a package."""
        found = []
        for record in self.records:
            for part in about(record, package):
                if affects(part, version):
                    found.append(Hole(package, version, record["id"], _fixes(part)))
        return found


def plain(name: str) -> str:
    """A package's name as PyPI compares it.

    >>> plain("Foo_Bar.baz")
    'foo-bar-baz'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def about(record: dict[str, Any], package: str) -> list[dict[str, Any]]:
    """The parts of a record that are about one package of PyPI."""
    return [
        part
        for part in record.get("affected", [])
        if part.get("package", {}).get("ecosystem") == "PyPI"
        and plain(part["package"]["name"]) == plain(package)
    ]


def affects(part: dict[str, Any], version: str) -> bool:
    """Whether a version is listed, or lies in a range from `introduced` to before `fixed`.

    >>> since_two = {"ranges": [{"type": "ECOSYSTEM", "events": [
    ...     {"introduced": "2.0"}, {"fixed": "2.4"}]}]}
    >>> [affects(since_two, version) for version in ("1.9", "2.0", "2.3.9", "2.4")]
    [False, True, True, False]
    """
    if version in part.get("versions", []):
        return True
    return any(
        _inside(events["events"], version)
        for events in part.get("ranges", [])
        if events["type"] == "ECOSYSTEM"
    )


def _inside(events: list[dict[str, str]], version: str) -> bool:
    """OSV's rule: events in order of version; the last one at or before this version decides."""
    here = Version(version)
    inside = False
    for kind, bound in sorted(
        ((kind, _version(bound)) for event in events for kind, bound in event.items()),
        key=lambda event: event[1],
    ):
        if kind == "introduced" and here >= bound:
            inside = True
        elif (kind == "fixed" and here >= bound) or (kind == "last_affected" and here > bound):
            inside = False
    return inside


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


def _fixes(part: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        event["fixed"]
        for events in part.get("ranges", [])
        if events["type"] == "ECOSYSTEM"
        for event in events["events"]
        if "fixed" in event
    )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def records_in_zip(content: bytes) -> list[dict[str, Any]]:
    """Every record of a zip."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".json")]
        return [json.loads(archive.read(name)) for name in names]


def fetch(path: Path = KEPT) -> int:
    """Keep the newest record of all, which tells the age, and those about what is installed."""
    try:
        with urllib.request.urlopen(SOURCE, timeout=300) as answer:
            records = records_in_zip(answer.read())
    except OSError as problem:
        print(f"the advisories could not be fetched from {SOURCE}: {problem}")
        return 1
    here = {plain(one.metadata["Name"]) for one in distributions() if one.metadata["Name"]}
    newest = max(records, key=lambda record: _time(record["modified"]))
    kept = [record for record in records if any(about(record, name) for name in here)]
    path.write_text(json.dumps([newest, *kept], indent=1))
    print(f"{len(kept)} of {len(records)} advisories are about packages here: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(fetch())
