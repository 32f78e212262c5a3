"""Fetches public files once: with a checksum, resumable, and never half-written."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from grafenne.errors import DataError

CHUNK = 1 << 18


@dataclass(frozen=True)
class RemoteFile:
    """A public file and its place below the data root.

    Attributes:
        path: Where it goes, relative to the data root.
        url: Where it comes from, over HTTP.
        sha256: The checksum of its content, in hexadecimal.
    """

    path: str
    url: str
    sha256: str


def fetch(file: RemoteFile, root: str | Path, *, timeout: float = 30.0) -> Path:
    """The local path of a file, which is downloaded first if it is not there.

    The download goes to ``<file>.part`` and is renamed after its checksum was verified. A part
    that an earlier call left behind is continued, not fetched again.

    Args:
        file: What to fetch.
        root: The data root.
        timeout: Seconds without any data after which the attempt ends.

    Raises:
        DataError: If the file is neither there nor downloadable, or is not what it should be.
    """
    target = Path(root) / file.path
    if target.exists():
        return target
    part = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _download(file.url, part, timeout)
        found = _checksum(part)
        if found != file.sha256:
            part.unlink()
            raise DataError(
                f"{file.url} has the checksum {found[:12]}… instead of {file.sha256[:12]}…, so "
                f"{target.name} was not kept; fetch it elsewhere and put it into {target.parent}."
            )
        os.replace(part, target)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(
            f"The file {target.name} is not in {target.parent} and cannot be downloaded from "
            f"{file.url} ({reason}); put it into that folder, or name the folder that holds "
            "your data with GRAFENNE_DATA."
        ) from None
    return target


def fetch_all(files: Iterable[RemoteFile], root: str | Path) -> list[Path]:
    """:func:`fetch` for several files."""
    return [fetch(file, root) for file in files]


def _download(url: str, part: Path, timeout: float) -> None:
    """Appends to ``part`` what is missing of the file at ``url``."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "grafenne"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            # A server that does not know ranges answers 200 and sends the whole file again.
            resumed = have > 0 and response.status == http.client.PARTIAL_CONTENT
            with part.open("ab" if resumed else "wb") as out:
                _copy(response, out)
    except urllib.error.HTTPError as error:
        # Nothing lies beyond the part: it is complete, which the checksum will tell.
        if not (have and error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE):
            raise
        error.close()


def _copy(response: Any, out: IO[bytes]) -> None:
    announced = response.headers.get("Content-Length")
    received = 0
    while chunk := response.read(CHUNK):
        out.write(chunk)
        received += len(chunk)
    if announced is not None and received < int(announced):
        raise OSError(f"the connection ended after {received} of {announced} bytes")


def _checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
