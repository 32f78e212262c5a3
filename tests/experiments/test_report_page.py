"""The page and the command."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from grafenne.cli.main import main
from grafenne.experiments.report import read_results, report_html
from scripts.readme_table import main as write_readme
from scripts.readme_table import markers
from tests.experiments.made_up_results import (
    method_rows,
    run_row,
    write_everything,
    write_rows,
)

EVIL = "<script>alert(1)</script>"


class Page(HTMLParser):
    """Tags of a page, and whether they are closed in order."""

    VOID = ("meta", "link", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_everything(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return report_html(read_results([folder]))[0]


def cells_of(page: str, row: str) -> list[str]:
    """Our cells of the first table row of that name."""
    found = re.search(rf'<th scope="row">{re.escape(row)}</th>(.*?)</tr>', page, re.DOTALL)
    assert found is not None
    return re.findall(r"<td.*?</td>", found.group(1), re.DOTALL)


def test_the_page_stands_alone(page: str) -> None:
    parsed = Page(page)
    assert parsed.open == []
    assert "script" not in parsed.tags
    assert "img" not in parsed.tags
    assert all(address.startswith(("#", "data:")) for address in parsed.addresses)
    assert "http" not in page
    assert "url(" not in page


def test_all_sections_are_there(page: str) -> None:
    for name in (
        *("node-classification", "backbones", "link-prediction", "physics", "message-passing"),
        *("link-prediction-backbones", "translation", "fate", "few-labels", "losses"),
        *("continual", "inductive", "statistics", "speed", "runs"),
    ):
        assert page.count(f'<section id="{name}">') == 1
        assert f'href="#{name}"' in page


def test_names_from_files_are_escaped(tmp_path: Path) -> None:
    rows = method_rows(EVIL, (0.5, 0.6), dataset=EVIL, command=EVIL, version=EVIL, settings=EVIL)
    rows += method_rows(EVIL, (0.5, 0.6), experiment=EVIL, variant=EVIL)
    rows.append({**run_row(EVIL, 9, 0.5), "error": EVIL})
    write_rows(tmp_path / f"{EVIL.replace('/', '')}.jsonl", rows)
    about = {"dataset": EVIL, "seed": 0, "value": 0.5}
    write_rows(
        tmp_path / "continual.jsonl",
        [
            {**about, "strategy": EVIL, "step": step, "metric": f"accuracy_{group}"}
            for step in (0, 1)
            for group in ("all", "new", EVIL)
        ],
    )
    write_rows(
        tmp_path / "inductive.jsonl", [{**about, "method": EVIL, "variant": EVIL, "metric": EVIL}]
    )
    bench = {"name": EVIL, "variant": EVIL, "dataset": EVIL, "note": EVIL, "target": EVIL}
    machine = {"machine": {"cpu": EVIL}}
    write_rows(tmp_path / "bench.jsonl", [{**bench, **machine, "work": EVIL, "ratio_to_ours": 1}])
    write_rows(tmp_path / "statistics.jsonl", [{"dataset": EVIL, "metrics": {EVIL: 3, "nodes": 5}}])
    (tmp_path / "notes.md").write_text(f"# {EVIL}\n\n{EVIL}\n\n- {EVIL}\n")
    (tmp_path / "notes.json").write_text(json.dumps({EVIL: [EVIL]}))
    page, _ = report_html(read_results([tmp_path]))
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 20
    assert Page(page).open == []


def test_best_significance_and_command(tmp_path: Path) -> None:
    rows = [
        *method_rows("sage", (0.80, 0.81, 0.82, 0.80, 0.81)),
        *method_rows("grafenne", (0.85, 0.86, 0.87, 0.86, 0.86)),
    ]
    page, counts = report_html(read_results([write_rows(tmp_path / "a.jsonl", rows)]))
    ours, baseline = cells_of(page, "GRAFENNE")[1], cells_of(page, "GraphSAGE")[1]
    assert "best" in ours
    assert "▲" in ours
    assert "86.00 <small>± 0.71</small>" in ours
    assert "6.0 s" in ours  # the mean of 4 to 8 seconds
    assert "method=grafenne,p=0" in ours
    assert "best" not in baseline
    assert "▲" not in baseline
    assert counts["problems_ours_significantly_better"] == 1


def test_notes_may_have_lists_code_and_strong_words(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(
        "## physics\n\n- **Why:** `p` is\n  high & 2 * 3 ** 4\n- so\n"
    )
    write_rows(tmp_path / "a.jsonl", method_rows("sage", (0.80, 0.81, 0.82)))
    page, _ = report_html(read_results([tmp_path]))
    wanted = "<li><strong>Why:</strong> <code>p</code> is high &amp; 2 * 3 ** 4</li><li>so</li>"
    assert f"<h3>physics</h3>\n<ul>{wanted}</ul>" in page


def test_a_partial_cell_tells_its_seeds(tmp_path: Path) -> None:
    rows = method_rows("sage", (0.80, 0.81, 0.82), settings="default")
    rows += method_rows("gcnmf", (0.80, 0.81, 0.82, 0.83, 0.84))
    page, _ = report_html(read_results([write_rows(tmp_path / "a.jsonl", rows)]))
    partial, full = cells_of(page, "GraphSAGE")[1], cells_of(page, "GCNMF")[1]
    assert "n = 3 · default settings" in partial
    assert "n = " not in full
    assert "default" not in full


def test_charts_take_the_rows_that_lead_where_they_are(tmp_path: Path) -> None:
    # FP is not there at p = 0, where everything is high, and must be shown all the same.
    rows = []
    for p, values in ((0.0, (0.96, 0.95, 0.94, 0.93, None)), (0.99, (0.5, 0.4, 0.3, 0.2, 0.8))):
        for method, value in zip(("sage", "gcn", "mlp", "gcnmf", "fp+sage"), values, strict=True):
            if value is not None:
                rows += method_rows(method, (value, value), p=p)
    page, _ = report_html(read_results([write_rows(tmp_path / "a.jsonl", rows)]))
    legend = re.search(r'<ul class="legend">(.*?)</ul>', page, re.DOTALL)
    assert legend is not None
    names = re.findall(r"</svg>([^<]*)</li>", legend.group(1))
    assert names == ["FP + GraphSAGE", "GraphSAGE", "GCN", "MLP", "GRAFENNE in the paper"]


def test_leaked_rows_are_labelled(page: str) -> None:
    found = page[page.index('id="link-prediction"') : page.index('id="physics"')]
    cells = cells_of(found, "FP + GRAFENNE (leaked)")
    assert any("leaked" in cell for cell in cells)
    assert not any("number best" in cell for cell in cells)


def test_published_figures_stand_beside_ours(page: str) -> None:
    found = page[page.index('id="few-labels"') :]
    assert "39.86" in cells_of(found, "GRAFENNE")[0]
    assert "81.49" in cells_of(found, "FSD-CAP (published)")[0]


def test_continual_summary_follows_from_the_steps(tmp_path: Path) -> None:
    rows = [
        {
            "dataset": "cora",
            "strategy": strategy,
            "step": step,
            "seed": 0,
            "metric": "accuracy",
            "value": value,
            "seconds": seconds,
        }
        for strategy, seconds, values in (
            ("ewc", 1.0, (0.9, 0.8, 0.7)),
            ("retrain", 10.0, (0.9, 0.9, 0.9)),
        )
        for step, value in enumerate(values)
    ]
    page, _ = report_html(read_results([write_rows(tmp_path / "continual.jsonl", rows)]))
    line = re.search(r"<tr><td>ewc</td>(.*?)</tr>", page)
    assert line is not None
    # The first snapshot is no update: (80 + 70) / 2, and the oracle is 15 points above.
    assert re.findall(r"<td[^>]*>([^<]*)</td>", line.group(1))[:2] == ["75.00", "15.00"]
    assert "0.1 ×" in line.group(1)


def test_inductive_gain(tmp_path: Path) -> None:
    rows = [
        {
            "dataset": "cora",
            "method": "name",
            "variant": variant,
            "seed": 0,
            "metric": "accuracy",
            "value": value,
        }
        for variant, value in (("ignored", 0.60), ("used", 0.64))
    ]
    page, _ = report_html(read_results([write_rows(tmp_path / "inductive.jsonl", rows)]))
    assert "+4.00" in page


def test_the_command_writes_and_sums_up(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made" / "report.html"
    assert main(["report", str(folder), "--out", str(out)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == str(out)
    assert re.match(r"[\d,]+ runs \(1 failed\) in \d+ cells; ", told[1])
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main(["report", str(folder), "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["failed_runs"] == 1
    assert 0 < found["problems_ours_best"] < found["problems_compared"]


def test_markdown_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder / "physics.jsonl"), "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert "## Physics at extreme missing rates" in text
    assert "| FP + GraphSAGE |" in text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere"], "no file or folder"),
        ([".", "--format", "htlm"], "Did you mean 'html'?"),
        (["."], "holds no file of results"),
    ],
)
def test_mistakes_get_one_sentence(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", *arguments]) == 2
    captured = capsys.readouterr()
    assert told in captured.err
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_readme_is_written_between_its_markers(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = tmp_path / "README.md"
    (begin, end), (fast, faster) = markers("results"), markers("speed")
    old = f"before\n{begin}\nold\n{end}\nbetween\n{fast}\nold\n{faster}\nafter\n"
    readme.write_text(old, encoding="utf-8")
    (folder / "tables.md").unlink(missing_ok=True)
    arguments = [str(folder), "--readme", str(readme)]
    assert write_readme([*arguments, "--check"]) == 1
    assert write_readme(arguments) == 0
    text = readme.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{begin}\n| dataset | missing |")
    assert f"|\n{end}\nbetween\n{fast}\n" in text
    assert text.endswith(f"\n{faster}\nafter\n")
    assert "old" not in text
    tables = (folder / "tables.md").read_text(encoding="utf-8")
    for heading in ("Physics at extreme missing rates", "Continual learning", "Where we lose"):
        assert f"\n## {heading}\n" in tables
    assert write_readme([*arguments, "--check"]) == 0
    (folder / "tables.md").write_text("old", encoding="utf-8")
    assert write_readme([*arguments, "--check"]) == 1
    readme.write_text("no markers", encoding="utf-8")
    assert write_readme(arguments) == 2
    assert "results: begin" in capsys.readouterr().err
