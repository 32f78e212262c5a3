"""The accuracies of strategies on a stream as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grafenne.errors import DataError, ParameterError

if TYPE_CHECKING:
    from grafenne.continual.results import StepResult

TITLES = {
    "all": "all test nodes",
    "affected": "affected by the step",
    "unaffected": "left alone by the step",
    "new": "new with the step",
}
COLOURS = ("#3b82d6", "#e07b29", "#3a9d5d", "#8b5fbf", "#c2443c", "#7a7a7a", "#c9a227", "#2aa5a0",
           "#b0578d")  # fmt: skip
MARKERS = "osD^vXP*h"


def check_plot(path: Path) -> None:
    """Refuses, before any work, a picture that could not be drawn."""
    if path.suffix.lower() != ".png":
        raise DataError(f"Cannot draw {path}: the name of a picture ends in .png.")
    try:
        import matplotlib  # noqa: F401 - whether it is there
    except ImportError:
        raise ParameterError(
            "--plot needs matplotlib, which is not installed: pip install 'grafenne[plots]'."
        ) from None


def draw_stream(results: Sequence[StepResult], path: Path, title: str) -> None:
    """Draws a panel for each group of test nodes and a line for each strategy.

    Args:
        results: The results so far.
        path: The PNG, replaced as a whole.
        title: What stands above.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    from grafenne.data.atomic import atomic_write

    strategies = list(dict.fromkeys(result.strategy for result in results))
    told = [
        group
        for group in TITLES
        if any(result.accuracy[group] == result.accuracy[group] for result in results)
    ]
    if not told:
        return
    columns = min(len(told), 2)
    rows = -(-len(told) // columns)
    # Figure rather than pyplot: no window system is touched and nothing is kept globally.
    figure = Figure(figsize=(4.6 * columns, 3.2 * rows + 0.7), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True).flatten()
    for panel, group in zip(panels, told, strict=False):
        for place, name in enumerate(strategies):
            points = [
                (result.step, 100 * result.accuracy[group])
                for result in results
                if result.strategy == name and result.accuracy[group] == result.accuracy[group]
            ]
            if points:
                panel.plot(
                    *zip(*points, strict=True),
                    color=COLOURS[place % len(COLOURS)],
                    marker=MARKERS[place % len(MARKERS)],
                    ms=4.5,
                    lw=1.6,
                    label=name,
                )
        panel.set_title(TITLES[group], fontsize=10)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.grid(axis="y", alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[len(told) :]:
        panel.set_visible(False)
    for place in range(len(told)):
        if place % columns == 0:
            panels[place].set_ylabel("accuracy, %")
        if place >= len(told) - columns:
            panels[place].set_xlabel("step")
            panels[place].tick_params(labelbottom=True)
    figure.suptitle(title, fontsize=12)
    lines, labels = panels[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=min(len(labels), 5),
                  frameon=False, fontsize=9)  # fmt: skip
    with atomic_write(path) as beside:
        figure.savefig(beside, dpi=130)
