"""One value where several are taken: it stands for a list of one, or is refused by the name of its parameter."""

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel

import penstock as ps
from penstock import cli, runs, stat
from penstock import stages as st
from penstock.cli import requests as requests_of_jobs
from penstock.config.settings import Settings
from penstock.engines.base import Engine
from penstock.errors import ConfigError, PenstockError
from penstock.io.formats import FORMATS
from penstock.rules.base import DatasetRule
from penstock.stages.registry import discover, discover_evaluators
from penstock.testing import examples_of

SEVERAL = re.compile(r"\b(Sequence|Collection|Iterable|list|tuple|set|frozenset)\[|\bColumns\b|\bEvaluators\b")
PLAIN = re.compile(
    r"\b(?:Sequence|Collection|Iterable|list|tuple)\[(str|int|float|bool|Any|By|Evaluator|Alarm|Run)\b"
    r"|\bColumns\b|\bEvaluators\b"
)
OF_AUTHORS = tuple(f"penstock.{name}" for name in ("statistics", "frames", "stages", "spmd", "core", "io"))
"""Packages whose functions are for authors; stages and statistics have tests of their own here."""
NOT_CALLED = {
    # results, what this library alone calls, pairs, and what passes names on to what is called here
    *("AnovaResult", "CorrelationMatrix", "Energy", "Prediction", "RuleOutcome", "ScalingModel"),
    *("SparkEngine.fit_estimator", "BaseModel.construct", "BaseModel.model_construct", "Pipeline"),
    *("ModelExports.to_onnx", "ModelExports.to_spark_udf", "StatisticsStore.merge", "fit_predict", "fit_transform"),
    *("ScalingModel.best_workers", "ScalingModel.predict", "ScalingModel.workload"),
}

ENGINE = ps.LocalEngine(device="cpu")
TABLE = pa.table({"ab": ["x", "y", "x", "y"], "a": [1, 2, 3, 4], "b": [1.0, 2.0, 3.0, 5.0], "label": [0, 1, 1, 0]})
DATA = ENGINE.from_arrow(TABLE)
MAE = st.RegressionEvaluator(label="b", prediction="a", metrics="mae")
ALARM = runs.Alarm(name="slow", value="seconds", above=5)
RUN = runs.Run({"seconds": 9.0, "status": "failed", "kind": "fit", "name": "", "run_id": ""}, runs.TASKS.empty_table())
GIVEN = {
    "evaluators": (MAE, "mae"),
    "alarms": (ALARM,),
    "history": (RUN,),
    "runs": (RUN,),
    "rules": (ps.rules.Unique("a"),),
}


def calls(folder: Path) -> dict[str, Callable[..., Any]]:
    """Return every public function that takes several values, with what it is called with besides."""
    line = ps.Pipeline(("line", st.LinearRegression("b", features=["a"])))
    model = line.fit(DATA, keep_statistics=True)
    (folder / "a.csv").write_text("a,b\nab,NA\n")
    other = DATA.rename({"b": "c", "label": "d"})
    search = {"pipeline": line, "space": {"line.reg_param": [0.0]}}
    found: dict[str, Callable[..., Any]] = {
        "Dataset.select": DATA.select,
        "Dataset.scan": DATA.scan,
        "Dataset.first_where": partial(DATA.first_where, nw.col("a") > 2),
        "Describing.describe": DATA.describe,
        "Splits.folds": partial(DATA.folds, 2),
        "Splits.split": partial(DATA.split, seed=1),
        "Relations.group_by": DATA.group_by,
        "Relations.join": partial(DATA.join, other),
        "Relations.join_asof": partial(DATA.join_asof, DATA.select("a", "ab"), on="a"),
        "Relations.pivot": partial(DATA.pivot, "ab", index="a", values="b", aggregate_function="sum"),
        "Relations.rolling": partial(DATA.rolling, 2, order_by="a"),
        "Relations.sort": lambda by="a", descending=False: DATA.sort(by, descending=descending),
        "Relations.unique": DATA.unique,
        "Reading.read_csv": partial(ENGINE.read_csv, folder / "a.csv", header=False),
        "Reading.read_files": partial(ENGINE.read_files, folder),
        "RelationalEngine.query": partial(ENGINE.query, lambda frame: frame, DATA),
        "RelationalEngine.window": lambda **by: ENGINE.window(
            nw.from_native(pl.from_arrow(TABLE).lazy()),
            {"n": nw.col("b").cum_sum()},
            **{"partition_by": "ab", "order_by": "b"} | by,
        ).collect(),
        "LearningOn.refit": partial(model.refit, DATA),
        "Monitoring.drift": partial(model.with_profile(DATA, evaluators=MAE).drift, DATA),
        "Monitoring.with_profile": partial(model.with_profile, DATA),
        "PipelineModel": lambda evaluators: dataclasses.replace(model, evaluators=evaluators).evaluate(DATA),
        "PipelineModel.evaluate": lambda slices=(), evaluators=MAE: (
            model.evaluate(DATA, evaluators, slices=slices).slices
        ),
        "PipelineModel.predict": partial(model.predict, [{"a": 1}]),
        "evaluate": lambda slices=(), evaluators=MAE: ps.evaluate(DATA, evaluators, slices=slices).slices,
        "cross_validate": lambda evaluators: ps.cross_validate(line, DATA, evaluators, folds=2).evaluations,
        "learning_curve": partial(ps.learning_curve, line, DATA, evaluators=MAE, folds=2),
        "CrossValidator": lambda evaluators: ps.CrossValidator(**search, evaluators=evaluators).evaluators,
        "TrainValidationSplit": lambda evaluators: ps.TrainValidationSplit(**search, evaluators=evaluators).evaluators,
        "check_alarms": partial(runs.check_alarms, RUN, alarms=[ALARM]),
        "Alarm": partial(runs.Alarm, name="slow", value="seconds", above=5),
        "DriftLimits": ps.DriftLimits,
        "InSet": partial(ps.rules.InSet, "ab"),
        "Unique": ps.rules.Unique,
        "ForeignKey": partial(ps.rules.ForeignKey, columns="ab", reference="ab.parquet"),
        "Amdahl.fit": partial(runs.Amdahl.fit, workers=[1, 2], seconds=[3.0, 2.0]),
        "UniversalScalability.fit": partial(runs.UniversalScalability.fit, workers=[1, 2, 3], seconds=[3.0, 2.0, 1.0]),
        "ScalingModel.fit": runs.ScalingModel.fit,
        "RunStore.load_each": lambda run_ids: list(runs.RunStore(folder).load_each(run_ids)),
        "anova_test": partial(stat.anova_test, DATA, label="label"),
        "chi_square_test": partial(stat.chi_square_test, DATA, label="label"),
        "mutual_information": partial(stat.mutual_information, DATA, label="label"),
    }
    found |= {
        f"Lags.{verb}": partial(getattr(DATA, verb), columns="b", by="ab", order_by="a")
        for verb in ("lag", "lead", "diff")
    }
    found |= {name: partial(getattr(stat, name), DATA) for name in ("correlation", "summarize", "variance_inflation")}
    found |= {
        f"Writes.{name}": partial(written, folder / name, getattr(DATA, name), format)
        for name, format in (("write", {"format": "parquet"}), ("write_parquet", {}))
    }
    uri = f"sqlite:///{folder}/a.db"
    found["Writes.write_sql"] = lambda **options: DATA.write_sql("t", uri, mode="overwrite", **options).rows
    return found


def written(path: Path, write: Callable[..., Any], format: dict[str, str], **options: Any) -> ps.Dataset:
    write(path, **format, **options, overwrite=True)
    return ENGINE.read_parquet(path)


def outcome(run: Callable[[], Any]) -> Any:
    """Return what a call gives, as what can be compared, or its error."""
    try:
        found = run()
        return found.to_arrow().to_pylist() if isinstance(found, ps.Dataset) else repr(found)
    except (PenstockError, TypeError) as error:
        return error


def is_as_a_list(run: Callable[[Any], Any], name: str, value: Any) -> bool:
    """Return whether one value does what a list of it does, or is refused by name."""
    one, listed = outcome(partial(run, value)), outcome(partial(run, [value]))
    if isinstance(one, Exception):
        return str(one) == str(listed) or re.search(rf"\b{name.rstrip('s')}s?\b", str(one)) is not None
    return bool(one == listed)


def with_field(owner: Any, name: str, value: Any) -> Any:
    return dataclasses.replace(owner, **{name: value})


def public() -> Iterator[Callable[..., Any]]:
    """Yield every public function, class and method of the library."""
    for module in (ps, *(getattr(ps, name) for name in sorted(ps._MODULES))):
        for value in (getattr(module, name) for name in dir(module) if not name.startswith("_")):
            if not inspect.ismodule(value) and getattr(value, "__module__", "").startswith("penstock."):
                yield value
                methods = [inspect.getattr_static(value, name) for name in dir(value) if not name.startswith("_")]
                yield from filter(inspect.isfunction, (getattr(each, "__func__", each) for each in methods))


def several_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each for each in parameters if PLAIN.search(str(each.annotation))]


def subclasses(kind: type) -> set[type]:
    for module in pkgutil.walk_packages(cli.__path__, "penstock.cli."):
        importlib.import_module(module.name)
    return {each for direct in kind.__subclasses__() for each in (direct, *subclasses(direct))}


@pytest.mark.thorough
def test_of_a_function_one_value_is_a_list_of_it(subtests, tmp_path):
    known = calls(tmp_path)
    asked = {each.__qualname__: each for each in public() if several_of(each)}
    assert {n for n, each in asked.items() if not each.__module__.startswith(OF_AUTHORS)} <= known.keys() | NOT_CALLED
    for name, call in known.items():
        for parameter in several_of(asked[name]):
            of_numbers = re.search("int|float|bool|Any", parameter.annotation)
            for value in GIVEN.get(parameter.name, ("ab", 1, 0.5) if of_numbers else ("ab",)):
                with subtests.test(function=name, parameter=parameter.name, value=str(value)):
                    listed = parameter.kind is parameter.VAR_POSITIONAL
                    run = call if listed else lambda given: call(**{parameter.name: given})  # noqa: B023
                    assert is_as_a_list(run, parameter.name, value)


@pytest.mark.thorough
def test_of_a_stage_or_an_evaluator_one_value_is_a_list_of_it_or_kept(subtests):
    owners = [example for kind in discover().values() for example in examples_of(kind)[:1]]
    owners += [kind() for kind in discover_evaluators().values()]
    for owner in owners:
        for field in (each for each in dataclasses.fields(owner) if SEVERAL.search(each.type)):
            for value in ("ab", 3, 0.5):
                with subtests.test(stage=owner.title, parameter=field.name, value=value):
                    made = outcome(lambda: getattr(with_field(owner, field.name, value), field.name))  # noqa: B023
                    assert made == repr(value) or is_as_a_list(
                        partial(with_field, owner, field.name), field.name, value
                    )


def test_of_a_reader_a_writer_a_request_and_a_setting_one_value_is_a_list_of_it(subtests):
    kinds = [each.options for each in FORMATS.values()] + [each.writer for each in FORMATS.values() if each.writer]
    requests = [each for each in vars(requests_of_jobs).values() if getattr(each, "__name__", "").endswith("Request")]
    for kind in dict.fromkeys([*kinds, *requests, *(each for top in requests for each in subclasses(top))]):
        lacking = [each.name for each in dataclasses.fields(kind) if each.default is each.default_factory]
        needed = dict.fromkeys(lacking, "x") | ({"schema": TABLE.schema} if "schema" in lacking else {})
        for field in (each for each in dataclasses.fields(kind) if SEVERAL.search(str(each.type))):
            with subtests.test(kind=kind.__name__, parameter=field.name):
                assert is_as_a_list(lambda given: kind(**{**needed, field.name: given}), field.name, "ab")  # noqa: B023


def test_a_setting_of_several_values_refuses_one(subtests):
    for kind in subclasses(BaseModel):
        for name, field in kind.model_fields.items():
            if kind.__module__.startswith("penstock.") and SEVERAL.search(str(field.annotation)):
                with subtests.test(kind=kind.__name__, parameter=name):
                    assert is_as_a_list(lambda given: Settings({name: given}).fill(kind), name, "ab")  # noqa: B023


def test_a_statistic_of_a_column_without_a_list_is_refused_when_it_is_gathered():
    with pytest.raises(ConfigError, match=r"Moments.reads is 'ab', expected a tuple"):
        DATA.gather([ps.statistics.Moments("ab")])


def test_fields_that_are_null_are_those_asked_for_alone(tmp_path):
    (tmp_path / "a.csv").write_text("grade,points\nA,1\nN,2\nNA,3\n,4\n")
    read = partial(ENGINE.read_csv, tmp_path / "a.csv")
    assert read(null_values="NA").to_arrow()["grade"].to_pylist() == ["A", "N", None, ""]
    assert read(null_values=["", "NA"]).to_arrow()["grade"].to_pylist() == ["A", "N", None, None]
    for wrong in (None, 3):
        with pytest.raises(ConfigError, match=f"null_values is {wrong}, expected a list of texts"):
            read(null_values=wrong)


def test_a_split_says_what_it_is_to_be_given():
    with pytest.raises(ConfigError, match=r"weights are 0\.8, expected a list of positive numbers"):
        DATA.split(0.8)
    with pytest.raises(ConfigError, match="seed is None, expected an integer"):
        DATA.split([0.8, 0.2])


def test_a_wrong_keyword_of_what_is_made_is_told_with_the_nearest(subtests):
    engines = [each for each in subclasses(Engine) if not inspect.isabstract(each)]
    kinds = [*discover().values(), *discover_evaluators().values(), *engines, *subclasses(DatasetRule)]
    for kind in kinds:
        for name in list(inspect.signature(kind).parameters)[-1:]:
            with subtests.test(kind=kind.__name__), pytest.raises(ConfigError) as caught:
                kind(**{f"{name}_": 1})
            assert f"{kind.__name__} has no parameter '{name}_'. Did you mean {name!r}?" in str(caught.value)
    with pytest.raises(ConfigError, match=r"'ouput'\. Did you mean 'output_columns'"):
        st.StandardScaler("x", ouput="y")
