"""What a notebook shows of Penstock's objects: facts that are true, text that cannot act, and nothing read for it."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import narwhals as nw
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.core.progress import usual_progress
from penstock.stages.evaluation.result import Evaluation

VOID = {"meta", "br", "hr", "circle", "line", "path", "rect", "polyline"}


class Page(HTMLParser):
    """The texts of a display by the tag around them; a tag that is not closed is an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip() and self.open and self.open[-1] != "style":
            self.texts.append((self.open[-1], data.strip()))

    def of(self, tag):
        return [text for around, text in self.texts if around == tag]


def shown(value) -> Page:
    return Page(value._repr_html_())


@pytest.fixture
def data(local):
    return local.from_arrow(
        pa.table({"x": [1.0, None, 3.0, 4.0], "s": ["a", "b", "a", "a"], "y": [True, False, True, False]})
    )


class TestDatasets:
    def test_columns_and_types_are_shown_in_their_order(self, data):
        page = shown(data)
        assert page.of("th")[2:] == ["x", "s", "y"]
        assert page.of("td") == ["double", "string", "bool"]

    def test_rows_that_a_step_may_drop_are_a_bound(self, data):
        assert "rows 4" in shown(data).of("span")
        assert "rows at most 4" in shown(data.filter(nw.col("x") > 1)).of("span")
        assert repr(data.filter(nw.col("x") > 1)) == (
            "Dataset(rows=at most 4, columns=3, steps=1, engine=local, fragments=1)"
        )

    def test_a_query_is_not_run_to_be_shown(self, data):
        pending = data.group_by("s").agg(n="len")
        assert "rows of a query (group_by) that has not run" in shown(pending).of("span")
        assert "has not run" in repr(pending)
        pending.to_arrow()
        assert "rows 2" in shown(pending).of("span")

    def test_many_columns_unfold(self, local):
        page = shown(local.from_arrow(pa.table({f"c{place}": [0] for place in range(40)})))
        assert "28 more columns" in page.of("summary")
        assert len(page.of("td")) == 40

    def test_a_name_is_text_and_never_markup(self, local):
        page = shown(local.from_arrow(pa.table({"<script>alert(1)</script>": [1]})))
        assert "<script>alert(1)</script>" in page.of("th")
        assert not [tag for tag, _ in page.tags if tag == "script"]


class TestPipelines:
    def test_stages_show_names_and_the_parameters_that_differ(self):
        page = shown(ps.Pipeline(("scale", st.StandardScaler("x", with_mean=False)), st.Clip("x", lower=0.25)))
        assert page.of("b") == ["Pipeline", "StandardScaler", "Clip"]
        assert page.of("th") == ["parameter", "with_mean", "parameter", "lower"]
        assert page.of("td") == ["false", "0.25"]

    def test_a_model_shows_what_was_learned(self, data):
        model = ps.Pipeline(st.Imputer("x"), st.StringIndexer("s")).fit(data)
        page = shown(model)
        assert "x: 2.6667" in page.of("td")
        assert "s: 2 rows of value, count" in page.of("td")
        assert "rows 4" in page.of("span")
        assert repr(model) == "PipelineModel(Imputer, StringIndexer)"

    def test_a_loaded_model_shows_the_same_stages(self, data, tmp_path):
        model = ps.Pipeline(st.Imputer("x")).fit(data)
        model.save(tmp_path / "model")
        assert shown(ps.PipelineModel.load(tmp_path / "model")).of("td") == shown(model).of("td")

    def test_a_plan_reads_as_lines_at_a_prompt_and_in_a_notebook(self, data):
        plan = ps.Pipeline(st.Imputer("x")).explain(data)
        assert repr(plan) == plan
        assert shown(plan).of("pre") == [plan.strip()]


class TestResults:
    def test_an_evaluation_shows_values_reasons_and_its_page_in_a_sandbox(self):
        curve = pa.table({"falsePositiveRate": [0.0, 1.0], "truePositiveRate": [0.0, 1.0]})
        evaluation = Evaluation({"auc": 0.51237, "r2": None}, {"r2": "constant"}, tables={"roc": curve})
        page = shown(evaluation)
        assert page.of("td") == ["0.5124", "undefined", "constant"]
        frames = [attributes for tag, attributes in page.tags if tag == "iframe"]
        assert len(frames) == 1
        assert frames[0]["sandbox"] == ""
        assert "ROC" in frames[0]["srcdoc"]

    def test_metrics_without_curves_have_no_frame(self):
        assert not [tag for tag, _ in shown(Evaluation({"rmse": 0.5})).tags if tag == "iframe"]

    def test_a_search_shows_the_best_trial_first(self, local):
        rows = local.from_arrow(pa.table({"x": range(60), "y": [2.0 * i + i % 3 for i in range(60)]}))
        pipeline = ps.Pipeline(("model", st.LinearRegression("y")))
        evaluator = st.RegressionEvaluator(label="y", metrics="rmse")
        result = ps.CrossValidator(pipeline, ps.grid({"model.reg_param": [9.5, 0.0]}), evaluator, folds=2).fit(rows)
        page = shown(result)
        assert page.of("th")[:4] == ["trial", "model.reg_param", "rmse", "std"]
        assert page.of("th")[4:] == ["1", "0"]
        assert [page.of("td")[0], page.of("td")[3]] == ["0", "9.5"]


class TestEngines:
    def test_an_engine_shows_its_device_and_its_tasks(self, engine):
        page = shown(engine)
        assert type(engine).__name__ in page.of("b")
        assert f"tasks at once {engine.slots}" in page.of("span")

    def test_progress_is_drawn_in_ipython_alone(self, monkeypatch):
        monkeypatch.delitem(sys.modules, "IPython", raising=False)
        assert type(usual_progress()) is ps.Progress
        for shell, expected in ((None, ps.Progress), (object(), ps.RichProgress)):
            monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
            assert type(usual_progress()) is expected
