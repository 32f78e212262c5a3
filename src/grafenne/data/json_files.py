"""JSON from files of unknown origin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grafenne.errors import DataError


def read_json(path: Path) -> Any:
    """The content of a JSON file; whatever keeps it from being read is one error.

    Besides what is no JSON this is text that is not UTF-8, a number with thousands of digits,
    and brackets nested so deeply that the parser gives up.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"Cannot read {path}: it does not exist.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"Cannot read {path} as JSON: {_reason(error)}.") from None


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).rstrip(".")
