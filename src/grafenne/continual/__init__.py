"""Models that follow a changing graph: strategies, importance, streams and their evaluation."""

from grafenne.continual.contgnn import ContGnn
from grafenne.continual.evaluation import run_stream
from grafenne.continual.ewc import Ewc, EwcReplay, OnlineEwc
from grafenne.continual.parts import StreamSplit, stable_parts
from grafenne.continual.registry import STRATEGIES, make_strategy
from grafenne.continual.replay import ExperienceReplay
from grafenne.continual.results import StepResult, StreamResults
from grafenne.continual.strategies import Finetune, Frozen, Retrain, Strategy, WarmStart
from grafenne.continual.streams import (
    ContinualTask,
    churn_task,
    dblp_task,
    debian_task,
    folder_task,
    make_task,
    synthetic_task,
)
from grafenne.continual.update import UpdateReport

__all__ = [
    "STRATEGIES",
    "ContGnn",
    "ContinualTask",
    "Ewc",
    "EwcReplay",
    "ExperienceReplay",
    "Finetune",
    "Frozen",
    "OnlineEwc",
    "Retrain",
    "StepResult",
    "Strategy",
    "StreamResults",
    "StreamSplit",
    "UpdateReport",
    "WarmStart",
    "churn_task",
    "dblp_task",
    "debian_task",
    "folder_task",
    "make_strategy",
    "make_task",
    "run_stream",
    "stable_parts",
    "synthetic_task",
]
