from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.problem import load_problem
from benchmarks.pyg_models import dense_features, pyg_megabytes, pyg_objective, sparse_features


def test_dense_and_sparse_features_are_the_rows_of_the_graph() -> None:
    problem = load_problem("tiny")
    dense = dense_features(problem)
    torch.testing.assert_close(sparse_features(problem).to_dense(), dense)
    values = problem.raw.values
    node = int(np.argmax(values.counts))
    expected = np.zeros(problem.raw.num_features, dtype=np.float32)
    expected[values.indices[values.indptr[node] : values.indptr[node + 1]]] = (
        1 / values.counts[node]
    )
    torch.testing.assert_close(dense[node], torch.from_numpy(expected))


@pytest.mark.parametrize("other", ["sage-csr", "sage-sparse"])
def test_the_three_sages_are_one_network(other: str) -> None:
    problem = load_problem("tiny-valued")
    plain, same = pyg_objective("sage", problem, 8), pyg_objective(other, problem, 8)
    same.network.load_state_dict(plain.network.state_dict())
    losses = []
    for objective in (plain, same):
        objective.network.eval()
        [compute] = objective.batches()
        loss = compute()
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(loss)
    torch.testing.assert_close(losses[0], losses[1])
    for name, parameter in plain.network.named_parameters():
        torch.testing.assert_close(same.network.get_parameter(name).grad, parameter.grad)
    assert plain.validate() == pytest.approx(same.validate(), rel=1e-5)


def test_gathered_messages_decide_the_memory() -> None:
    problem = load_problem("tiny")
    cells = problem.raw.num_nodes * problem.raw.num_features
    messages = len(problem.graph.adjacency)
    assert pyg_megabytes("sage", problem, 8) == pytest.approx(
        (cells + messages * problem.raw.num_features) * 4e-6
    )
    assert pyg_megabytes("gcn", problem, 8) == pytest.approx((cells + messages * 8) * 4e-6)
