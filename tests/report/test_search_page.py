"""The page of a search: what is drawn where, and what it says of trials that came to nothing."""

from pathlib import Path

import pyarrow as pa
import pytest
import search_samples as searches
from report_markup import Node, figure, parse, path_points, scale_of

import penstock as ps
from penstock import stages as st
from penstock.engines.base import Engine
from penstock.report.page import render_sections
from penstock.report.trials.parameter_axes import LabelAxis, LogAxis, NumberAxis, axis_of
from penstock.report.trials.sections import search_sections
from penstock.report.trials.trial_rows import TrialRow, TrialRows


def page(trials: TrialRows) -> Node:
    return parse(searches.render(trials))


@pytest.fixture(scope="module")
def search() -> Node:
    return page(searches.search())


@pytest.fixture(scope="module")
def uneven() -> Node:
    return page(searches.uneven())


def tip(node: Node) -> str:
    return node.all("title")[0].text


def test_every_trial_is_a_dot_at_its_value_and_the_line_at_the_best_so_far(search: Node) -> None:
    drawn, trials = figure(search, "Trials over time"), searches.search()
    left, right = scale_of(drawn, "x", "0", "100")
    low, high = scale_of(drawn, "y", "0.80", "0.84")
    dots = {tip(dot).partition(":")[0]: dot for dot in drawn.all("circle")}
    assert len(dots) == 120
    for row in trials.rows:
        dot = dots[f"trial {row.number}"]
        assert dot.number("cx") == pytest.approx(left + (right - left) * row.number / 100, abs=0.01)
        assert dot.number("cy") == pytest.approx(low + (high - low) * (row.value - 0.80) / 0.04, abs=0.01)
    drawn, rows = figure(search, "Trials over time"), searches.search().rows
    dots = {int(tip(dot).split()[1].rstrip(":")): dot for dot in drawn.all("circle")}
    points = path_points(drawn.all("path", "best")[0])
    for number in (0, 3, 60, 119):
        best = max(rows[: number + 1], key=lambda row: row.value)
        at = [y for x, y in points if x <= dots[number].number("cx") + 0.01][-1]
        assert at == pytest.approx(dots[best.number].number("cy"), abs=0.01)


def test_trials_without_a_value_far_off_or_on_fewer_rows_are_marked_and_told(uneven: Node) -> None:
    marks = [tip(mark) for mark in figure(uneven, "Trials over time").all("rect")]
    assert marks == [f"trial {n}: {'failed' if n % 10 == 5 else 'pruned'}" for n in range(40) if n % 10 in (5, 6)]
    assert "4 failed, 4 were stopped early" in figure(uneven, "Trials over time").text
    rows = [[cell.text for cell in row.children] for row in figure(uneven, "Without a value").all("tr")[1:]]
    assert len(rows) == 8
    assert rows[0][:2] == ["5", "failed"]
    assert rows[0][2].startswith("DataValueError: column 'x' has 34 values")
    drawn = figure(uneven, "Trials over time")
    (far,) = [dot for dot in drawn.all("circle") if tip(dot).startswith("trial 8:")]
    assert far.number("cy") == min(line.number("y1") for line in drawn.all("line", "grid"))
    assert "rmse 900.00" in tip(far)
    assert "1 far worse stand at the edge" in drawn.text
    assert "The best is trial 9 " in figure(uneven, "Trials over time").text  # trial 0, as good, had fewer rows
    assert [row.all("th")[0].text for row in figure(uneven, "By value").all("tr")[-2:]] == ["0", "11"]


@pytest.mark.thorough
def test_bars_are_as_long_as_parameters_matter(search: Node) -> None:
    widths = {tip(bar): bar.number("width") for bar in figure(search, "Importance of parameters").all("rect")}
    assert list(widths)[:2] == ["XGBoostClassifier.learning_rate: 62%", "XGBoostClassifier.max_depth: 30%"]
    first, second = list(widths.values())[:2]
    assert second / first == pytest.approx(0.30 / 0.62, abs=0.001)


def test_the_best_line_of_parallel_coordinates_goes_through_its_values(search: Node) -> None:
    drawn, trials = figure(search, "Parallel coordinates"), searches.search()
    best = trials.ranked[0]
    points = path_points(drawn.all("path", "best")[0])
    assert len(points) == len(trials.searched) + 1
    names = [text.text for text in drawn.all("text", "axis")]
    assert names[:2] == ["learning_rate", "max_depth"]
    height = points[1][1]
    share = (330 - height) / 290
    assert share == pytest.approx(best.params["XGBoostClassifier.max_depth"] / 8, abs=0.001)
    assert len(drawn.all("path")) == 120


def test_a_line_is_parted_where_a_trial_lacks_a_parameter(uneven: Node) -> None:
    paths = [path.attributes["d"] for path in figure(uneven, "Parallel coordinates").all("path")]
    assert {path.count("M") for path in paths} == {2}  # after the depth, or the penalty, that it lacks
    assert {path.count("M") + path.count("L") for path in paths} == {4}


@pytest.mark.thorough
def test_the_mark_of_a_trial_is_at_the_mean_of_its_folds(search: Node) -> None:
    drawn = figure(search, "Best trials by fold")
    dots, marks = drawn.all("circle"), drawn.all("line", "marker")
    assert len(marks) == 8
    for place, mark in enumerate(marks):
        of_trial = [dot.number("cx") for dot in dots[5 * place : 5 * place + 5]]
        assert mark.number("x1") == pytest.approx(sum(of_trial) / 5, abs=0.02)


def test_parameters_come_in_the_order_in_which_they_matter(search: Node) -> None:
    (section,) = [node for node in search.all("section") if node.attributes["id"] == "parameters"]
    titles = [each.all("h3")[0].text for each in section.all("figure")]
    assert titles == ["learning_rate", "max_depth", "num_boost_round", "min_frequency", "strategy"]
    assert "XGBoostClassifier.learning_rate, by its logarithm." in section.all("figure")[0].text


def test_parameters_have_short_names_where_these_differ_and_the_axis_of_their_values() -> None:
    rows = [TrialRow(0, {"a.columns": 1, "b.columns": 2, "c.depth": 3}, "complete", 1.0)]
    names = TrialRows("rmse", False, rows).names
    assert names == {"a.columns": "a.columns", "b.columns": "b.columns", "c.depth": "depth"}
    assert isinstance(axis_of([0.001, 0.01, 0.1, 0.2, 0.3, 0.4]), LogAxis)
    assert isinstance(axis_of([1, 2, 3, 4, 5, 6]), NumberAxis)
    assert isinstance(axis_of([-1.0, 0.0, 1.0, 200.0, 300.0, 400.0]), NumberAxis)
    assert axis_of([50, 5, 15, 5]) == LabelAxis(["5", "15", "50"])
    assert axis_of([True, None, False]).labels == ["(null)", "false", "true"]
    assert axis_of([0.001, 0.01, 0.1, 0.2, 0.3, 1.0]).place(0.1) == pytest.approx(2 / 3)
    assert axis_of([0.001, 0.01, 0.1, 0.2, 0.3, 1.0]).place(None) is None


def test_a_search_of_next_to_nothing_has_a_page_and_secrets_are_hidden() -> None:
    for trials in (searches.empty(), TrialRows("rmse", False, [])):
        assert figure(page(trials), "Parallel coordinates").all("p", "nothing")
    rows = [TrialRow(n, {"load.path": f"s3://me:hunter2@bucket/{n}"}, "complete", n / 7) for n in range(7)]
    assert "hunter2" not in render_sections("Search", search_sections(TrialRows("r2", True, rows)), title="secret")


@pytest.mark.thorough
def test_a_long_search_is_no_long_page() -> None:
    one = searches.search(1).rows[0]
    rows = [TrialRow(n, {**one.params, "model.x": n / 7}, "complete", n / 3, one.folds) for n in range(3000)]
    text = render_sections("Search", search_sections(TrialRows("r2", True, rows)), title="long")
    assert len(parse(text).all("tr")) < 60
    assert len(parse(text).all("path")) < 400


def searched(engine: Engine) -> ps.SearchResult:
    data = engine.from_arrow(pa.table({"x": range(60), "y": [2.0 * i + i % 3 for i in range(60)]}))
    pipeline = ps.Pipeline(("scale", st.StandardScaler("x")), ("model", st.LinearRegression("y")))
    space = {"model.reg_param": [0.0, 1.0, 10.0], "scale.with_mean": [True, False]}
    evaluator = st.RegressionEvaluator(label="y", metrics="rmse")
    return ps.CrossValidator(pipeline, space, evaluator, folds=3).fit(data)


@pytest.mark.thorough
def test_python_writes_the_page_of_a_result(local: Engine, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    result = searched(local)
    path = result.report(tmp_path / "new" / "page.html", title="fares", details={"Data": "a.parquet"})
    shown = parse(path.read_text("utf-8"))
    assert shown.all("h1")[0].text == "fares"
    facts = dict(zip([node.text for node in shown.all("dt")], [node.text for node in shown.all("dd")], strict=True))
    assert facts == {"Metric": "rmse", "Best": f"{result.best_score:.6g}, trial 0", "Trials": "6", "Data": "a.parquet"}
    first = figure(shown, "By value").all("tr")[1]
    assert first.all("th")[0].text == "0"
    assert tip(figure(shown, "Importance of parameters").all("rect")[0]).startswith("model.reg_param: ")
