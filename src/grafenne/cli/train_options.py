"""The options of ``grafenne train`` that set up the model and its training.

Those that are not given stay at the estimator's own defaults, which differ from task to task.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MODEL, TRAINING = "Model", "Training"

TaskOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="classification, regression or links; by default what the labels call for.",
        rich_help_panel=MODEL,
    ),
]
ImputeOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Fill in missing values first: neighbourhood-mean, feature-propagation or pcfi; "
        "special leaves them out; places adds where each node stands in the graph.",
        rich_help_panel=MODEL,
    ),
]
BackboneOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The GNN of phase 2: sage, gat, gin, gcn or graph.",
        rich_help_panel=MODEL,
    ),
]
FeaturesOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How features are embedded: company (a trained vector each, starting by the features "
        "it occurs with), learned (from a random start), name (from the letters of the name) or "
        "structural (from the features around it); by default company, or learned where features "
        "are fields of records.",
        rich_help_panel=MODEL,
    ),
]
WidthOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Width of all hidden states.",
        rich_help_panel=MODEL,
    ),
]
LayersOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Number of three-phase layers; 2, or 3 with labels as features.",
        rich_help_panel=MODEL,
    ),
]
ReachOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="From how many edges away features are heard, beside the layers; 10 where nodes "
        "have fewer than four features on average, else 0.",
        rich_help_panel=MODEL,
    ),
]
HeadsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Number of attention heads.",
        rich_help_panel=MODEL,
    ),
]
ModeOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="value (messages depend on values) or paper (the printed equations).",
        rich_help_panel=MODEL,
    ),
]
AggregationOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How features meet in a node: attention, mean or sum.",
        rich_help_panel=MODEL,
    ),
]
ClassWeightOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="balanced lets each class count the same in total.",
        rich_help_panel=MODEL,
    ),
]
EpochsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Most passes over the data.",
        rich_help_panel=TRAINING,
    ),
]
PatienceOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Epochs without a better validation loss before training stops.",
        rich_help_panel=TRAINING,
    ),
]
LearningRateOption = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Step size of Adam.",
        rich_help_panel=TRAINING,
    ),
]
WeightDecayOption = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="L2 penalty.",
        rich_help_panel=TRAINING,
    ),
]
DropoutOption = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Share of hidden values dropped in training.",
        rich_help_panel=TRAINING,
    ),
]
FeatureDropoutOption = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Share of feature values hidden in training.",
        rich_help_panel=TRAINING,
    ),
]
BatchSizeOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Nodes per training step; without it, the whole graph at once.",
        rich_help_panel=TRAINING,
    ),
]
NeighboursOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="With --batch-size: most neighbours per node and layer.",
        rich_help_panel=TRAINING,
    ),
]
LabelsOption = Annotated[
    bool,
    typer.Option(
        "--labels-as-features",
        help="Training nodes show their label as one more feature.",
        rich_help_panel=MODEL,
    ),
]
SmoothingOption = Annotated[
    str | None,
    typer.Option(
        metavar="auto|SHARE",
        help="How much of a predicted class comes from the predictions around a node; 'auto' lets "
        "the validation data choose, none among the choices.",
        rich_help_panel=MODEL,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other setting of the estimator, such as schedule=cosine; may be repeated.",
        rich_help_panel=MODEL,
    ),
]
SettingsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Settings from a JSON file, such as 'grafenne tune --out' writes; an option on the "
        "command line goes before it.",
        rich_help_panel=MODEL,
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(metavar="MODEL", help="Folder for the model; without it, train and report."),
]
SeedOption = Annotated[
    int, typer.Option(metavar="N", min=0, help="Seed of everything random, the split included.")
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Where to keep the state of the run, so that the same command goes on after an "
        "interruption; by default MODEL.checkpoint.",
    ),
]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Start over, whatever the checkpoint holds.")
]
