"""Jobs, on a small pipeline whose results are known in closed form."""

import dataclasses
import json
import shutil
from pathlib import Path

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_projects import pipeline_module

import penstock as ps
from penstock.cli import jobs
from penstock.cli.requests import EvaluateRequest, ExplainRequest, FitRequest, ScoreRequest
from penstock.errors import (
    ArtifactIntegrityError,
    ConfigError,
    OutputExistsError,
    PenstockError,
    SchemaDriftError,
    SchemaError,
)

PIPELINE = pipeline_module(
    'st.Expect("x is None or x < 1000", action="drop"), st.Imputer("x", strategy=parameters.strategy)',
    '[st.RegressionEvaluator(label=parameters.label, prediction="x", metrics=["mae", "r2"])]',
    parameters='strategy: str = "mean"; label: str = "y"',
    prepare='def prepare(dataset, parameters):\n    return dataset.filter(nw.col("y") >= 0)\n',
)
EVALUATORS = """def evaluators(parameters):
    return []
"""
IMPUTER = 'st.Imputer("x", strategy=parameters.strategy)'
ROWS = 1000


def make_project(folder: Path) -> Path:
    """Make a folder with a pipeline and its data: x is y, null in every tenth row, and two rows are dirt."""
    (folder / "pipelines").mkdir()
    (folder / "pipelines" / "small.py").write_text(PIPELINE)
    y = np.arange(ROWS, dtype=float)
    y[5], x = -1.0, y.copy()
    x[7] = 5000.0
    table = pa.table({"id": np.arange(ROWS), "x": pa.array(x, mask=np.arange(ROWS) % 10 == 0), "y": y})
    (folder / "data").mkdir()
    pq.write_table(table, folder / "data" / "a.parquet")
    (folder / "data" / "_SUCCESS").touch()
    return folder


def shared(project: Path) -> dict[str, object]:
    return {"data": [str(project / "data")], "pipelines": project / "pipelines", "engine": "local", "device": "cpu"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


@pytest.fixture
def common(project: Path) -> dict[str, object]:
    return shared(project)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> jobs.FitResult:
    """A fit in a project like each test's; its output is read-only."""
    project = make_project(tmp_path_factory.mktemp("fitted"))
    return jobs.fit(FitRequest(pipeline="small", out=project / "model", score=project / "scored", **shared(project)))


def _on(path: Path, common: dict[str, object]) -> dict[str, object]:
    return {**common, "data": [str(path)]}


def _table(path: str | Path) -> pa.Table:
    return pq.read_table(path)


def test_a_fit_saves_a_model_that_loads_with_what_it_tells(fitted):
    model = ps.PipelineModel.load(fitted.model, expect=fitted.manifest)
    assert model.digest == fitted.digest
    assert [stage.title for stage in model.stages] == ["Expect", "Imputer"]
    assert json.loads((Path(fitted.model) / "report.json").read_text())["metrics"] == fitted.metrics


@pytest.mark.thorough
def test_every_row_is_learned_from_or_held_out_or_counted(fitted):
    assert fitted.rows_read == fitted.rows + sum(fitted.dropped.values())
    assert fitted.rows_read + fitted.scored.rows_read == ROWS
    dirt = sum(fitted.dropped.values()) + sum(fitted.scored.dropped.values())
    assert dirt == 2
    assert 150 < fitted.scored.rows < 250  # about the share that is held out
    assert set(fitted.dropped) | set(fitted.scored.dropped) == {"filter", "x is None or x < 1000"}


def test_metrics_are_those_of_the_rows_held_out(fitted, project):
    scored, whole = _table(fitted.scored.path), _table(project / "data" / "a.parquet")
    held_out = set(scored["id"].to_pylist())
    learned = [row["x"] for row in whole.to_pylist() if row["id"] not in held_out and row["y"] >= 0]
    mean = np.mean([x for x in learned if x is not None and x < 1000])
    errors = [abs(row["y"] - mean) if row["id"] % 10 == 0 else 0.0 for row in scored.to_pylist()]
    assert fitted.metrics["mae"] == pytest.approx(np.mean(errors), rel=1e-12)


@pytest.mark.thorough
def test_the_rows_held_out_depend_on_the_seed_alone(project, common, fitted):
    def held_out(seed: int, out: str) -> list[int]:
        target = project / out
        jobs.fit(FitRequest(pipeline="small", out=target / "m", score=target / "s", seed=seed, **common))
        return _table(target / "s")["id"].to_pylist()

    assert held_out(7, "a") == _table(fitted.scored.path)["id"].to_pylist()
    assert held_out(8, "b") != held_out(7, "c")


def test_a_result_is_plain_json(fitted):
    told = json.loads(json.dumps(dataclasses.asdict(fitted)))
    assert {"digest", "rows", "scans", "seconds", "metrics", "model"} <= told.keys()
    assert {"start", "plan", "scan 1", "evaluate", "save", "score"} <= told["seconds_of"].keys()
    assert sum(told["seconds_of"].values()) <= told["seconds"]
    assert told["scans"] == 1
    assert told["parameters"] == {"strategy": "mean", "label": "y"}


@pytest.mark.thorough
def test_without_rows_held_out_there_are_no_metrics(project, common):
    found = jobs.fit(FitRequest(pipeline="small", out=project / "model", test_fraction=0, **common))
    assert (found.metrics, found.scored, found.rows_read) == ({}, None, ROWS)


@pytest.fixture
def no_evaluators(project: Path) -> str:
    """The name of a pipeline whose list of evaluators is empty."""
    (project / "pipelines" / "bare.py").write_text(PIPELINE.partition("def evaluators")[0] + EVALUATORS)
    return "bare"


@pytest.mark.thorough
def test_a_pipeline_without_evaluators_is_fitted_and_saved_and_has_no_metrics(project, common, no_evaluators):
    found = jobs.fit(FitRequest(pipeline=no_evaluators, out=project / "model", score=project / "scored", **common))
    assert (found.metrics, found.undefined) == ({}, {})
    assert 0 < found.scored.rows < ROWS
    assert ps.PipelineModel.load(found.model, expect=found.manifest).digest == found.digest


def test_what_is_made_of_metrics_is_refused_before_any_work_where_no_evaluator_gives_one(
    project, common, no_evaluators, subtests
):
    given = {**common, "pipeline": no_evaluators, "out": project / "model", "data": ["nowhere"]}
    for name, value in {"report": project / "page.html", "slices": ["id"], "bootstrap": 10}.items():
        problem = f"{name} is given, and the pipeline has no evaluators"
        with subtests.test(name), pytest.raises(ConfigError, match=problem):
            jobs.fit(FitRequest(**{**given, name: value}))


@pytest.mark.thorough
def test_a_metric_that_is_undefined_is_told_with_its_reason(project, common):
    pq.write_table(pa.table({"id": [0] * 50, "x": [1.0] * 50, "y": [1.0] * 50}), project / "data" / "a.parquet")
    found = jobs.fit(FitRequest(pipeline="small", out=project / "model", **common))
    assert found.metrics["r2"] is None
    assert "do not vary" in found.undefined["r2"]


def _with_bad_records(project: Path) -> Path:
    """Write the data as CSV with a bad record after each hundred rows."""
    lines = pl.from_arrow(_table(project / "data" / "a.parquet")).write_csv().splitlines(keepends=True)
    text = "".join(line + "bad\n" * (place % 100 == 99) for place, line in enumerate(lines))
    (project / "bad.csv").write_text(text)
    return project / "bad.csv"


@pytest.mark.thorough
def test_records_that_cannot_be_parsed_are_counted_once_and_written_aside(project, common, fitted):
    told = _on(_with_bad_records(project), common) | {"max_bad_records": 10}
    again = jobs.fit(FitRequest(pipeline="small", out=project / "m2", score=project / "s2", **told))
    reason = "wrong number of fields"
    counts = again.quarantined.get(reason, 0), again.scored.quarantined.get(reason, 0)
    assert (again.digest, sum(counts)) == (fitted.digest, 10)
    assert again.rows_read == fitted.rows_read + counts[0]
    assert again.scored.rows_read == fitted.scored.rows_read + counts[1]
    assert _table(again.scored.quarantine)["_corrupt_record"].to_pylist() == ["bad"] * counts[1]


@pytest.mark.thorough
def test_records_that_cannot_be_parsed_are_counted_though_nothing_is_learned(project, common):
    (project / "pipelines" / "none.py").write_text(PIPELINE.replace(IMPUTER, 'st.Log1p("y")'))
    told = _on(_with_bad_records(project), common) | {"max_bad_records": 10}
    found = jobs.fit(FitRequest(pipeline="none", out=project / "model", test_fraction=0, **told))
    assert (found.scans, found.rows, found.rows_read) == (0, ROWS - 1, ROWS - 1 + 10)
    assert found.quarantined == {"wrong number of fields": 10}


def test_an_output_that_exists_is_refused_before_any_work(project, common):
    (project / "pipelines" / "small.py").write_text("raise RuntimeError('work began')")
    for taken in ("model", "scored"):
        (project / taken).mkdir()
        (project / taken / "mine.txt").touch()
        with pytest.raises(OutputExistsError, match=str(project / taken)):
            jobs.fit(FitRequest(pipeline="small", out=project / "model", score=project / "scored", **common))
        assert not list(project.glob(".*"))
        shutil.rmtree(project / taken)


@pytest.mark.thorough
def test_outputs_are_replaced_when_asked(project, common):
    places = {"out": project / "model", "score": project / "scored"}
    first, again = (jobs.fit(FitRequest(pipeline="small", overwrite=True, **places, **common)) for _ in range(2))
    assert again.digest == first.digest
    assert again.scored.run_id != first.scored.run_id


def test_what_does_not_fit_is_refused_and_leaves_nothing(project, common):
    with pytest.raises(SchemaError):
        jobs.fit(FitRequest(pipeline="small", out=project / "model", set=["label=z"], **common))
    (project / "pipelines" / "other.py").write_text(PIPELINE.replace('prediction="x"', 'prediction="z"'))
    with pytest.raises(SchemaError, match="'z' is not in the data") as found:
        jobs.fit(FitRequest(pipeline="other", out=project / "model", **common))
    assert found.value.stage == "RegressionEvaluator"
    assert sorted(path.name for path in project.iterdir()) == ["data", "pipelines"]


def test_shares_that_make_no_sense_are_refused(subtests):
    for given, message in [
        ({"test_fraction": 1.0}, "test_fraction is 1.0, expected at least 0 and less than 1"),
        ({"validation_fraction": float("nan")}, "validation_fraction is nan"),
        ({"test_fraction": 0.5, "validation_fraction": 0.5}, "no rows are left to learn from"),
        ({"test_fraction": 0.0, "score": "s"}, "there are no rows to score"),
    ]:
        with subtests.test(given=given), pytest.raises(ConfigError, match=message):
            FitRequest(pipeline="small", data=["d"], out="m", **given)


@pytest.mark.thorough
def test_an_evaluation_covers_all_rows_that_can_be_learned_from(project, common, fitted):
    found = jobs.evaluate(EvaluateRequest(pipeline="small", model=fitted.model, **common))
    table = _table(project / "data" / "a.parquet").to_pylist()
    mean = ps.PipelineModel.load(fitted.model).fitted[1]["values"]["x"]
    rows = [row for row in table if row["y"] >= 0 and (row["x"] is None or row["x"] < 1000)]
    expected = np.mean([abs(row["y"] - (mean if row["x"] is None else row["x"])) for row in rows])
    assert found.metrics["mae"] == pytest.approx(expected, rel=1e-12)
    assert found.digest == fitted.digest


@pytest.mark.thorough
def test_scoring_needs_no_label_and_sees_rows_that_prepare_leaves_out(project, common, fitted):
    (project / "new.csv").write_text("x,note\n1,7\n,8\n2000,9\n")  # x alone would be read as integers
    given = {"model": fitted.model, **_on(project / "new.csv", common)}
    for named in ({}, {"pipeline": "small"}):  # whose prepare knows no labels, and is not called
        found = jobs.score(ScoreRequest(out=project / "out", overwrite=True, **named, **given)).scored
        assert (found.rows, found.rows_read, found.dropped) == (2, 3, {"x is None or x < 1000": 1})
        assert _table(found.path)["note"].to_pylist() == [7, 8]
        assert _table(found.path).schema.field("x").type == pa.float64()


PREPARE = """def prepare(dataset, parameters, *, labelled):
    schema = {**{field.name: field.type for field in dataset.schema}, "twice": "float64"}
    dataset = dataset.map_partitions(lambda rows: rows.with_columns(twice=2 * nw.col("x")), schema)
    return dataset.filter(nw.col("y") >= 0) if labelled else dataset
"""


@pytest.mark.thorough
def test_what_prepare_makes_is_there_when_scoring_and_its_filter_of_labels_is_not(project, common):
    text = PIPELINE.replace('def prepare(dataset, parameters):\n    return dataset.filter(nw.col("y") >= 0)\n', PREPARE)
    text = text.replace('st.Imputer("x", strategy=parameters.strategy)', 'st.Imputer(["x", "twice"])')
    (project / "pipelines" / "own.py").write_text(text.replace("class P", 'SCHEMA = {"x": "float64"}\nclass P'))
    model = jobs.fit(FitRequest(pipeline="own", out=project / "model", **common)).model
    (project / "new.csv").write_text("x,note\n1,a\n4,b\n")  # no label
    given = _on(project / "new.csv", common)
    found = jobs.score(ScoreRequest(model=model, out=project / "out", pipeline="own", **given)).scored
    assert (found.rows, found.dropped) == (2, {})
    assert _table(found.path).to_pylist() == [
        {"x": 1.0, "note": "a", "twice": 2.0},
        {"x": 4.0, "note": "b", "twice": 8.0},
    ]
    with pytest.raises(SchemaDriftError, match="twice"):
        jobs.score(ScoreRequest(model=model, out=project / "other", **given))


PREPARE_TYPES = """def prepare(dataset, parameters):
    return dataset.cast({"x": "float64"}).with_columns(y=nw.col("y") == "yes")
"""


@pytest.mark.thorough
def test_the_file_that_a_model_was_fitted_on_is_scored_though_prepare_made_its_label(project, common, caplog):
    trained = pipeline_module('st.LogisticRegression("y", features=["x"])', "[]", prepare=PREPARE_TYPES)
    (project / "pipelines" / "own.py").write_text(trained)
    data = project / "rows.csv"
    given = {"pipelines": common["pipelines"], **_on(data, common)}
    rows = [f"{row % 7}.5,{'yes' if row % 3 else 'no'}" for row in range(60)]
    data.write_text("\n".join(["x,y", *rows]))
    model = jobs.fit(FitRequest(pipeline="own", out=project / "model", **given)).model
    assert not caplog.messages
    found = jobs.score(ScoreRequest(model=model, out=project / "out", **given)).scored
    assert _table(found.path)["y"].to_pylist()[:3] == ["no", "yes", "yes"]


@pytest.mark.thorough
def test_types_that_prepare_makes_and_scoring_does_not_are_told_by_the_fit_and_by_the_error(project, common, caplog):
    trained = pipeline_module('st.LogisticRegression("y", features=["x"])', "[]", prepare=PREPARE_TYPES)
    (project / "pipelines" / "own.py").write_text(
        trained.replace('"float64"})', '"float64"}, errors="null").filter(~nw.col("x").is_null())')
    )
    data = project / "rows.csv"
    given = _on(data, common)
    data.write_text("\n".join(["x,y", "NA,no", *(f"{row % 7}.5,{'yes' if row % 3 else 'no'}" for row in range(60))]))
    model = jobs.fit(FitRequest(pipeline="own", out=project / "model", **given)).model
    assert [message for message in caplog.messages if "prepare of own makes x" in message]
    with pytest.raises(SchemaDriftError, match=r"rows.csv, line 2, column 'x': 'NA'.*\n.*--pipeline"):
        jobs.score(ScoreRequest(model=model, out=project / "other", **given))


@pytest.mark.thorough
def test_parameters_for_scoring_are_those_of_a_pipeline_that_is_named(project, common, fitted):
    with pytest.raises(ConfigError, match="parameters of a pipeline, and none is named"):
        ScoreRequest(model=fitted.model, out=project / "out", set=["strategy=mean"], **common)
    request = ScoreRequest(model=fitted.model, out=project / "out", pipeline="small", set=["strateg=a"], **common)
    with pytest.raises(ConfigError, match=r"'strateg' is not known\. Did you mean 'strategy'"):
        jobs.score(request)
    text = PIPELINE.replace('strategy: str = "mean"', "strategy: str")  # named for its stages alone, it needs none
    (project / "pipelines" / "small.py").write_text(text)
    jobs.score(ScoreRequest(model=fitted.model, out=project / "out", pipeline="small", **common))


def test_scoring_writes_the_same_files_as_a_dataset(project, common, fitted):
    placed = {"mode": "append", "sort_by": ["x"], "max_rows_per_file": 200, "run_id": "r1", "compression": "gzip"}
    given = {**common, **placed, "model": fitted.model, "columns": ["id", "x"], "out_format": "csv"}
    said = {"partition_by": ["parity"], "out_options": ["delimiter=;"]}
    own = PIPELINE.replace("def build", PREPARE_PARITY + "\ndef build")
    (project / "pipelines" / "small.py").write_text(own)
    given = {**given, "columns": ["id", "x", "parity"], "pipeline": "small"}
    for _ in range(2):  # of one run id: there once
        found = jobs.score(ScoreRequest(out=project / "out", **given, **said)).scored
    assert (found.rows, found.rows_replaced, found.rows_unchanged) == (999, 999, 0)
    assert (found.files, found.partitions, found.format) == (6, 2, "csv")
    engine = ps.LocalEngine(device="cpu")
    rows = engine.read_parquet(project / "data")
    rows = rows.with_columns(parity=nw.col("id") % 2)
    scores = ps.PipelineModel.load(fitted.model).transform(rows).select("id", "x", "parity")
    scores.write(project / "other", format="csv", partition_by="parity", delimiter=";", **placed)
    assert _contents(project / "out") == _contents(project / "other")


PREPARE_PARITY = """
def prepare(dataset, parameters, *, labelled=True):
    return dataset.with_columns(parity=nw.col("id") % 2)
"""


def _contents(folder: Path) -> list[tuple[str, bytes]]:
    files = folder.rglob("*.csv*")
    return sorted((str(path.parent.relative_to(folder)), path.read_bytes()) for path in files)


@pytest.mark.thorough
def test_what_scoring_is_told_of_its_output_and_does_not_go_together_is_refused(project, common, fitted, subtests):
    for options, message in [
        ({"mode": "appendd"}, "mode is 'appendd', expected one of .* Did you mean 'append'"),
        ({"mode": "merge"}, 'mode="merge" needs keys'),
        ({"keys": ["id"]}, "keys are for"),
        ({"out_options": ["mode=append"]}, "--out-option mode=... is an option of its own"),
        ({"out_options": ["delimeter=;"], "out_format": "csv"}, "writing csv takes no option 'delimeter'. Did you"),
        ({"out_format": "cvs"}, "'cvs'.* Did you mean 'csv'"),
        ({"partition_by": ["idd"]}, "'idd'.*"),
        ({"out": f"{fitted.model}/inside"}, "would lie in each other"),
    ]:
        with subtests.test(message), pytest.raises(PenstockError, match=message):
            jobs.score(ScoreRequest(**{"model": fitted.model, "out": project / "out", **common, **options}))
        assert not (project / "out").exists()


@pytest.mark.thorough
def test_scoring_adds_to_a_table_with_a_log(project, common, fitted):
    pytest.importorskip("deltalake")
    given = {**common, "model": fitted.model, "out": project / "table", "out_format": "delta", "run_id": "r1"}
    for _ in range(2):
        jobs.score(ScoreRequest(mode="append", **given))
    assert ps.LocalEngine(device="cpu").read_delta(project / "table").count() == 999
    with pytest.raises(OutputExistsError):
        jobs.score(ScoreRequest(**{**given, "run_id": "r2"}))


@pytest.mark.thorough
def test_another_model_than_expected_is_refused(project, common, fitted):
    request = ScoreRequest(model=fitted.model, out=project / "out", expect="sha256:" + "0" * 64, **common)
    with pytest.raises(ArtifactIntegrityError, match="expected sha256:0000"):
        jobs.score(request)


@pytest.mark.thorough
def test_a_stage_of_the_pipelines_own_is_saved_and_scored(project, common):
    own = PIPELINE + "\nfrom penstock.stages.preprocessing import Log1p\nclass Mine(Log1p): pass\n"
    (project / "pipelines" / "own.py").write_text(own.replace(IMPUTER, 'Mine("y")'))
    model = jobs.fit(FitRequest(pipeline="own", out=project / "model", test_fraction=0, **common)).model
    pq.write_table(_table(project / "data" / "a.parquet").slice(100, 1), project / "new.parquet")
    given = _on(project / "new.parquet", common)
    found = jobs.score(ScoreRequest(model=model, out=project / "out", pipeline="own", **given))
    rows = {row["id"]: row["y"] for row in _table(found.scored.path).to_pylist()}
    assert rows[100] == pytest.approx(np.log1p(100), rel=1e-15)


def test_a_plan_is_told_without_reading_rows(project, common):
    found = jobs.explain(ExplainRequest(pipeline="small", **common))
    assert "1 scan(s)" in found.plan
    assert "for Imputer" in found.plan
    assert str(ROWS - 2) not in found.plan


@pytest.mark.thorough
def test_later_configuration_files_win_and_options_win_over_them(project, common):
    first, second = project / "1.yaml", project / "2.yaml"
    first.write_text("engine: {engine: local, in_flight: 1}\npipeline: {strategy: median, label: y}")
    second.write_text("pipeline: {strategy: mode}")
    given = {**common, "engine": None, "conf": [first, second], "test_fraction": 0}

    def strategy(*assignments: str) -> str:
        request = FitRequest(pipeline="small", out=project / "model", overwrite=True, set=assignments, **given)
        return jobs.fit(request).parameters["strategy"]

    assert strategy() == "mode"
    assert strategy("strategy=mean") == "mean"
    second.write_text("pipelines: {}")
    with pytest.raises(ConfigError, match=r"2.yaml, line 1, column 12: 'pipelines' is not known. Did you mean"):
        jobs.explain(ExplainRequest(pipeline="small", **{**common, "conf": [second]}))
