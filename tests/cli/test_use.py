"""predict, evaluate, explain and embed, with a model trained by the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from grafenne import FeatureGraph, GrafenneClassifier, GrafenneLinkPredictor, random_split
from tests.cli.conftest import Run, shop


def test_new_nodes_with_new_features_are_predicted(
    run: Run, model: Path, newer_tables: Path, tmp_path: Path
) -> None:
    out = tmp_path / "predictions.csv"
    ran = run("predict", model, newer_tables, "--out", out)
    assert ran.code == 0
    assert "40 predictions" in ran.out
    frame = pd.read_csv(out)
    graph = FeatureGraph.read(newer_tables)
    assert list(frame.columns) == ["node", "label", "probability"]
    assert list(frame["node"]) == list(graph.nodes)
    assert frame["probability"].between(0.5, 1).all()
    truth = ["book" if int(node[1:]) % 2 else "lamp" for node in frame["node"]]
    assert (frame["label"] == truth).mean() > 0.9


def test_the_file_holds_what_the_estimator_says(
    run: Run, model: Path, newer_tables: Path, tmp_path: Path
) -> None:
    out = tmp_path / "predictions.parquet"
    ran = run("predict", model, newer_tables, "--out", out, "--all-classes", "--json")
    assert ran.json["rows"] == 40
    frame = pd.read_parquet(out)
    expected = GrafenneClassifier.load(model).predict_proba(FeatureGraph.read(newer_tables))
    columns = ["probability=book", "probability=lamp"]
    assert np.array_equal(frame[columns].to_numpy(), expected)
    assert np.array_equal(frame["probability"], expected.max(axis=1))


def test_chosen_nodes_on_standard_output(run: Run, model: Path, tables: Path) -> None:
    ran = run("predict", model, tables, "--nodes", "i3,i1", "--nodes", "i2")
    lines = ran.out.splitlines()
    assert lines[0] == "node,label,probability"
    assert [line.split(",")[0] for line in lines[1:]] == ["i3", "i1", "i2"]
    found = run("predict", model, tables, "--nodes", "i3", "--json").json
    assert found["predictions"][0]["node"] == "i3"


@pytest.mark.parametrize(
    ("name", "content"), [("n.txt", "i3\n\ni5\n"), ("n.csv", "node\ni3\ni5\n")]
)
def test_nodes_from_a_file(
    run: Run, model: Path, tables: Path, tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content)
    ran = run("predict", model, tables, "--nodes", tmp_path / name)
    assert [line.split(",")[0] for line in ran.out.splitlines()[1:]] == ["i3", "i5"]


def test_unknown_nodes_are_named(run: Run, model: Path, tables: Path, tmp_path: Path) -> None:
    ran = run("predict", model, tables, "--nodes", "i3,i70")
    assert ran.code == 2
    assert "'i70'" in ran.err
    (tmp_path / "n.csv").write_text("node\ni3\ni70\n")
    ran = run("predict", model, tables, "--nodes", tmp_path / "n.csv")
    assert ran.code == 2
    assert "line 3" in ran.err
    ran = run("predict", model, tables, "--nodes", tmp_path / "absent.txt")
    assert ran.code == 2
    assert "absent.txt" in ran.err


def test_a_failed_prediction_leaves_the_old_file(
    run: Run, model: Path, tables: Path, tmp_path: Path
) -> None:
    out = tmp_path / "predictions.csv"
    out.write_text("precious")
    assert run("predict", model, tables, "--nodes", "nobody", "--out", out).code == 2
    assert out.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [out]


def test_numbered_nodes_are_found_by_text(run: Run, model: Path, tmp_path: Path) -> None:
    graph = shop(range(20), 0)
    frames = graph.to_frames()
    numbered = FeatureGraph.from_frames(
        frames.features.assign(node=frames.features["node"].str[1:].astype(int)),
        nodes=list(range(20)),
    )
    numbered.write(tmp_path / "numbered")
    ran = run("explain", model, tmp_path / "numbered", "--node", "12", "--json")
    assert ran.json["node"] == 12
    assert run("explain", model, tmp_path / "numbered", "--node", "99").code == 2


def test_evaluate_repeats_the_test_part_of_training(
    run: Run, model: Path, tables: Path, tmp_path: Path
) -> None:
    found = run("evaluate", model, tables, "--part", "test", "--json").json
    graph = FeatureGraph.read(tables)
    nodes = graph.nodes.take(random_split(graph, 0).test)
    expected = GrafenneClassifier.load(model).evaluate(graph, nodes)
    assert found["nodes"] == 12
    assert found["auc"] == expected["auc"]
    assert found["per_class"] == expected["per_class"]
    everything = run("evaluate", model, tables, "--json").json
    assert (everything["nodes"], everything["part"]) == (60, "all")
    assert run("evaluate", model, tables, "--nodes", "i1,i2", "--json").json["nodes"] == 2
    text = run("evaluate", model, tables).out
    assert "accuracy" in text
    assert "lamp" in text


def test_evaluate_takes_the_test_nodes_that_the_model_was_trained_without(
    run: Run, tables: Path, tmp_path: Path
) -> None:
    file, model = tmp_path / "split.csv", tmp_path / "model"
    parts = ["train"] * 40 + ["validation"] * 15 + ["test"] * 5
    lines = [f"i{place},{part}" for place, part in enumerate(parts)]
    file.write_text("\n".join(["node,part", *lines]) + "\n")
    quick = ("--epochs", 2, "--width", 8, "--quiet")
    assert run("train", tables, "--out", model, "--split", file, *quick).code == 0
    graph = FeatureGraph.read(tables)
    test, others = [[f"i{place}" for place in part] for part in (range(55, 60), range(55))]
    expected = GrafenneClassifier.load(model).evaluate(graph, test)
    evaluate = ("evaluate", model, tables, "--part", "test", "--json")
    assert run(*evaluate).json["per_class"] == expected["per_class"]
    assert run(*evaluate, "--seed", 3).json["nodes"] == 12
    graph.subgraph(others).write(tmp_path / "others")
    ran = run("evaluate", model, tmp_path / "others", "--part", "test")
    assert ran.code == 2
    assert "no test nodes" in ran.err


def test_data_that_shares_no_feature_with_the_model_is_told(
    run: Run, model: Path, tmp_path: Path
) -> None:
    features = pd.DataFrame([("a", "other", 1.0)], columns=["node", "feature", "value"])
    FeatureGraph.from_frames(features).write(tmp_path / "other")
    ran = run("predict", model, tmp_path / "other")
    assert ran.code == 0
    assert "none of the features" in ran.err
    assert "none of the features" not in ran.out


def test_only_grafenne_is_explained(run: Run, tables: Path, tmp_path: Path) -> None:
    from grafenne.baselines import make_method

    graph = FeatureGraph.read(tables)
    for name in ("sage", "fp+sage"):
        make_method(name, epochs=2).fit(graph).save(tmp_path / name)
        ran = run("explain", tmp_path / name, tables, "--node", "i1")
        assert ran.code == 2
        assert "only GRAFENNE" in ran.err
        assert ran.err.count("\n") == 1


def test_suggestions_are_for_links(run: Run, model: Path, tables: Path) -> None:
    assert "--top is for models of links" in run("predict", model, tables, "--top", 1).err


def test_evaluate_needs_labels(run: Run, model: Path, newer_tables: Path) -> None:
    ran = run("evaluate", model, newer_tables)
    assert ran.code == 2
    assert "label" in ran.err


def test_explain_names_the_features_that_decided(run: Run, model: Path, newer_tables: Path) -> None:
    found = run("explain", model, newer_tables, "--node", "i71", "--top", 2, "--json").json
    assert found["prediction"] == "book"
    assert len(found["features"]) == 2
    assert {part["name"] for part in found["features"]} <= {
        "pages", "language=en", "weight", "isbn", "bulbs",
    }  # fmt: skip
    ran = run("explain", model, newer_tables, "--node", "i71")
    assert ran.out.startswith("i71: book")
    assert "neighbours" in ran.out


def test_embeddings_of_nodes_and_features(
    run: Run, model: Path, newer_tables: Path, tmp_path: Path
) -> None:
    estimator, graph = GrafenneClassifier.load(model), FeatureGraph.read(newer_tables)
    ran = run("embed", model, newer_tables, "--out", tmp_path / "n.parquet", "--json")
    frame = pd.read_parquet(tmp_path / "n.parquet")
    assert list(frame["node"]) == list(graph.nodes)
    assert np.array_equal(frame.drop(columns="node").to_numpy(), estimator.embed(graph))
    assert ran.json["width"] == frame.shape[1] - 1
    assert (
        run("embed", model, newer_tables, "--of", "features", "--out", tmp_path / "f.csv").code == 0
    )
    frame = pd.read_csv(tmp_path / "f.csv")
    assert list(frame["feature"]) == list(graph.features)
    assert frame.shape[1] == 17


def test_links_are_predicted_for_pairs(
    run: Run, link_model: Path, tables: Path, tmp_path: Path
) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("source,target\ni1,i3\ni1,i4\n")
    out = tmp_path / "links.csv"
    assert run("predict", link_model, tables, "--pairs", pairs, "--out", out).code == 0
    frame = pd.read_csv(out)
    assert list(frame.columns) == ["source", "target", "probability"]
    expected = GrafenneLinkPredictor.load(link_model).predict_proba(
        FeatureGraph.read(tables), [("i1", "i3"), ("i1", "i4")]
    )
    assert np.allclose(frame["probability"], expected)
    assert run("predict", link_model, tables).code == 2
    pairs.write_text("source,target\ni1,i3\ni1,nobody\n")
    ran = run("predict", link_model, tables, "--pairs", pairs)
    assert ran.code == 2
    assert "nobody" in ran.err
    assert "line 3" in ran.err


def test_the_most_likely_links_are_suggested(run: Run, link_model: Path, tables: Path) -> None:
    ran = run("predict", link_model, tables, "--top", 2, "--nodes", "i3,i1", "--json")
    expected = GrafenneLinkPredictor.load(link_model).suggest(
        FeatureGraph.read(tables), ["i3", "i1"], top=2
    )
    assert ran.json["predictions"] == expected.to_dict("records")
    assert run("predict", link_model, tables, "--top", 1).out.count("\n") == 61
    assert "--top N" in run("predict", link_model, tables).err


def test_links_are_evaluated_on_edges_and_explained_for_pairs(
    run: Run, link_model: Path, model: Path, tables: Path
) -> None:
    found = run("evaluate", link_model, tables, "--json").json
    assert (found["part"], found["edges"]) == ("test", 11)
    assert run("evaluate", link_model, tables, "--part", "train").code == 2
    ran = run("explain", link_model, tables, "--node", "i1")
    assert ran.code == 2
    assert "--other" in ran.err
    ran = run("explain", link_model, tables, "--node", "i1", "--other", "i3", "--top", 1, "--json")
    expected = GrafenneLinkPredictor.load(link_model).explain(
        FeatureGraph.read(tables), "i1", "i3", top=1
    )
    assert ran.json["source_features"] == expected.to_dict()["source_features"]
    ran = run("explain", model, tables, "--node", "i1", "--other", "i3")
    assert ran.code == 2
    assert "--other is for models of links" in ran.err


def test_a_link_model_is_judged_on_its_own_test_edges_wherever_they_are(
    run: Run, link_model: Path, tables: Path, tmp_path: Path
) -> None:
    first = run("evaluate", link_model, tables, "--json").json
    reordered = tmp_path / "reordered"
    reordered.mkdir()
    for table in tables.iterdir():
        if table.suffix == ".csv":  # other rows first, and edges the other way round
            frame = pd.read_csv(table).iloc[::-1]
            if table.stem == "edges":
                frame = frame.rename(columns={"source": "target", "target": "source"})
            frame.to_csv(reordered / table.name, index=False)
    again = run("evaluate", link_model, reordered, "--json").json
    assert again["edges"] == first["edges"]
    assert again["auc"] == pytest.approx(first["auc"], abs=1e-6)

    ran = run("evaluate", link_model, tables, "--seed", 5, "--json")
    assert "was trained on" in ran.err
    assert "test edges" in ran.err
    ran = run("evaluate", link_model, tables, "--option", "directed=true")
    assert ran.code == 2
    assert "undirected links" in ran.err

    without = tmp_path / "without"
    GrafenneLinkPredictor(width=8, epochs=2).fit(FeatureGraph.read(tables)).save(without)
    ran = run("evaluate", without, tables)
    assert ran.code == 2
    assert "no test edges" in ran.err
    assert run("evaluate", without, tables, "--part", "validation").code == 0


def test_evaluate_says_which_nodes_it_leaves_out_or_has_seen(
    run: Run, model: Path, tables: Path, tmp_path: Path
) -> None:
    graph = FeatureGraph.read(tables)
    ran = run("evaluate", model, tables, "--part", "test", "--seed", 3, "--json")
    assert "was trained on" in ran.err
    assert "test nodes" in ran.err
    fewer = tmp_path / "fewer"
    graph.with_labels({node: "book" for node in graph.nodes if node != "i1"}).write(fewer)
    ran = run("evaluate", model, fewer, "--nodes", "i1,i2", "--json")
    assert "1 of the nodes" in ran.err
    assert ran.json["nodes"] == 1


def test_a_damaged_model_is_told(run: Run, model: Path, tables: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "model.json").write_bytes((model / "model.json").read_bytes())
    (broken / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes()[:100])
    ran = run("predict", broken, tables)
    assert ran.code == 2
    assert "model.safetensors" in ran.err
    assert ran.err.count("\n") == 1
