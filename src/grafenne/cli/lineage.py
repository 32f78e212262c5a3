"""A saved model for a person: what it is, and which updates made it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grafenne.cli.output import pairs_text, table_text
from grafenne.errors import ModelFileError

SHOWN = 12
"""How many characters of a digest a person is shown."""


def is_model(data: str) -> bool:
    """Whether what was given for a graph is the folder of a saved model."""
    from grafenne.datasets import dataset_names

    return data not in dataset_names() and (Path(data) / "model.json").is_file()


def summarise_model(folder: str) -> tuple[str, dict[str, Any]]:
    """A text for a person, and the same as data; the weights are not read."""
    from grafenne.estimators.model_files import read_about

    about = read_about(Path(folder))
    lineage = about.get("lineage") or []
    try:
        told = {
            "model": folder,
            "estimator": about["estimator"],
            "imputer": about["wrapper"]["imputer"]["name"] if about.get("wrapper") else None,
            "made": about["made"],
            "version": about["grafenne"],
            "digest": about.get("digest"),
            "features": len(about["features"]),
            "classes": len(about["classes"]) if "classes" in about else None,
            "best_epoch": about["history"]["best_epoch"],
            "updates": about.get("updates", 0),
            "settings": dict(about["settings"]),
            "lineage": [dict(entry) for entry in lineage],
        }
        rows = [
            (
                place,
                entry["strategy"],
                str(entry["time"]),
                str(entry["parent"])[:SHOWN],
                str(entry["delta"])[:SHOWN],
            )
            for place, entry in enumerate(lineage, start=1)
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{folder}/model.json is damaged: {error}.") from None
    human = pairs_text(
        (name.replace("_", " "), value)
        for name, value in told.items()
        if name not in ("settings", "lineage")
    )
    if rows:
        columns = ("update", "strategy", "time", "parent", "change")
        human += "\n\n" + table_text(columns, rows)
    return human, told
