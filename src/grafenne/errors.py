"""The one family of errors that grafenne raises on purpose.

Every message is a single sentence that states the rule, the place (file, row, node or
feature) and what was found there. The command line prints it and exits with code 2.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grafenne.training.loop import History


class GrafenneError(Exception):
    """Base of every error raised by this package."""


class DataError(GrafenneError, ValueError):
    """Input data breaks a rule.

    Args:
        message: One sentence that names the place.
        row: Zero-based row of the offending table, where there is one, so that a file reader
            can turn it into a line number.
    """

    def __init__(self, message: str, *, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class UnknownNameError(DataError, KeyError):
    """A node, feature, dataset or option of that name does not exist."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class ParameterError(GrafenneError, ValueError):
    """An argument is outside what it may be."""


class NotFittedError(GrafenneError, ValueError, AttributeError):
    """An estimator was used before ``fit``; same bases as scikit-learn's error."""


class ModelFileError(GrafenneError, ValueError):
    """A saved model is missing, damaged, or of an unknown version."""


class TrainingError(GrafenneError, RuntimeError):
    """Training cannot go on, for instance because the loss is no longer finite.

    Args:
        message: What happened, with advice.
        history: The epochs until then, if there is one whose weights can be kept.
    """

    def __init__(self, message: str, *, history: History | None = None) -> None:
        super().__init__(message)
        self.history = history


def shown(value: object, longest: int = 80) -> str:
    """A value for a message: its ``repr``, cut where it is long, its type where that tells more."""
    text = repr(value)
    if " at 0x" in text:
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= longest else f"{text[:longest]}…"


FEW = 20
"""So many names are listed where one was not found among them."""


def did_you_mean(name: Hashable, known: Iterable[Hashable], limit: int = 20_000) -> str:
    """``" Did you mean 'sage'?"`` when a known name is close to ``name``, else an empty string."""
    candidates = []
    for number, candidate in enumerate(known):
        if number >= limit:  # the search is quadratic in the length of the names
            break
        candidates.append(str(candidate))
    close = get_close_matches(str(name), candidates, n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def which_is_meant(name: Hashable, known: Iterable[Hashable]) -> str:
    """The known name that is close to ``name``, or all of them if none is and they are few."""
    if hint := did_you_mean(name, known):
        return hint
    few = list(islice(known, FEW + 1))
    listed = ", ".join(map(str, few))
    short = 0 < len(few) <= FEW and len(listed) <= 300 and listed.isprintable()
    return f" Choose from {listed}." if short else ""


def unknown_name(kind: str, name: Hashable, known: Iterable[Hashable]) -> UnknownNameError:
    """The error for a ``name`` that is not among the ``known`` names of that ``kind``."""
    return UnknownNameError(f"Unknown {kind} {name!r}.{which_is_meant(name, known)}")
