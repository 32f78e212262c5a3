"""The demo's plots, as SVG that takes its text colour from the page around it."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grafenne.cli.demo_run import Story

INK = "#123456"
"""Stands for the page's own text colour, so that a plot is readable in light and in dark."""

BLUE, ORANGE, GREEN = "#3b82d6", "#e07b29", "#3a9d5d"


def make_plots(story: Story) -> dict[str, str] | None:
    """SVG by name, or ``None`` where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return None
    style = {
        "svg.hashsalt": "grafenne",
        "font.size": 11,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with matplotlib.rc_context(style):
        return {"releases": _releases(story), "training": _training(story)}


def _figure() -> tuple[Any, Any]:
    # Figure rather than pyplot: no window system is touched and nothing is kept globally.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    return figure, figure.add_subplot()


def _releases(story: Story) -> str:
    figure, axes = _figure()
    names = [step.release for step in story.steps]
    lines = (
        ("held out, updated", BLUE, "o", [step.updated_accuracy for step in story.steps]),
        ("held out", GREEN, "s", [step.held_out_accuracy for step in story.steps]),
        ("new packages", ORANGE, "D", [step.new_accuracy for step in story.steps]),
    )
    for label, colour, marker, heights in lines:
        # By number, not by name: a line that starts late must not change the order of releases.
        points = [(place, height) for place, height in enumerate(heights) if height is not None]
        axes.plot(*zip(*points, strict=True), color=colour, marker=marker, label=label, lw=2)
    axes.set_xticks(range(len(names)), names)
    axes.axhline(story.common_share, color=INK, ls=":", lw=1)
    axes.annotate(
        f"always {story.common_section!r}",
        (len(names) - 1, story.common_share),
        (0, 4),
        textcoords="offset points",
        ha="right",
        fontsize=9,
    )
    axes.set_ylim(0, 1)
    axes.set_ylabel("accuracy")
    axes.grid(axis="y", color=INK, alpha=0.15)
    axes.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return _svg(figure, "Accuracy in each release")


def _training(story: Story) -> str:
    figure, axes = _figure()
    epochs = range(1, len(story.losses) + 1)
    axes.plot(epochs, [entry[0] for entry in story.losses], color=BLUE, lw=1.5, label="training")
    axes.plot(epochs, [entry[1] for entry in story.losses], color=ORANGE, lw=2, label="validation")
    axes.axvline(story.best_epoch + 1, color=INK, ls=":", lw=1, label="kept")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss")
    axes.grid(axis="y", color=INK, alpha=0.15)
    axes.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return _svg(figure, "Loss in training")


def _svg(figure: Any, title: str) -> str:
    drawn = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(drawn, format="svg", transparent=True, metadata=nothing)
    svg = drawn.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    # Inside HTML the names of namespaces are implied; without them the page names no address.
    svg = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<svg[^>]*?)\s+width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?)\s+height="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
