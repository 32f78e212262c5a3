"""Reads pickles that hold numbers, and refuses to run anything else that they ask for.

Some public datasets are pickles from the days of Python 2. A pickle is a program: it may import
any module and call any function. This reader knows a short list of harmless names and resolves
them itself, so that nothing in the file decides what is imported.
"""

from __future__ import annotations

import pickle
import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from grafenne.errors import DataError

PLAIN_KINDS = "biufSU"  # numbers, truth values and text; never Python objects


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class SparseRecord:
    """Stands in for a SciPy matrix while a file is read.

    The state of a pickled matrix is whatever the file says, and SciPy's compiled code trusts
    it. The state is therefore kept here and turned into a matrix only after it was checked.
    """


def read_restricted_pickle(path: str | Path) -> Any:
    """The content of a pickle of numbers, lists, dictionaries, NumPy arrays and CSR matrices.

    Args:
        path: The file. Python 2 pickles are read with the ``latin1`` encoding.

    Raises:
        DataError: If the file is missing or damaged, or asks for anything that is not on the
            list of harmless names.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = _Unpickler(file, path.name).load()
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"The file {path} does not exist.") from None
    except (OSError, MemoryError) as error:
        raise DataError(f"The file {path} cannot be read: {error}.") from None
    except Exception as error:  # a damaged pickle fails in a dozen ways, all of them the file's
        # Some of Python's messages have several lines or tell the address of an object.
        reason = _ADDRESS.sub("", " ".join(str(error).split()))
        raise DataError(
            f"The file {path.name} is damaged or not a pickle ({type(error).__name__}: {reason})."
        ) from None
    return _matrix(content, path.name) if isinstance(content, SparseRecord) else content


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, name: str) -> None:
        super().__init__(file, fix_imports=False, encoding="latin1")
        self._name = name

    def find_class(self, module: str, name: str) -> Any:
        allowed = _ALLOWED.get((module, name))
        if allowed is None:
            raise DataError(
                f"The file {self._name} asks for {module}.{name}, which is not allowed: only "
                "NumPy and SciPy arrays and plain containers are read."
            )
        return allowed


def _plain_dtype(*arguments: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(*arguments)
    if dtype.kind not in PLAIN_KINDS:
        raise ValueError(f"an array of type {dtype} does not hold plain numbers")
    return dtype


def _empty_array(kind: Any, shape: Any, code: Any) -> np.ndarray[Any, Any]:
    """NumPy's ``_reconstruct``: an empty array, whose state comes from the file afterwards."""
    if kind is not np.ndarray:
        raise ValueError("an array is not of NumPy's own class")
    return np.empty(0, dtype=np.int8)


def _plain_scalar(dtype: np.dtype[Any], content: str | bytes) -> Any:
    if not isinstance(dtype, np.dtype) or dtype.kind not in PLAIN_KINDS:
        raise ValueError(f"a number of type {dtype} is not plain")
    raw = content.encode("latin1") if isinstance(content, str) else content
    return np.frombuffer(raw, dtype=dtype, count=1)[0]


def _matrix(record: SparseRecord, name: str) -> sparse.csr_array:
    """The CSR matrix that a record describes, after its indices were checked."""
    state = vars(record)
    try:
        rows, columns = state["_shape"] if "_shape" in state else state["shape"]
        matrix = sparse.csr_array(
            (
                np.asarray(state["data"]),
                np.asarray(state["indices"]),
                np.asarray(state["indptr"]),
            ),
            shape=(int(rows), int(columns)),
        )
        matrix.check_format(full_check=True)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"The sparse matrix in {name} is damaged: {error}.") from None
    if matrix.data.dtype.kind not in "biuf":
        raise DataError(f"The sparse matrix in {name} holds {matrix.data.dtype}, not numbers.")
    return matrix


def _allowed_names() -> dict[tuple[str, str], Callable[..., Any]]:
    names: dict[tuple[str, str], Callable[..., Any]] = {
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): _plain_dtype,
        ("collections", "defaultdict"): defaultdict,
        ("collections", "OrderedDict"): OrderedDict,
        ("_codecs", "encode"): _encode_latin1,
    }
    for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        names[module, "_reconstruct"] = _empty_array
        names[module, "scalar"] = _plain_scalar
    for module in ("scipy.sparse", "scipy.sparse.csr", "scipy.sparse._csr"):
        names[module, "csr_matrix"] = names[module, "csr_array"] = SparseRecord
    containers = (list, dict, set, tuple, int, float, complex, bool)
    for module in ("builtins", "__builtin__"):
        names.update({(module, kind.__name__): kind for kind in containers})
        names[module, "long"] = int
    return names


def _encode_latin1(text: str, encoding: str) -> bytes:
    """How protocols 0 to 2 write bytes; other encodings have no business here."""
    if encoding != "latin1":
        raise ValueError(f"text is encoded as {encoding!r} instead of latin1")
    return text.encode("latin1")


_ALLOWED = _allowed_names()
