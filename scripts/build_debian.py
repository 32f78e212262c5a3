"""Builds one release of the ``debian`` dataset from the ``Packages`` indices of an archive.

    python scripts/build_debian.py bookworm main/Packages.xz contrib/Packages.xz --out data/debian

An index is the file ``dists/<release>/main/binary-amd64/Packages.xz`` of any Debian mirror.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from grafenne.datasets.debian_packages import write_release
from grafenne.errors import GrafenneError


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("release", help="name of the release, for instance bookworm")
    parser.add_argument("indices", nargs="+", type=Path, help="Packages, Packages.gz, Packages.xz")
    parser.add_argument("--out", type=Path, default=Path("debian"), help="folder to write to")
    options = parser.parse_args(arguments)
    try:
        for path in write_release(options.indices, options.out, options.release):
            print(path)
    except (GrafenneError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
