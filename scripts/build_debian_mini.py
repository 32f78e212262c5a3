"""Makes the embedded dataset ``debian-mini`` from the full ``debian`` one, always the same way.

    GRAFENNE_DATA=... python scripts/build_debian_mini.py

The sample keeps what makes the full set interesting, at a size that travels with the package:

1. The twenty largest sections of bookworm, each with a share that grows with the square root of
   its size, so that no section is tiny and none is everything.
2. The packages that most others depend on, so that dependencies stay inside the sample.
3. Whole source packages in the order of a hash of their names, with the first dependencies of
   each of their packages, until the shares are full. All releases take part, so packages come
   and go from release to release as they do in the full set.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import grafenne.datasets
from grafenne.data.atomic import atomic_write
from grafenne.datasets.debian import RELEASES
from grafenne.datasets.registry import data_root

SECTIONS = 20
PACKAGES = 4800
HUBS = 300
LARGEST_SOURCE = 25  # a source of hundreds of packages would fill a section alone
FIRST_DEPENDENCIES = 3
LARGEST_FILE = 1_000_000
COLUMNS = [
    "package",
    "section",
    "priority",
    "architecture",
    "installed_size",
    "size",
    "multi_arch",
    "tags",
    "fields",
    "words",
]


class Sample:
    """The chosen packages, filled section by section."""

    def __init__(self, packages: pd.DataFrame, depends: pd.DataFrame) -> None:
        newest = packages.drop_duplicates("package", keep="last")
        sizes = packages.loc[packages["release"] == "bookworm", "section"].value_counts()
        sizes = sizes.sort_index().sort_values(ascending=False, kind="stable").iloc[:SECTIONS]
        roots = np.sqrt(sizes)
        self.share = (PACKAGES * roots / roots.sum()).round().astype(int).to_dict()
        newest = newest[newest["section"].isin(self.share)]
        self.section = dict(zip(newest["package"], newest["section"], strict=True))
        self.source = dict(zip(newest["package"], newest["source"], strict=True))
        self.members: dict[str, list[str]] = defaultdict(list)
        for package in sorted(self.section):
            self.members[self.source[package]].append(package)
        self.depends: dict[str, list[str]] = defaultdict(list)
        inside = depends[depends["package"].isin(self.section) & depends["on"].isin(self.section)]
        for package, on in zip(inside["package"], inside["on"], strict=True):
            self.depends[package].append(on)
        self.hubs = (
            inside["on"].value_counts().sort_index().sort_values(ascending=False, kind="stable")
        )
        self.taken: set[str] = set()
        self.used: Counter[str] = Counter()

    def add(self, package: str) -> None:
        """Takes a package, unless its section is full."""
        section = self.section[package]
        if package not in self.taken and self.used[section] < self.share[section]:
            self.taken.add(package)
            self.used[section] += 1

    def fill(self) -> set[str]:
        """Chooses the packages."""
        for package in self.hubs.index[:HUBS]:
            self.add(package)
        for source in sorted(self.members, key=lambda name: hashlib.sha256(name.encode()).digest()):
            members = self.members[source]
            if len(members) > LARGEST_SOURCE:
                continue
            for package in members:
                self.add(package)
            for package in members:
                if package in self.taken:
                    for on in self.depends[package][:FIRST_DEPENDENCIES]:
                        if len(self.members[self.source[on]]) <= LARGEST_SOURCE:
                            self.add(on)
        return self.taken


def sample_tables(folder: Path) -> tuple[pa.Table, pa.Table]:
    """The packages of all releases, and the dependencies with the releases that have them."""
    tables = {
        kind: pd.concat(
            [
                pd.read_parquet(folder / f"{release}-{kind}.parquet").assign(release=release)
                for release in RELEASES
            ]
        )
        for kind in ("packages", "depends")
    }
    packages, depends = tables["packages"], tables["depends"]
    distinct = depends[depends["kind"] != "Suggests"].drop_duplicates(["package", "on"])
    sample = Sample(packages, distinct)
    kept = packages[
        packages["package"].isin(sample.fill()) & packages["section"].isin(sample.share)
    ]
    number = {release: place for place, release in enumerate(RELEASES)}
    kept = kept.assign(release=kept["release"].map(number)).sort_values(["package", "release"])

    depends = depends.assign(release=depends["release"].map(number))
    names = kept[["package", "release"]]
    inside = depends.merge(names, on=["package", "release"]).merge(
        names.rename(columns={"package": "on"}), on=["on", "release"]
    )
    inside = inside.assign(releases=2 ** inside["release"])
    inside = inside.drop_duplicates(["package", "on", "release"])
    edges = inside.groupby(["package", "on"], as_index=False)["releases"].sum()
    edges = edges.sort_values(["package", "on"])
    return _table(kept[["release", *COLUMNS]]), _table(edges)


def _table(frame: pd.DataFrame) -> pa.Table:
    """Small integers and dictionaries, without the notes that pandas adds to a schema."""
    columns: dict[str, Any] = {}
    for name in frame.columns:
        column = pa.array(frame[name])
        if name in ("release", "releases"):
            column = column.cast(pa.int8())
        elif pa.types.is_integer(column.type):
            column = column.cast(pa.int32())
        else:
            column = column.cast(pa.string())
        columns[name] = column
    return pa.table(columns)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-root", type=Path, help="the folder that holds debian/")
    default = Path(grafenne.datasets.__file__).parent / "embedded"
    parser.add_argument("--out", type=Path, default=default, help="folder to write to")
    options = parser.parse_args(arguments)
    total = 0
    try:
        tables = sample_tables(data_root(options.data_root) / "debian")
    except FileNotFoundError as error:
        print(f"The full dataset is not there: {error}", file=sys.stderr)
        return 2
    for table, kind in zip(tables, ("packages", "depends"), strict=True):
        path = options.out / f"debian-mini-{kind}.parquet"
        with atomic_write(path) as beside:
            parquet.write_table(table, beside, compression="zstd", compression_level=22)
        total += path.stat().st_size
        print(f"{path}: {table.num_rows:,} rows, {path.stat().st_size:,} bytes")
    if total > LARGEST_FILE:
        print(f"The dataset has {total:,} bytes; at most {LARGEST_FILE:,}.", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
