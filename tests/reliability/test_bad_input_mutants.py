"""Generated damage: hypothesis over cells, rows and events, and a short run of the fuzzer."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grafenne import FeatureGraph, GraphDelta
from grafenne.errors import GrafenneError
from torture.bad_input_cases import sentence_problem
from torture.bad_input_changes import event_lines
from torture.bad_input_checks import check_result
from torture.bad_input_coverage import Coverage
from torture.bad_input_fuzz import TARGETS, fuzz
from torture.bad_input_world import World

QUICK = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

# What people and programs write into cells, besides what belongs there.
cells = st.one_of(
    st.sampled_from(
        ["", " ", "nan", "NaN", "inf", "-inf", "None", "NA", "0", "1", "-1", "1e400", "1e-400",
         "0x1", "true", "a", "b", "x", "i0", "é", "\ufeff", "\0", '"', ",", "\n", "'", "9" * 40]
    ),
    st.text(max_size=4),
    st.floats().map(repr),
)  # fmt: skip
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


def judged(read: Any) -> None:
    """Whatever was read is sound; whatever was refused is refused in one sentence."""
    problem: str | None
    try:
        problem = check_result(read())
    except GrafenneError as error:
        problem = sentence_problem(str(error))
    assert problem is None


def written(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode("utf-8", "surrogatepass")


@QUICK
@given(
    features=st.lists(st.lists(cells, min_size=2, max_size=4), max_size=4),
    edges=st.lists(st.lists(cells, min_size=1, max_size=3), max_size=3),
    labels=st.lists(st.lists(cells, min_size=2, max_size=2), max_size=3),
)
def test_tables_of_odd_cells(
    features: list[list[str]],
    edges: list[list[str]],
    labels: list[list[str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    (folder / "features.csv").write_bytes(written([["node", "feature", "value"], *features]))
    (folder / "edges.csv").write_bytes(written([["source", "target"], *edges]))
    (folder / "labels.csv").write_bytes(written([["node", "label"], *labels]))
    judged(lambda: FeatureGraph.read(folder))


@QUICK
@given(
    places=st.lists(st.integers(0, 9), min_size=1, max_size=3),
    keys=st.lists(st.sampled_from(["event", "node", "value", "weight", "label", "kind", "?"])),
    value=plain,
)
def test_events_with_odd_values(
    places: list[int],
    keys: list[str],
    value: Any,
    sound_world: World,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    events = [json.loads(line) for line in event_lines()]
    for place, key in zip(places, keys, strict=False):
        events[place][key] = value
    path = tmp_path_factory.mktemp("events") / "e.jsonl"
    path.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    graph = FeatureGraph.read(sound_world.tables)
    judged(lambda: graph.apply(GraphDelta.read(path)))


@QUICK
@given(entry=st.sampled_from(["nodes", "values", "edges", "classes", "binary", "?"]), value=plain)
def test_mapped_notes_with_odd_values(
    entry: str, value: Any, sound_world: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = sound_world.copy("mapped", tmp_path_factory.mktemp("mapped"))
    notes = json.loads((folder / "graph.json").read_text())
    (folder / "graph.json").write_text(json.dumps({**notes, entry: value}))
    judged(lambda: FeatureGraph.read(folder))


@pytest.mark.parametrize("name", TARGETS)
def test_mutants_of_every_file(name: str, sound_world: World, tmp_path: Path) -> None:
    found = fuzz(name, sound_world, tmp_path / "fuzz", executions=6, seed=0)
    assert found["problems"] == []
    assert found["refused"] + found["accepted"] == 6


def test_coverage_tells_new_lines_from_old_ones() -> None:
    coverage = Coverage()
    assert coverage.of(lambda: FeatureGraph.from_arrays(2, 1))[0]
    assert not coverage.of(lambda: FeatureGraph.from_arrays(3, 1))[0]
    assert coverage.of(lambda: FeatureGraph.from_arrays(2, 1, ([0], [0], [1.0])))[0]
    assert coverage.lines > 10
