"""The scripts in ``examples`` and the Python blocks of the documentation run as they stand."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_quickstart_learns_and_explains(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "quickstart.py"), run_name="__main__")
    told = capsys.readouterr().out
    found = re.search(r"accuracy on 40 held-out items: ([\d.]+)", told)
    assert found is not None
    assert float(found[1]) > 0.8
    assert "features:" in told


def test_unseen_features_are_predicted(capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(ROOT / "examples" / "unseen_features.py"))
    example["main"](epochs=12)
    told = capsys.readouterr().out
    assert "448 packages" in told
    lines = re.findall(r"new packages ([\d.]+), ([\d.]+) without", told)
    # The commonest of the twenty sections has 7 % of the new packages.
    assert len(lines) == 3
    assert min(float(number) for line in lines for number in line) > 0.15


@pytest.mark.parametrize("page", ["README.md", "docs/tour.md"])
def test_python_blocks_run_one_after_the_other(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = PYTHON_BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
