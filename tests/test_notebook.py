"""What a notebook shows of Penstock's objects: facts that are true, text that cannot act, and nothing read for it."""

import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import narwhals as nw
import pyarrow as pa
import pytest
from displays import Page, Shell

import penstock as ps
from penstock import stages as st
from penstock.core.progress import usual_progress
from penstock.report.notebook import progress as progress_module
from penstock.report.notebook.progress import NotebookProgress
from penstock.stages.evaluation.result import Evaluation

HOSTILE = "<script>alert(1)</script>"


def shown(value) -> Page:
    return Page(value._repr_html_())


@pytest.fixture
def data(local):
    return local.from_arrow(
        pa.table({"x": [1.0, None, 3.0, 4.0], "s": ["a", "b", "a", "a"], "y": [True, False, True, False]})
    )


class TestDatasets:
    def test_columns_are_shown_as_text_in_their_order_and_many_unfold(self, data, local):
        page = shown(data.rename({"y": HOSTILE}))
        assert page.of("th")[2:] == ["x", "s", HOSTILE]
        assert page.of("td") == ["double", "string", "bool"]
        assert not [tag for tag, _ in page.tags if tag == "script"]
        page = shown(local.from_arrow(pa.table({f"c{place}": [0] for place in range(40)})))
        assert "28 more columns" in page.of("summary")
        assert len(page.of("td")) == 40

    def test_rows_that_a_step_may_drop_are_a_bound(self, data):
        filtered = data.filter(nw.col("x") > 1)
        assert "rows 4" in shown(data).of("span")
        assert "rows at most 4" in shown(filtered).of("span")
        assert repr(filtered) == "Dataset(rows=at most 4, columns=3, steps=1, engine=local, fragments=1)"

    def test_a_query_is_not_run_to_be_shown(self, data):
        pending = data.group_by("s").agg(n="len")
        assert "rows of a query (group_by) that has not run" in shown(pending).of("span")
        assert "has not run" in repr(pending)
        pending.to_arrow()
        assert "rows 2" in shown(pending).of("span")


class TestPipelines:
    def test_stages_show_names_and_the_parameters_that_differ(self):
        page = shown(ps.Pipeline(("scale", st.StandardScaler("x", with_mean=False)), st.Clip("x", lower=0.25)))
        assert page.of("b") == ["Pipeline", "StandardScaler", "Clip"]
        assert page.of("th") == ["parameter", "with_mean", "parameter", "lower"]
        assert page.of("td") == ["false", "0.25"]

    def test_a_model_shows_what_was_learned_and_after_loading_its_stages(self, data, tmp_path):
        model = ps.Pipeline(st.Imputer("x"), st.StringIndexer("s")).fit(data)
        page = shown(model)
        assert "x: 2.6667" in page.of("td")
        assert "s: 2 rows of value, count" in page.of("td")
        assert "rows 4" in page.of("span")
        assert repr(model) == "PipelineModel(Imputer, StringIndexer)"
        model = ps.Pipeline(st.Imputer("x")).fit(data)
        model.save(tmp_path / "model")
        assert shown(ps.PipelineModel.load(tmp_path / "model")).of("td") == shown(model).of("td")

    def test_a_plan_reads_as_lines_at_a_prompt_and_in_a_notebook(self, data):
        plan = ps.Pipeline(st.Imputer("x")).explain(data)
        assert repr(plan) == plan
        assert shown(plan).of("pre") == [plan.strip()]


class TestResults:
    def test_an_evaluation_shows_values_reasons_and_the_page_of_its_curves_in_a_sandbox(self):
        curve = pa.table({"falsePositiveRate": [0.0, 1.0], "truePositiveRate": [0.0, 1.0]})
        evaluation = Evaluation({"auc": 0.51237, "r2": None}, {"r2": "constant"}, tables={"roc": curve})
        page = shown(evaluation)
        assert page.of("td") == ["0.5124", "undefined", "constant"]
        (frame,) = [attributes for tag, attributes in page.tags if tag == "iframe"]
        assert frame["sandbox"] == ""
        assert "ROC" in frame["srcdoc"]
        assert not [tag for tag, _ in shown(Evaluation({"rmse": 0.5})).tags if tag == "iframe"]

    def test_a_search_shows_the_best_trial_first_and_a_stage_that_it_leaves_out_as_none(self, local):
        rows = local.from_arrow(pa.table({"x": range(60), "y": [2.0 * i + i % 3 for i in range(60)]}))
        pipeline = ps.Pipeline(("scale", st.StandardScaler("x")), ("model", st.LinearRegression("y")))
        space = ps.grid({"scale": [None], "model.reg_param": [9.5, 0.0]})
        evaluator = st.RegressionEvaluator(label="y", metrics="rmse")
        page = shown(ps.CrossValidator(pipeline, space, evaluator, folds=2).fit(rows))
        assert page.of("th") == ["trial", "scale", "model.reg_param", "rmse", "std", "1", "0"]
        assert page.of("td")[:2] == ["none", "0"]
        assert page.of("td")[4:6] == ["none", "9.5"]


class TestEngines:
    def test_an_engine_shows_its_device_and_its_tasks(self, engine):
        page = shown(engine)
        assert type(engine).__name__ in page.of("b")
        assert f"tasks at once {engine.slots}" in page.of("span")


@pytest.fixture
def shell() -> Shell:
    return Shell()


@pytest.fixture
def progress(shell: Shell) -> NotebookProgress:
    return NotebookProgress(shell)


class TestProgress:
    def test_it_is_drawn_at_a_prompt_of_ipython_and_in_its_notebooks(self, monkeypatch):
        for shell, kind in ((None, ps.Progress), (object(), ps.RichProgress), (Shell(), NotebookProgress)):
            monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
            assert type(usual_progress()) is kind
        monkeypatch.delitem(sys.modules, "IPython")
        assert type(usual_progress()) is ps.Progress

    def test_a_fit_draws_a_bar_for_each_scan_and_training(self, shell, progress):
        rows = ps.LocalEngine(progress=progress).from_arrow(pa.table({"x": range(60), "y": [i % 2 for i in range(60)]}))
        ps.Pipeline(st.StandardScaler("x"), st.XGBoostClassifier("y", features=["x"], num_boost_round=3)).fit(rows)
        assert shell.lines == ["scan 1 of 1 1/1 0 s", "train XGBoostClassifier 3/3 0 s"]

    def test_a_cell_has_one_output_and_the_next_cell_another(self, shell, progress):
        for cell in (1, 2):
            shell.execution_count = cell
            for label in ("scan", "train"):
                with progress.track(label, 1) as track:
                    track.advance()
        assert len({name for name, _ in shell.outputs}) == len(shell.outputs) == 2
        assert {name for name, _ in shell.updates} == {name for name, _ in shell.outputs}
        assert shell.lines == ["scan 1/1 0 s", "train 1/1 0 s"]

    def test_a_bar_is_part_full_under_way_and_full_at_the_end_even_of_fewer_rounds(self, shell, progress):
        with progress.track("train", 100) as track:
            track.advance(40)
            progress.draw()
            assert _bars(shell) == [("40", "100")]
        assert _bars(shell) == [("1", None)]

    def test_a_bar_of_unknown_length_moves_until_its_end_and_stays_as_it_was_when_work_failed(self, shell, progress):
        with progress.track("train", 0):
            assert _bars(shell) == [(None, None)]
        assert _bars(shell) == [("1", None)]
        with pytest.raises(ValueError), progress.track("scan", 4) as track:
            track.advance()
            raise ValueError
        assert _bars(shell) == [("1", None), ("1", "4")]

    def test_rounds_are_not_drawn_faster_than_eyes_follow(self, shell, progress, monkeypatch):
        now = iter(place / 100 for place in range(10_000))  # it is looked at less than twice a round
        monkeypatch.setattr(progress_module, "time", SimpleNamespace(monotonic=lambda: next(now)))
        with progress.track("train", 1000) as track:
            for _ in range(1000):
                track.advance()
        assert 50 < len(shell.updates) < 250
        assert shell.lines == ["train 1,000/1,000 0 s"]

    def test_what_a_search_tells_replaces_what_it_told_and_of_many_notes_the_last_are_seen(self, shell, progress):
        progress.info("4 of 8 trials")
        progress.note("a worker was lost")
        progress.info("8 of 8 trials")
        assert shell.lines == ["a worker was lost", "8 of 8 trials"]
        shell.execution_count += 1
        for place in range(15):
            progress.note(f"note {place}")
        assert shell.lines == [f"note {place}" for place in range(3, 15)]
        assert "3 more before these" in shell.page.of("div")

    def test_threads_draw_into_one_output(self, shell, progress):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda place: progress.note(f"note {place % 4}"), range(100)))
        assert len(shell.outputs) == 1
        assert len(shell.updates) == 99
        assert sorted(shell.lines) == [f"note {place}" for place in range(4)]

    def test_trainings_of_one_label_in_threads_add_up(self, progress, shell):
        def train(_: int) -> None:
            with progress.track("train", 50) as track:
                for _ in range(50):
                    track.advance(1, "loss 0.5")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(train, range(40)))
        assert shell.lines == ["train \u00d7 40 2,000/2,000 0 s loss 0.5"]
        assert _bars(shell) == [("1", None)]

    def test_labels_and_details_are_text_without_secrets(self, shell, progress):
        with progress.track("<b>read</b> s3://me:hunter2@bucket", 2) as track:
            track.advance(detail="<i>loss</i>")
            progress.draw()
            assert shell.page.of("span") == ["<b>read</b> s3://me:***@bucket", "1/2", "<i>loss</i>"]


def _bars(shell: Shell) -> list[tuple[str | None, str | None]]:
    return [(each.get("value"), each.get("max")) for tag, each in shell.page.tags if tag == "progress"]
