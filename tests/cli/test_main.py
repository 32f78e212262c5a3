from __future__ import annotations

import os
import subprocess
import sys

import pytest

from grafenne import __version__
from tests.cli.conftest import Run

HEAVY = ("torch", "pandas", "sklearn", "networkx", "pyarrow", "matplotlib", "torch_geometric")
COMMANDS = (
    "demo", "datasets", "describe", "train", "predict", "evaluate", "explain", "embed", "tune",
)  # fmt: skip


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom grafenne.cli.main import main\nassert main(['--help']) == 0\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == ""
    assert "train" in done.stdout


def test_python_minus_m_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "grafenne", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"grafenne {__version__}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run: Run, command: str) -> None:
    ran = run(command, "--help")
    assert ran.code == 0
    assert f"grafenne {command}" in ran.out
    assert "Example" in ran.out


def test_the_shell_can_complete_commands() -> None:
    asked = {
        "_GRAFENNE_COMPLETE": "complete_bash",
        "COMP_WORDS": "grafenne des",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", "from grafenne.cli.main import main; main()"],
        capture_output=True,
        text=True,
        env={**os.environ, **asked},
    )
    assert done.stdout.split() == ["describe"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trian"], ["trian", "'train'"]),
        (["train", "--epoch", "3"], ["--epoch", "--epochs"]),
        (["train", "--epochs", "many"], ["--epochs", "integer"]),
        (["describe", "coraa"], ["coraa", "Did you mean 'cora'?"]),
        (["describe", "no/such/folder"], ["no/such/folder"]),
        (["describe", "debian-mini", "--release", "trixi"], ["trixi", "Did you mean 'trixie'?"]),
        (["train", "synthetic", "--task", "link"], ["link", "Did you mean 'links'?"]),
        (["train", "synthetic", "--backbone", "sagee"], ["sagee", "Did you mean 'sage'?"]),
        (["train", "synthetic", "--features", "nam"], ["nam", "Did you mean 'name'?"]),
        (["train", "synthetic", "--mode", "papper"], ["papper", "Did you mean 'paper'?"]),
        (["train", "synthetic", "--set", "schedul=cosine"], ["schedul", "'schedule'"]),
        (["train", "synthetic", "--set", "schedule"], ["NAME=VALUE", "schedule"]),
        (["train", "synthetic", "--option", "num_node=9"], ["num_node", "'num_nodes'"]),
        (["train", "synthetic", "--option", "num_nodes=many"], ["num_nodes", "many"]),
        (["train", "synthetic", "--missing", "1.5"], ["--missing", "1.5"]),
        (["train", "synthetic", "--width", "0"], ["width", "0"]),
        (["train", "synthetic", "--device", "toaster"], ["device", "toaster"]),
        (["predict", "no-model", "synthetic"], ["no-model", "model.json"]),
        (["predict", "no-model", "synthetic", "--out", "x.docx"], ["x.docx", ".csv"]),
        (["embed", "no-model", "--of", "edges", "--out", "x.csv"], ["edges", "nodes"]),
        (["evaluate", "no-model", "--part", "tset"], ["tset", "Did you mean 'test'?"]),
    ],
)
def test_mistakes_get_one_sentence_and_code_2(
    run: Run, arguments: list[str], words: list[str]
) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    complaint = ran.err.strip().splitlines()[-1]
    assert complaint.startswith("Error: ")
    assert "Traceback" not in ran.err
    for word in words:
        assert word in complaint
