from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.lower_limit import LowerLimit, thinned
from benchmarks.problem import Case, load_problem
from benchmarks.variants import TrainedVariant, make_variant


class CountMultiplications(TorchDispatchMode):
    """Counts the multiplications in dense, sparse and sampled products."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name in ("mm", "addmm"):
            left, right = args[-2:]
            if left.layout == torch.sparse_csr:
                self.found["sparse"] += len(left.values()) * right.shape[1]
            else:
                self.found["dense"] += left.shape[0] * left.shape[1] * right.shape[1]
        elif name.startswith("sparse_sampled_addmm"):
            self.found["sampled"] += len(args[0].values()) * args[1].shape[1]
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("dataset", ["tiny", "tiny-valued"])
def test_does_the_matrix_work_of_a_step_and_little_else(dataset: str, heads: int) -> None:
    problem, case = load_problem(dataset), Case(dataset, 32, heads, feature_dropout=0.0)
    ours = make_variant("ours", problem, case)
    assert isinstance(ours, TrainedVariant)
    limit = make_variant("limit", problem, case)
    limit.run("step", 1)  # the kernels are tried out once per process, by a product of two rows
    with CountMultiplications() as limit_work:
        limit.run("step", 1)
    with CountMultiplications() as our_work:
        [compute] = ours.objective.batches()
        compute().backward()
    for kind, count in limit_work.found.items():
        assert 0.9 * our_work.found[kind] <= count <= our_work.found[kind], kind
    assert {"dense", "sparse"} <= limit_work.found.keys()
    assert ("sampled" in limit_work.found) == (dataset == "tiny-valued")


def test_evaluation_is_the_forward_part() -> None:
    problem, case = load_problem("tiny-valued"), Case("tiny-valued", 8)
    limit = LowerLimit(problem, case)
    limit.run("step", 1)  # as above
    with CountMultiplications() as forward:
        limit.run("evaluate", 1)
    with CountMultiplications() as step:
        limit.run("step", 1)
    with CountMultiplications() as epoch:
        limit.run("epoch", 1)
    assert "sampled" not in forward.found
    assert step.found["dense"] == 3 * forward.found["dense"]
    assert step.found["sparse"] == 2 * forward.found["sparse"]
    assert epoch.found == forward.found + step.found


def test_kept_values_make_sparse_work_smaller_and_leave_the_dense_work() -> None:
    problem = load_problem("tiny")
    case = Case("tiny", 8, feature_dropout=0.5)
    found = []
    for name in ("limit", "limit-kept"):
        with CountMultiplications() as work:
            make_variant(name, problem, case).run("step", 1)
        found.append(work.found)
    assert found[1]["dense"] == found[0]["dense"]
    assert found[1]["sparse"] < found[0]["sparse"]


def test_thinned_pattern_has_a_share_of_the_entries() -> None:
    pattern = load_problem("synthetic-2e4").graph.incidence
    left = thinned(pattern, 0.75)
    assert left.shape == pattern.shape
    assert left.num_entries == pytest.approx(0.25 * pattern.num_entries, rel=0.05)
    every = set(zip(pattern.rows.tolist(), pattern.indices.tolist(), strict=True))
    assert set(zip(left.rows.tolist(), left.indices.tolist(), strict=True)) <= every
