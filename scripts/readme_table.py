"""Writes the README's table of results again, between its two marker comments.

python scripts/readme_table.py            # from results/
python scripts/readme_table.py --check    # only tells whether the README is up to date
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from grafenne.data.atomic import atomic_write
from grafenne.errors import DataError, GrafenneError
from grafenne.experiments.report import Results, main_table, read_results

BEGIN = "<!-- results: begin (scripts/readme_table.py) -->"
END = "<!-- results: end -->"


def replace_table(text: str, table: str) -> str:
    """The text with another table between the markers."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise DataError(f"The text must have {BEGIN!r} and, after it, {END!r} once each.")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table.strip()}\n{END}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", nargs="?", type=Path, default=Path("results"))
    parser.add_argument("--readme", type=Path, default=Path("README.md"))
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if stale")
    options = parser.parse_args(arguments)
    try:
        there = options.results.is_dir() and any(options.results.glob("*.jsonl"))
        results = read_results([options.results]) if there else Results()
        old = options.readme.read_text(encoding="utf-8")
        new = replace_table(old, main_table(results))
    except (GrafenneError, OSError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    if options.check:
        print(f"{options.readme} is {'up to date' if new == old else 'stale'}.")
        return int(new != old)
    with atomic_write(options.readme) as beside:
        beside.write_text(new, encoding="utf-8")
    print(f"{options.readme}: {'unchanged' if new == old else 'table written'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
