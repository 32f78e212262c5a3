"""The packages of five Debian releases: features, nodes and edges that really change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.feature_kinds import feature_kind
from grafenne.data.vocabulary import Vocabulary
from grafenne.datasets.debian_graph import check_columns, graph_from_tables
from grafenne.datasets.debian_packages import DEPENDENCY_COLUMNS, PACKAGE_COLUMNS
from grafenne.datasets.registry import Dataset, register
from grafenne.errors import DataError, ParameterError, unknown_name

if TYPE_CHECKING:
    import pyarrow as pa

    from grafenne.data.stream import GraphStream

__all__ = ["RELEASES", "feature_kind", "load_debian", "stream_debian"]

RELEASES = ("bullseye", "bookworm", "trixie", "forky", "sid")
"""The releases from the oldest to the newest; ``sid`` is the one that never ends."""

DEFAULT_RELEASE = "bookworm"


def load_debian(root: Path, *, release: str = DEFAULT_RELEASE) -> FeatureGraph:
    """One release: packages, dependencies, and what the index says about each package.

    See :func:`grafenne.datasets.debian_graph.graph_from_tables` for the features.

    Args:
        root: The data root; the files are ``debian/<release>-packages.parquet`` and
            ``debian/<release>-depends.parquet``.
        release: One of :data:`RELEASES`.
    """
    return _read_release(root / "debian", check_release(release), None)


def stream_debian(root: Path, *, releases: Sequence[str] = RELEASES) -> GraphStream:
    """The releases in the given order; a feature keeps its position from one to the next.

    Args:
        root: The data root.
        releases: Which releases, by default all five.
    """
    from grafenne.data.stream import GraphStream

    snapshots: list[FeatureGraph] = []
    for release in check_releases(releases):
        known = snapshots[-1].features if snapshots else None
        snapshots.append(_read_release(root / "debian", release, known))
    return GraphStream.from_snapshots(snapshots)


def check_release(release: str) -> str:
    """The release, if there is one of that name."""
    if release not in RELEASES:
        raise unknown_name("Debian release", release, RELEASES)
    return release


def check_releases(releases: Sequence[str]) -> list[str]:
    """The releases of a stream, at least one, each of them once."""
    checked = [check_release(release) for release in releases]
    if not checked or len(set(checked)) < len(checked):
        raise ParameterError(f"releases must be different names, at least one, got {checked}.")
    return checked


def _read_release(folder: Path, release: str, features: Vocabulary | None) -> FeatureGraph:
    packages = _read_table(folder / f"{release}-packages.parquet", PACKAGE_COLUMNS)
    depends = _read_table(folder / f"{release}-depends.parquet", DEPENDENCY_COLUMNS)
    try:
        return graph_from_tables(packages, depends, features)
    except DataError as error:
        raise DataError(f"{release}-packages.parquet: {error}") from None


def _read_table(path: Path, columns: tuple[str, ...]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet

    if not path.exists():
        release = path.name.partition("-")[0]
        raise DataError(
            f"The file {path.name} is not in {path.parent} and cannot be downloaded; build it "
            f"with 'python scripts/build_debian.py {release} Packages.xz --out {path.parent}' "
            "from the Packages index of a Debian mirror."
        )
    try:
        table = parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path.name} is not a whole Parquet file: {error}.") from None
    return check_columns(table, columns, path.name)


register(
    Dataset(
        name="debian",
        title="Debian: the packages of five releases",
        description=(
            "58,653 to 76,439 packages joined by their dependencies; features are tags, words of "
            "the description, header fields, categories and sizes, and differ from package to "
            "package and from release to release."
        ),
        task="The section of a package (58 classes), above all of packages that are new.",
        source="Built by scripts/build_debian.py from the Packages indices of a Debian mirror.",
        loader=load_debian,
        streamer=stream_debian,
    )
)
