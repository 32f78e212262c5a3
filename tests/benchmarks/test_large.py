"""The benchmark of large graphs, on a small one."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.large import LargeCase, make, parse_size, run
from grafenne.errors import ParameterError


def test_it_measures_steps_sampler_and_inference(tmp_path: Path) -> None:
    case = LargeCase(nodes=300, width=8, batch_size=20, steps=3)
    made = make(str(tmp_path), case)
    assert made["folder_mb"] > 0
    found = run(str(tmp_path), case)
    assert len(found["step_seconds"]) == 3
    assert min(found["step_seconds"]) > 0
    assert 20 < found["sampled_nodes"] <= 300
    assert found["sampler_seconds"] > 0
    assert found["inference_seconds"][0] > 0
    assert found["step_mb"] > 0


def test_sizes_are_read_from_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parse_size("large-1e6") == 1_000_000
    with pytest.raises(ParameterError, match="large-huge"):
        parse_size("large-huge")
    assert main(["large", "--dataset", "large-huge", "--out", str(tmp_path / "rows.jsonl")]) == 2
    assert "large-huge" in capsys.readouterr().err
