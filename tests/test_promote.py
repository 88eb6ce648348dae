"""A challenger against the champion: what is promoted, from the command line and from Python, and by two at once."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_projects import pipeline_module

import penstock as ps
from penstock import stages as st
from penstock.artefact.registry import ModelRegistry
from penstock.cli import jobs
from penstock.cli.commands import main
from penstock.cli.registry import promote as promotions
from penstock.cli.registry.requests import DiffModelsRequest, ListModelsRequest, PromoteRequest, ShowModelRequest
from penstock.errors import ConfigError, DataValueError
from penstock.stages.evaluation.shared_scan import evaluate, evaluate_each

EVALUATOR = st.RegressionEvaluator(label="y", metrics=("rmse", "r2"))
BETTER, WORSE, CHAMPION = "better", "worse", "registry@champion"
PROMOTE = ["--data", "rows", "--device", "cpu"]
OF_THE_RUN = {"seconds", "run_id"}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    numbers = np.random.default_rng(0).normal(size=(600, 3))
    table = pa.table({"a": numbers[:, 0], "b": numbers[:, 1], "y": numbers @ [1.0, 2.0, 0.5]})
    engine = ps.LocalEngine(device="cpu")
    engine.from_arrow(table, fragment_bytes=4000).write_parquet(folder / "rows")
    for name, features in ((WORSE, ["a"]), (BETTER, ["a", "b"])):
        fitted = ps.Pipeline(st.LinearRegression("y", features=features)).fit(engine.from_arrow(table))
        fitted.with_evaluators(EVALUATOR).save(folder / name)
    ps.Pipeline(st.LinearRegression("y", features=["a"])).fit(engine.from_arrow(table)).save(folder / "bare")
    return folder


@pytest.fixture
def project(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in saved.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, object]]:
    code = main(["promote", *arguments, *PROMOTE, "--json"])
    return code, json.loads(capsys.readouterr().out.splitlines()[-1])


def request(challenger: str, metric: str = "rmse", **more: object) -> PromoteRequest:
    told = {"challenger": challenger, "champion": CHAMPION, "metric": metric, "data": ["rows"], "device": "cpu"}
    return PromoteRequest(**{**told, **more})


def champion() -> str:
    return ps.PipelineModel.load(CHAMPION).digest


@pytest.mark.thorough
def test_the_first_model_is_promoted_without_a_comparison_and_the_champion_itself_is_nothing_new(project, capsys):
    code, told = run(capsys, WORSE, CHAMPION, "--metric", "rmse")
    assert (code, told["promoted"], told["gain"], told["replaced"]) == (0, True, None, None)
    assert champion() == told["digest"]
    code, told = run(capsys, CHAMPION, CHAMPION, "--metric", "rmse", "--min-gain", "-1")
    assert (code, told["gain"], told["reason"]) == (99, 0.0, "it is the champion already")


@pytest.mark.thorough
@pytest.mark.parametrize("metric", ["rmse", "r2"])
def test_a_better_model_is_promoted_whichever_way_its_metric_goes(project, capsys, metric):
    run(capsys, WORSE, CHAMPION, "--metric", metric)
    code, told = run(capsys, BETTER, CHAMPION, "--metric", metric, "--min-gain", "0.1")
    assert (code, told["promoted"]) == (0, True)
    assert told["gain"] == abs(told["metrics"][metric] - told["champion_metrics"][metric]) > 0.1
    assert champion() == told["digest"]
    code, told = run(capsys, WORSE, CHAMPION, "--metric", metric)
    assert (code, told["promoted"], told["gain"] < -0.1) == (99, False, True)
    assert champion() == told["replaced"]


@pytest.mark.thorough
def test_a_gain_that_is_too_small_ends_with_99_and_changes_nothing(project, capsys):
    run(capsys, WORSE, CHAMPION, "--metric", "r2")
    before = Path("registry/registry.json").read_bytes()
    code, told = run(capsys, BETTER, CHAMPION, "--metric", "r2", "--min-gain", "0.99")
    assert (code, told["promoted"]) == (99, False)
    assert "less than 0.99" in told["reason"]
    assert Path("registry/registry.json").read_bytes() == before


@pytest.mark.thorough
def test_a_second_try_of_a_run_that_promoted_ends_as_the_first(project):
    first = jobs.promote(request(WORSE, run_id="day 1"))
    jobs.promote(request(BETTER, run_id="day 2"))
    again = jobs.promote(request(WORSE, run_id="day 1"))
    assert {**vars(again), "seconds": 0} == {**vars(first), "seconds": 0}
    assert champion() != first.digest
    assert len(ModelRegistry("registry").read().aliases["champion"]) == 2


@pytest.mark.thorough
def test_python_and_the_command_line_tell_the_same(project, capsys):
    for alias in ("one", "two"):
        run(capsys, WORSE, f"registry@{alias}", "--metric", "rmse")
    code, printed = run(capsys, BETTER, "registry@one", "--metric", "rmse", "--min-gain", "0.1")
    result = jobs.promote(request(BETTER, champion="registry@two", min_gain=0.1))
    assert code == 0
    different = OF_THE_RUN | {"champion"}
    assert {name: each for name, each in printed.items() if name not in different} == {
        name: each for name, each in vars(result).items() if name not in different
    }


@pytest.mark.thorough
def test_both_are_evaluated_in_one_scan_as_each_by_itself(project):
    rows = ps.LocalEngine(device="cpu").read_parquet("rows")
    scored = [ps.PipelineModel.load(name).transform(rows) for name in (WORSE, BETTER)]
    labels = []
    alone = [evaluate(each, [EVALUATOR]) for each in scored]
    reduce = type(rows.engine).reduce
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            type(rows.engine),
            "reduce",
            lambda *told, label, **more: labels.append(label) or reduce(*told, label=label, **more),
        )
        both = evaluate_each(scored, [EVALUATOR])
    assert labels == ["evaluate"]
    assert [metrics for metrics, _ in both] == alone
    assert [log.kept for _, log in both] == [600, 600]


@pytest.mark.thorough
def test_datasets_of_other_rows_are_each_evaluated_by_themselves(project):
    rows = ps.LocalEngine(device="cpu").read_parquet("rows")
    model = ps.PipelineModel.load(BETTER)
    scored = [model.transform(part) for part in rows.split([0.5, 0.5], seed=1)] + [model.transform(rows.limit(50))]
    both = evaluate_each(scored, [EVALUATOR])
    assert [metrics for metrics, _ in both] == [evaluate(each, [EVALUATOR]) for each in scored]


@pytest.mark.thorough
def test_models_that_leave_different_rows_out_are_not_compared(project):
    data = ps.LocalEngine(device="cpu").read_parquet("rows")
    strict = ps.Pipeline(st.Expect("-1 < a < 1", action="drop"), st.LinearRegression("y", features=["a"]))
    strict.fit(data).with_evaluators(EVALUATOR).save("strict")
    jobs.promote(request(WORSE))
    with pytest.raises(DataValueError, match=r"leave different rows out"):
        jobs.promote(request("strict"))


def test_what_cannot_be_compared_is_refused_before_anything_is_read(project):
    told = {"challenger": WORSE, "data": ["nowhere"]}
    with pytest.raises(ConfigError, match="no alias"):
        jobs.promote(request(**told, champion="registry"))
    with pytest.raises(ConfigError, match="Did you mean 'rmse'"):
        jobs.promote(request(**told, metric="rsme"))
    with pytest.raises(ConfigError, match="has no evaluators"):
        jobs.promote(request(**{**told, "challenger": "bare"}))
    with pytest.raises(ConfigError, match="min_gain is nan"):
        request(WORSE, min_gain=float("nan"))


@pytest.mark.thorough
def test_a_champion_that_changes_meanwhile_is_compared_with_anew(project, monkeypatch):
    jobs.promote(request(WORSE))
    compare, between = promotions._Contest._compare, iter([BETTER])

    def compare_slowly(contest, rows, champion):
        compared = compare(contest, rows, champion)
        for name in between:
            ModelRegistry("registry").register(name, alias="champion")
        return compared

    engine = ps.LocalEngine(device="cpu")
    middle = ps.Pipeline(st.LinearRegression("y", features=["b"])).fit(engine.read_parquet("rows"))
    middle.with_evaluators(EVALUATOR).save("middle")
    monkeypatch.setattr(promotions._Contest, "_compare", compare_slowly)
    result = jobs.promote(request("middle"))
    assert (result.promoted, result.gain < 0) == (False, True)
    assert champion() == ps.PipelineModel.load(BETTER).digest


@pytest.mark.faults
@pytest.mark.thorough
def test_of_two_processes_that_promote_at_once_the_better_model_wins(project):
    command = [sys.executable, "-m", "penstock", "promote"]
    running = [
        subprocess.Popen([*command, name, CHAMPION, "--metric", "rmse", *PROMOTE], stderr=subprocess.DEVNULL)
        for name in (WORSE, BETTER)
    ]
    worse, better = (each.wait(300) for each in running)
    assert (worse in (0, 99), better) == (True, 0)
    assert champion() == ps.PipelineModel.load(BETTER).digest


@pytest.mark.thorough
def test_a_registry_is_listed_and_its_models_are_shown_and_compared(project, capsys):
    run(capsys, WORSE, CHAMPION, "--metric", "rmse")
    run(capsys, BETTER, CHAMPION, "--metric", "rmse")
    told = {}
    for command, result in [
        (["list", "registry"], jobs.list_models(ListModelsRequest(registry="registry"))),
        (["show", CHAMPION], jobs.show_model(ShowModelRequest(model=CHAMPION))),
        (["diff", WORSE, CHAMPION], jobs.diff_models(DiffModelsRequest(one=WORSE, other=CHAMPION))),
    ]:
        assert main(["models", *command]) == 0
        assert "sha256:" in capsys.readouterr().out  # a table names versions
        assert main(["models", *command, "--json"]) == 0
        told[command[0]] = json.loads(capsys.readouterr().out)
        assert told[command[0]] == json.loads(json.dumps(asdict(result)))
    assert {each["source"]: each["aliases"] for each in told["list"]["models"]} == {WORSE: [], BETTER: ["champion"]}
    assert (told["show"]["aliases"], told["show"]["columns"]["a"]) == (["champion"], "double")
    features = next(each for each in told["diff"]["differences"] if each["what"].endswith("features"))
    assert (features["one"], features["other"]) == (["a"], ["a", "b"])
    assert main(["promote", WORSE, CHAMPION, "--metric", "rmse", *PROMOTE]) == 99
    assert "not promoted" in capsys.readouterr().out


@pytest.mark.thorough
def test_a_fit_tells_what_its_model_was_made_from(project, capsys):
    Path("pipelines").mkdir()
    stages = 'st.LinearRegression("y", reg_param=parameters.reg)'
    evaluators = '[st.RegressionEvaluator(label="y", metrics="rmse")]'
    Path("pipelines/line.py").write_text(pipeline_module(stages, evaluators, parameters="reg: float = 0.5"))
    assert main(["fit", "line", *PROMOTE, "--out", "fitted", "--set", "reg=0.25"]) == 0
    run(capsys, "fitted", CHAMPION, "--metric", "rmse")
    lineage = ModelRegistry("registry").find("champion").lineage
    files = list(Path("rows").glob("*.parquet"))
    sizes = sum(path.stat().st_size for path in files)
    assert lineage == {
        "pipeline": "line", "parameters": {"reg": 0.25}, "data": ["rows"],
        "files": len(files), "bytes": sizes, "rows": pq.read_table("rows").num_rows,
    }  # fmt: skip
    assert set(ModelRegistry("registry").find("champion").metrics) == {"rmse"}


def test_both_are_evaluated_alike_on_a_cluster(project, distributed_engine):
    here, there = (engine.read_parquet(str(project / "rows")) for engine in (ps.LocalEngine(), distributed_engine))
    models = [ps.PipelineModel.load(name) for name in (WORSE, BETTER)]
    alone, shared = (evaluate_each([model.transform(rows) for model in models], [EVALUATOR]) for rows in (here, there))
    assert shared == alone
