"""A search from the command line: its section of a file, what it writes and tells, and that it is that of Python."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from small_projects import pipeline_module

import penstock as ps
from penstock import stages as st
from penstock.cli import jobs
from penstock.cli.commands import main
from penstock.cli.requests import TuneRequest
from penstock.errors import ConfigError, OutputError, TuningError

ROOT = Path(__file__).parents[1]
PIPELINE = pipeline_module(
    """
        ("impute", st.Imputer("x")),
        ("scale", st.StandardScaler("x")),
        ("model", st.LinearRegression("y", reg_param=parameters.penalty)),
    """,
    '[st.RegressionEvaluator(label="y", metrics=["rmse", "mae"])]',
    parameters="penalty: float = 0.0",
)
SEARCH = """
penalty: 5.0
search:
  space:
    impute.strategy: [mean, median]
    model.reg_param: [0.0, 0.1, 10.0]
  folds: 3
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "conf" / "pipelines").mkdir(parents=True)
    (tmp_path / "pipelines" / "line.py").write_text(PIPELINE)
    generator = np.random.default_rng(3)
    x = generator.exponential(size=400)
    y = 2 * x + generator.normal(size=400)
    table = pa.table({"x": pa.array(x, mask=generator.random(400) < 0.2), "y": y, "even": np.arange(400) % 2 == 0})
    pq.write_table(table, tmp_path / "data.parquet", row_group_size=100)
    monkeypatch.chdir(tmp_path)
    configure(SEARCH)
    return tmp_path


def configure(text: str) -> None:
    Path("conf/pipelines/line.yaml").write_text(textwrap.dedent(text))


def tune(**options: Any) -> Any:
    common = {"pipeline": "line", "data": ["data.parquet"], "out": "model", "engine": "local", "device": "cpu"}
    return jobs.tune(TuneRequest(**{**common, **options}))


TUNE = ["tune", "line", "--data", "data.parquet", "--out", "model", "--device", "cpu"]
STAGES = {"impute": st.Imputer("x"), "scale": st.StandardScaler("x"), "model": st.LinearRegression("y")}
EVALUATOR = st.RegressionEvaluator(label="y", metrics=["rmse", "mae"])


def in_python(search: type[Any], space: Any, **options: Any) -> tuple[Any, ps.Dataset]:
    """Return what a search finds on the rows that the command trains on, and the others."""
    train, test = ps.LocalEngine(device="cpu").read_parquet("data.parquet").split([0.8, 0.2], seed=7)
    return search(ps.Pipeline(*STAGES.items()), space, EVALUATOR, **options).fit(train), test


@pytest.mark.thorough
def test_trials_and_the_model_are_those_of_python(project):
    told = tune(table="trials.parquet")
    space = {"impute.strategy": ["mean", "median"], "model.reg_param": [0.0, 0.1, 10.0]}
    result, test = in_python(ps.CrossValidator, space, folds=3)
    table, expected = (each.drop_columns("train_seconds") for each in (pq.read_table("trials.parquet"), result.table))
    assert table == expected
    assert (told.best_params, told.best_score, told.trials) == (result.best_params, result.best_score, 6)
    assert told.digest == result.best_model.digest
    assert told.metrics == dict(result.best_model.evaluate(test, EVALUATOR))
    model = ps.PipelineModel.load("model", expect=told.manifest)
    assert [type(each).__name__ for each in model.evaluators] == ["RegressionEvaluator"]
    assert model.stages[2].reg_param == told.best_params["model.reg_param"]


@pytest.mark.thorough
def test_json_tells_the_best_the_score_and_what_failed(project, capsys):
    configure("search: {space: {impute.columns: [[x], [even]], model.reg_param: [0.0, 1.0]}, folds: 2}")
    assert main([*TUNE, "--json", "--table", "trials.csv"]) == 0
    out, err = capsys.readouterr()
    (line,) = out.splitlines()
    told = json.loads(line)
    assert told["best_params"] == {"impute.columns": ["x"], "model.reg_param": 0.0}
    assert (told["metric"], told["trials"], told["table"]) == ("rmse", 4, "trials.csv")
    assert [each["trial"] for each in told["failed"]] == [2, 3]
    assert told["failed"][0]["params"] == {"impute.columns": ["even"], "model.reg_param": 0.0}
    assert "'x' has" in told["failed"][0]["reason"]
    assert told["digest"].startswith("sha256:")
    assert pyarrow.csv.read_csv("trials.csv")["state"].to_pylist() == ["complete"] * 2 + ["failed"] * 2
    for text in ("best trial", "model.reg_param", "rmse", "trial 2: "):
        assert text in err


@pytest.mark.thorough
def test_a_parameter_that_is_set_is_not_searched_and_other_commands_search_nothing(project):
    told = tune(set=["model.reg_param=0.5"], table="trials.parquet")
    assert told.trials == 2
    assert told.parameters["model.reg_param"] == 0.5
    assert ps.PipelineModel.load("model").stages[2].reg_param == 0.5
    assert main(["fit", *TUNE[1:], "--overwrite", "--json"]) == 0
    assert ps.PipelineModel.load("model").stages[2].reg_param == 5.0


@pytest.mark.thorough
def test_a_file_gives_the_rest_of_the_pipeline_and_its_own_search(project):
    Path("mine.yaml").write_text(
        "pipeline: {model.fit_intercept: false, search: {space: {model.reg_param: [1.0]}, folds: 2}}"
    )
    told = tune(conf=["mine.yaml"])
    assert (told.best_params, told.trials) == ({"model.reg_param": 1.0}, 1)
    model = ps.PipelineModel.load("model").stages[2]
    assert (model.fit_intercept, model.reg_param) == (False, 1.0)


@pytest.mark.thorough
def test_options_win_over_the_file_and_no_rows_are_held_out_where_none_are_asked_for(project):
    told = tune(strategy="random", trials=4, metric="mae", folds=2, test_fraction=0.0, table="trials.parquet")
    assert (told.trials, told.metric) == (4, "mae")
    assert "split2_test_mae" not in pq.read_schema("trials.parquet").names
    assert (told.metrics, told.rows) == ({}, 400)


@pytest.mark.thorough
def test_ranges_and_seeds_are_those_of_python(project):
    optuna = pytest.importorskip("optuna.distributions")
    ranges = {
        "model.reg_param": "{distribution: log_uniform, low: 0.001, high: 10}",
        "model.elastic_net_param": "{distribution: uniform, low: 0, high: 1, step: 0.5}",
        "model.max_iter": "{distribution: int_uniform, low: 50, high: 60}",
    }
    space = ", ".join(f"{name}: {values}" for name, values in ranges.items())
    configure(f"search: {{space: {{{space}}}, strategy: random, n_trials: 5, seed: 11, folds: 2}}")
    tune(table="trials.parquet")
    space = {
        "model.reg_param": optuna.FloatDistribution(0.001, 10, log=True),
        "model.elastic_net_param": optuna.FloatDistribution(0, 1, step=0.5),
        "model.max_iter": optuna.IntDistribution(50, 60),
    }
    table = pq.read_table("trials.parquet")
    for number, params in enumerate(ps.random(space, n=5, seed=11)):
        assert {name: table[f"param_{name}"][number].as_py() for name in params} == params


@pytest.mark.thorough
def test_a_stage_is_named_by_its_class_and_brings_parameters_of_its_own(project):
    configure(
        """
        search:
          space:
            - scale: [{stage: MinMaxScaler, params: {columns: [x]}}, null]
              model:
                - stage: LinearRegression
                  params: {label: y}
                  space: {model.reg_param: [0.0, 1.0]}
                - {stage: XGBoostRegressor, params: {label: y, num_boost_round: 2}}
            - model.reg_param: [{value: 2.0, space: {impute.strategy: [mean, median]}}]
          folds: 2
        """
    )
    told = tune(table="trials.parquet")
    assert (told.trials, told.failed) == (2 * 3 + 2, [])
    models = pq.read_table("trials.parquet")["param_model"].to_pylist()
    assert models[2].startswith("XGBoostRegressor(")


@pytest.mark.thorough
def test_a_sampler_proposes_what_it_does_in_python_and_a_study_goes_on(project):
    optuna = pytest.importorskip("optuna.distributions")
    ranges = "{model.reg_param: {distribution: log_uniform, low: 0.001, high: 10}}"
    how = "strategy: tpe, n_trials: 3, batch_size: 1, seed: 11, folds: 2"
    configure(f"search: {{space: {ranges}, {how}}}")
    first = tune(study="study.db", table="trials.parquet", overwrite=True)
    more = tune(study="study.db", table="more.parquet", overwrite=True, trials=5)
    assert (first.trials, more.trials, more.study) == (3, 5, "study.db")
    tried = {"model.reg_param": optuna.FloatDistribution(0.001, 10, log=True)}
    space = ps.optuna_search(tried, n_trials=5, batch_size=1, seed=11)
    expected = in_python(ps.CrossValidator, space, folds=2)[0].table
    assert pq.read_table("more.parquet").drop_columns("train_seconds") == expected.drop_columns("train_seconds")
    assert pq.read_table("trials.parquet")["mean_test_rmse"] == expected["mean_test_rmse"][:3]


@pytest.mark.thorough
def test_a_grid_competes_in_rungs_and_one_split_is_searched_in_place_of_folds(project):
    configure("search: {space: {model.reg_param: [0.0, 1.0, 2.0]}, folds: 2, halving: {factor: 3}}")
    assert tune().trials == 3 + 1
    configure("search: {space: {model.reg_param: [0.0, 1.0]}, train_ratio: 0.75}")
    result, _ = in_python(ps.TrainValidationSplit, {"model.reg_param": [0.0, 1.0]}, train_ratio=0.75)
    assert tune(overwrite=True).best_score == result.best_score


OK = "space: {model.reg_param: [1.0]}"


WRONG = [
    ("spce: {}", r"'spce' is not known. Did you mean 'space'\?"),
    ("folds: 3", r"space is not given"),
    ("space: {}", r"the space is \{\}"),
    ("space: [1]", r"space is read as \[1\] \(list\), expected an object"),
    ("space: {model.reg_parm: [1.0]}", r"model has no parameter 'reg_parm'. Did you mean 'reg_param'\?"),
    ("space: {modl.reg_param: [1.0]}", r"the pipeline has no stage 'modl'. Did you mean 'model'\?"),
    ("space: {model.reg_param: [-1.0]}", r".*reg_param"),
    ("space: {model.reg_param: 1.0}", r"model.reg_param is 1.0, expected a list of values, or a range"),
    ("space: {model.reg_param: []}", r"model.reg_param is \[\], expected a list of values"),
    ("space: {model.reg_param: {distribution: normal, low: 1, high: 2}}", r"distribution is read as 'normal'"),
    ("space: {model.reg_param: {distribution: uniform, lo: 1, high: 2}}", r"'lo' is not known. Did you mean"),
    ("space: {model.reg_param: {distribution: uniform, low: 1}}", r"high is not given"),
    ("space: {model.reg_param: {distribution: log_uniform, low: 0.0, high: 1}}", r".*low"),
    ("space: {model: [{stage: os.system}]}", r"stage 'os.system' is not known"),
    ("space: {model: [{stage: LinearRegresion}]}", r"stage .* Did you mean 'LinearRegression'\?"),
    ("space: {model: [{stage: LinearRegression, params: {lable: y}}]}", r".* Did you mean 'label'\?"),
    ("space: {model: [{stage: LinearRegression}]}", r"LinearRegression does not take"),
    ("space: {model.reg_param: [{reg_param: 1.0}]}", r"'reg_param' is not known"),
    ("space: {model.reg_param: [{}]}", r".* has neither a stage nor a value"),
    (OK + "\n  strategy: grd", r"strategy is read as 'grd'"),
    (OK + "\n  n_trials: 3", r"n_trials is 3, and strategy is grid, which has none"),
    (OK + "\n  strategy: random", r"strategy is random, and n_trials is not given"),
    (OK + "\n  seed: 3", r"seed is 3, and strategy is grid, which has none"),
    (OK + "\n  pruner: median", r"pruner is median, and strategy is grid"),
    (OK + "\n  strategy: tpe\n  halving: {}\n  n_trials: 3", r"halving is .*, and strategy is tpe"),
    (OK + "\n  halving: {facter: 3}", r"'halving.facter' is not known. Did you mean 'factor'"),
    (OK + "\n  halving: {factor: 1}", r"factor is 1, expected at least 2"),
    (OK + "\n  metric: rmsee", r"metric is 'rmsee', which no evaluator reports"),
    (OK + "\n  folds: 3\n  train_ratio: 0.5", r"folds is 3, and train_ratio is 0.5"),
    (OK + "\n  folds: {stratfy: y}", r"parameter of folds is 'stratfy'.*'stratify'"),
    (OK + "\n  train_ratio: 1.5", r"train_ratio is 1.5"),
]  # fmt: skip


@pytest.mark.thorough
def test_a_wrong_search_is_refused_before_anything_is_read(project, subtests):
    for section, message in WRONG:
        configure(f"search:\n  {section}\n")
        told = rf"conf/pipelines/line.yaml, line \d+, column \d+: {message}"
        with subtests.test(section), pytest.raises(ConfigError, match=told):
            tune(data=["nowhere.parquet"])


def test_a_pipeline_without_a_search_says_where_to_write_one(project):
    configure("penalty: 1.0")
    with pytest.raises(ConfigError, match="'line' has no search") as refused:
        tune()
    assert "conf/pipelines/line.yaml" in str(refused.value)


def test_wrong_options_are_refused(project, subtests):
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"metric": "rmsee"}, r"^--metric rmsee: metric is 'rmsee', which no evaluator reports"),
        ({"table": "trials.txt"}, r"table is 'trials.txt', expected a file ending in .parquet or .csv"),
        ({"table": "nowhere/trials.csv"}, "in a folder that is there"),
        ({"table": "model/trials.csv"}, "in a folder that is there"),
        ({"test_fraction": 0.0, "bootstrap": 10}, "no rows to bootstrap"),
        ({"test_fraction": 1.0}, "test_fraction is 1.0"),
        ({"trials": 3}, "--trials 3: n_trials is 3, and strategy is grid"),
    ]
    for options, message in wrong:
        with subtests.test(**options), pytest.raises(ConfigError, match=message):
            tune(data=["nowhere.parquet"], **options)


@pytest.mark.thorough
def test_a_search_in_which_all_trials_fail_has_the_code_of_an_execution(project, capsys):
    configure("search: {space: {impute.columns: [[even]]}, folds: 2}")
    with pytest.raises(TuningError, match="even"):
        tune()
    assert main([*TUNE, "--table", "trials.csv"]) == 4
    assert "none of 1 trials came to a value of rmse" in capsys.readouterr().err
    assert not {"model", "trials.csv"} & set(os.listdir())


@pytest.mark.thorough
def test_outputs_appear_together_or_not_at_all(project, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise OutputError("broken")

    monkeypatch.setattr(jobs, "row_log", broken)
    with pytest.raises(OutputError, match="broken"):
        tune(table="trials.parquet")
    assert not {"model", "trials.parquet"} & set(os.listdir())


@pytest.mark.thorough
def test_the_page_shows_the_search_and_the_rows_held_out(project):
    told = tune(report="page.html", slices=["even"])
    text = Path("page.html").read_text()
    assert told.report == "page.html"
    for words in ("Trials over time", "Parallel coordinates", "reg_param", "Rows held out", "By even", told.digest):
        assert words in text
    assert f"{told.best_score:.6g}, trial {told.best_trial}" in text


# Waits at the fifth trial until it is stopped.
WAITS = """
import signal
from penstock.search.logged_study import LoggedStudy

tell = LoggedStudy.tell

def tell_or_wait(study, trial, outcome):
    if trial.number == 4:
        signal.pause()
    tell(study, trial, outcome)

LoggedStudy.tell = tell_or_wait
"""


@pytest.mark.thorough
@pytest.mark.faults
def test_a_search_that_is_stopped_tells_the_best_and_goes_on(project):
    pytest.importorskip("optuna")
    ranges = "{model.reg_param: {distribution: uniform, low: 0, high: 10}}"
    configure(f"search: {{space: {ranges}, strategy: random, n_trials: 8, batch_size: 2, folds: 2}}")
    Path("pipelines/line.py").write_text(PIPELINE + WAITS)
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "penstock", *TUNE, "--study", "study.db", "--json"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        while (line := running.stderr.readline()) and "4 of 8 trials" not in line:
            pass
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert json.loads(out.splitlines()[-1])["error"]["exit_code"] == 130
    assert [each for each in ("--study", "the search was stopped", "model.reg_param") if each not in err] == []
    assert "model" not in os.listdir()
    Path("pipelines/line.py").write_text(PIPELINE)
    assert tune(study="study.db").trials == 8
