"""What a browser makes of the page: where things are drawn, in which colours, and that it stays by itself."""

import io
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
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

pytestmark = [pytest.mark.slow, pytest.mark.services]

WIDTHS = (375, 1280)
SCHEMES = ("light", "dark")
MEDIA = {"light": {"color_scheme": "light"}, "dark": {"color_scheme": "dark"}, "print": {"media": "print"}}
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

ROOM = "[document.documentElement.clientWidth, document.documentElement.scrollWidth]"
# Adds a script, a style and a picture to the page, and returns which directives of its policy they break.
INTRUDE = """
() => new Promise(told => {
  const broken = [];
  document.addEventListener("securitypolicyviolation", event => {
    if (broken.push(event.effectiveDirective) === 3) told(broken);
  });
  for (const [name, content] of [["script", "document.title = 'ran'"], ["style", "body { background: red }"]]) {
    const made = document.createElement(name);
    made.textContent = content;
    document.head.append(made);
  }
  document.body.append(Object.assign(new Image(), { src: "http://localhost:9/picture.png" }));
})
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


@pytest.fixture
def show(browser: Any, folder: Path) -> Iterator[Callable[..., Any]]:
    """A browser page that records requests and messages in order."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})

    def opened(name: str, watched: list[str] | None = None, **media: str) -> Any:
        shown = context.new_page()
        shown.emulate_media(**media)
        for event, told in (("request", "url"), ("console", "text"), ("dialog", "message"), ("pageerror", "message")):
            shown.on(event, partial(_note, [] if watched is None else watched, event, told))
        shown.goto((folder / f"{name}.html").as_uri())
        return shown

    yield opened
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
def test_a_page_stays_by_itself_fits_the_screen_and_can_be_read(show, name, subtests):
    watched: list[str] = []
    shown = show(name, watched)
    for width in WIDTHS:
        shown.set_viewport_size({"width": width, "height": 900})
        with subtests.test("the page is no wider than the screen", width=width):
            room, needed = shown.evaluate(ROOM)
            assert room == width
            assert needed <= room
        with subtests.test("no words of a drawing are cut or overlap", width=width):
            check_words(shown.evaluate(TEXTS))
    for scheme in SCHEMES:
        shown.emulate_media(color_scheme=scheme)
        with subtests.test("words and lines have the contrast that WCAG asks for", scheme=scheme):
            check_contrast(name, shown.evaluate(COLOURS))
    assert watched == [f"request {shown.url}"]
    assert shown.evaluate("document.scripts.length") == 0


def check_words(drawings: list[dict[str, Any]]) -> None:
    assert drawings
    for each in drawings:
        for text in each["texts"]:
            assert within(text["box"], each["svg"], 1), (text["words"], text["box"], each["svg"])
        upright = [text for text in each["texts"] if not text["turned"]]
        for one, other in combinations(upright, 2):
            assert not overlap(one["box"], other["box"]), (one["words"], other["words"])


def check_contrast(name: str, seen: dict[str, Any]) -> None:
    paper = rgb(seen["paper"])
    for words, colour in seen["words"]:
        assert contrast(rgb(colour), paper) >= 4.5, (words, colour)
    for fill, opacity, ink in seen["cells"]:
        assert contrast(rgb(ink), blend(rgb(fill), opacity, paper)) >= 4.5, (fill, opacity)
    for colour in seen["marks"]:
        assert contrast(rgb(colour), paper) >= 3, colour
    if name == "everything":
        assert len(seen["words"]) > 300
        assert len(seen["marks"]) >= 4
        fill, _, ink = seen["cells"][0]
        assert contrast(rgb(ink), blend(rgb(fill), 0.75, paper)) >= 4.5, "a cell that holds all of its label"
    if name == "description":
        assert len({fill for fill, *_ in seen["cells"]}) == 2, "one colour is above zero, the other below"


def within(inner: dict[str, float], outer: dict[str, float], slack: float) -> bool:
    lower = inner["left"] >= outer["left"] - slack and inner["top"] >= outer["top"] - slack
    return lower and inner["right"] <= outer["right"] + slack and inner["bottom"] <= outer["bottom"] + slack


def overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    across = min(one["right"], other["right"]) - max(one["left"], other["left"])
    return across > 1 and min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) > 3


def test_the_policy_stops_a_script_a_picture_and_a_foreign_style(show):
    shown = show("binary")
    paper = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sorted(shown.evaluate(INTRUDE)) == ["img-src", "script-src-elem", "style-src-elem"]
    assert shown.title() == "<script>alert(0)</script>"
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == paper


def test_light_and_dark_are_two_sets_of_colours_and_paper_is_always_light(show):
    seen, shown = {}, show("binary")
    for name, media in MEDIA.items():
        shown.emulate_media(**media)
        seen[name] = shown.evaluate(COLOURS)
    assert luminance(rgb(seen["light"]["paper"])) > 0.9
    assert luminance(rgb(seen["dark"]["paper"])) < 0.02
    assert not set(seen["light"]["marks"]) & set(seen["dark"]["marks"])
    assert seen["print"]["paper"] == seen["light"]["paper"]


@pytest.mark.parametrize(("scheme", "colour"), [("light", (0, 114, 178)), ("dark", (86, 180, 233))])
def test_the_curve_is_drawn_in_its_colour(show, scheme, colour):
    from PIL import Image

    drawn = show("binary", color_scheme=scheme).locator("figure svg.chart").first
    picture = Image.open(io.BytesIO(drawn.screenshot())).convert("RGB")
    wide, high = picture.size
    pixels = picture.load()
    found = [(x, y) for x in range(wide) for y in range(high) if pixels[x, y] == colour]
    assert len(found) > 300
    assert len({x * 10 // wide for x, _ in found}) >= 9  # from end to end
    assert all(y < high * (1 - x / wide) + 0.15 * high for x, y in found)  # never below the diagonal


def test_numbers_open_without_a_script(show):
    shown = show("binary")
    shown.set_viewport_size({"width": 375, "height": 900})
    numbers = shown.locator("figure", has_text="Calibration").locator("details").first
    assert not numbers.locator("table").is_visible()
    numbers.locator("summary").click()
    assert numbers.locator("table").is_visible()
    room, needed = shown.evaluate(ROOM)
    assert needed <= room
