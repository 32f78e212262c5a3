"""The command ``grafenne``: its subcommands, its exit codes, and how errors are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import typer

from grafenne.cli.convert import convert
from grafenne.cli.datasets import datasets
from grafenne.cli.demo import demo
from grafenne.cli.describe import describe
from grafenne.cli.embed import embed
from grafenne.cli.evaluate import evaluate
from grafenne.cli.experiment import experiment
from grafenne.cli.explain import explain
from grafenne.cli.output import STOPPED, USAGE, complain
from grafenne.cli.predict import predict
from grafenne.cli.report import report
from grafenne.cli.stream import stream
from grafenne.cli.train import train
from grafenne.cli.tune import tune
from grafenne.cli.update import update
from grafenne.errors import GrafenneError
from grafenne.version import __version__

# Typer has carried its own copy of click since 0.26, so its error class is reached by inheritance.
UsageProblem: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="grafenne",
    help="Learning on graphs whose nodes have different features that change over time.",
    epilog="Example: grafenne train debian-mini --out model\n\n"
    "Each command has examples of its own: grafenne train --help",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)

# In the order in which a newcomer meets them. An epilog's blank lines become line breaks.
COMMANDS: tuple[tuple[Callable[..., None], str], ...] = (
    (demo, "Example: grafenne demo --out demo"),
    (datasets, "Example: grafenne datasets"),
    (
        describe,
        "Examples: grafenne describe debian-mini --release trixie\n\n"
        "grafenne describe my-tables/ --json\n\n"
        "grafenne describe model",
    ),
    (
        convert,
        "Examples: grafenne convert my-tables/ --out my-graph\n\n"
        "grafenne convert synthetic --option num_nodes=1000000 --out large",
    ),
    (
        train,
        "Examples: grafenne train debian-mini --features name --out model\n\n"
        "grafenne train cora --missing 0.99 --labels-as-features --seed 3 --json\n\n"
        "grafenne train my-tables/ --task regression --epochs 200 --out model",
    ),
    (
        predict,
        "Examples: grafenne predict model debian-mini --release trixie --out predictions.csv\n\n"
        "grafenne predict model my-tables/ --nodes ann,bob\n\n"
        "grafenne predict link-model my-tables/ --pairs pairs.csv --out links.parquet",
    ),
    (
        evaluate,
        "Examples: grafenne evaluate model debian-mini --release trixie\n\n"
        "grafenne evaluate model debian-mini --part test --json",
    ),
    (explain, "Example: grafenne explain model debian-mini --node vim --top 5"),
    (
        embed,
        "Examples: grafenne embed model debian-mini --out nodes.parquet\n\n"
        "grafenne embed model debian-mini --of features --out features.csv",
    ),
    (
        update,
        "Examples: grafenne update model my-tables-v2/ --before my-tables-v1/ --out model2\n\n"
        "grafenne update model events.jsonl --before my-tables/ --out model --write-graph now/\n\n"
        "grafenne update model debian-mini --release trixie --before-release bookworm --out model2",
    ),
    (
        stream,
        "Examples: grafenne stream debian-mini --strategy ewc --strategy frozen --plot s.png\n\n"
        "grafenne stream cora --steps 3 --log cora.jsonl\n\n"
        "grafenne stream my-stream/ --strategy ewc --strength auto --json",
    ),
    (
        tune,
        "Example: grafenne tune debian-mini --trials 16 --log trials.jsonl --out best.json\n\n"
        "then: grafenne train debian-mini --settings best.json --out model",
    ),
    (
        experiment,
        "Examples: grafenne experiment list\n\n"
        "grafenne experiment node-classification --only dataset=cora,method=grafenne,p=0.99\n\n"
        "grafenne experiment node-classification --search --jobs 2\n\n"
        "grafenne experiment physics --jobs 2 --dry-run",
    ),
    (
        report,
        "Examples: grafenne report results/ --out report.html\n\n"
        "grafenne report results/physics.jsonl --format markdown",
    ),
)
for _command, _epilog in COMMANDS:
    app.command(epilog=_epilog)(_command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"grafenne {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Options that come before the command."""


@cache
def _made_command() -> Any:
    """The command behind ``app``; making it takes longer than most commands do."""
    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code.

    0 is success, 2 a mistake in the arguments or the data, or a file that the system refuses (told
    in one sentence on standard error), 130 a run stopped by Ctrl-C. Anything else is a defect and
    shows its traceback.

    Args:
        arguments: The words after ``grafenne``; those of the process by default.
    """
    try:
        given = None if arguments is None else list(arguments)
        code = _made_command().main(given, prog_name="grafenne", standalone_mode=False)
    except GrafenneError as error:
        complain(str(error))
        return USAGE
    except UsageProblem as error:
        # ``grafenne`` alone asks for help in this way; the help is then the whole answer.
        told = str(error.format_message()).strip()
        if told:
            context = getattr(error, "ctx", None)
            path = context.command_path if context is not None else "grafenne"
            ending = "" if told.endswith(("?", ".")) else "."
            complain(f"{told}{ending} See '{path} --help'.")
        return USAGE
    except OSError as error:
        if error.filename is None:
            raise
        # A file that the system refuses, for instance because its name is too long.
        complain(f"{error.filename}: {error.strerror}.")
        return USAGE
    except (KeyboardInterrupt, typer.Abort):
        complain("stopped.")
        return STOPPED
    return code if isinstance(code, int) else 0
