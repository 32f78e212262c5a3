"""HTML from data, in which every text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

MINUS, DASH = "−", "–"
LONG = 36
"""Texts of more characters may break into lines."""


class Raw(str):
    """Markup that is safe already."""

    __slots__ = ()


def safe(value: object) -> str:
    """A value as markup: :class:`Raw` stays, anything else is escaped."""
    return value if isinstance(value, Raw) else escape(str(value))


def plain_table(
    columns: Sequence[object],
    rows: Iterable[Sequence[object]],
    numbers: Iterable[int] = (),
    *,
    label: str,
) -> Raw:
    """A table that scrolls inside its own box.

    Args:
        columns: Headings.
        rows: Cells.
        numbers: Places of the columns that are flush right.
        label: What the box is, for screen readers.
    """
    numeric = set(numbers)

    def line(values: Sequence[object], tag: str) -> str:
        cells = []
        for place, value in enumerate(values):
            kind = " class=number" if place in numeric else ""
            if not isinstance(value, Raw) and len(str(value)) > LONG:
                kind = " class=long"
            cells.append(f"<{tag}{kind}>{safe(value)}</{tag}>")
        return "".join(cells)

    body = "\n".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return box(
        f"<table>\n<thead><tr>{line(columns, 'th')}</tr></thead>\n<tbody>{body}</tbody>\n</table>",
        label,
    )


def box(table: str, label: str) -> Raw:
    """A box that scrolls sideways; the tab key reaches it, so that arrow keys can scroll it."""
    return Raw(
        f'<div class="wide" role="region" aria-label="{escape(label)}" tabindex="0">{table}</div>'
    )


def section(name: str, title: str, body: str) -> str:
    """A section that the page's contents can point to."""
    return f'<section id="{escape(name)}">\n<h2>{escape(title)}</h2>\n{body}\n</section>'


def folded(summary: str, body: str) -> str:
    """Something that opens on demand."""
    return f"<details class=fold><summary>{safe(summary)}</summary>\n{body}\n</details>"


def prose(text: str) -> Raw:
    """Paragraphs, lists with ``-``, `code` and **strong words** of a note; else it is text."""
    parts = []
    for chunk in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in chunk.splitlines()]
        if not any(line.startswith(("- ", "* ")) for line in lines):
            parts.append(f"<p>{_inline(' '.join(lines))}</p>")
            continue
        items: list[str] = []
        before: list[str] = []
        for line in lines:
            if line.startswith(("- ", "* ")):
                items.append(line[2:])
            elif items:  # the item goes on
                items[-1] += f" {line}"
            else:
                before.append(line)
        if before:
            parts.append(f"<p>{_inline(' '.join(before))}</p>")
        listed = "".join(f"<li>{_inline(item)}</li>" for item in items)
        parts.append(f"<ul>{listed}</ul>")
    return Raw("\n".join(parts))


def _inline(text: str) -> str:
    coded = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", coded)


def figure_text(value: float | None, percent: bool, *, signed: bool = False) -> str:
    """A fraction as the table prints it: 88.12 or 0.8812."""
    if value is None:
        return DASH
    shown = f"{100 * value:+.2f}" if percent else f"{value:+.4f}"
    return shown.replace("-", MINUS) if signed else shown.lstrip("+").replace("-", MINUS)


def seconds_text(seconds: float | None) -> str:
    """A duration in a unit that suits it."""
    if seconds is None:
        return ""
    if seconds < 0.1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def p_value_text(p_value: float) -> str:
    """``p = 0.012``, or ``p < 0.001``."""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"
