"""Pictures of an audit as small HTML with inline SVG: no script, and they fit a phone.

Names stand beside their lines as text, so that they wrap and can be searched; only the marks are
drawn. Colours are the page's own variables, so that a dark page has dark pictures.
"""

from __future__ import annotations

import html
import math

from anharmonic.auditing.picture import Bar, Picture

__all__ = ["draw"]

WIDTH = 100.0
"""Of a track, in its own units; it is stretched to the width that there is."""


def draw(picture: Picture) -> str:
    """A picture as an HTML figure.

    Parameters
    ----------
    picture
        What it shows.

    Examples
    --------
    >>> page = draw(Picture("bars", "Wins", bars=(Bar("a <b>", 2.0), Bar("c", 1.0))))
    >>> page.startswith("<figure"), "a &lt;b&gt;" in page, "<script" in page
    (True, True, False)
    """
    inner = {
        "bars": _lines,
        "dots": _lines,
        "histograms": _histogram,
        "levels": _levels,
    }[picture.kind](picture)
    return (
        f'<figure class="picture {picture.kind}"><figcaption>{_text(picture.title)}</figcaption>'
        f"{inner}</figure>"
    )


def _text(text: str) -> str:
    return html.escape(text)


def _lines(picture: Picture) -> str:
    """One line per bar: its name, its mark, its number."""
    ends = [end for bar in picture.bars for end in (bar.value, bar.high) if end is not None]
    # An interval without an end does not set the scale.
    most = max((end for end in ends if math.isfinite(end)), default=1.0)
    scale = WIDTH / (1.05 * most) if most > 0 else 1.0
    drawn = "".join(_line(bar, picture, scale) for bar in picture.bars)
    return f'<div class="lines">{drawn}</div>'


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _line(bar: Bar, picture: Picture, scale: float) -> str:
    marks = []
    place = _at(bar.value, scale)
    if picture.mark is not None:
        at = _at(picture.mark, scale)
        marks.append(f'<line class="limit" x1="{at}" x2="{at}" y1="0" y2="10"/>')
    if picture.kind == "bars":
        marks.append(f'<rect class="{bar.role}" x="0" y="2" width="{place}" height="6"/>')
    if _is_number(bar.low) and (_is_number(bar.high) or bar.high == math.inf):
        low, high = _at(bar.low or 0.0, scale), _at(min(bar.high or 0.0, WIDTH / scale), scale)
        marks.append(f'<line class="reach {bar.role}" x1="{low}" x2="{high}" y1="5" y2="5"/>')
    if picture.kind == "dots":
        # A line without length and with round ends is a dot, however the track is stretched.
        marks.append(f'<line class="dot {bar.role}" x1="{place}" x2="{place}" y1="5" y2="5"/>')
    return (
        f'<span class="line-name">{_text(bar.name)}</span>'
        f'<svg class="track-svg" viewBox="0 0 {WIDTH:g} 10" preserveAspectRatio="none" '
        f'role="img" aria-label="{_text(bar.name)}: {_number(bar.value, picture.unit)}">'
        f"{''.join(marks)}</svg>"
        f'<span class="line-number">{_number(bar.value, picture.unit)}</span>'
    )


def _at(value: float, scale: float) -> str:
    return f"{min(max(value * scale, 0.0), WIDTH):.2f}" if math.isfinite(value) else f"{WIDTH:g}"


def _number(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "–"
    if unit == "share":
        return f"{value:.0%}" if value in (0, 1) else f"{value:.1%}"
    return f"{value:.2g}" + ("×" if unit == "times" else "")


def _legend(picture: Picture) -> str:
    """Which side has which colour; the last one is what the picture is about."""
    names = [name for name, _ in picture.sides]
    keys = "".join(
        f'<span class="key"><span class="swatch {_role(place, len(names))}"></span>'
        f"{_text(name)}</span>"
        for place, name in enumerate(names)
    )
    return f'<p class="legend">{keys}</p>'


def _role(place: int, sides: int) -> str:
    return "subject" if place == sides - 1 else "other"


def _histogram(picture: Picture) -> str:
    """Sides as bars over the same bins, side by side; the ends of the axis beneath."""
    count, sides = len(picture.bins), len(picture.sides)
    most = max((max(shares) for _, shares in picture.sides), default=0.0) or 1.0
    step = WIDTH / max(1, count)
    drawn = []
    for place, (_, shares) in enumerate(picture.sides):
        width = 0.84 * step / sides
        for number, share in enumerate(shares):
            height = 38 * share / most
            drawn.append(
                f'<rect class="{_role(place, sides)}" x="{number * step + place * width:.2f}" '
                f'y="{40 - height:.2f}" width="{width:.2f}" height="{height:.2f}"/>'
            )
    label = ", ".join(name for name, _ in picture.sides)
    ends = (picture.bins[0], picture.bins[count // 2], picture.bins[-1]) if count else ()
    axis = "".join(f"<span>{_text(end)}</span>" for end in ends)
    return (
        f'{_legend(picture)}<svg class="bins" viewBox="0 0 {WIDTH:g} 40" '
        f'preserveAspectRatio="none" role="img" aria-label="{_text(picture.title)}: '
        f'{_text(label)}">{"".join(drawn)}</svg><p class="axis">{axis}</p>'
    )


def _levels(picture: Picture) -> str:
    """One line per level with a bar for each side."""
    most = max((max(shares) for _, shares in picture.sides if shares), default=0.0) or 1.0
    sides = len(picture.sides)
    lines = []
    for number, level in enumerate(picture.bins):
        height = 8 / max(1, sides)
        marks = "".join(
            f'<rect class="{_role(place, sides)}" x="0" y="{1 + place * height:.2f}" '
            f'width="{WIDTH * shares[number] / most:.2f}" height="{0.85 * height:.2f}"/>'
            for place, (_, shares) in enumerate(picture.sides)
        )
        numbers = " → ".join(f"{shares[number]:.1%}" for _, shares in picture.sides)
        lines.append(
            f'<span class="line-name">{_text(level)}</span>'
            f'<svg class="track-svg" viewBox="0 0 {WIDTH:g} 10" preserveAspectRatio="none" '
            f'role="img" aria-label="{_text(level)}: {numbers}">{marks}</svg>'
            f'<span class="line-number">{numbers}</span>'
        )
    return f'{_legend(picture)}<div class="lines">{"".join(lines)}</div>'
