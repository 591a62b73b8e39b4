"""Pages of the API reference, made from the list of public names when the site is built.

mkdocs calls the functions whose names begin with `on_` (mkdocs.yml, `hooks`). A name that becomes
public is in the reference with the next build, and one that has no docstring stops it.
"""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.utils import get_relative_url

import anharmonic as ah

GROUPS = {
    "Measures": (
        *("gamma", "compare", "sweep", "gamma_data", "suspects", "support", "spade", "clever"),
        *("nstep_robustness", "adversarial_search", "explain", "contributions", "plausibility"),
        *("plan", "collect", "measured_like", "load"),
    ),
    "Models and results": (
        *("as_model", "Scores", "SpadeScores", "Search", "GammaMap", "CleverScores"),
        "AnharmonicError",
    ),
    "Watching": ("Monitor",),
}
"""The order in which a newcomer needs them; names that are not listed come last."""

FOLDER = "reference"

SHIM = "https://unpkg.com/iframe-worker/shim"
"""What the theme's offline search would fetch from elsewhere; docs/offline-search.js is ours."""


def modules() -> dict[str, ModuleType]:
    """Public modules by name."""
    everything = {name: getattr(ah, name) for name in ah.__all__}
    return {name: part for name, part in sorted(everything.items()) if inspect.ismodule(part)}


def grouped_names() -> dict[str, list[str]]:
    """Public functions and classes of the package itself, in groups."""
    single = [name for name in ah.__all__ if not inspect.ismodule(getattr(ah, name))]
    listed = {name for names in GROUPS.values() for name in names}
    groups = {title: [name for name in names if name in single] for title, names in GROUPS.items()}
    rest = sorted(name for name in single if name not in listed)
    return groups | ({"More": rest} if rest else {})


def pages() -> dict[str, str]:
    """Markdown by path: one page for the package's own names, one for each module."""
    parts = ["# anharmonic", "`import anharmonic as ah`: what is used most stands at the top.\n"]
    for title, names in grouped_names().items():
        parts.append(f"## {title}\n")
        parts += [
            f"::: anharmonic.{name}\n    options:\n      heading_level: 3\n" for name in names
        ]
    made = {f"{FOLDER}/anharmonic.md": "\n".join(parts)}
    for name, module in modules().items():
        listed = "".join(f"\n        - {member}" for member in public_members(module))
        made[f"{FOLDER}/{name}.md"] = (
            f"# anharmonic.{name}\n\n::: anharmonic.{name}\n    options:\n"
            f"      show_root_heading: false\n      show_root_toc_entry: false\n"
            f"      members:{listed}\n"
        )
    return made


def public_members(module: ModuleType) -> list[str]:
    """What a module lists, in its own order."""
    return list(module.__all__)


def on_config(config: Any) -> Any:
    """Put the pages into the navigation, under the index that is written by hand."""
    entries = [{"anharmonic": f"{FOLDER}/anharmonic.md"}]
    entries += [{f"anharmonic.{name}": f"{FOLDER}/{name}.md"} for name in modules()]
    for section in config.nav:
        for title, parts in section.items():
            for part in parts if title == "Reference" else []:
                if "API reference" in part:
                    part["API reference"] = [*part["API reference"], *entries]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages to those that lie in docs/."""
    for path, content in pages().items():
        files.append(File.generated(config, path, content=content))
    return files


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Search from a disk without a network: our script in the place of the theme's address."""
    if SHIM not in output:
        raise PluginError("the theme's search has changed: see SHIM and docs/offline-search.js")
    return output.replace(SHIM, get_relative_url("offline-search.js", page.url))


def on_post_template(output: str, template_name: str, config: Any) -> str:
    """The same on the page for addresses that do not exist, which is found from anywhere."""
    return output.replace(SHIM, f"{urlsplit(config.site_url or '').path or '/'}offline-search.js")
