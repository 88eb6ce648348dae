"""The page of a description: what is drawn where, in which words, and that data cannot break it."""

from pathlib import Path

import description_samples as samples
import pyarrow as pa
import pytest
from report_markup import Node, figure, parse, scale_of

import penstock as ps


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Node:
    path = tmp_path_factory.mktemp("page") / "report.html"
    written = samples.full().write_report(path, title="trips", details={"Data": "trips/*.parquet"})
    return parse(Path(written).read_text("utf-8"))


@pytest.fixture(scope="module")
def compared() -> Node:
    return parse(samples.full().compare(samples.other(), names=("monday", "tuesday")).to_html())


def rows_of(node: Node) -> list[list[str]]:
    return [[cell.text for cell in row.children] for row in node.all("tr")]


def tips(node: Node, kind: str) -> dict[str, str]:
    told = [box.all("title")[0].text.partition(": ") for box in node.all("rect", kind)]
    return {name: value for name, _, value in told}


def facts(page: Node) -> dict[str, str]:
    return dict(zip([each.text for each in page.all("dt")], [each.text for each in page.all("dd")], strict=True))


def test_facts_stand_under_the_title_and_a_section_for_each_part(full: Node) -> None:
    assert full.all("h1")[0].text == "trips"
    assert facts(full) == {"Rows": "400", "Columns": "16", "Label": "label", "Data": "trips/*.parquet"}
    titles = [each.text for each in full.all("h2")]
    assert titles == ["Warnings", "Overview", "Label", "Columns", "Missing values", "Correlations"]
    rows = rows_of(figure(full, "All columns"))
    assert [row[0] for row in rows[1:]] == [each.name for each in samples.full().columns]
    assert "50%" not in rows[0]


@pytest.mark.thorough
def test_warnings_say_what_to_do_once_a_kind(full: Node) -> None:
    rows = rows_of(figure(full, "What would hurt a model"))[1:]
    found = samples.full().warnings
    assert [(row[1], row[2]) for row in rows] == [(", ".join(each.columns), each.message) for each in found]
    kinds = list(dict.fromkeys(each.name for each in found))
    assert [row[3] for row in rows if row[0]] == [next(e.advice for e in found if e.name == kind) for kind in kinds]
    assert all(not row[3] for row in rows if not row[0])


def test_bars_stand_where_their_edges_and_counts_say(full: Node) -> None:
    drawn, bars = figure(full, "x"), samples.full()["x"].histogram
    assert bars is not None
    left, right = scale_of(drawn, "x", "\u22122", "2")
    low, high = scale_of(drawn, "y", "0", "20")
    boxes = drawn.all("rect", "bar")
    assert len(boxes) == len(bars.counts)
    for box, edge, following, count in zip(boxes, bars.edges, bars.edges[1:], bars.counts, strict=False):
        ends = [left + (right - left) * (value + 2) / 4 for value in (edge, following)]
        assert box.number("x") == pytest.approx(ends[0], abs=1)
        assert box.number("x") + box.number("width") == pytest.approx(ends[1], abs=1)
        assert box.number("height") == pytest.approx((low - high) * count / 20, abs=0.05)


@pytest.mark.thorough
def test_times_stand_below_their_edges_and_values_without_a_bar_are_told(full: Node) -> None:
    words = [each.text for each in figure(full, "seen").all("text", "tick")]
    edges = samples.full()["seen"].histogram.edges
    assert words[-3:] == [f"{edges[place]:%Y-%m-%d %H:%M}" for place in (0, len(edges) // 2, -1)]
    assert "Not drawn are 1 beyond the bars." in figure(full, "endless").text


def test_frequent_values_have_bars_of_their_shares(full: Node) -> None:
    column = samples.full()["zone"]
    shown = tips(figure(full, "zone"), "bar")
    assert len(shown) == 3
    assert shown["airport"] == f"{dict(column.top)['airport'] / 400:.1%}".replace(".0%", "%")
    assert "All others are" in figure(full, "key").text


@pytest.mark.thorough
def test_what_tells_most_of_the_label_comes_first(full: Node) -> None:
    shown = tips(figure(full, "What tells of label"), "bar")
    told = {each.name: each.association for each in samples.full().columns if each.association is not None}
    assert next(iter(shown)) == "told"
    assert sorted(shown) == sorted(told)


def test_cells_say_which_columns_are_missing_together(full: Node) -> None:
    drawn, patterns = figure(full, "Missing together"), samples.full().missing_patterns.patterns
    filled = [box for box in drawn.all("rect", "cell") if "empty" not in box.attributes["class"].split()]
    assert len(filled) == sum(len(each.columns) for each in patterns)
    named = [text.text for text in drawn.all("text", "label")][-len(patterns) :]
    assert [text.partition(" ")[0] for text in named] == [f"{each.rows}" for each in patterns]


def test_cells_of_correlations_are_as_full_as_they_are_far_from_zero(full: Node) -> None:
    drawn, found = figure(full, "Correlations"), samples.full().correlations
    cells = {box.all("title")[0].text: box for box in drawn.all("rect", "cell")}
    cell = cells["x and minus: \u22121.00"]
    assert (cell.number("fill-opacity"), "negative" in cell.attributes["class"]) == (0.75, True)
    row, column = found.columns.index("x"), found.columns.index("endless")
    value = found.matrix[row][column]
    assert cells[f"x and endless: {value:.2f}"].number("fill-opacity") == pytest.approx(0.75 * value, abs=0.01)
    assert not any(text.startswith("one and") for text in cells)


def test_a_plain_description_is_a_page_of_its_facts() -> None:
    plain = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1, 2], "s": ["a", "b"]})).describe()
    page = parse(plain.to_html())
    assert [each.text for each in page.all("h2")] == ["Overview", "Columns"]


def test_no_text_of_the_data_is_markup() -> None:
    page = parse(samples.hostile().to_html(title="<script>"))
    assert page.all("script") == page.all("b") == []
    assert "\u202e" not in page.text
    assert "\x1b" not in page.text


@pytest.mark.thorough
def test_many_columns_are_drawn_as_far_as_there_is_room() -> None:
    page = parse(samples.many().to_html())
    assert "Drawn are the first 30 of 45 columns." in figure(page, "Correlations").text
    told = figure(page, "Missing together").text
    assert "Drawn are the 40 columns that are missing most often." in told
    assert "rows have other patterns." in told
    assert len(figure(page, "Correlations").all("rect", "cell")) == 900


def test_two_are_compared_by_facts_warnings_and_schemas(compared: Node) -> None:
    rows = {row[0]: row[1:] for row in rows_of(figure(compared, "What differs in schema"))}
    assert (rows["new"], rows["one"]) == (["-", "there"], ["there", "-"])
    assert rows["label"] == ["int64", "bool"]
    assert facts(compared) == {"Rows of monday": "400", "Rows of tuesday": "90"}
    assert {"In monday", "In tuesday"} <= {each.text for each in compared.all("h3")}


def test_columns_of_two_are_drawn_in_one(compared: Node) -> None:
    drawn = figure(compared, "x")
    assert len(drawn.all("path", "second")) == 1
    assert len(drawn.all("rect", "bar")) == len(samples.full()["x"].histogram.counts)
    assert "Bars are monday, the line is tuesday." in drawn.text
    drawn = figure(compared, "zone")
    assert [text.text for text in drawn.all("text", "key")] == ["monday", "tuesday"]
    assert len(drawn.all("rect", "bar")) == 3 + 2 + 3  # nothing is 0 % too, where all values are told
