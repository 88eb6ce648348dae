import base64
import hashlib
import math
import re
from itertools import pairwise

import pyarrow as pa
import pytest
import report_samples as samples
import search_samples as searches
from report_markup import Node, figure, parse, path_points, scale_of

from penstock.report import render
from penstock.report.svg import element
from penstock.stages.evaluation.result import Evaluation

KNOWN = (
    "roc", "pr", "calibration", "gains", "confusionMatrix", "byLabel", "residuals", "residualHistogram",
    "residualQuantiles", "clusters", "atK",
)  # fmt: skip


def page(evaluation: Evaluation, **how: object) -> Node:
    return parse(render(evaluation, **how))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def everything() -> Node:
    return page(samples.everything(), title="All evaluators", details={"rows": 200000, "engine": "spark"})


@pytest.fixture(scope="module")
def hostile() -> Node:
    return page(samples.hostile(), title="</title><script>", details={"<b>": "</dd>\u202e"})


@pytest.fixture(scope="module")
def pages(everything: Node, hostile: Node) -> list[Node]:
    found = searches.search(), searches.hostile_search()
    return [everything, hostile, *(parse(searches.render(each)) for each in found)]


def elements(node: Node) -> list[Node]:
    return [node, *(each for child in node.children for each in elements(child))]


def tips(node: Node, name: str, kind: str) -> list[str]:
    return [each.all("title")[0].text for each in node.all(name, kind)]


def test_nothing_runs_and_nothing_is_fetched(pages: list[Node]) -> None:
    acts = {"script", "img", "link", "iframe", "object", "embed", "base", "form", "image", "use"}
    for node in (node for page in pages for node in elements(page)):
        assert node.name not in acts
        assert not [name for name in node.attributes if name.startswith("on") or name in ("src", "style", "xlink:href")]
        assert node.attributes.get("href", "#").startswith("#")
    for page in pages:
        (style,) = page.all("style")
        assert not re.search(r"url\(|@import|https?:", style.text)


def test_the_policy_allows_the_one_style_and_no_more(pages: list[Node]) -> None:
    for page in pages:
        (policy,) = [each.attributes["content"] for each in page.all("meta") if "http-equiv" in each.attributes]
        (style,) = page.all("style")
        digest = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
        assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@pytest.mark.thorough
def test_the_page_can_be_read_aloud_and_headings_go_down_one_level_at_a_time(pages: list[Node]) -> None:
    for page in pages:
        assert page.all("html")[0].attributes["lang"] == "en"
        assert all(each.attributes.get("scope") in ("row", "col") for each in page.all("th"))
        assert all(each.all("figcaption") for each in page.all("figure"))
        for drawn in page.all("svg"):
            assert drawn.attributes["role"] == "img"
            assert [child.name for child in drawn.children[:2]] == ["title", "desc"]
            assert drawn.children[0].text
    for page in pages:
        levels = [int(node.name[1]) for node in elements(page) if re.fullmatch("h[1-6]", node.name)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert max(after - before for before, after in pairwise(levels)) == 1


def test_anchors_are_unique_and_links_lead_to_them(everything: Node) -> None:
    anchors = [node.attributes["id"] for node in elements(everything) if "id" in node.attributes]
    assert len(anchors) == len(set(anchors))
    links = [link.attributes["href"] for link in everything.all("a")]
    assert len(links) == 7
    assert {link[1:] for link in links} <= set(anchors)


@pytest.mark.thorough
def test_equal_evaluations_give_equal_pages_which_are_small_whatever_is_drawn() -> None:
    assert render(samples.everything()) == render(samples.everything())
    assert len(render(samples.everything()).encode()) < 300_000
    steps = [index / 99_999 for index in range(100_000)]
    many = samples.multiclass(tuple(range(80))).tables
    tables = {"roc": pa.table({"falsePositiveRate": steps, "truePositiveRate": steps, "threshold": steps}), **many}
    assert len(render(Evaluation({"areaUnderROC": 0.5}, tables=tables)).encode()) < 100_000


def test_title_and_details_head_the_page_and_metrics_say_all_that_is_known_of_them(everything: Node) -> None:
    assert everything.all("h1")[0].text == everything.all("title")[0].text == "All evaluators"
    assert [node.text for node in everything.all("dd")] == ["200,000", "spark"]
    rows = page(samples.binary()).all("div", "metrics")[0].all("tr")[1:]
    texts = {row.all("th")[0].text: [cell.text.split("\n")[0] for cell in row.all("td")] for row in rows}
    assert texts["areaUnderPR"] == ["0.61230.5800 to 0.6400exact to 0.0002", "\u2191 higher"]
    assert texts["logLoss"] == ["0.4321", "\u2193 lower"]
    assert texts["ksStatistic"][0] == "undefinedthe metric was not asked for at a threshold"
    assert rows[1].all("data")[0].attributes["value"] == "0.61234"


@pytest.mark.thorough
def test_a_name_with_a_prefix_is_a_section_and_a_column_with_a_dot_is_none() -> None:
    joined = Evaluation.joined([samples.binary().named("shop.clicks"), samples.regression().named("price")])
    first, second = page(joined).all("section")
    assert [first.all("h2")[0].text, second.all("h2")[0].text] == ["shop.clicks", "price"]
    assert "Area under the curve 0.8000." in figure(first, "ROC curve").text
    assert figure(first, "By country").all("line", "marker")
    assert not [node for node in second.all("h3") if node.text == "ROC curve"]
    sliced = Evaluation({"areaUnderROC": 0.8}, slices={"user.country": samples.slices()})
    (section,) = page(sliced).all("section")
    assert figure(section, "By user.country").all("line", "marker")


def test_hostile_text_is_text_in_elements_attributes_and_metrics(hostile: Node) -> None:
    assert "<script>alert(1)</script>" in hostile.text
    assert "because </td></table><script>alert(4)</script>" in hostile.text
    assert "\u202e" not in hostile.text
    assert "\x00" not in hostile.text
    assert {"(null)", "(empty)", "(blank)"} <= {node.text for node in hostile.all("text", "label")}
    assert max(len(word) for word in hostile.all("main")[0].text.split()) < 210
    (drawn,) = parse(str(element("g", {"class": '"><script>&'}, element("title", {}, "x")))).children
    assert (drawn.name, drawn.attributes) == ("g", {"class": '"><script>&'})
    rows = {row.all("th")[0].text: row for row in hostile.all("div", "metrics")[0].all("tr")[1:]}
    assert rows["<i>metric</i>"].all("td", "undefined")
    assert not rows["tiny"].all("td", "undefined")


def test_a_table_without_rows_or_columns_is_said_to_be_empty_and_an_evaluation_of_nothing_is_a_page() -> None:
    for name in KNOWN:
        for table in (pa.table({}), pa.table({"label": pa.array([], pa.string())}), pa.table({"other": [1]})):
            made = page(Evaluation({"rmse": 0.5}, tables={name: table}))
            assert not made.all("svg"), name
            assert made.all("figure"), name
            assert all("nothing to show" in each.text for each in made.all("figure")), name
    assert "no metric was asked for" in page(Evaluation()).text


def test_a_table_of_an_unknown_name_is_shown_as_it_is() -> None:
    table = pa.table({"word": ["a", None], "count": [1200, 3]})
    shown = figure(page(Evaluation({"rmse": 1.0}, tables={"vocabulary": table})), "vocabulary")
    cells = [node.text for node in (*shown.all("th"), *shown.all("td"))]
    assert cells == ["word", "count", "a", "(null)", "1,200", "3"]


def test_the_roc_curve_goes_through_its_points() -> None:
    drawn = figure(page(samples.binary()), "ROC curve")
    (left, right), (bottom, top) = scale_of(drawn, "x", "0.0", "1.0"), scale_of(drawn, "y", "0.0", "1.0")
    points = path_points(drawn.all("path", "curve")[0])
    assert points[0] == pytest.approx((left, bottom), abs=0.01)
    assert points[-1] == pytest.approx((right, top), abs=0.01)
    for x, y in points:  # half of the last digit that is written
        rate = (x - left) / (right - left)
        assert (bottom - y) / (bottom - top) == pytest.approx(max(rate, 0) ** 0.25, abs=0.011 if rate < 0.01 else 1e-3)


def test_the_base_rate_is_the_precision_of_calling_all_positive_at_the_last_threshold() -> None:
    drawn = figure(page(samples.binary()), "Precision and recall")
    bottom, top = scale_of(drawn, "y", "0.0", "1.0")
    (rule,) = drawn.all("line", "reference")
    assert (bottom - rule.number("y1")) / (bottom - top) == pytest.approx(0.3, abs=1e-3)
    assert "base rate 30%" in drawn.text
    table = pa.table({"recall": [0.5, 1.0, 1.0], "precision": [1.0, 0.8, 0.25], "threshold": [0.9, 0.5, 0.1]})
    shown = figure(page(Evaluation({"areaUnderPR": 0.9}, tables={"pr": table})), "Precision and recall")
    assert "base rate 25%" in shown.text


def test_a_calibration_has_dots_and_a_gap_by_weight() -> None:
    dots = figure(page(samples.binary()), "Calibration").all("circle", "dot")
    first, second = dots[0].number("r"), dots[1].number("r")
    assert (second / first) ** 2 == pytest.approx(41 / 52, rel=5e-3)
    bins = {"lower": [0.0, 0.5], "upper": [0.5, 1.0], "weight": [3.0, 1.0]}
    table = pa.table({**bins, "predicted": [0.2, 0.9], "observed": [0.3, 0.5]})
    shown = figure(page(Evaluation({"logLoss": 0.1}, tables={"calibration": table})), "Calibration")
    assert f"{(3 * 0.1 + 0.4) / 4:.4f} apart" in shown.text


def test_bars_are_as_long_as_their_values_and_reach_left_of_zero() -> None:
    bars = figure(page(samples.multilabel()), "By label").all("rect", "bar")
    widths = [bar.number("width") for bar in bars]
    values = [0.9, 0.2, 0.3, 0.5, 0.4, 0.45, 0.1, 0.6, 0.17]
    lengths = [width / value for width, value in zip(widths, values, strict=True)]
    assert lengths == pytest.approx([lengths[0]] * 9, rel=5e-3)
    shown = figure(page(samples.clustering()), "Clusters")
    zeros = [line.number("x1") for line in shown.all("line", "base")]
    bars = [bar for bar in shown.all("rect", "bar") if "silhouette" in bar.all("title")[0].text]
    assert bars[2].number("x") + bars[2].number("width") == pytest.approx(max(zeros), abs=0.02)
    assert bars[0].number("x") == pytest.approx(max(zeros), abs=0.02)
    assert bars[2].number("width") / bars[0].number("width") == pytest.approx(0.12 / 0.71, rel=1e-2)


def test_of_many_labels_those_of_most_weight_have_bars() -> None:
    shown = figure(page(samples.multiclass(tuple(f"l{index:02}" for index in range(50)))), "By label")
    assert [node.text for node in shown.all("text", "label")] == [f"l{index:02}" for index in range(20)]
    assert "30 more are not drawn" in shown.text


def matrix(shown: Node) -> dict[tuple[str, str], float]:
    found = (re.match(r"label (.*), prediction (.*): ([\d,.]+), ", tip) for tip in tips(shown, "rect", "cell"))
    return {(each[1], each[2]): float(each[3].replace(",", "")) for each in found if each}


def test_a_cell_is_shaded_by_its_share_of_the_true_label() -> None:
    shown = confusion(label=[0, 0, 1], prediction=[0, 1, 1], weight=[3.0, 1.0, 2.0])
    shades = [cell.number("fill-opacity") / 0.75 for cell in shown.all("rect", "cell")]
    assert shades == pytest.approx([0.75, 0.25, 0.0, 1.0], abs=0.01)
    assert matrix(shown) == {("0", "0"): 3.0, ("0", "1"): 1.0, ("1", "0"): 0.0, ("1", "1"): 2.0}


@pytest.mark.thorough
def test_the_labels_of_least_weight_are_one_and_no_weight_is_lost() -> None:
    evaluation = samples.multiclass(tuple(f"topic {index:02}" for index in range(30)))
    table = evaluation.tables["confusionMatrix"].to_pydict()
    totals: dict[str, float] = {}
    for label, weight in zip(table["label"], table["weight"], strict=True):
        totals[label] = totals.get(label, 0) + weight
    cells = matrix(figure(page(evaluation), "Confusion matrix"))
    assert len(cells) == 13 * 13
    assert math.fsum(cells.values()) == math.fsum(totals.values())
    assert {label for label, _ in cells} == {*sorted(totals, key=lambda label: -totals[label])[:12], "other"}


def test_labels_of_a_matrix_are_in_order_by_value_and_null_is_one_of_its_own() -> None:
    table = samples.multiclass().tables["confusionMatrix"]
    turned = table.take(list(range(table.num_rows))[::-1])
    first, second = (Evaluation({"f1": 0.8}, tables={"confusionMatrix": each}) for each in (table, turned))
    drawn = [re.findall(r"<svg.*?</svg>", render(each), re.DOTALL) for each in (first, second)]
    assert drawn[0] == drawn[1]
    shown = confusion(label=["1", None, "1"], prediction=["1", None, None], weight=[1.0, 2.0, 4.0])
    assert matrix(shown) == {("(null)", "(null)"): 2.0, ("(null)", "1"): 0.0, ("1", "(null)"): 4.0, ("1", "1"): 1.0}
    shown = confusion(label=pa.array([0, 1], pa.int32()), prediction=[0.0, 1.0], weight=[1.0, 2.0])
    assert matrix(shown) == {("0", "0"): 1.0, ("0", "1"): 0.0, ("1", "0"): 0.0, ("1", "1"): 2.0}


def confusion(**columns: list[object]) -> Node:
    table = pa.table(columns)
    return figure(page(Evaluation({"f1": 0.8}, tables={"confusionMatrix": table})), "Confusion matrix")


def test_a_whisker_is_two_standard_deviations_long() -> None:
    table = pa.table({"lower": [0.0], "upper": [2.0], "weight": [5.0], "mean": [1.0], "std": [3.0]})
    shown = figure(page(Evaluation({"rmse": 0.5}, tables={"residuals": table})), "Residuals by prediction")
    low, high = scale_of(shown, "y", "\u22122", "4")
    upright = shown.all("line", "whisker")[0]
    assert abs(upright.number("y2") - upright.number("y1")) == pytest.approx(abs(high - low), abs=0.05)
    assert shown.all("circle", "dot")[0].number("cy") == pytest.approx((low + high) / 2, abs=0.05)


def test_bins_of_unequal_width_have_the_height_of_their_density() -> None:
    table = pa.table({"lower": [0.0, 1.0], "upper": [1.0, 5.0], "weight": [2.0, 4.0]})
    shown = figure(page(Evaluation({"rmse": 0.5}, tables={"residualHistogram": table})), "Distribution of residuals")
    first, second = shown.all("rect", "bar")
    assert first.number("height") / second.number("height") == pytest.approx(2.0, rel=1e-3)
    assert "Weight by unit" in shown.text


def test_lengths_of_a_ranking_are_whole_numbers() -> None:
    shown = figure(page(samples.ranking()), "Quality of the first k")
    below = [node.text for node in shown.all("text", "tick") if node.attributes["text-anchor"] == "middle"]
    assert below == [str(k) for k in range(1, 11)]
    assert len(shown.all("path", "curve")) == 3


def sliced(values: list[float | None], better: bool | None) -> Node:
    table = pa.table({"part": [f"p{index}" for index in range(len(values))], "rows": [9] * len(values), "m": values})
    known = {} if better is None else {"m": better}
    return figure(page(Evaluation({"m": 0.4}, slices={"part": table}, larger_better=known)), "By part")


def test_the_worst_slice_comes_first_and_undefined_ones_last() -> None:
    for better, order in ((True, "p2 p0 p3 p1"), (False, "p3 p0 p2 p1"), (None, "p0 p1 p2 p3")):
        shown = sliced([0.5, None, 0.2, 0.8], better)
        assert [row.all("th")[0].text for row in shown.all("tbody")[0].all("tr")] == order.split()


def test_slices_have_a_marker_at_the_overall_value_and_are_cut_at_a_hundred() -> None:
    first = sliced([0.8, 0.2], True).all("svg")[1]
    start, bar, mark = first.all("line", "base")[0], first.all("rect", "bar")[0], first.all("line", "marker")[0]
    assert (mark.number("x1") - start.number("x1")) / bar.number("width") == pytest.approx(0.4 / 0.8, abs=1e-3)
    shown = sliced([index / 1500 for index in range(1234)], True)
    assert len(shown.all("tbody")[0].all("tr")) == 100
    assert "The first 100 rows are shown; 1,134 more are not." in shown.text
