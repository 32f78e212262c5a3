"""Predicts nodes that did not exist in training, by features that did not exist either."""

from __future__ import annotations

from grafenne import GrafenneClassifier, datasets


def main(epochs: int = 40) -> None:
    before = datasets.load("debian-mini", release="bookworm")
    after = datasets.load("debian-mini", release="trixie")
    new = [package for package in after.nodes if package not in before.nodes]
    strange = [name for name in after.features if name not in before.features]
    print(f"{len(new)} packages and {len(strange)} features are new, such as {strange[:3]}")

    # Where the vector of an unseen feature comes from: "learned" reads it off what is predicted for
    # its nodes (or off the features it occurs with), "name" off the letters of its name,
    # "structural" off the features around it. All of them accept it as it is.
    known = after.without_features(strange)
    for kind in ("learned", "name", "structural"):
        model = GrafenneClassifier(features=kind, epochs=epochs, random_state=0).fit(before)
        used, ignored = model.score(after, new), model.score(known, new)
        print(
            f"{kind}: accuracy on the new packages {used:.3f}, {ignored:.3f} without new features"
        )


if __name__ == "__main__":
    main()
