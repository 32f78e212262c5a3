"""``grafenne report``: the paper's tables side by side with ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grafenne.cli.options import JsonOption, choose
from grafenne.cli.output import answer, say

FORMATS = ("html", "markdown")


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUNS",
            help="Folders of results, or single files of them (*.jsonl).",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where the report goes; report.html by default. Markdown is printed without it.",
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--format", metavar="NAME", help="html or markdown; the latter only has the tables."
        ),
    ] = "html",
    as_json: JsonOption = False,
) -> None:
    """Put results beside the paper's, on one page.

    The page holds the paper's tables with ours beside them, plots, where we lose, the continual
    and inductive figures and the benchmarks, whatever there are results for. It needs no network
    and no script. Notes in RUNS/notes.md or RUNS/notes.json, by experiment, are taken in.
    """
    from grafenne.data.atomic import atomic_write
    from grafenne.experiments.report import read_results, report_html, report_markdown

    choose("format", kind, FORMATS)
    results = read_results(runs)
    for remark in results.remarks:
        say(remark)
    page, counts = report_html(results)
    text = page if kind == "html" else report_markdown(results)
    path = Path("report.html") if out is None and kind == "html" else out
    if path is not None:
        with atomic_write(path) as beside:
            beside.write_text(text, encoding="utf-8")
    told = {"out": None if path is None else str(path), "format": kind, **counts}
    if path is None:
        answer(text.rstrip("\n"), {**told, "markdown": text}, as_json)
        return
    human = (
        f"{path}\n{counts['runs']:,} runs"
        + (f" ({counts['failed_runs']:,} failed)" if counts["failed_runs"] else "")
        + f" in {counts['cells']:,} cells; ours at least as high as the best honest baseline on "
        f"{counts['problems_ours_best']} of {counts['problems_compared']} problems; "
        f"{counts['paper_figures_reached']} of {counts['paper_figures_compared']} of the paper's "
        "GRAFENNE figures reached"
    )
    answer(human, told, as_json)
