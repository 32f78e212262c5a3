"""Citations between papers year by year, from the AMiner text format."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from grafenne.data.edges import EdgeList
from grafenne.data.feature_graph import FeatureGraph, feature_vocabulary
from grafenne.data.labels import Labels
from grafenne.data.values import FeatureValues
from grafenne.data.vocabulary import Vocabulary
from grafenne.datasets.registry import Dataset, register
from grafenne.errors import DataError, ParameterError

if TYPE_CHECKING:
    from grafenne.data.stream import GraphStream

# Marks of the versions of the format; the longer ones first, as "#c" also begins "#citation".
MARKS = {
    "#arnetid": None,
    "#citation": None,
    "#index": "index",
    "#year": "year",
    "#conf": "venue",
    "#*": "title",
    "#@": None,
    "#t": "year",
    "#c": "venue",
    "#%": "reference",
    "#!": "abstract",
}
_COMMON = (
    "about all also and any are based between both but can does each for from has have how "
    "into its more most not new non one only other our over some such than that the their "
    "them these they this those through under use used uses using very via was were what "
    "when where which with within without you your"
)
STOP_WORDS = frozenset(_COMMON.split())
_WORD = re.compile(r"[a-z][a-z0-9+-]{2,}")


@dataclass
class Paper:
    """One record of the file."""

    line: int
    index: str = ""
    title: str = ""
    abstract: str = ""
    venue: str = ""
    year: int | None = None
    references: list[str] = field(default_factory=list)


def load_dblp(
    root: Path,
    *,
    first_year: int = 1992,
    last_year: int = 1997,
    classes: Mapping[str, str] | None = None,
    num_classes: int = 5,
    abstracts: bool = False,
) -> FeatureGraph:
    """The papers of all the years, see :func:`stream_dblp` for the arguments."""
    papers = _selected_papers(root, first_year, last_year, classes, num_classes)
    return _graph(papers, last_year, None, abstracts)


def stream_dblp(
    root: Path,
    *,
    first_year: int = 1992,
    last_year: int = 1997,
    classes: Mapping[str, str] | None = None,
    num_classes: int = 5,
    abstracts: bool = False,
) -> GraphStream:
    """One snapshot per year, with all papers up to that year and the citations among them.

    A paper is a node, an edge goes from it to each paper that it cites, and each word of its
    title is a feature ``word:…``. The label is the class of the venue. The paper's research
    categories are not public, so they come from ``classes`` or, by default, are the venues with
    most papers; papers of other venues are left out. The paper reports 3,075 nodes, 6,368 edges
    and 5 classes for 1992 to 1997.

    Args:
        root: The data root; the file is the only ``.txt`` in its folder ``dblp``, or in the
            root itself.
        first_year: Papers from this year on.
        last_year: Papers up to this year.
        classes: The class of each venue, by the venue's name in the file.
        num_classes: Without ``classes``, how many of the most common venues are classes.
        abstracts: Whether the words of the abstract are features too.
    """
    from grafenne.data.stream import GraphStream

    papers = _selected_papers(root, first_year, last_year, classes, num_classes)
    snapshots: list[FeatureGraph] = []
    for year in range(first_year, last_year + 1):
        known = snapshots[-1].features if snapshots else None
        snapshots.append(_graph(papers, year, known, abstracts))
    return GraphStream.from_snapshots(snapshots)


def read_papers(path: Path) -> Iterator[Paper]:
    """The records of a file, one after the other."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            paper: Paper | None = None
            for number, line in enumerate(lines, start=1):
                line = line.strip()
                if not line or (number == 1 and line.isdigit()):  # some begin with a count
                    if paper is not None:
                        yield _complete(paper, path)
                    paper = None
                    continue
                paper = Paper(line=number) if paper is None else paper
                _read_line(paper, line, f"{path.name}, line {number}")
            if paper is not None:
                yield _complete(paper, path)
    except OSError as error:
        raise DataError(f"The file {path} cannot be read: {error}.") from None


def _read_line(paper: Paper, line: str, where: str) -> None:
    mark = next((mark for mark in MARKS if line.startswith(mark)), None)
    if mark is None:
        raise DataError(f"{where}: {line[:40]!r} does not begin with one of {', '.join(MARKS)}.")
    name, value = MARKS[mark], line[len(mark) :].strip()
    if name == "reference":
        if value:
            paper.references.append(value)
    elif name == "year":
        if value and not re.fullmatch("[0-9]{1,4}", value):
            raise DataError(f"{where}: the year is {value!r}, which is not a number.")
        paper.year = int(value) if value else None
    elif name is not None:
        setattr(paper, name, value)


def _complete(paper: Paper, path: Path) -> Paper:
    if not paper.index:
        raise DataError(f"{path.name}, line {paper.line}: the record has no #index.")
    return paper


def _selected_papers(
    root: Path,
    first_year: int,
    last_year: int,
    classes: Mapping[str, str] | None,
    num_classes: int,
) -> list[tuple[Paper, str]]:
    """The papers of the years that have a class, each with it, in the order of the years."""
    if first_year > last_year:
        raise ParameterError(f"first_year {first_year} lies after last_year {last_year}.")
    if num_classes < 1:
        raise ParameterError(f"num_classes must be at least 1, got {num_classes}.")
    path = _find_file(root)
    papers: dict[str, Paper] = {}
    for paper in read_papers(path):
        if paper.year is None or not first_year <= paper.year <= last_year:
            continue
        if paper.index in papers:
            raise DataError(f"{path.name}, line {paper.line}: #index {paper.index} is there twice.")
        papers[paper.index] = paper
    if classes is None:
        counts = Counter(paper.venue for paper in papers.values() if paper.venue)
        common = sorted(counts, key=lambda venue: (-counts[venue], venue))[:num_classes]
        classes = {venue: venue for venue in common}
    kept = [(paper, classes[paper.venue]) for paper in papers.values() if paper.venue in classes]
    if not kept:
        raise DataError(
            f"{path.name} has no paper of a known venue from {first_year} to {last_year}."
        )
    return sorted(kept, key=lambda entry: entry[0].year or 0)


def _find_file(root: Path) -> Path:
    for folder in (root / "dblp", root):
        found = sorted(folder.glob("*.txt"))
        if len(found) == 1:
            return found[0]
        if found:
            raise DataError(f"{folder} holds {len(found)} .txt files; dblp must be the only one.")
    raise DataError(
        f"There is no .txt file in {root / 'dblp'}; put the AMiner citation network "
        "(DBLP-Citation-network, in its text format) there."
    )


def _graph(
    papers: list[tuple[Paper, str]], year: int, features: Vocabulary | None, abstracts: bool
) -> FeatureGraph:
    present = [(paper, label) for paper, label in papers if paper.year and paper.year <= year]
    nodes = Vocabulary((paper.index for paper, _ in present), kind="node")
    words = [_words(paper, abstracts) for paper, _ in present]
    vocabulary = feature_vocabulary(dict.fromkeys(word for row in words for word in row), features)
    counts = [len(row) for row in words]
    columns = vocabulary.positions([word for row in words for word in row])
    values = FeatureValues.build(
        np.repeat(np.arange(len(nodes)), counts),
        columns,
        np.ones(len(columns), dtype=np.float32),
        nodes=nodes,
        features=vocabulary,
    )
    cited = nodes.find([index for paper, _ in present for index in paper.references])
    citing = np.repeat(np.arange(len(nodes)), [len(paper.references) for paper, _ in present])
    kept = (cited >= 0) & (cited != citing)
    names = tuple(sorted({label for _, label in papers}))
    code = {name: position for position, name in enumerate(names)}
    return FeatureGraph(
        nodes,
        vocabulary,
        values,
        EdgeList.build(citing[kept], cited[kept], names=nodes, directed=True, duplicates="first"),
        Labels("class", np.array([code[label] for _, label in present], dtype=np.int64), names),
    )


def _words(paper: Paper, abstracts: bool) -> list[str]:
    text = f"{paper.title} {paper.abstract}" if abstracts else paper.title
    words = dict.fromkeys(_WORD.findall(text.lower()))
    return [f"word:{word}" for word in words if word not in STOP_WORDS]


register(
    Dataset(
        name="dblp",
        title="DBLP: papers and citations, year by year",
        description="Papers that cite each other; features are the words of the title.",
        task="The area of a paper, by its venue (5 classes by default).",
        source="The DBLP citation network of AMiner in its text format; to be downloaded by hand.",
        loader=load_dblp,
        streamer=stream_dblp,
        paper={"nodes": 3075, "edges": 6368, "classes": 5},
        notes="The paper's choice of papers and classes is not public: here the classes are "
        "venues, and the counts differ.",
    )
)
