"""`anharmonic doctor`: what is installed, what it can do, and whether it computes rightly."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer
from rich.console import Console

from anharmonic import __version__
from anharmonic.cli.doctor import installation, machine
from anharmonic.cli.doctor.installation import Extra, Package
from anharmonic.cli.doctor.known_answers import KNOWN_ANSWERS, Outcome, check_answers
from anharmonic.cli.groups import Json
from anharmonic.cli.show import plain
from anharmonic.errors import SettingsError

__all__ = ["Findings", "doctor_command"]


@dataclass(frozen=True)
class Findings:
    """What was looked at, and what is wrong, in words that say what to do."""

    python: tuple[str, str, bool]
    core: tuple[Package, ...]
    extras: dict[str, Extra]
    cores: int
    memory: float | None
    devices: list[str]
    browser: str | None
    answers: list[Outcome]
    problems: list[str]


def doctor_command(
    need: Annotated[
        list[str] | None,
        typer.Option(help="An extra that must be ready, as often as needed: service, onnx, …"),
    ] = None,
    imports: Annotated[
        bool, typer.Option("--imports", help="Import every library too: up to a minute.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Look at this installation: versions, extras, devices, and measures with known answers.

    It ends with code 1 if something that is installed does not work, or a --need is not met.

    Example: anharmonic doctor --need service --need onnx
    """
    needed = need or []
    extras = installation.extras()
    unknown = [name for name in needed if name not in extras]
    if unknown:
        raise SettingsError(f"no extra {', '.join(unknown)}: there are {', '.join(extras)}")
    found = _look(extras, needed, imports, Console(stderr=True, quiet=as_json))
    if as_json:
        print(json.dumps(plain(_plain(found))))
    else:
        from anharmonic.cli.doctor.showing import show

        show(found)
    raise typer.Exit(1 if found.problems else 0)


def _look(extras: dict[str, Extra], needed: list[str], imports: bool, waiting: Console) -> Findings:
    """Look at everything; devices are looked for while the known answers are measured."""
    python, core = installation.python_fits(), installation.core()
    accelerators = machine.Accelerators()
    with waiting.status("measuring what is known …") as status:
        answers = []
        for outcome in check_answers():
            answers.append(outcome)
            status.update(f"measuring what is known: {len(answers)} of {len(KNOWN_ANSWERS)}")
        status.update("looking for accelerators …")
        devices, device_problems = accelerators.result()
        status.update("importing …")
        broken = list(machine.broken_imports(_to_import(extras, needed, imports)))
    # A library that did not import was named once already.
    problems = [
        *_misfits(python, core, extras, needed),
        *(line for line in device_problems if line not in broken),
        *broken,
        *(_wrong(outcome) for outcome in answers if not outcome.right),
    ]
    return Findings(
        python,
        core,
        extras,
        machine.cores(),
        machine.memory(),
        devices,
        machine.browser(),
        answers,
        problems,
    )


def _to_import(extras: dict[str, Extra], needed: list[str], imports: bool) -> set[str]:
    """Distributions of all extras, or of those that are needed."""
    looked_at = extras.values() if imports else [extras[name] for name in needed]
    return {package.name for extra in looked_at for package in extra.packages if package.installed}


def _misfits(
    python: tuple[str, str, bool],
    core: tuple[Package, ...],
    extras: dict[str, Extra],
    needed: list[str],
) -> list[str]:
    """Versions that do not fit, and extras that are needed and not ready."""
    problems = []
    if not python[2]:
        problems.append(
            f"Python {python[0]} is too old or too new: install one that is {python[1]}"
        )
    for package in core:
        if not package.fits:
            problems.append(f"{_misfit(package)}: pip install --upgrade anharmonic")
    named = {package.name for package in core}
    for extra in extras.values():
        for package in extra.packages:
            if package.installed and not package.fits and package.name not in named:
                problems.append(f"{_misfit(package)} for {extra.name}: {extra.command}")
                named.add(package.name)
    for name in needed:
        missing = [package.name for package in extras[name].packages if not package.installed]
        if missing:
            problems.append(f"{name} lacks {', '.join(missing)}: {extras[name].command}")
    return problems


def _misfit(package: Package) -> str:
    version = package.installed or "missing"
    return f"{package.name} is {version} and {package.needed} is needed"


def _wrong(outcome: Outcome) -> str:
    said = outcome.problem or f"{outcome.measured:.6g} in place of {outcome.expected:.6g}"
    return f"wrong answer, {outcome.name}: {said}; report it with anharmonic doctor --json"


def _plain(found: Findings) -> dict[str, Any]:
    """The same for machines."""
    return {
        "good": not found.problems,
        "problems": found.problems,
        "anharmonic": {"version": __version__},
        "python": dict(zip(("version", "needed", "fits"), found.python, strict=True)),
        "core": [asdict(package) | {"fits": package.fits} for package in found.core],
        "extras": {
            name: {
                "for": extra.purpose,
                "state": extra.state,
                "install": extra.command,
                "packages": [
                    asdict(package) | {"fits": package.fits} for package in extra.packages
                ],
            }
            for name, extra in found.extras.items()
        },
        "cores": found.cores,
        "memory_gib": found.memory,
        "accelerators": found.devices,
        "browser": found.browser,
        "known_answers": [asdict(outcome) | {"right": outcome.right} for outcome in found.answers],
    }
