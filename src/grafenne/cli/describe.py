"""``grafenne describe``: a summary of a dataset or a folder."""

from __future__ import annotations

from grafenne.cli.inputs import load_graph
from grafenne.cli.lineage import is_model, summarise_model
from grafenne.cli.options import (
    DEFAULT_DATA,
    DataArgument,
    DataOptionsOption,
    JsonOption,
    ReleaseOption,
    RootOption,
)
from grafenne.cli.output import answer, pairs_text


def describe(
    data: DataArgument = DEFAULT_DATA,
    release: ReleaseOption = None,
    option: DataOptionsOption = None,
    data_root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Summarise a graph: counts, degrees, sparsity, labels; or a saved model and its lineage."""
    if is_model(data):
        human, told = summarise_model(data)
        answer(human, told, as_json)
        return
    graph = load_graph(data, root=data_root, release=release, options=option)
    rows = list(graph.describe()["value"].items())
    human = f"{data}\n\n" + pairs_text((str(name), _plain(value)) for name, value in rows)
    answer(human, {"dataset": data, **{str(name): _plain(value) for name, value in rows}}, as_json)


def _plain(value: object) -> object:
    return value.item() if hasattr(value, "item") else value
