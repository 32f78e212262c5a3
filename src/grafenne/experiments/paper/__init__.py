"""The paper's own numbers, and those that others publish, as data.

``cells.csv`` holds every cell of every table exactly as printed, ``tables.json`` what the tables
are, ``statistics.csv`` the table of datasets, ``continual.json`` what the text states about the
continual figure (which prints no numbers), and ``published.csv`` figures from elsewhere with their
sources.
"""

from grafenne.experiments.paper.figures import (
    PaperCell,
    PaperTable,
    PublishedFigure,
    continual_settings,
    dataset_statistics,
    paper_tables,
    published_figures,
)

__all__ = [
    "PaperCell",
    "PaperTable",
    "PublishedFigure",
    "continual_settings",
    "dataset_statistics",
    "paper_tables",
    "published_figures",
]
