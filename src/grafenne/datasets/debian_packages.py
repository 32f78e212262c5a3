"""Turns Debian ``Packages`` indices into the two tables of the ``debian`` dataset.

An index is a list of paragraphs of ``Field: value`` lines; lines that begin with a space go on
with the value before. The words of the descriptions, the optional header fields and the first
alternative of each dependency are kept; everything else is described by :data:`PACKAGE_COLUMNS`.
"""

from __future__ import annotations

import gzip
import lzma
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from grafenne.data.atomic import atomic_write
from grafenne.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

PACKAGE_COLUMNS = (
    "package",
    "version",
    "section",
    "priority",
    "architecture",
    "source",
    "installed_size",
    "size",
    "multi_arch",
    "tags",
    "fields",
    "words",
)
DEPENDENCY_COLUMNS = ("package", "on", "kind")
DEPENDENCY_KINDS = ("Pre-Depends", "Depends", "Recommends", "Suggests")

# Header fields that every package has, or that another column or table already tells.
_ORDINARY = (
    "Package Version Section Priority Architecture Maintainer Installed-Size Size Filename "
    "Description Description-md5 MD5sum SHA1 SHA256 SHA512 Tag Depends Pre-Depends Recommends"
)
ORDINARY_FIELDS = frozenset(_ORDINARY.split())
# Words that say nothing about what a package is for.
_COMMON = (
    "all also and any are can contain containing contains data debian file files for from has "
    "have include includes including into its libraries library more not one only other over "
    "package packages provide provides set some such support supports than that the their them "
    "these this those two use used uses using via was which will with within without you your"
)
STOP_WORDS = frozenset(_COMMON.split())
_WORD = re.compile(r"[a-z][a-z0-9+#-]{2,}")
_PACKAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*")


def read_index(path: str | Path) -> Iterator[dict[str, str]]:
    """The paragraphs of an index file, plain or compressed (``.gz``, ``.xz``)."""
    path = Path(path)
    try:
        with _open(path) as file:
            yield from read_paragraphs(file, path.name)
    except FileNotFoundError:
        raise DataError(f"The index file {path} does not exist.") from None
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise DataError(f"The index file {path.name} cannot be read: {error}.") from None


def _open(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def read_paragraphs(lines: Iterable[str], name: str = "the index") -> Iterator[dict[str, str]]:
    """Splits lines into paragraphs, each a dictionary of its fields."""
    paragraph: dict[str, str] = {}
    field = ""
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\n")
        if not line.strip():
            if paragraph:
                yield paragraph
            paragraph, field = {}, ""
        elif line[0] in " \t":
            if not field:
                raise DataError(f"{name}, line {number}: a continuation without a field before it.")
            paragraph[field] += "\n" + line.strip()
        else:
            field, colon, value = line.partition(":")
            if not colon or not field or " " in field:
                raise DataError(f"{name}, line {number}: {line[:40]!r} is not 'Field: value'.")
            if field in paragraph:
                raise DataError(f"{name}, line {number}: the field {field!r} is there twice.")
            paragraph[field] = value.strip()
    if paragraph:
        yield paragraph


def package_row(paragraph: dict[str, str]) -> tuple[str | int, ...]:
    """One row of the table of packages, in the order of :data:`PACKAGE_COLUMNS`."""
    try:
        package, version = paragraph["Package"], paragraph["Version"]
        section, architecture = paragraph["Section"], paragraph["Architecture"]
        size = int(paragraph["Size"])
        installed_size = int(paragraph.get("Installed-Size", 0))
    except KeyError as error:
        name = paragraph.get("Package", "without a name")
        raise DataError(f"The package {name} has no field {error.args[0]!r}.") from None
    except ValueError as error:
        raise DataError(f"A size of the package {package} is not a number: {error}.") from None
    tags = re.split(r"[,\s]+", paragraph.get("Tag", ""))
    description = paragraph.get("Description", "").partition("\n")[0]
    return (
        package,
        version,
        section.rpartition("/")[2],  # without the archive area: contrib/net is net
        paragraph.get("Priority", ""),
        architecture,
        paragraph.get("Source", package).partition(" ")[0],
        installed_size,
        size,
        paragraph.get("Multi-Arch", ""),
        " ".join(sorted({tag for tag in tags if tag})),
        " ".join(sorted(set(paragraph) - ORDINARY_FIELDS)),
        " ".join(sorted(description_words(description))),
    )


def description_words(description: str) -> set[str]:
    """The words of a short description that may tell what the package is for."""
    return set(_WORD.findall(description.lower())) - STOP_WORDS


def dependencies(paragraph: dict[str, str]) -> set[tuple[str, str, str]]:
    """The rows ``package, on, kind`` of one package.

    Of alternatives such as ``exim4 | mail-transport-agent`` the first counts, which is the one
    that is installed by default. Versions and architectures are left out.
    """
    package = paragraph["Package"]
    rows = set()
    for kind in DEPENDENCY_KINDS:
        for group in paragraph.get(kind, "").split(","):
            if match := _PACKAGE_NAME.match(group.strip()):
                rows.add((package, match.group(), kind))
    return rows


def build_tables(indices: Iterable[str | Path]) -> tuple[pa.Table, pa.Table]:
    """The tables of packages and of dependencies of one release, both sorted.

    Where a package is listed twice the later paragraph counts. A dependency on a package that
    the release does not have (a virtual one, for instance) is left out.
    """
    import pyarrow as pa

    paragraphs: dict[str, tuple[tuple[str | int, ...], set[tuple[str, str, str]]]] = {}
    for path in indices:
        for paragraph in read_index(path):
            row = package_row(paragraph)
            paragraphs[str(row[0])] = (row, dependencies(paragraph))
    if not paragraphs:
        raise DataError("The index files hold no packages.")
    names = sorted(paragraphs)
    packages = list(zip(*(paragraphs[name][0] for name in names), strict=True))
    rows = sorted(
        row
        for name in names
        for row in paragraphs[name][1]
        if row[1] in paragraphs and row[1] != name
    )
    depends = list(zip(*rows, strict=True)) or [(), (), ()]
    text, number = pa.large_string(), pa.int64()
    kinds = [number if name.endswith("size") else text for name in PACKAGE_COLUMNS]
    return (
        pa.table(
            [pa.array(column, kind) for column, kind in zip(packages, kinds, strict=True)],
            names=list(PACKAGE_COLUMNS),
        ),
        pa.table(
            [pa.array(column, text) for column in depends],
            names=list(DEPENDENCY_COLUMNS),
        ),
    )


def write_release(indices: Iterable[str | Path], folder: str | Path, release: str) -> list[Path]:
    """Writes ``<release>-packages.parquet`` and ``<release>-depends.parquet`` into a folder."""
    from pyarrow import parquet

    folder = Path(folder)
    tables = build_tables(indices)
    written = []
    for table, kind in zip(tables, ("packages", "depends"), strict=True):
        target = folder / f"{release}-{kind}.parquet"
        with atomic_write(target) as beside:
            parquet.write_table(table, beside, compression="zstd", compression_level=9)
        written.append(target)
    return written
