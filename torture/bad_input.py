"""Broken inputs of every kind, each answered by one sentence: files, frames, models, commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from torture import (
    bad_input_changes,
    bad_input_commands,
    bad_input_datasets,
    bad_input_mapped,
    bad_input_memory,
    bad_input_models,
    bad_input_settings,
    bad_input_tables,
)
from torture.bad_input_cases import Case, judge
from torture.bad_input_world import make_world
from torture.settings import Settings

MODULES = (
    bad_input_tables,
    bad_input_memory,
    bad_input_changes,
    bad_input_mapped,
    bad_input_models,
    bad_input_settings,
    bad_input_datasets,
    bad_input_commands,
)


def all_cases() -> Iterator[Case]:
    """The whole corpus."""
    for module in MODULES:
        yield from module.cases()


def run(settings: Settings) -> dict[str, Any]:
    """Tries the corpus, and tells how many inputs of each kind there were."""
    world = make_world(settings.folder / "world")
    kinds: Counter[str] = Counter()
    problems = []
    for number, case in enumerate(all_cases()):
        problem = judge(case, world, settings.folder / f"case-{number}")
        kinds[case.name.partition("/")[0]] += 1
        if problem is not None:
            problems.append(f"{case.name}: {problem}")
            settings.say(problems[-1])
    settings.say(f"{sum(kinds.values())} inputs, {len(problems)} answered wrongly")
    if problems:
        raise AssertionError(f"{len(problems)} inputs answered wrongly; first {problems[0]}")
    return {"inputs": sum(kinds.values()), "kinds": dict(kinds)}
