"""What several of the reliability tests share."""

from __future__ import annotations

import pytest

from torture.bad_input_world import World, make_world


@pytest.fixture(scope="session")
def sound_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Graphs in every format, changes, models and datasets' files, all of them sound."""
    return make_world(tmp_path_factory.mktemp("sound") / "world")
