"""A table of methods as HTML: the paper's figure and ours, with the command behind each cell."""

from __future__ import annotations

from html import escape

from grafenne.experiments.paper import published_figures
from grafenne.experiments.report.cells import WANTED_SEEDS, Cell
from grafenne.experiments.report.markup import (
    DASH,
    box,
    figure_text,
    p_value_text,
    safe,
    seconds_text,
)
from grafenne.experiments.report.methods import GROUP_TITLES, GROUPS, RowKey
from grafenne.experiments.report.tables import Block, Column, Entry, Table


def block_html(table: Table, block: Block) -> str:
    """One block of a table.

    Args:
        table: The table it belongs to.
        block: The block.
    """
    published = published_of(table, block)
    two = table.paper is not None or bool(published)
    beside = "paper" if table.paper is not None else "published"
    span = 2 if two else 1
    heads = "".join(
        f'<th class=first colspan={span} scope="colgroup">{safe(column.label)}</th>'
        for column in block.columns
    )
    pair = (
        f'<th class="number first" scope="col">{beside}</th><th class=number scope="col">ours</th>'
    )
    lines = [f'<tr><th scope="col">method</th>{heads}</tr>']
    if two:
        lines.append(f"<tr><th></th>{pair * len(block.columns)}</tr>")
    body = []
    for group in GROUPS:
        rows = block.group(group)
        if rows and group in GROUP_TITLES:
            width = span * len(block.columns)
            body.append(
                f'<tr class=group><th scope="rowgroup">{GROUP_TITLES[group]}</th>'
                f"<td colspan={width}></td></tr>"
            )
        body += [_row(table, block, row, published, two) for row in rows]
    body += [_published_row(block, name, figures) for name, figures in _unmatched(published)]
    return box(
        f"<table class=cells>\n<thead>{''.join(lines)}</thead>\n<tbody>{''.join(body)}</tbody>\n"
        "</table>",
        f"{table.title} {block.title}".strip(),
    )


Published = dict[tuple[str, str], dict[Column, float]]
"""Figures of others, by our method (or none) and their own name, then by column."""


def published_of(table: Table, block: Block) -> Published:
    """Figures that others publish for the block's columns."""
    found: Published = {}
    for column in block.columns:
        for figure in published_figures():
            same = (figure.dataset, figure.p, figure.variant) == (
                column.dataset,
                column.p,
                column.variant,
            )
            if same and figure.experiment == table.published_under:
                found.setdefault((figure.method, figure.row), {})[column] = figure.value
    return found


def _unmatched(published: Published) -> list[tuple[str, dict[Column, float]]]:
    return [(name, figures) for (method, name), figures in published.items() if not method]


def _row(table: Table, block: Block, row: RowKey, published: Published, two: bool) -> str:
    cells = []
    theirs = {
        column: value
        for (method, _), figures in published.items()
        if method == row.method and not row.leaked and not row.variant
        for column, value in figures.items()
    }
    for column in block.columns:
        entry = block.entries[row, column]
        if two:
            cells.append(_paper_cell(table, entry, theirs.get(column)))
        cells.append(_our_cell(table, entry, first=not two))
    kind = " class=ours" if row.ours else ""
    return f'<tr{kind}><th scope="row">{escape(_row_title(block, row))}</th>{"".join(cells)}</tr>\n'


def _row_title(block: Block, row: RowKey) -> str:
    """The paper's name of a row, where it has one."""
    for column in block.columns:
        printed = block.entries[row, column].paper
        if printed is not None:
            return f"{printed.row} (leaked)" if row.leaked else printed.row
    return f"{row.title} (leaked)" if row.leaked else row.title


def _paper_cell(table: Table, entry: Entry, published: float | None) -> str:
    if entry.paper is None:
        shown = DASH if published is None else figure_text(published, table.percent)
        return f'<td class="number first paper">{shown}</td>'
    best = " best" if entry.paper_is_best else ""
    shown = escape({"-": DASH}.get(entry.paper.mark, entry.paper.mark) or entry.paper.mean)
    if entry.paper.mean:
        shown += f" <small>± {escape(entry.paper.std)}</small>"
    if table.paper is not None and entry.row.method in table.paper.leaked and entry.paper.mean:
        shown += '<span class=under title="The features saw test edges.">leaked</span>'
    return f'<td class="number first paper{best}">{shown}</td>'


def _our_cell(table: Table, entry: Entry, first: bool) -> str:
    edge = " first" if first else ""
    cell = entry.cell
    if cell is None:
        return f'<td class="number{edge}">{DASH}</td>'
    if cell.mean is None:
        return f'<td class="number{edge}"><span class=bad>failed</span></td>'
    best = " best" if entry.is_best else ""
    spread = f" <small>± {figure_text(cell.std, table.percent)}</small>" if cell.n > 1 else ""
    under = [seconds_text(cell.seconds)]
    if cell.n != WANTED_SEEDS:
        under.append(f"n = {cell.n}")
    if any(run.settings == "default" for run in cell.runs):
        under.append("default settings")
    if entry.row.leaked:
        under.append("leaked")
    told = " · ".join(escape(part) for part in under if part)
    verdict = _verdict(entry)
    return (
        f'<td class="number{edge}{best}"><details><summary>'
        f"{figure_text(cell.mean, table.percent)}{spread}"
        f"<span class=under>{told}{verdict}</span></summary>"
        f"{_more(table, entry, cell)}</details></td>"
    )


def _verdict(entry: Entry) -> str:
    """An arrow for a significant difference from the best baseline."""
    if entry.comparison is None or not entry.comparison.significant:
        return ""
    if entry.comparison.difference > 0:
        return ' <span class=good title="significantly above the best baseline">▲</span>'
    return ' <span class=bad title="significantly below the best baseline">▼</span>'


def _more(table: Table, entry: Entry, cell: Cell) -> str:
    seeds = ", ".join(str(run.seed) for run in cell.runs)
    lines = [f"{cell.n} runs, seeds {escape(seeds)}"]
    if cell.failed:
        lines[0] += f"; {cell.failed} failed"
    if entry.against is not None and entry.comparison is not None:
        against, comparison = entry.against, entry.comparison
        test = (
            "too few seeds for a test"
            if comparison.p_value is None
            else p_value_text(comparison.p_value)
        )
        difference = figure_text(comparison.difference, table.percent, signed=True)
        lines.append(
            f"{difference} against {escape(against.row.title)} over {comparison.seeds} common "
            f"seeds, {escape(test)}"
        )
    facts = sorted({run.settings for run in cell.runs if run.settings})
    lines += [f"settings: {escape(', '.join(facts))}"] if facts else []
    if cell.peak_mb is not None:
        lines.append(f"at most {cell.peak_mb:,.0f} MB")
    versions = sorted({run.version for run in cell.runs if run.version})
    lines += [f"version {escape(', '.join(versions))}"] if versions else []
    command = f"<code>{escape(cell.command)}</code>" if cell.command else ""
    return f"<div class=more>{'<br>'.join(lines)}{command}</div>"


def _published_row(block: Block, name: str, figures: dict[Column, float]) -> str:
    cells = "".join(
        f'<td class="number first paper">{figure_text(figures.get(column), True)}</td><td></td>'
        for column in block.columns
    )
    return f'<tr><th scope="row">{escape(name)} (published)</th>{cells}</tr>\n'
