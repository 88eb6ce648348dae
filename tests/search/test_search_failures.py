"""What a search says of what is wrong: before it runs where that can be known, and of a trial that fails."""

from typing import Any

import narwhals as nw
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, DataValueError, SchemaError, TuningError
from tests.search.rows import labelled

PIPELINE = ps.Pipeline(st.Imputer("x"), ("model", st.NaiveBayes("clicked", features="z")))
CLICKED = st.BinaryClassificationEvaluator(label="clicked")


def test_a_search_that_cannot_run_is_refused_when_it_is_made(subtests):
    one = {"model.smoothing": [1.0]}
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        ({}, {}, "expected a mapping with at least one parameter"),
        ({"model.smothing": [1.0]}, {}, "Did you mean 'smoothing'"),
        ({"imputer.strategy": ["mean"]}, {}, "no stage 'imputer'"),
        ({"model.smoothing": [-1.0]}, {}, "smoothing"),
        (one, {"metric": "areaUnderRoc"}, "Did you mean 'areaUnderROC'"),
        (one, {"on_error": "ignore"}, "on_error"),
    ]
    for space, options, says in wrong:
        with subtests.test(space=space, **options), pytest.raises(ConfigError, match=says):
            ps.CrossValidator(PIPELINE, space, CLICKED, **options)


def test_a_column_that_is_not_there_and_no_trial_makes_is_refused_before_anything_is_read(local, monkeypatch):
    monkeypatch.setattr(local, "reduce", None)
    rows, space = labelled(), {"model.smoothing": [1.0]}
    of_scores = st.BinaryClassificationEvaluator(label="clicked", raw_prediction="score")
    with pytest.raises(SchemaError, match="clicked"):
        ps.CrossValidator(PIPELINE, space, CLICKED).fit(local.from_arrow(rows.drop_columns(["clicked"])))
    with pytest.raises(SchemaError, match="score"):
        ps.CrossValidator(PIPELINE, space, of_scores).fit(local.from_arrow(rows))


@pytest.mark.thorough
def test_a_trial_that_fails_is_told_with_its_error_and_the_others_go_on(local):
    data = local.from_arrow(labelled())
    space = [{"model.features": [("z",), ("x",)]}]  # some x are negative, which this naive Bayes refuses
    result = ps.CrossValidator(PIPELINE, space, CLICKED, folds=3).fit(data)
    states = result.table.select(["state", "reason"]).to_pylist()
    assert [row["state"] for row in states] == ["complete", "failed"]
    assert "DataValueError: column 'x' has" in states[1]["reason"]
    assert "negative" in states[1]["reason"]
    assert result.best_params == {"model.features": ("z",)}


def test_a_trial_that_fails_ends_a_search_that_is_told_so_or_has_no_other(local):
    data = local.from_arrow(labelled())
    space = {"model.features": [("x",)]}
    with pytest.raises(DataValueError, match="negative"):
        ps.CrossValidator(PIPELINE, space, CLICKED, folds=3, on_error="raise").fit(data)
    with pytest.raises(TuningError, match=r"none of 1 trials.*areaUnderROC.*model\.features.*negative"):
        ps.CrossValidator(PIPELINE, space, CLICKED, folds=3).fit(data)


def test_a_metric_that_one_fold_does_not_have_loses_and_says_why(local):
    fold = pa.array([row % 2 for row in range(200)])
    label = pa.array([1.0 if row % 2 else float(row % 3) for row in range(200)])
    table = pa.table({"x": range(200), "y": label, "fold": fold})
    search = ps.CrossValidator(
        ps.Pipeline(st.LinearRegression("y", features="x")), {"LinearRegression.reg_param": [0.1]},
        st.RegressionEvaluator(label="y", metrics=("r2", "rmse")), folds={"num_folds": 2, "by": "fold"},
    )  # fmt: skip
    with pytest.raises(TuningError, match="r2 is undefined: "):
        search.fit(local.from_arrow(table))


def test_folds_of_other_rows_are_refused(local):
    data = local.from_arrow(labelled(300))
    search = ps.CrossValidator(PIPELINE, {"model.smoothing": [1.0]}, CLICKED, folds=data.folds(3))
    for other in (local.from_arrow(labelled(100)), data.filter(nw.col("z") > 1)):
        with pytest.raises(ConfigError, match="another dataset"):
            search.fit(other)
    assert len(search.fit(data).trials) == 1


def test_a_search_that_is_stopped_tells_the_best_so_far(local, monkeypatch):
    notes: list[str] = []
    monkeypatch.setattr(local.progress, "note", notes.append)
    evaluate, runs = ps.search.run.run_trials, []

    def run_trials(*given: Any, **options: Any) -> Any:
        runs.append(1)
        if len(runs) == 3:
            raise KeyboardInterrupt
        return evaluate(*given, **options)

    monkeypatch.setattr("penstock.search.run.run_trials", run_trials)
    space = ps.grid({"model.smoothing": [1.0, 2.0, 3.0]}, batch_size=1)
    with pytest.raises(KeyboardInterrupt):
        ps.CrossValidator(PIPELINE, space, CLICKED, folds=3).fit(local.from_arrow(labelled()))
    assert "the search was stopped: the best has areaUnderROC" in notes[-1]
