"""Predicts nodes that did not exist in training, by features that did not exist either."""

from __future__ import annotations

from grafenne import GrafenneClassifier, datasets


def main(epochs: int = 40) -> None:
    before = datasets.load("debian-mini", release="bookworm")
    after = datasets.load("debian-mini", release="trixie")
    new = [package for package in after.nodes if package not in before.nodes]
    strange = [name for name in after.features if name not in before.features]
    print(f"{len(new)} packages and {len(strange)} features are new, such as {strange[:3]}")

    # "name" embeds a feature by the letters of its name, "structural" by the features around it;
    # "learned" starts an unseen one at the mean of those it occurs with. All of them accept it.
    for kind in ("name", "structural"):
        model = GrafenneClassifier(features=kind, epochs=epochs, random_state=0).fit(before)
        print(f"{kind}: accuracy on the new packages {model.score(after, new):.3f}")


if __name__ == "__main__":
    main()
