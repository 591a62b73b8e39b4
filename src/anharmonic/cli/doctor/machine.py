"""What this machine has: cores, memory, accelerators, a browser; and which libraries import.

Libraries are imported in processes of their own: one that ends with a crash is then a line in the
report and not its end.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import packages_distributions
from importlib.util import find_spec

__all__ = ["Accelerators", "broken_imports", "browser", "cores", "memory"]

PATIENCE = 120
"""Seconds that one import may take, on a slow disk."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

TORCH = """
import json, torch
found = [f"{torch.cuda.get_device_name(i)} (cuda:{i})" for i in range(torch.cuda.device_count())]
if torch.backends.mps.is_available():
    found.append("Apple GPU (mps)")
print(json.dumps(found))
"""
ONNX = """
import json, onnxruntime
known = [name.removesuffix("ExecutionProvider") for name in onnxruntime.get_available_providers()]
print(json.dumps([f"onnxruntime {name}" for name in known if name not in ("CPU", "Azure")]))
"""


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory() -> float | None:
    """Memory of this machine in GiB, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):
        return None


def browser() -> str | None:
    """A Chrome or Chromium that can draw PNG and SVG: `BROWSER_PATH`, or one on the path."""
    named = os.environ.get("BROWSER_PATH")
    if named:
        return shutil.which(named)
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


class Accelerators:
    """Looks for GPUs in processes of their own, while something else is done."""

    def __init__(self) -> None:
        programs = {"torch": TORCH, "onnxruntime": ONNX}
        self._running = {
            name: _python(program) for name, program in programs.items() if find_spec(name)
        }

    def result(self) -> tuple[list[str], list[str]]:
        """Accelerators by name, and what went wrong in words."""
        devices: list[str] = []
        problems: list[str] = []
        for name, process in self._running.items():
            output, problem = _finish(process)
            if problem:
                problems.append(f"{name} cannot be imported: {problem}")
            else:
                devices += json.loads(output)
        return devices, problems


def broken_imports(distributions: Iterable[str]) -> Iterator[str]:
    """Import what these distributions install, a process each, and say what fails.

    Parameters
    ----------
    distributions
        As pip knows them.

    >>> list(broken_imports(["packaging"]))
    []
    """
    wanted = {name.lower() for name in distributions}
    modules = sorted(
        module
        for module, owners in packages_distributions().items()
        if module.isidentifier() and not module.startswith("_")
        if wanted & {owner.lower() for owner in owners} and find_spec(module)
    )
    with ThreadPoolExecutor(min(cores(), 4)) as pool:
        for module, problem in zip(modules, pool.map(_import, modules), strict=True):
            if problem:
                yield f"{module} cannot be imported: {problem}"


def _import(module: str) -> str:
    return _finish(_python(f"import {module}"))[1]


def _python(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What it printed, and what went wrong: the last line of the error, or the signal."""
    try:
        output, error = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "", f"not done after {PATIENCE} s"
    if process.returncode == 0:
        return (output.strip().splitlines() or ["[]"])[-1], ""
    if process.returncode < 0:
        return "", f"the process was ended by signal {-process.returncode}"
    return "", (error.strip().splitlines() or ["it did not say why"])[-1][:200]
