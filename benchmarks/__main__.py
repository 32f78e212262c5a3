"""The command line: ``python -m benchmarks NAME``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.results import append_rows
from benchmarks.system import load_average, machine_facts
from benchmarks.table import make_console, print_rows
from grafenne.errors import GrafenneError

DEFAULT_OUT = Path("results/bench.jsonl")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs benchmarks, prints their tables and appends the rows to a file."""
    from benchmarks.suite import BENCHMARKS, Options

    given = _parser().parse_args(arguments)
    if given.name == "list":
        _print_list()
        return 0
    names = list(BENCHMARKS) if given.name == "all" else [given.name]
    if given.name not in ("all", "pictures") and given.name not in BENCHMARKS:
        print(f"There is no benchmark {given.name!r}; see python -m benchmarks list.")
        return 2
    if given.name == "pictures":
        return _draw(given.out)
    options = Options(
        datasets=tuple(given.dataset) if given.dataset else None,
        widths=tuple(given.width) if given.width else None,
        heads=given.heads,
        feature_dropout=given.feature_dropout,
        variants=tuple(given.variants.split(",")) if given.variants else None,
        repeats=given.repeats,
        memory=not given.no_memory,
        loss=given.loss,
        epochs=given.epochs,
        largest=given.largest,
    )
    console = make_console()
    console.print(_machine_line())
    for name in names:
        load = load_average()
        try:
            rows = BENCHMARKS[name][1](options)
        except GrafenneError as error:
            print(error, file=sys.stderr)
            return 2
        append_rows(rows, given.out, load)
        print_rows(rows, console)
    return _draw(given.out) if given.name == "all" else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", help="a benchmark, or: list, all, pictures")
    parser.add_argument("--dataset", action="append", help="may be given several times")
    parser.add_argument("--width", action="append", type=int, help="may be given several times")
    parser.add_argument("--heads", type=int)
    parser.add_argument(
        "--feature-dropout",
        type=float,
        help="default: the classifier's choice where few nodes are labelled",
    )
    parser.add_argument("--variants", help="names with commas between them")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-memory", action="store_true", help="times only")
    parser.add_argument("--loss", type=float, help="validation loss that 'train' has to reach")
    parser.add_argument("--epochs", type=int, default=200, help="most epochs of 'train'")
    parser.add_argument(
        "--largest", type=float, default=1e7, help="most values in 'scaling'; 1e8 needs memory"
    )
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    return parser


def _print_list() -> None:
    from benchmarks.problem import DATASETS
    from benchmarks.suite import BENCHMARKS
    from benchmarks.variants import VARIANTS

    about = {name: text for name, (text, _) in BENCHMARKS.items()}
    for title, entries in (("benchmarks", about), ("variants", VARIANTS), ("datasets", DATASETS)):
        print(title)
        for name, text in entries.items():
            print(f"  {name:20} {text}")


def _machine_line() -> str:
    facts = machine_facts()
    return (
        f"{facts['cpu']}, {facts['cores']} cores, torch {facts['torch']} with "
        f"{facts['threads']} threads, load {load_average()[0]}"
    )


def _draw(out: Path) -> int:
    from benchmarks.pictures import draw_pictures

    for path in draw_pictures(out):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
