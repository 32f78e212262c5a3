"""The experiments by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from grafenne.errors import ParameterError, unknown_name
from grafenne.experiments.cells import Cell

HOMES = ("grafenne.experiments.catalogue", "grafenne.experiments.stream_catalogue")
"""Modules that register experiments when they are imported."""


@dataclass(frozen=True)
class Experiment:
    """A table or a figure, and how its cells are run.

    Attributes:
        name: What it is called on the command line.
        title: One line for a list.
        paper: Which table or figure of the paper it is.
        cells: All cells, in the order of the table.
        metric: What ``value`` is, such as ``accuracy``.
        run: ``module:function``, called in a process of its own as
            ``function(keys=..., seed=..., config=..., root=...)``. It returns what is known of the
            run: at least ``value``, and as far as they apply ``validation``, ``metrics``,
            ``epochs``, ``seconds`` and ``parameters``; all of it goes into the line of results.
            Each of its ``rows``, if it has them, becomes a line of its own before that one.
            ``keys`` are those of the cell with ``experiment``, ``config`` is what ``configure``
            gave and ``root`` the folder with the data (``None`` for the usual one).
        together: A key of the cells, such as ``strategy``, or nothing. Runs that differ in it alone
            are made in one process, which computes once what they have in common: ``run`` gets a
            list as ``keys``, and ``tell``, to be called for each of them with what is known of it
            and its ``place`` in the list.
        configure: ``module:function``, called as ``function(cell, chosen=..., epochs=...)``. It
            returns everything that decides the result, as plain data: ``chosen`` are the settings
            that a search found, or ``None``; ``epochs`` bounds training if it is not ``None``.
        seeds: How many seeds are run unless said otherwise.
        unit: ``percent`` or ``fraction``: how a table writes the value.
    """

    name: str
    title: str
    paper: str
    cells: Sequence[Cell]
    metric: str = "accuracy"
    run: str = "grafenne.experiments.fit:run_cell"
    together: str = ""
    configure: str = "grafenne.experiments.configuration:configure"
    seeds: int = 5
    unit: str = "percent"

    @property
    def datasets(self) -> list[str]:
        """The datasets of its cells."""
        return list(dict.fromkeys(cell.dataset for cell in self.cells))

    @property
    def methods(self) -> list[str]:
        """The methods of its cells."""
        return list(dict.fromkeys(cell.method for cell in self.cells))

    @property
    def rates(self) -> list[float]:
        """The missing rates of its cells, rising."""
        return sorted({cell.p for cell in self.cells})

    def configuration(
        self, cell: Cell, chosen: Mapping[str, Any] | None, epochs: int | None
    ) -> dict[str, Any]:
        """The settings that a cell is run with."""
        made: dict[str, Any] = find_function(self.configure)(cell, chosen=chosen, epochs=epochs)
        return made


_EXPERIMENTS: dict[str, Experiment] = {}


def register(experiment: Experiment) -> Experiment:
    """Adds an experiment to those that ``grafenne experiment`` knows."""
    if experiment.name in _EXPERIMENTS or experiment.name == "list":
        raise ParameterError(f"There is already an experiment called {experiment.name!r}.")
    seen = set()
    for cell in experiment.cells:
        if cell.experiment != experiment.name:
            raise ParameterError(
                f"The cell {cell.describe()} of {experiment.name!r} says that it is of "
                f"{cell.experiment!r}."
            )
        if cell.describe() in seen:
            raise ParameterError(f"{experiment.name!r} has the cell {cell.describe()} twice.")
        seen.add(cell.describe())
    _EXPERIMENTS[experiment.name] = experiment
    return experiment


def experiments() -> dict[str, Experiment]:
    """All experiments, in the order in which they were registered."""
    for module in HOMES:
        import_module(module)
    return dict(_EXPERIMENTS)


def get_experiment(name: str) -> Experiment:
    """The experiment of that name."""
    known = experiments()
    if name not in known:
        raise unknown_name("experiment", name, known)
    return known[name]


def find_function(path: str) -> Callable[..., Any]:
    """The function that ``module:function`` names."""
    module, _, name = path.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def grid(
    experiment: str,
    datasets: Iterable[str],
    methods: Iterable[str],
    rates: Iterable[float],
    **others: Any,
) -> list[Cell]:
    """Cells for each dataset, method and missing rate, in that order.

    Args:
        experiment: Name of the experiment.
        datasets: Names of datasets.
        methods: Names of methods.
        rates: Missing rates.
        others: Further arguments of :class:`Cell`, the same for all.
    """
    rates, methods = list(rates), list(methods)
    return [
        Cell(experiment, dataset, method, p, **others)
        for dataset in datasets
        for method in methods
        for p in rates
    ]
