"""A small coherent part of ``debian`` that travels inside the package."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.vocabulary import Vocabulary
from grafenne.datasets.debian import DEFAULT_RELEASE, RELEASES, check_release, check_releases
from grafenne.datasets.debian_graph import graph_from_tables
from grafenne.datasets.registry import Dataset, register

if TYPE_CHECKING:
    import pyarrow as pa

    from grafenne.data.stream import GraphStream


def load_debian_mini(root: Path, *, release: str = DEFAULT_RELEASE) -> FeatureGraph:
    """One release, with the features that :func:`graph_from_tables` describes.

    Args:
        root: Not used; nothing is read but the package itself.
        release: One of :data:`grafenne.datasets.debian.RELEASES`.
    """
    return _release(*_tables(), check_release(release), None)


def stream_debian_mini(root: Path, *, releases: Sequence[str] = RELEASES) -> GraphStream:
    """The releases in the given order; a feature keeps its position from one to the next.

    Args:
        root: Not used; nothing is read but the package itself.
        releases: Which releases, by default all five.
    """
    from grafenne.data.stream import GraphStream

    packages, depends = _tables()
    snapshots: list[FeatureGraph] = []
    for release in check_releases(releases):
        known = snapshots[-1].features if snapshots else None
        snapshots.append(_release(packages, depends, release, known))
    return GraphStream.from_snapshots(snapshots)


def _tables() -> tuple[pa.Table, pa.Table]:
    """Packages with the number of their release; dependencies with a bit for each release."""
    import pyarrow as pa
    from pyarrow import parquet

    folder = files("grafenne.datasets") / "embedded"
    packages, depends = (
        parquet.read_table(pa.BufferReader((folder / f"debian-mini-{kind}.parquet").read_bytes()))
        for kind in ("packages", "depends")
    )
    return packages, depends


def _release(
    packages: pa.Table, depends: pa.Table, release: str, features: Vocabulary | None
) -> FeatureGraph:
    import pyarrow.compute as pc

    number = RELEASES.index(release)
    of_release = pc.equal(packages["release"], number)
    bit = pc.bit_wise_and(depends["releases"], 1 << number)
    return graph_from_tables(
        packages.filter(of_release), depends.filter(pc.greater(bit, 0)), features
    )


register(
    Dataset(
        name="debian-mini",
        title="Debian, small: part of five releases, inside the package",
        description=(
            "About 4,000 packages of 20 sections joined by their dependencies; features are tags, "
            "words of the description, header fields, categories and sizes."
        ),
        task="The section of a package (20 classes), above all of packages that are new.",
        source="Comes with the package; made by scripts/build_debian_mini.py from debian.",
        loader=load_debian_mini,
        streamer=stream_debian_mini,
    )
)
