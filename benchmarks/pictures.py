"""Pictures of the measured rows, from the newest run of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.results import read_rows

BARS = (
    *("step", "evaluate", "epoch", "train"),
    *("physics-vs-scatter", "epoch-vs-sage", "step-vs-limit"),
)


def draw_pictures(results: Path, folder: Path | None = None) -> list[Path]:
    """Draws what the file holds: bars of ratios, and the curve of the scaling benchmark.

    Args:
        results: The file of rows.
        folder: Where the pictures go; beside the file by default.

    Returns:
        The files written.
    """
    folder = results.parent if folder is None else folder
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in read_rows(results):
        keys = ("name", "dataset", "width", "heads", "feature_dropout", "work", "variant")
        newest[tuple(row[key] for key in keys)] = row
    rows = list(newest.values())
    written = []
    for name in BARS:
        measured = [row for row in rows if row["name"] == name and row["median_seconds"]]
        if measured:
            written.append(_bars(name, measured, folder / f"bench-{name}.png"))
    curve = [row for row in rows if row["name"] == "scaling" and row["dataset"] != "fit"]
    if len(curve) > 1:
        written.append(_scaling(curve, folder / "bench-scaling.png"))
    return written


def _bars(name: str, rows: list[dict[str, Any]], path: Path) -> Path:
    """Seconds of each variant on a logarithmic axis, with the ratio to ours beside each."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(7, 0.6 + 0.27 * len(rows)), layout="constrained")
    for place, row in enumerate(rows):
        colour = "#c44e52" if row["variant"] == "ours" else "#8c8c8c"
        seconds, ratio = row["median_seconds"], row["ratio_to_ours"]
        axes.barh(place, seconds, color=colour)
        spread = [[seconds - row["low_seconds"]], [row["high_seconds"] - seconds]]
        axes.errorbar(seconds, place, xerr=spread, color="black", linewidth=0.8)
        if ratio is not None:
            axes.annotate(f" ×{ratio:.2f}", (row["high_seconds"], place), va="center", fontsize=7)
    axes.set_yticks(range(len(rows)), [_label(row) for row in rows], fontsize=7)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.margins(x=0.12)
    axes.set_xlabel(f"seconds per {rows[0]['work']} (× is the ratio to ours)")
    axes.set_title(name, loc="left")
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    return path


def _scaling(rows: list[dict[str, Any]], path: Path) -> Path:
    """Time and memory against the number of values, with a straight line beside them."""
    pyplot = _pyplot()
    rows = sorted(rows, key=lambda row: row["values"])
    values = [row["values"] for row in rows]
    figure, pair = pyplot.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for axes, key, label in zip(
        pair,
        ("median_seconds", "peak_mb"),
        ("seconds per training step", "peak growth, MB"),
        strict=True,
    ):
        costs = [row[key] for row in rows]
        axes.loglog(values, costs, "o-", color="#c44e52", label="ours")
        line = [costs[-1] * value / values[-1] for value in values]
        axes.loglog(values, line, "--", color="#8c8c8c", label="linear")
        axes.set_xlabel("feature values in the graph")
        axes.set_ylabel(label)
        axes.legend()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    return path


def _label(row: dict[str, Any]) -> str:
    heads = f" x{row['heads']}" if row["heads"] and row["heads"] > 1 else ""
    dropout = row["feature_dropout"]
    hidden = "" if dropout is None else f", dropout {dropout:g}"
    return f"{row['dataset']}, {row['width']}{heads}{hidden}: {row['variant']}"


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
