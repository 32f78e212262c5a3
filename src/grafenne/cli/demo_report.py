"""The demo's report: one HTML file, nothing outside it, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grafenne.cli.demo_plots import make_plots
from grafenne.cli.output import number_text
from grafenne.version import __version__

if TYPE_CHECKING:
    from grafenne.cli.demo_run import Story
    from grafenne.estimators.surroundings import Contribution

EXAMPLES = 12

STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5b6573; --page: #ffffff;
  --card: #f3f5f8; --line: #d9dee5; --good: #1f7a46; --bad: #b3432b; --for: #3b82d6;
  --against: #e07b29; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9aa4b2; --page: #12161c;
  --card: #1c222b; --line: #333c48; --good: #5cc78a; --bad: #ef8a72; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.25rem; max-width: 60rem; background: var(--page);
  color: var(--ink); font: 16px/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0 1rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
p { margin: .5rem 0; } .soft { color: var(--soft); font-size: .92rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr));
  gap: .75rem; margin: 1.2rem 0; }
.card { background: var(--card); border-radius: .6rem; padding: .8rem 1rem; }
.card b { display: block; font-size: 1.5rem; line-height: 1.3; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; padding: .4rem .6rem; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.good { color: var(--good); } .bad { color: var(--bad); }
svg { display: block; width: 100%; height: auto; max-width: 44rem; margin: .5rem 0; }
.bar { display: grid; grid-template-columns: minmax(7rem, 14rem) 3fr 3.4rem; gap: .6rem;
  align-items: center; margin: .25rem 0; font-size: .92rem; }
.bar i { display: block; height: .8rem; border-radius: .2rem; background: var(--for); }
.bar i.against { background: var(--against); }
.bar span:last-child { text-align: right; font-variant-numeric: tabular-nums; }
code { background: var(--card); padding: .1rem .3rem; border-radius: .3rem; font-size: .9em; }
"""


def write_report(story: Story, path: Path) -> bool:
    """Writes the report; tells whether it has plots."""
    from grafenne.data.atomic import atomic_write

    plots = make_plots(story)
    with atomic_write(path) as beside:
        beside.write_text(report_html(story, plots), encoding="utf-8")
    return plots is not None


def report_html(story: Story, plots: dict[str, str] | None) -> str:
    """The whole page.

    Args:
        story: What to tell.
        plots: SVG by name; ``None`` leaves the plots out.
    """
    body = "\n".join(
        (
            _opening(story),
            _releases(story, plots),
            _new_packages(story),
            _explanation(story),
            _training(story, plots),
        )
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>grafenne demo</title>\n<style>{STYLE}</style>\n</head>\n"
        f'<body>\n{body}\n<p class="soft">Made by grafenne {escape(__version__)}.</p>\n'
        "</body>\n</html>\n"
    )


def _opening(story: Story) -> str:
    following = story.steps[1]
    cards = (
        (_percent(following.new_accuracy), f"right on packages new in {story.next_release}"),
        (_percent(story.common_share), f"by always answering {story.common_section}"),
        (number_text(following.new_packages), "packages the model had never seen"),
        (number_text(following.unseen_features), "features it had never seen"),
    )
    shown = "".join(
        f'<div class="card"><b>{escape(number)}</b>{escape(text)}</div>' for number, text in cards
    )
    first = story.steps[0]
    return (
        f"<h1>Packages that did not exist yet</h1>\n<p>A model learnt to tell the section of "
        f"{story.trained_on:,} packages of Debian {escape(story.first_release)} (one of "
        f"{story.classes} sections) from their tags, words, header fields and dependencies. Then "
        f"it met the releases that followed, with packages and features that were not there "
        f"before. A copy of it was updated with each of them.</p>\n"
        f"<div class='cards'>{shown}</div>\n"
        f'<p class="soft">In {escape(story.first_release)} itself it is right on '
        f"{_percent(first.held_out_accuracy)} of the packages it did not learn from. Training "
        f"took {story.seconds:.0f} s.</p>"
    )


def _releases(story: Story, plots: dict[str, str] | None) -> str:
    rows = [
        (
            step.release,
            step.packages,
            step.new_packages or "–",
            step.unseen_features,
            _percent(step.new_accuracy),
            _percent(step.held_out_accuracy),
            _percent(step.updated_accuracy),
        )
        for step in story.steps
    ]
    columns = ("release", "packages", "new", "unseen features", "new only", "held out", "updated")
    plot = "" if plots is None else plots["releases"]
    return (
        f"<h2>Release by release</h2>\n{plot}\n{_table(columns, rows, numbers=range(1, 7))}\n"
        '<p class="soft">Accuracy. “New only” are the packages that the release before did not '
        "have, predicted by the model as it was first trained. “Held out” are all packages that no "
        "model learnt from; “updated” is the copy on these, after it took in the release by "
        "elastic weight consolidation. Of the new packages, a hash of the name decides which the "
        "copy may learn from.</p>"
    )


def _new_packages(story: Story) -> str:
    frame = story.predictions
    strange = frame[frame["unseen_features"] != ""]
    # Evenly from the surest to the least sure, so that mistakes are shown too.
    ordered = (strange if len(strange) else frame).sort_values("probability", ascending=False)
    step = max(len(ordered) // EXAMPLES, 1)
    rows = []
    for row in ordered.iloc[::step].head(EXAMPLES).itertuples(index=False):
        right = bool(row.correct)
        verdict = '<span class="good">✓</span>' if right else '<span class="bad">✗</span>'
        features = str(row.unseen_features)
        rows.append(
            (
                row.node,
                _Raw(f"{verdict} {escape(str(row.label))}"),
                f"{float(row.probability):.2f}",
                "" if right else row.true_label,
                features if len(features) <= 90 else features[:89] + "…",
            )
        )
    columns = ("package", "predicted", "probability", "is really", "features never seen before")
    return (
        f"<h2>New in {escape(story.next_release)}</h2>\n<p>{len(frame):,} packages are new, and "
        f"{len(strange):,} of them have features that the model had never seen. Some of those, "
        f"from the surest prediction to the least sure; the others are in "
        f"<code>predictions.csv</code>.</p>\n{_table(columns, rows, numbers=(2,))}"
    )


def _explanation(story: Story) -> str:
    told = story.explanation
    sure = "" if told.probability is None else f" with probability {told.probability:.2f}"
    strongest = max(
        (abs(part.contribution) for part in (*told.features, *told.neighbours)), default=1.0
    )
    return (
        f"<h2>Why {escape(str(told.node))}?</h2>\n<p>Predicted as "
        f"<b>{escape(str(told.prediction))}</b>{sure}; it is in "
        f"<b>{escape(story.explained_truth)}</b>. (Chosen among a few because its features say "
        f"most.) Each bar is how much the log-odds of the "
        f"prediction fall when that feature or dependency is taken away.</p>\n"
        f"<p><b>Features</b></p>\n{_bars(told.features, strongest)}\n"
        f"<p><b>Packages it is joined to</b></p>\n{_bars(told.neighbours, strongest)}"
    )


def _bars(parts: Sequence[Contribution], strongest: float) -> str:
    if not parts:
        return '<p class="soft">None.</p>'
    lines = []
    for part in parts:
        width = 100 * abs(part.contribution) / (strongest or 1.0)
        against = ' class="against"' if part.contribution < 0 else ""
        lines.append(
            f'<div class="bar"><span>{escape(str(part.name))}</span>'
            f'<span><i{against} style="width:{width:.1f}%"></i></span>'
            f"<span>{part.contribution:+.2f}</span></div>"
        )
    return "\n".join(lines)


def _training(story: Story, plots: dict[str, str] | None) -> str:
    plot = (
        '<p class="soft">matplotlib is not installed, so there are no plots here.</p>'
        if plots is None
        else plots["training"]
    )
    settings = ", ".join(
        f"{name}={value}" for name, value in story.model.get_params().items() if name != "verbose"
    )
    return (
        f"<h2>Training</h2>\n<p>{len(story.losses)} epochs; the weights of epoch "
        f"{story.best_epoch + 1}, with the lowest validation loss, were kept.</p>\n{plot}\n"
        f'<p class="soft">{escape(settings)}</p>'
    )


class _Raw(str):
    """Markup that is safe already."""


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Iterable[int]) -> str:
    numeric = set(numbers)

    def cells(values: Sequence[Any], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=number' if place in numeric else ''}>"
            f"{value if isinstance(value, _Raw) else escape(number_text(value))}</{tag}>"
            for place, value in enumerate(values)
        )

    body = "\n".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return (
        f'<div class="wide"><table>\n<thead><tr>{cells(columns, "th")}</tr></thead>\n'
        f"<tbody>{body}</tbody>\n</table></div>"
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"
