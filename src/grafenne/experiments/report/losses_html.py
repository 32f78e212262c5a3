"""The section that says where we lose and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grafenne.experiments.report.losses import Loss, Losses
from grafenne.experiments.report.markup import (
    DASH,
    Raw,
    figure_text,
    folded,
    p_value_text,
    plain_table,
    prose,
    safe,
)

HEADINGS = ("table", "dataset", "problem", "our row", "ours", "below", "its", "difference", "")


def losses_html(losses: Losses, notes: Mapping[str, str]) -> str:
    """Three lists, and the notes.

    Args:
        losses: What was lost.
        notes: Free text by experiment.
    """
    parts = []
    if losses.problems:
        parts.append(
            f"<p>On {len(losses.problems)} of {losses.compared} problems every row of ours is "
            "below the best honest baseline. The highest row of ours:</p>"
        )
        parts.append(_table(losses.problems, "Problems lost to a baseline"))
    elif losses.compared:
        parts.append(
            f"<p>On all {losses.compared} problems that have both, a row of ours is at least as "
            "high as the best honest baseline.</p>"
        )
    if losses.rows:
        listed = _table(losses.rows, "Further rows below a baseline")
        parts.append(folded(f"{len(losses.rows)} further rows below a baseline", listed))
    if losses.paper:
        parts.append(
            f"<p>{len(losses.paper)} of {losses.with_paper} rows are below the paper's figure by "
            "more than one standard deviation of our runs:</p>"
        )
        parts.append(_table(losses.paper, "Rows below the paper's figure"))
    elif losses.with_paper:
        parts.append(
            f"<p>All {losses.with_paper} rows that the paper has a figure for reach it within one "
            "standard deviation of our runs.</p>"
        )
    if not losses.compared and not losses.with_paper:
        parts.append("<p>There is nothing to compare yet.</p>")
    for name, text in notes.items():
        parts.append((f"<h3>{safe(name)}</h3>\n" if name else "") + prose(text))
    return "\n".join(parts)


def _table(losses: Sequence[Loss], label: str) -> Raw:
    return plain_table(HEADINGS, [_line(loss) for loss in losses], (4, 6, 7), label=label)


def _line(loss: Loss) -> list[object]:
    percent, entry = loss.table.percent, loss.entry
    std = entry.cell.std if entry.cell else None
    spread = "" if std is None else f" <small>± {figure_text(std, percent)}</small>"
    remarks = ["more than one std" if loss.beyond_std else "within one std"]
    comparison = loss.comparison
    if comparison is not None and comparison.p_value is not None:
        remarks.append(p_value_text(comparison.p_value))
    if loss.remark:
        remarks.append(loss.remark)
    problem = entry.column.label
    return [
        loss.table.title,
        entry.column.dataset,
        DASH if problem == entry.column.dataset else problem,
        entry.row.title,
        Raw(f"{figure_text(loss.mean, percent)}{spread}"),
        loss.against,
        figure_text(loss.figure, percent),
        Raw(f"<span class=bad>{figure_text(loss.difference, percent, signed=True)}</span>"),
        "; ".join(remarks),
    ]
