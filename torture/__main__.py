"""The command line: ``python -m torture NAME``."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from torture.settings import Settings
from torture.suites import SUITES

DEFAULT_OUT = Path("results/torture.jsonl")
VERSIONS_OF = ("grafenne", "torch", "numpy", "pandas", "pyarrow", "safetensors")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs suites, prints their figures and appends them to a file.

    Returns:
        0 when every suite ended, 1 when one of them found something broken, 2 for a wrong name.
    """
    given = _parser().parse_args(arguments)
    if given.name == "list":
        for name, module in SUITES.items():
            print(f"  {name:20} {_about(module)}")
        return 0
    if given.name != "all" and given.name not in SUITES:
        print(f"There is no suite {given.name!r}; see python -m torture list.", file=sys.stderr)
        return 2
    names = list(SUITES) if given.name == "all" else [given.name]
    whole = [run_suite(name, given.seed, given.scale, given.out) for name in names]
    return 0 if all(whole) else 1


def run_suite(name: str, seed: int, scale: float, out: Path) -> bool:
    """Runs one suite in a folder of its own and appends its row; whether it ended well."""

    def say(line: str) -> None:
        print(f"{name}: {line}", file=sys.stderr, flush=True)

    started = time.perf_counter()
    row: dict[str, Any] = {"suite": name, "ended_well": True}
    with tempfile.TemporaryDirectory(prefix=f"torture-{name}-") as folder:
        settings = Settings(seed=seed, scale=scale, folder=Path(folder), say=say)
        try:
            row["figures"] = importlib.import_module(SUITES[name]).run(settings)
        except Exception as error:  # the other suites still run
            traceback.print_exc()
            row.update(ended_well=False, error=f"{type(error).__name__}: {error}")
    row.update(
        seed=seed,
        scale=scale,
        seconds=round(time.perf_counter() - started, 1),
        versions=_versions(),
        time=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(row)}\n")
    print(json.dumps(row))
    return bool(row["ended_well"])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("name", nargs="?", default="all", help="a suite, or: list, all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="1 is the long form")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    return parser


def _about(module: str) -> str:
    text = importlib.import_module(module).__doc__ or ""
    return text.strip().partition("\n")[0]


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{of: metadata.version(of) for of in VERSIONS_OF}}


if __name__ == "__main__":
    sys.exit(main())
