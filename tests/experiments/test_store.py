from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from grafenne.errors import DataError
from grafenne.experiments.store import ResultFile


def test_lines_come_back_in_order(tmp_path: Path) -> None:
    file = ResultFile(tmp_path / "new" / "a.jsonl")
    assert file.read() == []
    rows = [{"seed": 0, "value": 0.5}, {"seed": 1, "name": "Φ"}]
    for row in rows:
        file.append(row)
    assert file.read() == rows
    assert file.path.read_text(encoding="utf-8").count("\n") == 2


def test_a_torn_line_is_left_out_and_then_removed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"seed": 0}\n{"seed": 1, "val')
    file = ResultFile(path)
    assert file.read() == [{"seed": 0}]
    file.append({"seed": 2})
    assert path.read_text() == '{"seed": 0}\n{"seed": 2}\n'


def test_a_file_that_is_one_torn_line_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"se')
    assert ResultFile(path).read() == []
    ResultFile(path).append({"seed": 2})
    assert path.read_text() == '{"seed": 2}\n'


def test_a_line_that_lacks_only_its_end_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"seed": 0}\n{"seed": 1}')
    file = ResultFile(path)
    assert file.read() == [{"seed": 0}, {"seed": 1}]
    file.append({"seed": 2})
    assert file.read() == [{"seed": 0}, {"seed": 1}, {"seed": 2}]


@pytest.mark.parametrize("line", ["not json", "[1, 2]"])
def test_other_broken_lines_are_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"seed": 0}\n' + line + '\n{"seed": 1}\n')
    with pytest.raises(DataError, match=r"a\.jsonl, line 2"):
        ResultFile(path).read()


def test_writers_do_not_mix_their_lines(tmp_path: Path) -> None:
    path, text = tmp_path / "a.jsonl", "x" * 5000

    def write(writer: int) -> None:
        for number in range(30):
            ResultFile(path).append({"writer": writer, "number": number, "text": text})

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted((row["writer"], row["number"]) for row in rows) == [
        (writer, number) for writer in range(4) for number in range(30)
    ]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="Cannot write"):
        ResultFile(tmp_path / "file" / "a.jsonl").append({})


def test_a_place_that_takes_no_file_is_told_before_the_work(tmp_path: Path) -> None:
    ResultFile(tmp_path / "new" / "folder" / "runs.jsonl").check_place()
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(DataError, match="file is no folder"):
        ResultFile(tmp_path / "file" / "runs.jsonl").check_place()
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
