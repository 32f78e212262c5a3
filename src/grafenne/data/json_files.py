"""JSON from files of unknown origin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grafenne.errors import DataError, shown


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


def read_description(path: Path, format: str, version: int, what: str) -> dict[str, Any]:
    """The JSON object by which a folder of ours tells what it is.

    Args:
        path: The file.
        format: What its entry ``format`` must be.
        version: The version that this package reads.
        what: What it describes, for the messages.
    """
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != format:
        raise DataError(f"The file {path} does not describe {what}.")
    if content.get("version") != version:
        raise DataError(
            f"The file {path} is of version {shown(content.get('version'))}, this package reads "
            f"version {version}."
        )
    return content


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).rstrip(".")
