"""Broken model folders: JSON, tensors, sizes, versions, and pickles in disguise."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from grafenne.estimators.model_files import FORMAT
from torture.bad_input_cases import Case
from torture.bad_input_world import World

Damage = Callable[[Path], object]
ABOUT, WEIGHTS, MEMORY = "model.json", "model.safetensors", "memory.json"
GONE: Any = object()

# Entries of model.json, reached by dots, and values they must not have.
ENTRIES: dict[str, tuple[Any, ...]] = {
    "format": (GONE, 0, FORMAT - 1, FORMAT + 1, str(FORMAT), None, [], {}),
    "estimator": (GONE, "Pickle", "os.system", None, 3, [], {}, "GrafenneRegressor"),
    "settings": (GONE, None, [], 3, "x"),
    "settings.width": (GONE, 0, -8, 16, 10**12, 2**80, 8.5, "8", None, []),
    "settings.num_layers": (0, 1, 3, 10**9, "2"),
    "settings.heads": (0, 3, 10**9, "x"),
    "settings.backbone": ("rnn", "pyg:os", "pyg:Linear", "pyg:GATConv", "own", None, 3, []),
    "settings.features": ("word", "own", "given", True, 3, []),
    "settings.mode": ("paper", "x", None, []),
    "settings.aggregation": ("median", None, []),
    "settings.device": ("toaster", "cuda:99", None, 3.5, []),
    "settings.dropout": (float("nan"), "x", 2),
    "settings.labels_as_features": (False, "x"),
    "settings.random_state": (-1, "x", None),
    "settings.surprise": (1,),
    "features": (GONE, None, 3, [1, 2], ["watts"], ["watts", "watts"], "watts", [[]], [None] * 6),
    "scaler": (GONE, None, [], {}, "x"),
    "scaler.method": (GONE, "minmax", None, []),
    "scaler.features": ([], ["x"], [1, 2], None),
    "scaler.centre": ([], [1.0], ["x"] * 5, None, [float("nan")] * 5, [10**400] * 5),
    "scaler.scale": ([], [0.0] * 5, [-1.0] * 5, None, [float("inf")] * 5),
    "feature_dropout": (GONE, 2.0, -1, float("nan"), "x", None, []),
    "feature_edges": (GONE, False),
    "history": (GONE, None, [], "x", {"best_epoch": "x"}, {"surprise": 1}),
    "history.epochs": (3, [3], "x"),
    "digest": ("0" * 64, 3, []),
    "classes": (GONE, None, [], ["book"], ["book"] * 2, [[], []], 3, ["a", "b", "c"]),
    "label_features": ({}, 3, [], {"nodes": 3}, {"nodes": ["i0"]}, {"nodes": [[]] * 13}),
    "updates": (-1, "x"),
    "lineage": (3, [3], [{}], "x", {}),
    "wrapper": ({}, 3, [], {"kind": "os"}, {"kind": []}, {"kind": "ImputedClassifier"}),
}

MEMORIES: dict[str, str] = {
    "list": "[]",
    "number": "3",
    "not-json": "{",
    "deep": "[" * 100_000,
    "empty": "{}",
    "nodes-text": '{"nodes": "abc", "train": [], "validation": [], "test": []}',
    "nodes-negative": '{"nodes": -1, "train": [], "validation": [], "test": []}',
    "nodes-null": '{"nodes": [null], "train": [0], "validation": [], "test": []}',
    "nodes-twice": '{"nodes": ["a", "a"], "train": [0], "validation": [], "test": []}',
    "beyond": '{"nodes": 3, "train": [7], "validation": [], "test": []}',
    "overlap": '{"nodes": 3, "train": [1], "validation": [1], "test": []}',
    "negative": '{"nodes": 3, "train": [-1], "validation": [], "test": []}',
    "fractions": '{"nodes": 3, "train": [0.5], "validation": [], "test": []}',
    "huge": '{"nodes": 3, "train": [' + "9" * 30 + '], "validation": [], "test": []}',
    "strategy-unknown": '{"nodes": 3, "train": [1], "validation": [], "test": [], '
    '"strategy": {"name": "os", "settings": {}, "remembered": {}}}',
    "strategy-settings": '{"nodes": 3, "train": [1], "validation": [], "test": [], '
    '"strategy": {"name": "ewc", "settings": {"colour": 1}, "remembered": {}}}',
    "strategy-list": '{"nodes": 3, "train": [1], "validation": [], "test": [], "strategy": [1]}',
}


def cases() -> Iterator[Case]:
    """All broken models."""
    for entry, values in ENTRIES.items():
        of = "updated" if entry in ("updates", "lineage") else "model"
        for value in values:
            told = "gone" if value is GONE else json.dumps(value)[:40]
            yield _case(f"{entry}={told}", _entry(entry, value), of=of)
    for name, text in MEMORIES.items():
        yield _case(f"memory/{name}", _file(MEMORY, text.encode()))
    for name, content in ABOUTS.items():
        yield _case(f"about/{name}", _file(ABOUT, content))
    for name, damage in WEIGHT_DAMAGES.items():
        yield _case(f"weights/{name}", damage)
    for of in ("regression", "links", "updated"):
        yield _case(f"{of}/nan", _nan, of=of)
        yield _case(f"{of}/cut", _cut(-3), of=of)
        yield _case(f"{of}/other-about", _file(ABOUT, b'{"format": 1}'), of=of)
        yield _case(f"{of}/flipped-bit", _flipped_bit, of=of)
    yield Case("model/nowhere", lambda world, folder: load(folder / "nowhere"))
    yield Case("model/a-file", lambda world, folder: load(world.events))
    yield Case("model/name-too-long", lambda world, folder: load(folder / ("x" * 400)))
    yield Case("model/name-with-nul", lambda world, folder: load(f"{folder}\0x"))
    yield Case("model/other-class", _load_as_regressor)
    yield Case("model/unknown-override", lambda world, folder: load(world.model, width=3))
    yield Case("model/device-override", lambda world, folder: load(world.model, device="toaster"))
    yield Case("model/features-override", lambda world, folder: load(world.model, features=3))


def load(folder: Path | str, **overrides: Any) -> Any:
    """Reads a model and uses it, as some damage shows only then."""
    from grafenne.estimators.persistence import load_estimator
    from torture.bad_input_checks import check_model

    model = load_estimator(folder, **overrides)
    check_model(model)
    return model


def _load_as_regressor(world: World, folder: Path) -> Any:
    from grafenne import GrafenneRegressor

    return GrafenneRegressor.load(world.model)


def _case(name: str, damage: Damage, of: str = "model") -> Case:
    def build(world: World, folder: Path) -> None:
        damage(world.copy(of, folder / "model"))

    return Case(f"model/{name}", lambda world, folder: load(folder / "model"), build)


def _entry(path: str, value: Any) -> Damage:
    def damage(folder: Path) -> None:
        about = json.loads((folder / ABOUT).read_text())
        *above, last = path.split(".")
        place = about
        for name in above:
            place = place[name]
        if value is GONE:
            del place[last]
        else:
            place[last] = value
        (folder / ABOUT).write_text(json.dumps(about))

    return damage


def _file(name: str, content: bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes(content)


ABOUTS: dict[str, bytes] = {
    "empty": b"",
    "nul": b"\0" * 20,
    "not-json": b"{",
    "list": b"[]",
    "null": b"null",
    "latin-1": b'{"format": "\xe9"}',
    "deep": b"[" * 200_000,
    "many-digits": b'{"format": ' + b"1" * 5000 + b"}",
    "pickle": pickle.dumps({"format": 1}),
    "only-format": b'{"format": 1}',
    "bom": b'\xef\xbb\xbf{"format": 1}',
}


def _cut(kept: int) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / WEIGHTS
        path.write_bytes(path.read_bytes()[:kept])

    return damage


def _tensors(change: Callable[[dict[str, Any]], Any]) -> Damage:
    def damage(folder: Path) -> None:
        from safetensors.torch import load_file, save_file

        tensors = dict(load_file(folder / WEIGHTS))
        change(tensors)
        save_file({name: value.contiguous() for name, value in tensors.items()}, folder / WEIGHTS)

    return damage


def _first(tensors: dict[str, Any]) -> str:
    return next(
        name for name in sorted(tensors) if name.startswith("network.") and tensors[name].dim()
    )


def _nan(folder: Path) -> None:
    _tensors(lambda tensors: tensors[_first(tensors)].fill_(float("nan")))(folder)


def _reshape(tensors: dict[str, Any]) -> None:
    name = _first(tensors)
    tensors[name] = tensors[name].reshape(1, -1)


def _double(tensors: dict[str, Any]) -> None:
    name = _first(tensors)
    tensors[name] = tensors[name].double()


def _extra(tensors: dict[str, Any]) -> None:
    tensors["network.surprise"] = tensors[_first(tensors)].clone()


def _only_another(tensors: dict[str, Any]) -> None:
    import torch

    tensors.clear()
    tensors["x"] = torch.zeros(1)


def _flipped_bit(folder: Path) -> None:
    """A weight that is still finite but not the one that was saved."""

    def change(tensors: dict[str, Any]) -> None:
        tensors[_first(tensors)].view(-1)[0] += 0.125

    _tensors(change)(folder)


def _lying_header(shape: list[int], end: int | None = None) -> Damage:
    """A safetensors header that claims a shape; the data is what it was."""

    def damage(folder: Path) -> None:
        data = (folder / WEIGHTS).read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + size])
        name = next(name for name in sorted(header) if name.startswith("network."))
        header[name]["shape"] = shape
        if end is not None:
            header[name]["data_offsets"][1] = end
        text = json.dumps(header).encode()
        (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])

    return damage


def _as_folder(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).mkdir()


class Malicious:
    """Would write a file if it were ever unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("open('unpickled', 'w').close()",))


def _torch_pickle(folder: Path) -> None:
    import torch

    torch.save({"network": Malicious()}, folder / WEIGHTS)


WEIGHT_DAMAGES: dict[str, Damage] = {
    "missing": lambda folder: (folder / WEIGHTS).unlink(),
    "a-folder": _as_folder,
    "empty": _file(WEIGHTS, b""),
    "cut-1": _cut(-1),
    "cut-half": _cut(400),
    "cut-in-header": _cut(40),
    "header-size-huge": _file(WEIGHTS, struct.pack("<Q", 2**63) + b"{}"),
    "header-size-terabyte": _file(WEIGHTS, struct.pack("<Q", 10**12) + b"{}"),
    "header-not-json": _file(WEIGHTS, struct.pack("<Q", 3) + b"{{{"),
    "header-empty": _file(WEIGHTS, struct.pack("<Q", 2) + b"{}"),
    "shape-terabytes": _lying_header([10**6, 10**6]),
    "shape-terabytes-with-offsets": _lying_header([10**6, 10**6], 4 * 10**12),
    "shape-overflows": _lying_header([2**40, 2**40]),
    "shape-negative": _lying_header([-1, 8]),
    "pickle": _file(WEIGHTS, pickle.dumps({"network": Malicious()})),
    "torch-pickle": _torch_pickle,
    "nan": _nan,
    "reshaped": _tensors(_reshape),
    "double": _tensors(_double),
    "extra": _tensors(_extra),
    "one-missing": _tensors(lambda tensors: tensors.pop(_first(tensors))),
    "all-missing": _tensors(_only_another),
    "label-codes-missing": _tensors(lambda tensors: tensors.pop("label_codes")),
    "label-codes-beyond": _tensors(lambda tensors: tensors["label_codes"].fill_(9)),
    "label-codes-negative": _tensors(lambda tensors: tensors["label_codes"].fill_(-1)),
    "label-codes-short": _tensors(
        lambda tensors: tensors.update(label_codes=tensors["label_codes"][:2].clone())
    ),
    "flipped-bit": _flipped_bit,
}
