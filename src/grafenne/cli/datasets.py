"""``grafenne datasets``: what there is to learn from."""

from __future__ import annotations

from pathlib import Path

from grafenne.cli.options import JsonOption, RootOption
from grafenne.cli.output import answer, table_text


def datasets(data_root: RootOption = None, as_json: JsonOption = False) -> None:
    """List the datasets that go by name, and which of them are here already."""
    from grafenne.datasets import data_root as root_of
    from grafenne.datasets import dataset_info, dataset_names

    root = root_of(data_root)
    rows = []
    for name in dataset_names():
        about = dataset_info(name)
        rows.append(
            {
                "name": name,
                "title": about.title,
                "description": about.description,
                "task": about.task,
                "stream": about.streaming,
                "offline": is_here(name, root),
                "source": about.source,
            }
        )
    told = {True: "yes", False: "no"}
    human = table_text(
        ("name", "offline", "changes", "what it is"),
        [
            (row["name"], told[bool(row["offline"])], told[bool(row["stream"])], row["title"])
            for row in rows
        ],
    )
    missing = [str(row["name"]) for row in rows if not row["offline"]]
    if missing:
        human += (
            f"\n\nNot in {root} yet: {', '.join(missing)}. Public files are downloaded there when "
            "they are first used; --data-root or GRAFENNE_DATA name another folder."
        )
    answer(human, {"root": str(root), "datasets": rows}, as_json)


def is_here(name: str, root: Path) -> bool:
    """Whether a dataset can be loaded without fetching anything."""
    from grafenne.datasets import actor, coauthor, planetoid

    files: dict[str, list[str]] = {
        "actor": [actor.NODES.path, actor.EDGES.path],
        "physics": [coauthor.PHYSICS.path],
        "debian-mini": [],
        "synthetic": [],
    }
    for citation, parts in planetoid.CHECKSUMS.items():
        files[citation] = [f"{planetoid.FOLDERS[citation]}/ind.{citation}.{part}" for part in parts]
    if name in files:
        return all((root / path).is_file() for path in files[name])
    # Data that users build or fetch themselves has a folder of its own name.
    folder = root / name
    return folder.is_dir() and any(folder.iterdir())
