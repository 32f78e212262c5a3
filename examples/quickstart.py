"""From two tables to predictions and the reasons for them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from grafenne import FeatureGraph, GrafenneClassifier, random_split


def make_tables() -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """A small shop: items of two kinds, each with the attributes its seller filled in."""
    generator = np.random.default_rng(0)
    rows, kinds = [], {}
    for number in range(200):
        item = f"item-{number:03}"
        kinds[item] = "book" if number % 2 else "lamp"
        if kinds[item] == "book":
            possible = {"pages": generator.normal(300, 80), "language=en": 1.0, "weight": 0.4}
        else:
            possible = {"watts": generator.normal(40, 10), "colour=white": 1.0, "weight": 2.0}
        for feature, value in possible.items():
            if generator.random() < 0.6:  # sellers leave things out, each others
                rows.append((item, feature, value))
    features = pd.DataFrame(rows, columns=["node", "feature", "value"])
    ends = generator.integers(0, 100, size=(300, 2)) * 2 + generator.integers(0, 2, size=(300, 1))
    pairs = {(min(pair), max(pair)) for pair in ends.tolist() if pair[0] != pair[1]}
    edges = pd.DataFrame(
        [(f"item-{one:03}", f"item-{other:03}") for one, other in sorted(pairs)],
        columns=["source", "target"],
    )
    return features, edges, kinds


def main() -> None:
    features, edges, kinds = make_tables()
    graph = FeatureGraph.from_frames(features, edges, kinds)
    print(graph)

    split = random_split(graph, seed=0)
    model = GrafenneClassifier(epochs=60, random_state=0).fit(graph, split)
    test = graph.nodes.take(split.test)
    print(f"accuracy on {len(test)} held-out items: {model.score(graph, test):.3f}")
    print(model.explain(graph, test[0], top=3))


if __name__ == "__main__":
    main()
