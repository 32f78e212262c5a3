"""The page in a real browser, where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from grafenne.experiments.report import read_results, report_html
from tests.experiments.made_up_results import write_everything

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PHONE, DESK = 390, 1200

# Browsers have a smallest window; a frame can be as narrow as a phone.
FRAME = """<!doctype html><body style="margin:0"><iframe id="frame" src="{page}"
style="width:{width}px;height:900px;border:0"></iframe><p id="told"></p><script>
addEventListener("load", () => {{
  const frame = document.getElementById("frame"), page = frame.contentDocument;
  const fetched = frame.contentWindow.performance.getEntriesByType("resource");
  const wide = page.documentElement;
  const boxes = [...page.querySelectorAll(".wide")].map(box => box.getBoundingClientRect().right);
  const style = getComputedStyle(page.body);
  document.getElementById("told").textContent = [wide.scrollWidth, wide.clientWidth,
    Math.round(Math.max(...boxes)), page.querySelectorAll("svg").length,
    fetched.length, style.color, style.backgroundColor].join("; ");
}});</script></body>"""


@dataclass(frozen=True)
class Seen:
    """What the browser says about the page."""

    scroll_width: int
    width: int
    rightmost_box: int
    pictures: int
    fetched: int
    ink: str
    paper: str
    log: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page")
    results = write_everything(made / "results")
    page, _ = report_html(read_results([results]))
    (made / "report.html").write_text(page, encoding="utf-8")
    return made


def browse(folder: Path, *arguments: str, page: str) -> subprocess.CompletedProcess[str]:
    browser = next((path for name in NAMES if (path := shutil.which(name))), None)
    if browser is None:
        pytest.skip("There is no Chromium on this machine.")
    return subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--allow-file-access-from-files",
            "--enable-logging=stderr",
            "--log-level=0",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / 'profile'}",
            *arguments,
            (folder / page).as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def look(folder: Path, width: int, dark: bool, page: str = "report.html") -> Seen:
    frame = FRAME.format(width=width, page=page)
    (folder / "frame.html").write_text(frame, encoding="utf-8")
    ran = browse(
        folder,
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--window-size=1300,950",
        "--dump-dom",
        page="frame.html",
    )
    told = re.search(r'<p id="told">(.*?)</p>', ran.stdout)
    assert told is not None
    *numbers, ink, paper = told.group(1).split("; ")
    return Seen(*map(int, numbers), ink, paper, ran.stderr)


def brightness(colour: str) -> int:
    return sum(map(int, re.findall(r"\d+", colour)[:3]))


@pytest.mark.parametrize(("width", "dark"), [(PHONE, False), (DESK, False), (PHONE, True)])
def test_tables_scroll_inside_the_page(folder: Path, width: int, dark: bool) -> None:
    seen = look(folder, width, dark)
    assert seen.width == width
    assert seen.scroll_width == width
    assert seen.rightmost_box <= width
    assert seen.pictures > 20
    assert seen.fetched == 0
    assert "CONSOLE" not in seen.log  # where the browser tells errors
    low, high = (seen.paper, seen.ink) if dark else (seen.ink, seen.paper)
    assert brightness(low) < 200 < 600 < brightness(high)


def test_a_page_that_fetches_or_is_too_wide_would_be_noticed(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    more = (
        '<p style="width:999px;max-width:none">wide</p><img src="http://example.org/a.png"></body>'
    )
    (folder / "broken.html").write_text(page.replace("</body>", more), encoding="utf-8")
    seen = look(folder, PHONE, dark=False, page="broken.html")
    assert seen.fetched == 1
    assert seen.scroll_width > PHONE


def test_light_and_dark_pictures_differ(folder: Path) -> None:
    pictures = []
    for scheme in (0, 1):
        path = folder / f"{scheme}.png"
        browse(
            folder,
            f"--blink-settings=preferredColorScheme={scheme}",
            "--window-size=800,600",
            f"--screenshot={path}",
            page="report.html",
        )
        pictures.append(path.read_bytes())
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)
    assert pictures[0] != pictures[1]
