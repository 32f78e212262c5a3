"""``grafenne demo``: the whole story on the data that comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from grafenne.cli.models import check_writable
from grafenne.cli.options import JsonOption, QuietOption, ThreadsOption, use_threads
from grafenne.cli.output import STOPPED, answer, say, table_text
from grafenne.errors import DataError


def demo(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the report, predictions and model.")
    ] = Path("demo"),
    epochs: Annotated[
        int, typer.Option(metavar="N", min=1, help="Most passes over the training packages.")
    ] = 200,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of everything random.")] = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    threads: ThreadsOption = 1,
) -> None:
    """Train on one Debian release, predict and take in the next ones, explain a prediction.

    Everything comes with the package; nothing is downloaded. Writes report.html, predictions.csv
    and the folder model. One thread is enough for data of this size.
    """
    if out.exists() and not out.is_dir():
        raise DataError(f"Cannot write the folder {out}: a file of that name exists.")
    check_writable(out / "report.html")
    use_threads(threads)

    from grafenne.cli.demo_report import write_report
    from grafenne.cli.demo_run import run_demo, write_predictions

    tell = (lambda text: None) if quiet else say
    try:
        story = run_demo(epochs=epochs, seed=seed, tell=tell, verbose=not quiet)
    except KeyboardInterrupt:
        say("Stopped; nothing was written.")
        raise typer.Exit(STOPPED) from None
    story.model.save(out / "model")
    write_predictions(story, out / "predictions.csv")
    with_plots = write_report(story, out / "report.html")
    if not with_plots:
        tell("matplotlib is not installed, so the report has no plots: pip install matplotlib")
    result: dict[str, Any] = {
        "out": str(out),
        "report": str(out / "report.html"),
        "predictions": str(out / "predictions.csv"),
        "model": str(out / "model"),
        "plots": with_plots,
        **story.to_dict(),
    }
    answer(_human(story, out), result, as_json)


def _update_time(story: Any) -> str:
    taken = [step.update_seconds for step in story.steps if step.update_seconds is not None]
    return f"{sum(taken) / max(len(taken), 1):.1f} s"


def _human(story: Any, out: Path) -> str:
    table = table_text(
        ("release", "packages", "new", "unseen features", "new only", "held out", "updated"),
        [
            (
                step.release,
                step.packages,
                step.new_packages,
                step.unseen_features,
                step.new_accuracy,
                step.held_out_accuracy,
                step.updated_accuracy,
            )
            for step in story.steps
        ],
    )
    return (
        f"Trained on {story.trained_on} packages of Debian {story.first_release} in "
        f"{story.seconds:.0f} s.\nAccuracy in each release: of this model on the packages that are "
        "new in it and on all\nheld-out ones, and on these after updates with each release "
        f"(elastic weight consolidation,\n{_update_time(story)} each):\n\n"
        f"{table}\n\n"
        f"Always answering {story.common_section!r} would be right for "
        f"{story.common_share:.4f} of the new packages of {story.next_release}.\n\n"
        f"Why one of them was predicted as it was:\n{story.explanation}\n\n"
        f"Report: {out / 'report.html'}\nPredictions: {out / 'predictions.csv'}\n"
        f"Model: {out / 'model'}"
    )
