"""A model follows a graph whose nodes, edges and features come and go.

Run it with ``python examples/stream.py``; it takes a few seconds.
"""

from __future__ import annotations

from grafenne import GrafenneClassifier
from grafenne.continual import run_stream, synthetic_task


def main() -> None:
    # A planted graph: at every step a fifth of the features and some nodes are replaced.
    task = synthetic_task(num_nodes=120, num_features=60, steps=3, signal=0.4, seed=0)
    print(task.labels)

    # One update by hand: train once, then follow the change.
    model = GrafenneClassifier(width=16, epochs=50)
    before = task.stream.first
    model.fit(before, task.split_rule(before))
    for delta, graph in task.stream.steps():
        model.update(before, delta, after=graph, split=task.split_rule(graph), strategy="ewc")
        report, test = model.last_update_, graph.nodes.take(task.split_rule(graph).test)
        print(
            f"{delta}: trained on {report.trained_on} nodes in {report.seconds:.2f} s, "
            f"{report.new_features} new features, accuracy {model.score(graph, test):.3f}"
        )
        before = graph

    # Several strategies side by side, with the test labels out of their reach.
    results = run_stream(
        GrafenneClassifier(width=16, epochs=50),
        task.stream,
        ["ewc", "finetune", "frozen", "retrain"],
        split_rule=task.split_rule,
    )
    columns = ["strategy", "average", "affected", "update forgetting", "gap to oracle", "seconds"]
    print(results.summary()[columns].round(3).to_string(index=False))


if __name__ == "__main__":
    main()
