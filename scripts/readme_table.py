"""Writes the README's tables of results and of speed again, and all tables beside the results.

In the README they stand between marker comments; RESULTS/tables.md has nothing else.

python scripts/readme_table.py            # from results/
python scripts/readme_table.py --check    # only tells whether both files are up to date
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks are not installed

from benchmarks.markdown import speed_table
from benchmarks.results import read_rows
from grafenne.data.atomic import atomic_write
from grafenne.errors import DataError, GrafenneError
from grafenne.experiments.report import Results, main_table, read_results, report_markdown


def markers(name: str) -> tuple[str, str]:
    """What a table stands between."""
    return f"<!-- {name}: begin (scripts/readme_table.py) -->", f"<!-- {name}: end -->"


def replace_table(text: str, name: str, table: str) -> str:
    """The text with another table between the markers of that name."""
    begin, end = markers(name)
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise DataError(f"The text must have {begin!r} and, after it, {end!r} once each.")
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{table.strip()}\n{end}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", nargs="?", type=Path, default=Path("results"))
    parser.add_argument("--readme", type=Path, default=Path("README.md"))
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if stale")
    options = parser.parse_args(arguments)
    tables = options.results / "tables.md"
    try:
        there = options.results.is_dir() and any(options.results.glob("*.jsonl"))
        results = read_results([options.results]) if there else Results()
        old = options.readme.read_text(encoding="utf-8")
        new = replace_table(old, "results", main_table(results))
        new = replace_table(new, "speed", speed_table(read_rows(options.results / "bench.jsonl")))
        written = tables.read_text(encoding="utf-8") if tables.is_file() else ""
        told = {options.readme: (old, new)}
        if there:
            told[tables] = (written, report_markdown(results))
    except (GrafenneError, OSError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    if options.check:
        for path, (before, after) in told.items():
            print(f"{path} is {'up to date' if after == before else 'stale'}.")
        return int(any(after != before for before, after in told.values()))
    for path, (before, after) in told.items():
        with atomic_write(path) as beside:
            beside.write_text(after, encoding="utf-8")
        print(f"{path}: {'unchanged' if after == before else 'written'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
