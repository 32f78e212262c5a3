from __future__ import annotations

import gzip
import importlib.util
import lzma
from pathlib import Path
from types import ModuleType

import pytest

from grafenne.datasets.debian_packages import (
    PACKAGE_COLUMNS,
    build_tables,
    dependencies,
    read_paragraphs,
)
from grafenne.errors import DataError

INDEX = """\
Package: editor
Source: editor-suite (1.0-2)
Version: 1.0-2+b1
Installed-Size: 120
Maintainer: Somebody <somebody@example.org>
Architecture: amd64
Depends: libedit2:any (>= 2.0), libc6 (>= 2.34) [amd64], aspell | ispell, virtual-thing
Pre-Depends: libc6
Recommends: viewer
Suggests: editor
Enhances: viewer
Description: C++ editor for the X Window System and C#, with 2 UIs
Homepage: https://example.org
Tag: implemented-in::c++, role::program,
 use::editing
Section: contrib/editors
Priority: optional
Filename: pool/editor.deb
Size: 5000
SHA256: abc

Package: libc6
Version: 2.36
Architecture: amd64
Multi-Arch: same
Description: GNU C Library: Shared libraries
 Contains the standard libraries.
 .
 And more.
Section: libs
Priority: required
Size: 700

Package: ispell
Version: 3
Architecture: all
Section: text
Priority: optional
Size: 9
Description: speller

Package: libedit2
Version: 2.1
Architecture: amd64
Section: libs
Priority: optional
Installed-Size: 3
Size: 4
Description: old

Package: libedit2
Version: 2.2
Architecture: amd64
Section: libs
Priority: optional
Installed-Size: 5
Size: 6
Description: line editing

Package: viewer
Version: 1
Architecture: all
Section: x11
Priority: optional
Size: 1
Description: viewer
"""
PACKAGES = [
    (
        *("editor", "1.0-2+b1", "editors", "optional", "amd64", "editor-suite", 120, 5000, ""),
        "implemented-in::c++ role::program use::editing",
        "Enhances Homepage Source Suggests",
        "c++ editor system uis window",
    ),
    ("ispell", "3", "text", "optional", "all", "ispell", 0, 9, "", "", "", "speller"),
    (
        *("libc6", "2.36", "libs", "required", "amd64", "libc6", 0, 700, "same", ""),
        *("Multi-Arch", "gnu shared"),
    ),
    (
        *("libedit2", "2.2", "libs", "optional", "amd64", "libedit2", 5, 6, "", "", ""),
        "editing line",
    ),
    ("viewer", "1", "x11", "optional", "all", "viewer", 0, 1, "", "", "", "viewer"),
]
DEPENDS = [
    ("editor", "libc6", "Depends"),
    ("editor", "libc6", "Pre-Depends"),
    ("editor", "libedit2", "Depends"),
    ("editor", "viewer", "Recommends"),
]


def rows(table: object) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]  # type: ignore[attr-defined]


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_the_tables_are_those_written_by_hand(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"Packages{ending}"
    packed = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[ending](INDEX.encode())
    path.write_bytes(packed)
    packages, depends = build_tables([path])
    assert rows(packages) == PACKAGES
    assert rows(depends) == DEPENDS
    assert tuple(packages.column_names) == PACKAGE_COLUMNS
    assert [str(packages[name].type) for name in ("package", "size")] == ["large_string", "int64"]


def test_the_first_alternative_counts() -> None:
    paragraph = {"Package": "a", "Depends": "x (>= 1) | y, z:any, , w [linux-any] <!nocheck>"}
    assert dependencies(paragraph) == {
        ("a", "x", "Depends"),
        ("a", "z", "Depends"),
        ("a", "w", "Depends"),
    }


def test_several_indices_make_one_release(tmp_path: Path) -> None:
    first, _, rest = INDEX.partition("\n\n")
    (tmp_path / "main").write_text(rest)
    (tmp_path / "contrib").write_text(first + "\n")
    packages, depends = build_tables([tmp_path / "main", tmp_path / "contrib"])
    assert rows(packages) == PACKAGES
    assert rows(depends) == DEPENDS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" continued\n", "line 1: a continuation"),
        ("Package: a\nnonsense\n", "line 2: 'nonsense' is not 'Field: value'"),
        ("Package: a\nPackage: b\n", "line 2: the field 'Package' is there twice"),
    ],
)
def test_bad_lines_are_named(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(read_paragraphs(text.splitlines(keepends=True)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (INDEX.replace("Size: 9\n", ""), "The package ispell has no field 'Size'"),
        (INDEX.replace("Size: 9\n", "Size: nine\n"), "size of the package ispell .*'nine'"),
        ("", "hold no packages"),
    ],
)
def test_bad_packages_are_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "Packages").write_text(text)
    with pytest.raises(DataError, match=message):
        build_tables([tmp_path / "Packages"])


def test_a_truncated_archive_is_named(tmp_path: Path) -> None:
    for name, packed in (("a.gz", gzip.compress(b"x" * 99)), ("a.xz", lzma.compress(b"x" * 99))):
        (tmp_path / name).write_bytes(packed[:-9])
        with pytest.raises(DataError, match=f"{name} cannot be read"):
            build_tables([tmp_path / name])


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = Path(__file__).parents[2] / "scripts" / "build_debian.py"
    spec = importlib.util.spec_from_file_location("build_debian", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_writes_what_the_loader_reads(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from grafenne.datasets import load

    (tmp_path / "Packages").write_text(INDEX)
    out = tmp_path / "root" / "debian"
    arguments = ["trixie", str(tmp_path / "Packages"), "--out", str(out)]
    assert script.main(arguments) == 0
    assert "trixie-packages.parquet" in capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == [
        "trixie-depends.parquet",
        "trixie-packages.parquet",
    ]
    graph = load("debian", root=tmp_path / "root", release="trixie")
    assert graph.neighbors("editor", "out") == ["libc6", "libedit2", "viewer"]
    assert graph.label_of("editor") == "editors"


def test_the_script_tells_what_is_wrong(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["sid", str(tmp_path / "nothing"), "--out", str(tmp_path)]) == 2
    assert "does not exist" in capsys.readouterr().err
