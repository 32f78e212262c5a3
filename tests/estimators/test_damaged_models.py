"""Saved models that are damaged: one clear error for everything that can be wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from grafenne import GrafenneClassifier, GrafenneRegressor
from grafenne.errors import ModelFileError
from grafenne.estimators.model_files import memory_digest
from tests.estimators.cases import graph_for, make

ABOUT, WEIGHTS, MEMORY = "model.json", "model.safetensors", "memory.json"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("models") / "m"
    settings = {"labels_as_features": True, "smoothing": 0.5}
    make("classifier", epochs=1, **settings).fit(graph_for("classifier")).save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    about = json.loads((folder / ABOUT).read_text())
    change(about)
    (folder / ABOUT).write_text(json.dumps(about))


def setting(name: str, value: Any) -> Callable[[Path], None]:
    return lambda folder: edit(folder, lambda about: about["settings"].update({name: value}))


def entry(name: str, value: Any) -> Callable[[Path], None]:
    return lambda folder: edit(folder, lambda about: about.update({name: value}))


def weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        tensors = load_file(folder / WEIGHTS)
        change(tensors)
        save_file(tensors, folder / WEIGHTS)

    return damage


def cut(folder: Path) -> None:
    whole = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(whole[: len(whole) // 2])


def memory(name: str, value: Any) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = json.loads((folder / MEMORY).read_text())
        signed(folder, json.dumps({**content, name: value}))

    return damage


def signed(folder: Path, content: str) -> None:
    """Writes another memory that the rest of the model vouches for."""
    (folder / MEMORY).write_text(content)
    edit(folder, lambda about: about.update(memory=memory_digest(content.encode())))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no text": (lambda folder: (folder / ABOUT).unlink(), "not a saved model"),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), WEIGHTS),
    "cut weights": (cut, WEIGHTS),
    "empty weights": (lambda folder: (folder / WEIGHTS).write_bytes(b""), WEIGHTS),
    "cut text": (lambda folder: (folder / ABOUT).write_text('{"format": 1,'), ABOUT),
    "other text": (lambda folder: (folder / ABOUT).write_text("[1, 2]"), "does not describe"),
    "deep text": (lambda folder: (folder / ABOUT).write_text("[" * 100_000), ABOUT),
    "no utf-8": (lambda folder: (folder / ABOUT).write_bytes(b"\xff\xfe\xfa"), ABOUT),
    "other format": (entry("format", 99), "format 99"),
    "estimator": (entry("estimator", "GrafenneOracle"), "GrafenneOracle"),
    "estimator of a wrong type": (entry("estimator", ["x"]), "unknown estimator"),
    "huge width": (setting("width", 10**9), "does not fit"),
    "enormous width": (setting("width", 10**40), "damaged"),
    "other width": (setting("width", 16), "does not fit"),
    "text as width": (setting("width", "wide"), "damaged"),
    "huge number of layers": (setting("num_layers", 10**9), "num_layers"),
    "more heads": (setting("heads", 3), "heads"),
    "other mode": (setting("mode", "paper"), "does not fit"),
    "no such mode": (setting("mode", "magic"), "magic"),
    "no such backbone": (setting("backbone", "sagee"), "sagee"),
    "no such pyg layer": (setting("backbone", "pyg:NoConv"), "NoConv"),
    "pyg object that is no layer": (setting("backbone", "pyg:Linear"), "Linear"),
    "other features": (setting("features", "name"), "does not fit"),
    "no such features": (setting("features", "magic"), "magic"),
    "given without vectors": (setting("features", "given"), "damaged"),
    "no settings": (lambda folder: edit(folder, lambda about: about.pop("settings")), "settings"),
    "settings of a wrong type": (entry("settings", 3), "damaged"),
    "names too few": (entry("features", ["f0"]), "does not fit"),
    "names twice": (entry("features", ["f0"] * 6), "f0"),
    "classes too many": (entry("classes", ["a", "b", "c"]), "does not fit"),
    "scaler": (entry("scaler", {"method": "standard"}), "scaling is damaged"),
    "history": (entry("history", {"epoch": 1}), "damaged"),
    "shown nodes": (entry("label_features", {"nodes": ["n0"]}), "shown labels"),
    "nodes of smoothing": (entry("smoothing", {"share": 0.5, "nodes": ["n0"]}), "shown labels"),
    "smoothing without a share": (entry("smoothing", {"share": 2, "nodes": []}), "no share"),
    "other share": (
        lambda folder: edit(folder, lambda about: about["smoothing"].update(share=0.25)),
        "damaged",
    ),
    "no smoothing": (entry("smoothing", None), "damaged"),
    "not finite": (
        weights(lambda tensors: tensors["network.head.bias"].fill_(float("nan"))),
        "not finite in network.head.bias",
    ),
    "other shape": (
        weights(lambda tensors: tensors.update({"network.head.bias": torch.zeros(7)})),
        r"network\.head\.bias should be float32 of shape \[2\], found float32 of shape \[7\]",
    ),
    "other type": (
        weights(lambda tensors: tensors.update({"network.head.bias": torch.zeros(2).double()})),
        "found float64",
    ),
    "tensor missing": (
        weights(lambda tensors: tensors.pop("network.head.bias")),
        "found absent",
    ),
    "tensor too many": (
        weights(lambda tensors: tensors.update({"network.more": torch.zeros(2)})),
        "should be absent",
    ),
    "cut memory": (lambda folder: (folder / MEMORY).write_text('{"nodes": ['), MEMORY),
    "changed memory": (lambda folder: (folder / MEMORY).write_text("3"), "damaged, or belongs"),
    "lost memory": (lambda folder: (folder / MEMORY).unlink(), MEMORY),
    "other memory": (lambda folder: signed(folder, "3"), "learnt from"),
    "memory without nodes": (memory("nodes", None), "neither text nor whole numbers"),
    "nodes of a strange type": (memory("nodes", [[1]] * 30), "neither text nor whole numbers"),
    "negative number of nodes": (memory("nodes", -1), "negative"),
    "nodes too few": (memory("nodes", ["n0"]), "too large"),
    "nodes twice": (memory("nodes", ["n0"] * 30), "n0"),
    "node in two parts": (memory("test", [0, 0]), "position 0"),
    "fractions as positions": (memory("train", [0.5]), "whole numbers"),
    "past nodes of a wrong type": (memory("past", 5), "damaged|learnt from"),
    "past nodes of two parts": (memory("past", [["n0"], []]), "there once"),
    "strange past nodes": (memory("past", [[[1]], [], []]), "there once"),
    "unknown strategy": (
        memory("strategy", {"name": "magic", "settings": {}, "remembered": {}}),
        "magic",
    ),
    "too many remembered": (
        memory(
            "strategy",
            {
                "name": "replay",
                "settings": {"memory": 1},
                "remembered": {"nodes": ["n0", "n1"], "offered": 2},
            },
        ),
        "remembered nodes",
    ),
    "lineage": (entry("lineage", ["x"]), "lineage"),
    "remembered tensor of no weight": (
        weights(lambda tensors: tensors.update({"memory.more": torch.zeros(2)})),
        "memory.more should be absent",
    ),
    "remembered tensor of another shape": (
        weights(lambda tensors: tensors.update({"memory.head.bias": torch.zeros(9)})),
        r"memory\.head\.bias should be float32 of shape \[2\]",
    ),
    "labels out of range": (
        weights(lambda tensors: tensors["label_codes"].fill_(5)),
        "not among the classes",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_model_is_one_clear_error(
    name: str, saved: dict[str, bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for part, content in saved.items():
        (folder / part).write_bytes(content)
    GrafenneClassifier.load(folder)
    damage, message = DAMAGES[name]
    damage(folder)
    with pytest.raises(ModelFileError, match=message) as caught:
        GrafenneClassifier.load(folder)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")


def test_a_missing_folder_and_another_kind_are_told(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="nowhere is not a saved model"):
        GrafenneClassifier.load(tmp_path / "nowhere")
    make("classifier", epochs=1).fit(graph_for("classifier")).save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="holds a GrafenneClassifier, not a GrafenneRegressor"):
        GrafenneRegressor.load(tmp_path / "m")
