"""Line charts as inline SVG that takes its colours from the page around it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from grafenne.experiments.report.markup import MINUS, Raw

WIDTH, HEIGHT = 440, 280
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 12, 44
INSET = 14
"""Room between the frame's sides and the first and last place."""

COLOURS = 8
"""Number of colours in the page's style, ``--line-0`` and so on."""

Ticks = Sequence[tuple[float, str]]


@dataclass(frozen=True)
class Series:
    """One line.

    Attributes:
        name: What the legend calls it.
        points: Place, height and spread (or none) of each point.
        colour: Number of its colour.
        dashed: Whether the line is dashed.
        strong: Whether it stands out.
        logarithms: Whether heights are powers of ten, so that hints tell the numbers themselves.
    """

    name: str
    points: Sequence[tuple[float, float, float | None]]
    colour: int
    dashed: bool = False
    strong: bool = False
    logarithms: bool = False


def line_chart(
    title: str,
    series: Sequence[Series],
    places: Ticks,
    *,
    across: str,
    up: str,
    heights: Ticks | None = None,
) -> Raw:
    """A chart with its title and legend; empty without points.

    Args:
        title: What it shows.
        series: The lines.
        places: Places across, and what they are called.
        across: What the places are.
        up: What the heights are.
        heights: Heights to label; round numbers by default.
    """
    points = [point for line in series for point in line.points]
    if not points or not places:
        return Raw("")
    if heights is None:
        lows = [height - (spread or 0.0) for _, height, spread in points]
        highs = [height + (spread or 0.0) for _, height, spread in points]
        heights = round_ticks(min(lows), max(highs))
    frame = _Frame(places, heights)
    parts = [*_axes(frame, across, up)]
    # Lines that stand out are drawn last, above the others.
    parts += [_line(frame, line) for line in sorted(series, key=lambda line: line.strong)]
    return Raw(
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>{_legend(series)}</figure>"
    )


def round_ticks(low: float, high: float, about: int = 5) -> list[tuple[float, str]]:
    """Round numbers that span a range.

    Args:
        low: Lowest value.
        high: Highest value.
        about: How many there should be, roughly.
    """
    span = max(high - low, 1e-9 * max(abs(high), 1.0), 1e-12)
    power = 10.0 ** math.floor(math.log10(span / about))
    step = power * next(size for size in (1, 2, 5, 10) if span / (power * size) <= about)
    first, last = math.floor(low / step), math.ceil(high / step)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    last = max(last, first + 1)
    return [
        (number * step, f"{number * step:.{digits}f}".replace("-", MINUS))
        for number in range(first, last + 1)
    ]


def power_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Powers of ten around a range of logarithms."""
    raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    first, last = math.floor(low), max(math.ceil(high), math.floor(low) + 1)
    return [(number, f"10{str(number).translate(raised)}") for number in range(first, last + 1)]


class _Frame:
    """Where places and heights are on the picture."""

    def __init__(self, places: Ticks, heights: Ticks) -> None:
        self.places, self.heights = places, heights

    def x(self, value: float) -> float:
        first, last = self.places[0][0], self.places[-1][0]
        share = (value - first) / (last - first) if last > first else 0.5
        return LEFT + INSET + share * (WIDTH - LEFT - RIGHT - 2 * INSET)

    def y(self, value: float) -> float:
        low, high = self.heights[0][0], self.heights[-1][0]
        share = (value - low) / (high - low) if high > low else 0.5
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _axes(frame: _Frame, across: str, up: str) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for value, name in frame.heights:
        y = frame.y(value)
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" class="end">{escape(name)}</text>'
    yield f'<path class="axis" d="M{LEFT} {bottom}H{right}"/>'
    for value, name in frame.places:
        x = frame.x(value)
        yield f'<path class="axis" d="M{x:.1f} {bottom}v4"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 18}" class="middle">{escape(name)}</text>'
    yield f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 6}" class="middle">{escape(across)}</text>'
    centre = (TOP + bottom) / 2
    yield f'<text transform="translate(11 {centre}) rotate(-90)" class="middle">{escape(up)}</text>'


def _line(frame: _Frame, line: Series) -> str:
    spots = [(frame.x(place), height, spread) for place, height, spread in sorted(line.points)]
    path = "L".join(f"{x:.1f} {frame.y(height):.1f}" for x, height, _ in spots)
    names = ["line", f"line-{line.colour % COLOURS}"]
    names += ["dashed"] * line.dashed + ["strong"] * line.strong
    parts = [f'<g class="{" ".join(names)}"><path d="M{path}"/>']
    for x, height, spread in spots:
        y = frame.y(height)
        if spread:
            above, below = frame.y(height + spread), frame.y(height - spread)
            parts.append(f'<path class="spread" d="M{x:.1f} {above:.1f}V{below:.1f}"/>')
        number = 10**height if line.logarithms else height
        told = f"{line.name}: {number:.4g}" + (f" ± {spread:.2g}" if spread else "")
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2"><title>{escape(told)}</title></circle>'
        )
    return "".join(parts) + "</g>"


def _legend(series: Sequence[Series]) -> str:
    items = []
    for line in series:
        dashed = " dashed" if line.dashed else ""
        strong = " strong" if line.strong else ""
        items.append(
            f'<li><svg viewBox="0 0 26 10" aria-hidden="true"><g class="line '
            f'line-{line.colour % COLOURS}{dashed}{strong}"><path d="M1 5H25"/>'
            f'<circle cx="13" cy="5" r="3.2"/></g></svg>{escape(line.name)}</li>'
        )
    return f'<ul class="legend">{"".join(items)}</ul>'
