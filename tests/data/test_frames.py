"""Long and wide frames in, frames out."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grafenne import FeatureGraph
from grafenne.data.frames import rows_of
from grafenne.errors import DataError, ParameterError, UnknownNameError
from tests.data.identical import assert_identical
from tests.strategies import feature_graphs


def features(*rows: tuple[object, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["node", "feature", "value"][: len(rows[0])])


def edges(*rows: tuple[object, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["source", "target", "weight"][: len(rows[0])])


PEOPLE = features(("ann", "age", 31.0), ("bob", "age", 27.0), ("ann", "plays=chess", 1.0))


# ---- round trips ---------------------------------------------------------------------------------


@given(feature_graphs())
def test_frames_round_trip_is_exact(graph: FeatureGraph) -> None:
    frames = graph.to_frames()
    assert_identical(FeatureGraph.from_frames(**frames._asdict(), directed=graph.directed), graph)


def test_class_names_that_no_node_has_survive() -> None:
    graph = FeatureGraph.from_arrays(3, 0, labels=["cat", "dog", "eel"]).subgraph([2, 0])
    frames = graph.to_frames()
    assert_identical(FeatureGraph.from_frames(**frames._asdict()), graph)


@given(st.lists(st.tuples(st.integers(), st.text(max_size=2)), unique=True, max_size=4))
def test_ids_of_any_hashable_type_survive(ids: list[tuple[int, str]]) -> None:
    graph = FeatureGraph.from_arrays(ids, 0, edges=([0], [0]) if ids else None)
    assert_identical(FeatureGraph.from_frames(**graph.to_frames()._asdict()), graph)


def test_to_frames_has_the_documented_columns() -> None:
    graph = FeatureGraph.from_frames(PEOPLE, edges(("bob", "ann", 2.0)), {"ann": "staff"})
    frames = graph.to_frames()
    assert frames.features.to_dict("list") == {
        "node": ["ann", "ann", "bob"],
        "feature": ["age", "plays=chess", "age"],
        "value": [31.0, 1.0, 27.0],
    }
    assert frames.edges.to_dict("list") == {"source": ["ann"], "target": ["bob"], "weight": [2.0]}
    assert frames.labels is not None
    assert frames.labels.to_dict("list") == {"node": ["ann"], "label": ["staff"]}
    assert frames.nodes.to_dict("list") == {"node": ["ann", "bob"]}
    assert frames.vocabulary.to_dict("list") == {"feature": ["age", "plays=chess"]}
    assert frames.feature_edges is None


# ---- long frames ---------------------------------------------------------------------------------


def test_nodes_come_from_nodes_then_features() -> None:
    graph = FeatureGraph.from_frames(PEOPLE, labels={"zoe": "x", "ann": "y"}, nodes=["bob", "zoe"])
    assert list(graph.nodes) == ["bob", "zoe", "ann"]
    assert graph.features_of("zoe") == {}
    assert graph.label_of("zoe") == "x"
    with pytest.raises(UnknownNameError, match=r"row 1 of the labels table is 'bbo'.*mean 'bob'"):
        FeatureGraph.from_frames(PEOPLE, labels={"ann": "x", "bbo": "y"}, nodes=["bob", "zoe"])


def test_without_a_table_of_nodes_labels_name_some_too() -> None:
    graph = FeatureGraph.from_frames(PEOPLE, labels={"eve": "x", "ann": "y"})
    assert list(graph.nodes) == ["ann", "bob", "eve"]
    assert graph.label_of("eve") == "x"


def test_without_features_and_nodes_the_edges_say_which_nodes_there_are() -> None:
    graph = FeatureGraph.from_frames(edges=edges(("a", "b"), ("c", "a")), labels={"d": 1})
    assert sorted(graph.nodes) == ["a", "b", "c", "d"]
    assert graph.num_edges == 2


def test_an_edge_may_not_invent_a_node() -> None:
    with pytest.raises(UnknownNameError, match=r"row 1 of the edges table is 'bbo'.*mean 'bob'"):
        FeatureGraph.from_frames(PEOPLE, edges(("ann", "bob"), ("ann", "bbo")))


def test_an_error_tells_its_place_once() -> None:
    features = pd.DataFrame({"node": ["a", "b"], "feature": ["x", "y"], "value": [1.0, "much"]})
    with pytest.raises(DataError) as caught:
        FeatureGraph.from_frames(features)
    assert str(caught.value).count("row 1 of the features table") == 1


def test_a_missing_value_column_means_one() -> None:
    graph = FeatureGraph.from_frames(features(("a", "x"), ("b", "x")))
    assert graph.nodes_with("x") == {"a": 1.0, "b": 1.0}


def test_a_listed_zero_is_observed() -> None:
    graph = FeatureGraph.from_frames(features(("a", "x", 0), ("b", "y", 2)))
    assert graph.features_of("a") == {"x": 0.0}


@pytest.mark.parametrize("rule", ["first", "last", "sum"])
def test_duplicates_rule_reaches_the_triples(rule: str) -> None:
    frame = features(("a", "x", 1.0), ("a", "x", 5.0))
    graph = FeatureGraph.from_frames(frame, duplicates=rule)
    assert graph.features_of("a") == {"x": {"first": 1.0, "last": 5.0, "sum": 6.0}[rule]}


def test_ids_keep_their_type() -> None:
    graph = FeatureGraph.from_frames(features((7, "x", 1), (3, "x", 1)), edges((3, 7)))
    assert list(graph.nodes) == [7, 3]
    assert {type(node) for node in graph.nodes} == {int}


@pytest.mark.parametrize("dtype", ["category", "string", object])
def test_columns_of_any_text_type_are_the_same(dtype: object) -> None:
    frame = PEOPLE.astype({"node": dtype, "feature": dtype})
    assert_identical(FeatureGraph.from_frames(frame), FeatureGraph.from_frames(PEOPLE))


def test_order_is_by_first_appearance_even_for_categories() -> None:
    frame = PEOPLE.assign(node=pd.Categorical(["bob", "ann", "bob"], ["zoe", "ann", "bob"]))
    frame["feature"] = ["age", "age", "tall"]
    assert list(FeatureGraph.from_frames(frame).nodes) == ["bob", "ann"]


@pytest.mark.parametrize(
    "values",
    [
        pd.array([1, 2, 0], dtype="Int64"),
        pd.array([True, False, True], dtype="boolean"),
        np.array([1, 2, 0], dtype=np.float32),
        pd.Series([Decimal(1), 2, True], dtype=object),
        pd.Categorical([1, 2, 1]),
    ],
)
def test_values_of_any_numeric_type(values: object) -> None:
    graph = FeatureGraph.from_frames(PEOPLE.assign(value=values))
    assert list(graph.nodes_with("age").values()) == [float(value) for value in list(values)[:2]]


def test_float32_stays_float32() -> None:
    frame = PEOPLE.astype({"value": np.float32})
    assert FeatureGraph.from_frames(frame).values.data.dtype == np.float32


def test_feature_edges_and_vocabulary() -> None:
    graph = FeatureGraph.from_frames(
        PEOPLE,
        feature_edges=edges(("old", "age")),
        vocabulary=["old", "age"],
    )
    assert list(graph.features) == ["old", "age", "plays=chess"]
    assert graph.feature_edges.sources.tolist() == [0]
    assert graph.feature_edges.targets.tolist() == [1]


def test_a_column_hidden_in_the_index_is_pointed_out() -> None:
    with pytest.raises(DataError, match="reset_index"):
        FeatureGraph.from_frames(PEOPLE.set_index("node"))


def test_a_value_column_under_another_name_is_not_passed_over() -> None:
    with pytest.raises(DataError, match=r"no column 'value' in the features table.*'values'"):
        FeatureGraph.from_frames(PEOPLE.rename(columns={"value": "values"}))
    with pytest.raises(DataError, match=r"no column 'weight' in the edges table.*'wieght'"):
        FeatureGraph.from_frames(
            PEOPLE, edges(("ann", "bob", 1.0)).rename(columns={"weight": "wieght"})
        )


def test_something_else_than_a_frame_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"features must be a pandas DataFrame.*list"):
        FeatureGraph.from_frames([("a", "x", 1.0)])  # type: ignore[arg-type]


# ---- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        {"bob": "staff"},
        pd.Series(["staff", None], index=["bob", "ann"]),
        pd.DataFrame({"node": ["bob"], "label": ["staff"]}),
    ],
)
def test_labels_come_in_three_shapes(labels: object) -> None:
    graph = FeatureGraph.from_frames(PEOPLE, labels=labels)  # type: ignore[arg-type]
    assert graph.label_of("bob") == "staff"
    assert graph.label_of("ann") is None


def test_fractions_are_numbers_unless_told_otherwise() -> None:
    labels = {"ann": 0.5, "bob": 2.0}
    graph = FeatureGraph.from_frames(PEOPLE, labels=labels)
    assert graph.labels is not None
    assert graph.labels.kind == "number"
    graph = FeatureGraph.from_frames(PEOPLE, labels=labels, label_kind="class")
    assert graph.labels is not None
    assert graph.labels.classes == (0.5, 2.0)


def test_whole_numbers_that_pandas_widened_for_gaps_are_class_names() -> None:
    graph = FeatureGraph.from_frames(PEOPLE, labels=pd.Series([1, np.nan], index=["ann", "bob"]))
    assert graph.labels is not None
    assert graph.labels.classes == (1,)
    assert type(graph.label_of("ann")) is int
    assert graph.label_of("bob") is None


def test_a_node_with_two_labels_is_an_error() -> None:
    labels = pd.DataFrame({"node": ["ann", "ann"], "label": ["x", "y"]})
    with pytest.raises(DataError, match="'ann' is listed again in row 1 of the labels table"):
        FeatureGraph.from_frames(PEOPLE, labels=labels)


# ---- rows_of and with_features -------------------------------------------------------------------


def test_rows_of_gives_python_types() -> None:
    rows = rows_of(pd.DataFrame({"node": [2, 1], "feature": ["x", "y"], "value": [1, 2]}))
    assert rows == [(2, "x", 1.0), (1, "y", 2.0)]
    assert [type(part) for part in rows[0]] == [int, str, float]


def test_with_features_takes_a_frame() -> None:
    graph = FeatureGraph.from_frames(PEOPLE).with_features(features(("bob", "tall", 1.0)))
    assert graph.features_of("bob") == {"age": 27.0, "tall": 1.0}


# ---- wide frames ---------------------------------------------------------------------------------


def test_wide_frame_by_hand() -> None:
    frame = pd.DataFrame(
        {
            "id": ["ann", "bob", "eve"],
            "age": [31, np.nan, 0],
            "team": ["red", None, "blue"],
            "member": [True, False, True],
            "size": pd.Categorical(["S", "L", None]),
            "bio": ["Likes chess, likes tea", None, ""],
            "note": ["a", "b", "c"],
            "class": ["x", None, "y"],
        }
    )
    graph = FeatureGraph.from_wide(
        frame,
        edges(("ann", "eve")),
        node="id",
        label="class",
        columns={"bio": "text", "note": "ignore"},
    )
    assert graph.features_of("ann") == {
        "age": 31.0,
        "team=red": 1.0,
        "member=True": 1.0,
        "size=S": 1.0,
        "bio:likes": 1.0,
        "bio:chess": 1.0,
        "bio:tea": 1.0,
    }
    assert graph.features_of("bob") == {"member=False": 1.0, "size=L": 1.0}
    assert graph.features_of("eve") == {"age": 0.0, "team=blue": 1.0, "member=True": 1.0}
    assert graph.neighbors("ann") == ["eve"]
    assert [graph.label_of(node) for node in graph.nodes] == ["x", None, "y"]


def test_wide_columns_can_be_told_apart() -> None:
    frame = pd.DataFrame({"zip": [1010, np.nan], "flag": [True, False]}, index=["a", "b"])
    graph = FeatureGraph.from_wide(frame, columns={"zip": "category", "flag": "number"})
    assert graph.features_of("a") == {"zip=1010": 1.0, "flag": 1.0}
    assert graph.features_of("b") == {"flag": 0.0}


def test_wide_frame_without_rows_or_columns() -> None:
    assert FeatureGraph.from_wide(pd.DataFrame()).num_nodes == 0
    graph = FeatureGraph.from_wide(pd.DataFrame(index=["a", "b"]))
    assert (graph.num_nodes, graph.num_features) == (2, 0)


def test_wide_objects_with_gaps_are_numbers() -> None:
    frame = pd.DataFrame({"x": [1, None, 2.5]}, index=["a", "b", "c"], dtype=object)
    assert FeatureGraph.from_wide(frame).nodes_with("x") == {"a": 1.0, "c": 2.5}


@pytest.mark.parametrize(
    ("frame", "arguments", "message"),
    [
        ({"x": [np.inf]}, {}, "Node 0 has the value inf for feature 'x'"),
        ({"x": ["a", 1]}, {}, "column 'x' mixes types.*row 1 of the wide table"),
        ({"x": ["a"]}, {"columns": {"x": "number"}}, "x in row 0 of the wide table is 'a'"),
        ({"x": [1]}, {"columns": {"y": "number"}}, "Unknown column 'y'"),
        ({"x": [1]}, {"columns": {"x": "numbr"}}, "must be one of number.*'numbr'"),
        ({"x": [1]}, {"node": "id"}, "Unknown column 'id'"),
        ({"x": pd.to_datetime(["2020-01-01"])}, {}, "'x' of the wide table holds datetime"),
        ({"x": [1, 1]}, {"node": "x"}, "'?1'? is listed again in row 1"),
        ({"a": ["b"], "a=b": [1.0]}, {}, "feature 'a=b' is listed twice"),
        ({"x": [1]}, {"label": "x", "labels": {0: 1}}, "either labels or"),
    ],
)
def test_wide_bad_input(frame: dict, arguments: dict, message: str) -> None:
    with pytest.raises((DataError, ParameterError), match=message):
        FeatureGraph.from_wide(pd.DataFrame(frame), **arguments)
