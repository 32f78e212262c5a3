from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder with the public datasets, to compare with published figures."""
    named = os.environ.get("GRAFENNE_DATA")
    if not named:
        pytest.skip("GRAFENNE_DATA does not name a folder with the public datasets")
    return Path(named)
