"""What a browser makes of displays: in the style sheet of JupyterLab, and in the theme of the notebook."""

import io
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from displays import Shell

import penstock as ps
from penstock import stages as st
from penstock.report.notebook.progress import NotebookProgress
from penstock.stages.evaluation.result import Evaluation

pytestmark = [pytest.mark.slow, pytest.mark.services]

# Of JupyterLab 4: what it has for tables and for preformatted text in outputs.
JUPYTERLAB = """
.jp-RenderedHTMLCommon pre { font-family: serif; font-size: inherit; white-space: pre-wrap; margin: 0; }
.jp-RenderedHTMLCommon table { border-collapse: collapse; table-layout: fixed; margin-left: auto; margin-right: auto; }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th, .jp-RenderedHTMLCommon tr {
  vertical-align: middle; padding: 0.5em; white-space: normal; max-width: none; border: none; }
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon td, :not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon th,
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon tr { text-align: right; }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: rgb(1, 2, 3); }
.jp-RenderedHTMLCommon tbody tr:nth-child(even) { background: rgb(4, 5, 6); }
"""
PAPER = {"light": "white", "dark": "#111"}
CURVE = pa.table({"falsePositiveRate": [0.0, 1.0], "truePositiveRate": [0.0, 1.0]})


@pytest.fixture
def look(browser: Any) -> Iterator[Callable[..., Any]]:
    """A function that opens displays in a notebook of a theme, in a browser of a colour scheme."""
    pages = []

    def opened(*displays: str, theme: str = "light", scheme: str = "light") -> Any:
        page = browser.new_page(viewport={"width": 1100, "height": 900}, color_scheme=scheme)
        pages.append(page)
        outputs = "".join(f'<div class="jp-RenderedHTMLCommon jp-RenderedHTML">{each}</div>' for each in displays)
        page.set_content(
            f"<html><style>{JUPYTERLAB}</style><body data-jp-theme-light={str(theme == 'light').lower()!r}"
            f' style="background: {PAPER[theme]}">{outputs}</body></html>'
        )
        return page

    yield opened
    for page in pages:
        page.close()


@pytest.fixture
def data(local: Any) -> Any:
    return local.from_arrow(pa.table({"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 4.0]}))


def styles(page: Any, selector: str, name: str) -> set[str]:
    return set(page.eval_on_selector_all(selector, f"all => all.map(each => getComputedStyle(each).{name})"))


def test_displays_are_set_as_they_are_whatever_the_notebook_sets(look, data):
    plan = ps.Pipeline(st.StandardScaler("x")).explain(data)
    page = look(*(each._repr_html_() for each in (data, Evaluation({"rmse": 0.5, "r2": 0.25}), plan)))
    assert styles(page, "th, td", "textAlign") == {"left"}
    assert styles(page, "tr, th, td", "backgroundColor") == {"rgba(0, 0, 0, 0)"}
    assert len(set(page.eval_on_selector_all("table", "all => all.map(each => each.getBoundingClientRect().x)"))) == 1
    assert "monospace" in next(iter(styles(page, "pre", "fontFamily")))


def test_bars_of_progress_lie_below_each_other_whatever_stands_beside_them(look):
    shell = Shell()
    progress = NotebookProgress(shell)
    progress.info("8 of 8 trials: the best has areaUnderROC 0.76 with a learning rate of 0.1, and there is more to say")
    for label, total in (("scan", 7), ("train model (XGBoostClassifier)", 1_000_000)):
        with progress.track(label, total) as track:
            track.advance(detail="loss 0.25")
    boxes = look(shell.last[1]["text/html"]).eval_on_selector_all(
        "progress", "all => all.map(each => each.getBoundingClientRect())"
    )
    assert len(boxes) == 2
    assert len({(box["x"], box["width"]) for box in boxes}) == 1
    assert boxes[1]["y"] >= boxes[0]["y"] + boxes[0]["height"]


def test_curves_are_drawn_on_paper_of_the_theme_in_a_browser_of_either_scheme(look):
    for theme, scheme in itertools.product(("light", "dark"), repeat=2):
        page = look(Evaluation({"auc": 0.5}, tables={"roc": CURVE})._repr_html_(), theme=theme, scheme=scheme)
        page.click("summary")
        page.frame_locator("iframe").locator("svg").first.wait_for()
        brightness = _brightness(page.locator("iframe").screenshot())
        assert brightness == pytest.approx(255 if theme == "light" else 0, abs=40), (theme, scheme)


def _brightness(png: bytes) -> float:
    """Return the colour that most of a picture has, from 0 for black to 255."""
    from PIL import Image

    histogram = Image.open(io.BytesIO(png)).convert("L").histogram()
    return float(histogram.index(max(histogram)))
