"""The report: one HTML page that needs nothing from outside and no script."""

from __future__ import annotations

from html import escape
from typing import Any

from grafenne.experiments.paper import published_figures
from grafenne.experiments.report.cell_tables import block_html
from grafenne.experiments.report.cells import Cells
from grafenne.experiments.report.continual import continual_html
from grafenne.experiments.report.datasets import statistics_html
from grafenne.experiments.report.inductive import inductive_html
from grafenne.experiments.report.losses import Losses, find_losses, summarise
from grafenne.experiments.report.losses_html import losses_html
from grafenne.experiments.report.markup import folded, plain_table, safe, section
from grafenne.experiments.report.missing_rates import missing_rate_chart
from grafenne.experiments.report.runs import Results
from grafenne.experiments.report.speed import speed_html
from grafenne.experiments.report.style import STYLE
from grafenne.experiments.report.tables import Table, make_tables
from grafenne.version import __version__

HOW_TO_READ = (
    "<ul><li>Figures are means ± standard deviations over seeds, with the time of a run below "
    "(filling in and training, on the machine the runs were made on). A cell with other than five "
    "seeds says how many it has.</li>"
    "<li><b>Bold</b> is the highest of a column: among the paper's figures, among our runs, and "
    "again among our runs with labels as features. Leaked rows are never bold nor counted.</li>"
    "<li>Touch or click a figure of ours for the command that runs it again, its seeds and its "
    "comparison.</li>"
    "<li>▲ and ▼: a GRAFENNE row differs from the best baseline of the same column by a paired "
    "t-test over common seeds, two-sided, p &lt; 0.05. With five seeds that takes a mean "
    "difference of at least 1.24 times the standard deviation of the differences, so no mark means "
    "“not shown”, not “equal”. Wilcoxon's signed-rank test could not go below p = 0.06 with five "
    "pairs. Random splits of one dataset overlap, which makes any such test somewhat too "
    "confident, and with this many cells a few marks are chance.</li></ul>"
)


def report_html(results: Results) -> tuple[str, dict[str, Any]]:
    """The whole page, and the counts that sum it up.

    Args:
        results: What was read.
    """
    cells = Cells(results)
    tables = make_tables(cells)
    losses = find_losses(tables)
    counts = summarise(results, cells, losses)
    sections: list[tuple[str, str, str]] = []
    for table in tables:
        if table.paper is not None or table.measured:
            sections.append((table.name, table.title, _table(table)))
    sections.append(("losses", "Where we lose, and why", losses_html(losses, results.notes)))
    if results.special("continual"):
        body = continual_html(results.special("continual"))
        sections.append(("continual", "Continual learning", body))
    if results.special("inductive"):
        body = inductive_html(results.special("inductive"))
        sections.append(("inductive", "Unseen features", body))
    statistics = statistics_html(results.special("statistics"))
    sections.append(("statistics", "Dataset statistics", statistics))
    if results.special("bench"):
        sections.append(("speed", "Time and memory", speed_html(results.special("bench"))))
    sections.append(("runs", "The runs", _provenance(results)))
    links = "".join(
        f'<li><a href="#{escape(name)}">{escape(title)}</a></li>' for name, title, _ in sections
    )
    body = "\n".join(section(name, title, part) for name, title, part in sections)
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>grafenne: results</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>GRAFENNE: the paper's tables and ours</h1>\n{_cards(counts, losses)}\n"
        f"<nav><ul>{links}</ul></nav>\n{folded('How to read the tables', HOW_TO_READ)}\n{body}\n"
        f'<p class="soft">Made by grafenne {escape(__version__)}.</p>\n</body>\n</html>\n'
    )
    return page, counts


def _cards(counts: dict[str, Any], losses: Losses) -> str:
    failed = f", {counts['failed_runs']} failed" if counts["failed_runs"] else ""
    cards = (
        (f"{counts['runs']:,}", f"runs in {counts['cells']:,} cells{failed}"),
        (
            f"{losses.won} of {losses.compared}",
            "problems on which a GRAFENNE row is not below the best honest baseline",
        ),
        (f"{losses.significant}", "of those by a significant difference"),
        (
            f"{losses.grafenne_won} of {losses.grafenne}",
            "the same for GRAFENNE alone, with GraphSAGE inside and nothing before it",
        ),
        (
            f"{losses.reached} of {losses.with_paper}",
            "GRAFENNE figures of the paper reached, within one standard deviation",
        ),
    )
    shown = "".join(
        f"<div class=card><b>{escape(number)}</b>{escape(text)}</div>" for number, text in cards
    )
    return f"<div class=cards>{shown}</div>"


def _table(table: Table) -> str:
    parts = []
    if table.paper is not None:
        where = f" ({table.paper.label})" if table.paper.label else ""
        parts.append(f'<p class="soft">The paper{escape(where)}: “{safe(table.caption)}”</p>')
        if table.paper.leaked:
            parts.append(
                '<p class="soft">The paper imputes over all edges before it takes the test edges '
                "out, so its NM and FP rows have seen what they are asked for. Ours split first; "
                "rows marked “leaked” do it the paper's way, for comparison only.</p>"
            )
    elif table.caption:
        parts.append(f'<p class="soft">{safe(table.caption)}</p>')
    if not table.measured:
        parts.append('<p class="soft">No runs of ours yet.</p>')
    charts = "".join(missing_rate_chart(table, block) for block in table.blocks)
    if charts:
        parts.append(f"<div class=figures>{charts}</div>")
    for block in table.blocks:
        title = f"<h3>{safe(block.title)}</h3>\n" if block.title and len(table.blocks) > 1 else ""
        parts.append(f"{title}{block_html(table, block)}")
    parts += _sources(table)
    return "\n".join(parts)


def _sources(table: Table) -> list[str]:
    """Where the published figures in a table come from."""
    datasets = {column.dataset for block in table.blocks for column in block.columns}
    found: dict[str, dict[str, list[str]]] = {}
    for figure in published_figures():
        if figure.experiment == table.published_under and figure.dataset in datasets:
            found.setdefault(figure.source, {}).setdefault(figure.row, []).append(figure.dataset)
    return [
        '<p class="soft">Published: '
        + escape("; ".join(f"{row} ({', '.join(given)})" for row, given in rows.items()))
        + f". Source: {escape(source)}.</p>"
        for source, rows in found.items()
    ]


def _provenance(results: Results) -> str:
    versions = sorted({run.version for run in results.runs if run.version})
    seconds = sum(run.seconds or 0.0 for run in results.runs)
    parts = [
        f"<p>Read: {safe(', '.join(results.files))}. "
        f"{len(results.runs):,} runs, {seconds / 3600:.1f} hours of computing"
        + (f", version {safe(', '.join(versions))}" if versions else "")
        + ".</p>"
    ]
    parts += [f"<p>{safe(remark)}</p>" for remark in results.remarks]
    if results.failed:
        rows = [
            (*identity[:3], f"{identity[3]:g}", identity[6], error[:300])
            for identity, error in results.failed
        ]
        headings = ("experiment", "dataset", "method", "p", "seed", "error")
        table = plain_table(headings, rows, (3, 4), label="Failed runs")
        parts.append(folded(f"Failed runs: {len(results.failed)}", table))
    return "\n".join(parts)
