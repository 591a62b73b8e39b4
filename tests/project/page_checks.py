"""What every page must pass: contrast, alternative texts, labels, keys, a phone's width.

axe-core, which Lighthouse asks too, looks at a page by the rules of WCAG 2.1, levels A and AA;
the rest is looked at here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]

STOPS = """() => [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex='0']")]
  .filter((part) => part.tabIndex >= 0 && !part.disabled
    && part.checkVisibility({checkVisibilityCSS: true, checkOpacity: true})
    && part.getBoundingClientRect().width > 1).length"""
"""How many parts the Tab key should reach."""

FOCUSED = """() => {
  const part = document.activeElement;
  if (part === document.body) return null;
  window.reached ??= [];
  if (window.reached.includes(part)) return null;
  window.reached.push(part);
  // A switch that is not seen itself shows it at the label behind it.
  const behind = part.nextElementSibling;
  const shown = behind?.localName === "label" ? [part, behind] : [part];
  const marked = shown.some((each) => {
    const style = getComputedStyle(each);
    const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    return ring || style.boxShadow !== "none";
  });
  return [part.outerHTML.slice(0, 80), marked];
}"""
"""The part that has the focus and was not reached before, and whether that shows."""


def problems(page: Any) -> Iterator[str]:
    """What axe finds, a page wider than its window, and parts that keys do not reach."""
    from axe_playwright_python.sync_playwright import Axe

    options = {"runOnly": RULES, "resultTypes": ["violations"], "preload": False}
    for violation in Axe().run(page, options=options).response["violations"]:
        node = violation["nodes"][0]
        yield f"{violation['id']}: {node['html'][:120]} ({node['failureSummary'][:250]})"
    width = page.evaluate("innerWidth")
    wide = page.evaluate("document.documentElement.scrollWidth")
    if wide > width:
        yield f"{wide} pixels wide in a window of {width}"


def unreached(page: Any, most: int = 60) -> Iterator[str]:
    """What the Tab key does not reach, or reaches without a mark; `most` stops are tried."""
    wanted = min(page.evaluate(STOPS), most)
    seen = 0
    for _ in range(wanted + 2):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop is None:
            continue
        seen += 1
        if not stop[1]:
            yield f"no mark on what has the focus: {stop[0]}"
    if seen < wanted:
        yield f"Tab reaches {seen} of {wanted} parts"
