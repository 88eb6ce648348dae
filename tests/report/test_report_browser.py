"""What a browser makes of the page: where things are drawn, in which colours, and that it stays by itself."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import description_samples as descriptions
import drift_samples as drifts
import pytest
import report_samples as samples
import run_samples as runs
import search_samples as searches

from penstock.report import write_report
from penstock.report.page import write_page

pytestmark = pytest.mark.slow

WIDTHS = (375, 1280)
SCHEMES = ("light", "dark")
EVALUATIONS = {"binary": samples.binary, "everything": samples.everything, "hostile": samples.hostile}
SEARCHES = {"search": searches.search, "uneven": searches.uneven, "hostile_search": searches.hostile_search}
DESCRIPTIONS = {
    "description": descriptions.full,
    "many_columns": descriptions.many,
    "hostile_description": descriptions.hostile,
    "comparison": lambda: descriptions.full().compare(descriptions.other(), names=("monday", "tuesday")),
    "drift": drifts.full,
    "quiet_drift": drifts.quiet,
    "hostile_drift": drifts.hostile,
}
RUNS = {"run": runs.full, "many_tasks": runs.many, "hostile_run": runs.hostile}
MADE = (*EVALUATIONS, *SEARCHES, *DESCRIPTIONS, *RUNS)

# Centres and boxes of text in a drawing that is not turned; a pixel of each side may be shared.
TEXTS = """
() => [...document.querySelectorAll("svg.chart")].map(svg => ({
  svg: svg.getBoundingClientRect().toJSON(),
  texts: [...svg.querySelectorAll("text")].map(text => ({
    words: text.textContent, turned: text.hasAttribute("transform"), box: text.getBoundingClientRect().toJSON() }))
}))
"""

# Every element with words of its own: its colour, and the colours that lie beneath it, nearest first.
COLOURS = """
() => {
  const made = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const parent = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || parent.closest("title, desc, style")) continue;
    const style = getComputedStyle(parent);
    made.push([walk.currentNode.textContent.slice(0, 40), parent.closest("svg") ? style.fill : style.color]);
  }
  const cells = [...document.querySelectorAll(".cell:has(+ .value)")].map(cell => {
    const style = getComputedStyle(cell);
    return [style.fill, parseFloat(style.fillOpacity), getComputedStyle(cell.nextSibling).fill];
  });
  const marks = [...document.querySelectorAll(".curve, .reference, .whisker")].map(
    each => getComputedStyle(each).stroke);
  return { paper: getComputedStyle(document.body).backgroundColor, words: made, cells, marks: [...new Set(marks)] };
}
"""

CURVE = """
() => {
  const figure = document.querySelector("figure");
  const path = figure.querySelector("path.curve"), place = path.getScreenCTM(), length = path.getTotalLength();
  const points = [...Array(2001).keys()].map(
    index => path.getPointAtLength(length * index / 2000).matrixTransform(place));
  const rows = [...figure.querySelectorAll("line.grid")].map(row => row.getBoundingClientRect().toJSON());
  return {
    title: figure.querySelector("h3").textContent,
    points: points.map(point => [point.x, point.y]), rows,
    box: path.getBoundingClientRect().toJSON(),
    drawing: figure.querySelector("svg").getBoundingClientRect().toJSON(),
  };
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("report")
    for name, make in EVALUATIONS.items():
        write_report(make(), made / f"{name}.html", title="<script>alert(0)</script>", details={"rows": 200000})
    for name, search in SEARCHES.items():
        write_page(searches.render(search()), made / f"{name}.html")
    for name, describe in (DESCRIPTIONS | RUNS).items():
        describe().write_report(made / f"{name}.html", title="<script>alert(0)</script>")
    return made


@pytest.fixture(scope="module")
def show(browser: Any, folder: Path) -> Iterator[Callable[..., Any]]:
    """Opens a page, or gives the one that is open; a test that changes its page asks for one of its own to `watch`."""
    contexts: list[Any] = []

    def open_page(name: str, width: int, scheme: str, watch: list[str] | None = None) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        shown = context.new_page()
        for event, told in (("request", "url"), ("console", "text"), ("dialog", "message"), ("pageerror", "message")):
            shown.on(event, partial(_note, [] if watch is None else watch, event, told))
        shown.goto((folder / f"{name}.html").as_uri())
        return shown

    held = cache(open_page)

    def shown_page(name: str, width: int = 1280, scheme: str = "light", watch: list[str] | None = None) -> Any:
        return held(name, width, scheme) if watch is None else open_page(name, width, scheme, watch)

    yield shown_page
    for context in contexts:
        context.close()


def _note(seen: list[str], event: str, told: str, what: Any) -> None:
    seen.append(f"{event} {getattr(what, told)}")


def luminance(colour: tuple[float, ...]) -> float:
    """Return the relative luminance of WCAG 2.1."""
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def rgb(colour: str) -> tuple[float, ...]:
    return tuple(float(part) for part in colour[4:-1].split(","))


def blend(over: tuple[float, ...], share: float, under: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(share * top + (1 - share) * bottom for top, bottom in zip(over, under, strict=True))


@pytest.mark.parametrize("name", MADE)
def test_a_page_asks_for_nothing_and_complains_of_nothing(show: Callable[..., Any], name: str) -> None:
    watched: list[str] = []
    shown = show(name, watch=watched)
    shown.wait_for_timeout(100)
    assert watched == [f"request {shown.url}"]
    assert shown.evaluate("document.scripts.length") == 0


def test_the_policy_stops_a_script_a_picture_and_a_foreign_style(show: Callable[..., Any]) -> None:
    watched: list[str] = []
    shown = show("binary", watch=watched)
    paper = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    shown.evaluate(
        """() => {
          for (const [name, content] of [["script", "document.title = 'ran'"], ["style", "body { background: red }"]]) {
            const made = document.createElement(name);
            made.textContent = content;
            document.head.append(made);
          }
          document.body.append(Object.assign(new Image(), { src: "http://localhost:9/picture.png" }));
        }"""
    )
    shown.wait_for_timeout(50)
    assert shown.title() == "<script>alert(0)</script>"
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == paper
    assert sum("Content Security Policy" in each for each in watched) == 3


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", MADE)
def test_a_page_is_no_wider_than_the_screen(show: Callable[..., Any], name: str, width: int) -> None:
    shown = show(name, width)
    room, needed = shown.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollWidth]")
    assert room == width
    assert needed <= room


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", MADE)
def test_no_words_of_a_drawing_are_cut_or_overlap(show: Callable[..., Any], name: str, width: int) -> None:
    drawings = show(name, width).evaluate(TEXTS)
    assert drawings
    for each in drawings:
        for text in each["texts"]:
            assert within(text["box"], each["svg"], 1), (text["words"], text["box"], each["svg"])
        upright = [text for text in each["texts"] if not text["turned"]]
        for index, one in enumerate(upright):
            for other in upright[index + 1 :]:
                assert not overlap(one["box"], other["box"]), (one["words"], other["words"])


def within(inner: dict[str, float], outer: dict[str, float], slack: float) -> bool:
    lower = inner["left"] >= outer["left"] - slack and inner["top"] >= outer["top"] - slack
    return lower and inner["right"] <= outer["right"] + slack and inner["bottom"] <= outer["bottom"] + slack


def overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    across = min(one["right"], other["right"]) - max(one["left"], other["left"])
    return across > 1 and min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) > 3


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_words_have_a_contrast_of_four_and_a_half(show: Callable[..., Any], scheme: str) -> None:
    seen = show("everything", scheme=scheme).evaluate(COLOURS)
    paper = rgb(seen["paper"])
    assert len(seen["words"]) > 300
    for words, colour in seen["words"]:
        assert contrast(rgb(colour), paper) >= 4.5, (words, colour)
    for fill, opacity, ink in seen["cells"]:
        assert contrast(rgb(ink), blend(rgb(fill), opacity, paper)) >= 4.5, (fill, opacity)
    fill, _, ink = seen["cells"][0]
    assert contrast(rgb(ink), blend(rgb(fill), 0.75, paper)) >= 4.5, "a cell that holds all of its label"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", [*SEARCHES, *DESCRIPTIONS, *RUNS])
def test_all_words_and_lines_of_a_search_a_description_and_a_run_can_be_seen(
    show: Callable[..., Any], name: str, scheme: str
) -> None:
    seen = show(name, scheme=scheme).evaluate(COLOURS)
    for words, colour in seen["words"]:
        assert contrast(rgb(colour), rgb(seen["paper"])) >= 4.5, (words, colour)
    for colour in seen["marks"]:
        assert contrast(rgb(colour), rgb(seen["paper"])) >= 3, colour


@pytest.mark.parametrize("scheme", SCHEMES)
def test_numbers_in_cells_of_correlations_can_be_read(show: Callable[..., Any], scheme: str) -> None:
    seen = show("description", scheme=scheme).evaluate(COLOURS)
    assert len({fill for fill, *_ in seen["cells"]}) == 2, "one colour is above zero, the other below"
    for fill, opacity, ink in seen["cells"]:
        assert contrast(rgb(ink), blend(rgb(fill), opacity, rgb(seen["paper"]))) >= 4.5, (fill, opacity)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_lines_have_a_contrast_of_three(show: Callable[..., Any], scheme: str) -> None:
    seen = show("everything", scheme=scheme).evaluate(COLOURS)
    assert len(seen["marks"]) >= 4
    for colour in seen["marks"]:
        assert contrast(rgb(colour), rgb(seen["paper"])) >= 3, colour


def test_light_and_dark_are_two_sets_of_colours_and_paper_is_always_light(show: Callable[..., Any]) -> None:
    light, dark = (show("binary", scheme=scheme, watch=[]) for scheme in SCHEMES)
    seen = {name: shown.evaluate(COLOURS) for name, shown in (("light", light), ("dark", dark))}
    assert luminance(rgb(seen["light"]["paper"])) > 0.9
    assert luminance(rgb(seen["dark"]["paper"])) < 0.02
    assert not set(seen["light"]["marks"]) & set(seen["dark"]["marks"])
    dark.emulate_media(media="print")
    assert dark.evaluate(COLOURS)["paper"] == seen["light"]["paper"]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_roc_curve_is_where_its_numbers_say(show: Callable[..., Any], width: int) -> None:
    """The sample is y = x ** (1/4): its area is 4/5."""
    seen = show("binary", width).evaluate(CURVE)
    assert seen["title"] == "ROC curve"
    rows = seen["rows"]
    left, right = rows[0]["left"], rows[0]["right"]
    bottom, top = max(row["top"] for row in rows), min(row["top"] for row in rows)
    assert within(seen["box"], {"left": left, "right": right, "top": top, "bottom": bottom}, 2)
    assert within(seen["box"], seen["drawing"], 0)
    curve = [((x - left) / (right - left), (bottom - y) / (bottom - top)) for x, y in seen["points"]]
    for x, y in [(0, 0), (0.0625, 0.5), (0.25, 0.5**0.5), (0.4096, 0.8), (1, 1)]:
        assert min(max(abs(x - a), abs(y - b)) for a, b in curve) < 0.01
    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(curve))
    assert area == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(("scheme", "colour"), [("light", (0, 114, 178)), ("dark", (86, 180, 233))])
def test_the_curve_is_drawn_in_its_colour(show: Callable[..., Any], scheme: str, colour: tuple[int, int, int]) -> None:
    from PIL import Image

    drawn = show("binary", scheme=scheme).locator("figure svg.chart").first
    picture = Image.open(io.BytesIO(drawn.screenshot())).convert("RGB")
    wide, high = picture.size
    pixels = picture.load()
    found = [(x, y) for x in range(wide) for y in range(high) if pixels[x, y] == colour]
    assert len(found) > 300
    assert len({x * 10 // wide for x, _ in found}) >= 9  # from end to end
    assert all(y < high * (1 - x / wide) + 0.15 * high for x, y in found)  # never below the diagonal


def test_numbers_open_without_a_script(show: Callable[..., Any]) -> None:
    shown = show("binary", 375, watch=[])
    numbers = shown.locator("figure", has_text="Calibration").locator("details").first
    assert not numbers.locator("table").is_visible()
    numbers.locator("summary").click()
    assert numbers.locator("table").is_visible()
    room, needed = shown.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollWidth]")
    assert needed <= room
