"""Tables as data: blocks of rows and columns with our cells and the paper's, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from grafenne.experiments.paper import PaperCell, PaperTable, paper_tables
from grafenne.experiments.report.cells import Cell, Cells, Comparison, best, compare
from grafenne.experiments.report.methods import GROUPS, RowKey
from grafenne.experiments.report.runs import SPECIAL

FEW_LABELS = ("few-labels", "few-labels-smoothed")
SMOOTHED = "-smoothed"
"""How the names of experiments end that are those before the ending with smoothed answers."""
BY_DATASET = ("message-passing",)
"""Tables with a column per dataset."""

_FEW_LABELS_CAPTION = (
    "20 labels per class, largest component, most features missing; the published figures are for "
    "99.5 % missing uniformly."
)
_SMOOTHED_CAPTION = (
    "The same methods, settings and seeds, with answers that lean towards the answers around them "
    "once the network is trained. Training nodes answer by their label, and validation data says "
    "how much comes from around, nothing among the choices. So every row makes use of known labels."
)
_AVERAGED_CAPTION = (
    "The same methods, settings and seeds, with weights averaged over about the last quarter of "
    "the epochs done, and GRAFENNE with a GCN as phase 2 besides."
)
_EQUAL_CLASSES_CAPTION = (
    "All features, 60/20/20 splits as the code behind many published figures makes them: as many "
    "training nodes of each class where it has them. Classes that have no more are neither in the "
    "validation nor in the test part, and the others are more frequent there than in training. "
    "Rows with class shares are told how frequent classes are among the validation nodes. "
    "Settings are those chosen on random splits."
)
CAPTIONS = {
    "averaged": _AVERAGED_CAPTION,
    "equal-classes": _EQUAL_CLASSES_CAPTION,
    "few-labels": _FEW_LABELS_CAPTION,
    "smoothed": _SMOOTHED_CAPTION,
    "few-labels-smoothed": f"{_FEW_LABELS_CAPTION} {_SMOOTHED_CAPTION}",
}
"""What there is to say about tables that are not the paper's."""


@dataclass(frozen=True)
class Column:
    """A column: one problem that all rows are run on."""

    label: str
    dataset: str
    p: float
    variant: str = ""


@dataclass
class Entry:
    """One place of a table.

    Attributes:
        row: Its row.
        column: Its column.
        cell: Our runs.
        paper: The paper's figure.
        is_best: Whether no other of its group in this column is better.
        paper_is_best: The same among the paper's figures.
        against: For a row of ours, the best baseline of its group and column.
        comparison: With that.
    """

    row: RowKey
    column: Column
    cell: Cell | None
    paper: PaperCell | None
    is_best: bool = False
    paper_is_best: bool = False
    against: Entry | None = None
    comparison: Comparison | None = None


@dataclass
class Block:
    """Rows over the same columns, mostly those of one dataset."""

    title: str
    columns: list[Column]
    rows: list[RowKey]
    entries: dict[tuple[RowKey, Column], Entry] = field(repr=False)

    def group(self, name: str) -> list[RowKey]:
        """Rows of one group."""
        return [row for row in self.rows if row.group == name]

    def column_entries(self, column: Column, group: str) -> list[Entry]:
        """Entries of a column that have runs of ours, for one group."""
        entries = (self.entries[row, column] for row in self.group(group))
        return [entry for entry in entries if entry.cell is not None and entry.cell.runs]


@dataclass
class Table:
    """One table of the report."""

    name: str
    title: str
    caption: str
    percent: bool
    blocks: list[Block]
    paper: PaperTable | None = None

    def entries(self) -> Iterator[tuple[Block, Entry]]:
        """All entries, block by block."""
        for block in self.blocks:
            for entry in block.entries.values():
                yield block, entry

    @property
    def published_under(self) -> str:
        """The experiment that figures published elsewhere are compared with."""
        return self.paper.experiments[0] if self.paper else self.name.removesuffix(SMOOTHED)

    @property
    def measured(self) -> bool:
        """Whether there is any run of ours."""
        return any(entry.cell is not None for _, entry in self.entries())


def make_tables(cells: Cells) -> list[Table]:
    """The paper's tables, then those of further experiments.

    Args:
        cells: Our cells.
    """
    tables = [_paper_table(paper, cells) for paper in paper_tables()]
    known = {name for table in paper_tables() for name in table.experiments} | set(SPECIAL)
    for experiment in cells.experiments():
        if experiment not in known:
            tables.append(_other_table(experiment, cells))
    for table in tables:
        for block in table.blocks:
            _judge(block, table.paper.leaked if table.paper else ())
    return tables


def _paper_table(paper: PaperTable, cells: Cells) -> Table:
    ours = cells.keys(paper.experiments[0])
    listed = list(dict.fromkeys(RowKey(cell.method, cell.variant) for cell in paper.cells))
    if paper.name == "link-prediction-backbones":  # has its runs in common with another table
        methods = {row.method for row in listed}
        ours = [key for key in ours if key[1].removesuffix("+labels") in methods]
    elif paper.name == "link-prediction":
        ours = [key for key in ours if not _is_backbone(key[1])]
    datasets = list(dict.fromkeys([*paper.datasets, *(key[0] for key in ours)]))
    groups: list[tuple[str, list[Column]]] = []
    for dataset in datasets:
        rates = {cell.p for cell in paper.cells if cell.dataset == dataset}
        rates |= {key[2] for key in ours if key[0] == dataset}
        groups.append((dataset, [Column(f"p = {p:g}", dataset, p) for p in sorted(rates)]))
    if paper.name in BY_DATASET and all(len(columns) == 1 for _, columns in groups):
        columns = [Column(dataset, dataset, columns[0].p) for dataset, columns in groups]
        groups = [("", columns)]
    blocks = []
    for title, columns in groups:
        here = {column.dataset for column in columns}
        in_paper = [
            row
            for row in listed
            if any(
                cell.dataset in here and RowKey(cell.method, cell.variant) == row
                for cell in paper.cells
            )
        ]
        further = [RowKey(key[1], key[3], key[4]) for key in ours if key[0] in here]
        rows = _ordered([*in_paper, *further])
        blocks.append(_block(title, columns, rows, cells, paper.experiments, paper))
    percent = paper.unit == "percent"
    return Table(paper.name, paper.title, paper.caption, percent, blocks, paper)


def _is_backbone(method: str) -> bool:
    return method.removesuffix("+labels").split("-")[-1] in ("gat", "gin")


def _other_table(experiment: str, cells: Cells) -> Table:
    keys = cells.keys(experiment)
    by_variant = experiment in FEW_LABELS
    blocks = []
    for dataset in dict.fromkeys(key[0] for key in keys):
        here = [key for key in keys if key[0] == dataset]
        problems = sorted({(key[2], key[3] if by_variant else "") for key in here}, key=_uniform)
        columns = [
            Column(f"{variant} p = {p:g}".strip(), dataset, p, variant) for p, variant in problems
        ]
        rows = _ordered(RowKey(key[1], "" if by_variant else key[3], key[4]) for key in here)
        blocks.append(_block(dataset, columns, rows, cells, (experiment,), None))
    title = experiment.replace("-", " ").capitalize()
    return Table(experiment, title, CAPTIONS.get(experiment, ""), True, blocks)


def _uniform(problem: tuple[float, str]) -> tuple[float, bool, str]:
    """Order of columns: by missing rate, the uniform variant first."""
    return problem[0], problem[1] != "uniform", problem[1]


def _ordered(rows: Iterable[RowKey]) -> list[RowKey]:
    """Group by group, baselines before ours; within that as given."""
    unique = list(dict.fromkeys(rows))
    return sorted(unique, key=lambda row: (GROUPS.index(row.group), row.ours))


def _block(
    title: str,
    columns: list[Column],
    rows: list[RowKey],
    cells: Cells,
    experiments: Sequence[str],
    paper: PaperTable | None,
) -> Block:
    entries = {}
    for row in rows:
        for column in columns:
            variant = column.variant or row.variant
            found = cells.find(
                experiments, column.dataset, row.method, column.p, variant, row.leaked
            )
            printed = None
            if paper is not None:
                printed = paper.find(column.dataset, row.method, column.p, variant)
            entries[row, column] = Entry(row, column, found, printed)
    return Block(title, columns, rows, entries)


def _judge(block: Block, leaked_in_paper: Sequence[str]) -> None:
    """Marks the best of each column, and compares ours with the best baseline."""
    for column in block.columns:
        for group in ("plain", "labels"):
            for variant in dict.fromkeys(row.variant for row in block.group(group)):
                found = block.column_entries(column, group)
                _judge_entries([entry for entry in found if entry.row.variant == variant])
        printed = [
            entry
            for entry in (block.entries[row, column] for row in block.group("plain"))
            if entry.paper is not None
            and entry.paper.value is not None
            and entry.row.method not in leaked_in_paper
        ]
        highest = max((entry.paper.value or 0.0 for entry in printed if entry.paper), default=None)
        for entry in printed:
            entry.paper_is_best = entry.paper is not None and entry.paper.value == highest


def _judge_entries(entries: list[Entry]) -> None:
    top = best(entry.cell for entry in entries)
    rivals = [entry for entry in entries if not entry.row.ours]
    rival_cell = best(entry.cell for entry in rivals)
    rival = next((entry for entry in rivals if entry.cell is rival_cell), None)
    for entry in entries:
        entry.is_best = entry.cell is top
        if entry.row.ours and rival is not None and entry.cell and rival.cell:
            entry.against = rival
            entry.comparison = compare(entry.cell, rival.cell)
