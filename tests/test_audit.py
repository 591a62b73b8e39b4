"""`make audit`: a package of ours that lacks something fails, a stranger's is only named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

AUDIT = Path(__file__).parents[1] / ".ci" / "audit.py"


@pytest.mark.parametrize(
    ("name", "code", "said"), [("a-stranger", 0, "not of this project"), ("rich", 1, "broken")]
)
def test_what_lacks_a_package_is_said(tmp_path: Path, name: str, code: int, said: str) -> None:
    about = tmp_path / f"{name.replace('-', '_')}-99.0.dist-info"
    about.mkdir()
    needs = "Requires-Dist: nothing-of-this-name"
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 99.0\n{needs}\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, AUDIT, "--offline"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert f"{said}: {name} 99.0 requires nothing-of-this-name" in done.stdout
    assert done.returncode == code
