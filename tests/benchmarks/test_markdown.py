"""The table of the README: the latest figure of each comparison, beside ours of the same kind."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchmarks.markdown import speed_table
from benchmarks.results import Row


def row(variant: str, seconds: float, **more: Any) -> dict[str, Any]:
    about = {"work": "epoch", "dataset": "cora", "width": 64, "median_seconds": seconds, **more}
    return asdict(Row("epoch-vs-sage", variant, **about))


def test_the_latest_figures_stand_beside_ours() -> None:
    sage = {"ratio_to_ours": 3.377, "memory_ratio": 8.0, "target": "slower", "met": True}
    rows = [
        row("ours", 0.5),
        row("pyg-sage", 0.7, **{**sage, "ratio_to_ours": 1.4}),
        row("ours", 0.032),
        row("pyg-sage", 0.108, **sage),
        row("pyg-gcn", 0.02, ratio_to_ours=0.7),
        asdict(Row("step", "ours", "step", median_seconds=1.0, target="none of ours", met=True)),
        asdict(Row("wide", "ours", "epoch", "physics", 256, 4, median_seconds=4.7,
                   target="at most 4 s", met=False)),
        asdict(Row("scaling", "ours", "step", "fit", 32, note="time ~ values^0.78", target="1.1",
                   met=True)),
        asdict(Row("import-time", "grafenne --help", "start", median_seconds=0.25,
                   target="under 0.5 s", met=True)),
    ]  # fmt: skip
    table = speed_table(rows).splitlines()
    assert table[2:] == [
        "| epoch | cora | 64 | 32.0 ms | PyG GraphSAGE, dense features | 3.4 | 8 | slower | yes |",
        "| epoch | physics | 256 × 4 heads | 4.70 s |  |  |  | at most 4 s | no |",
        "| training step | synthetic, all sizes | 32 |  | time ~ values^0.78 |  |  | 1.1 | yes |",
        "| start | `grafenne --help` |  | 250.0 ms |  |  |  | under 0.5 s | yes |",
    ]
    assert len({line.count("|") for line in table}) == 1


def test_nothing_measured_says_so() -> None:
    assert "make bench" in speed_table([])
