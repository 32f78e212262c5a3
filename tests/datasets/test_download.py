from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from grafenne.datasets import load
from grafenne.datasets.download import RemoteFile, fetch
from grafenne.errors import DataError

CONTENT = bytes(range(256)) * 5000
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves CONTENT at every path and writes down which ranges were asked for."""

    def __init__(self, ranges: bool = True, stop_after: int | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.ranges = ranges
        self.stop_after = stop_after
        self.asked: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/data.bin"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        begin = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if asked and self.server.ranges and begin >= len(CONTENT):
            self.send_error(416)
            return
        if not self.server.ranges:
            begin = 0
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(CONTENT) - begin))
        self.end_headers()
        self.wfile.write(CONTENT[begin : self.server.stop_after])

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def remote(server: Server, checksum: str = CHECKSUM) -> RemoteFile:
    return RemoteFile("Set/raw/data.bin", server.url, checksum)


def test_a_file_is_downloaded_once(server: Server, tmp_path: Path) -> None:
    path = fetch(remote(server), tmp_path)
    assert path == tmp_path / "Set" / "raw" / "data.bin"
    assert path.read_bytes() == CONTENT
    assert fetch(remote(server), tmp_path) == path
    assert server.asked == [None]
    assert [file.name for file in path.parent.iterdir()] == ["data.bin"]


def test_a_wrong_checksum_leaves_nothing_behind(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="checksum"):
        fetch(remote(server, "0" * 64), tmp_path)
    assert not list((tmp_path / "Set" / "raw").iterdir())


def test_an_interrupted_download_is_continued(server: Server, tmp_path: Path) -> None:
    server.stop_after = 400_000
    with pytest.raises(DataError, match=r"data\.bin is not in .*raw and cannot be downloaded"):
        fetch(remote(server), tmp_path)
    part = tmp_path / "Set" / "raw" / "data.bin.part"
    assert part.stat().st_size == 400_000
    assert not part.with_suffix("").exists()
    server.stop_after = None
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=400000-"]
    assert not part.exists()


def test_a_server_without_ranges_sends_everything_again(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "Set" / "raw" / "data.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT[:1000])
    server.ranges = False
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT


def test_a_complete_part_needs_no_more_bytes(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "Set" / "raw" / "data.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT)
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT


def test_a_damaged_part_is_not_kept(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "Set" / "raw" / "data.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 1000)
    with pytest.raises(DataError, match="checksum"):
        fetch(remote(server), tmp_path)
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT


def test_offline_the_error_names_file_and_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # the discard port: nobody answers
    with pytest.raises(DataError) as caught:
        load("cora", root=tmp_path)
    message = str(caught.value)
    assert "ind.cora.allx" in message
    assert str(tmp_path / "Cora" / "raw") in message
    assert "GRAFENNE_DATA" in message
