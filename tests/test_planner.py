"""Which statistics are gathered in which scan, counted by an engine that watches, and told before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.dataset.steps import RowLog
from penstock.dataset.tasks import SummariseTask
from penstock.engines.local import LocalEngine
from penstock.errors import ConfigError, DataValueError, EmptyInputError, ExecutionError, SchemaDriftError, SchemaError
from penstock.pipeline import Pipeline
from penstock.pipeline.plan import plan
from penstock.selectors import numeric
from penstock.stages.base import ColumnStage, Fitted, Stage, Tags
from penstock.stages.step import StageStep
from penstock.statistics import Moments, Statistic

SCHEMA = pa.schema({"a": pa.float64(), "b": pa.float64(), "c": pa.float64(), "s": pa.string()})


@dataclass(frozen=True)
class Centre(ColumnStage):
    """Takes the mean off."""

    tags: ClassVar[Tags] = Tags(accepts="numeric")

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        return {"moments": Moments(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        return {"mean": {name: results["moments"][name].mean for name in self.inputs()}}

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return frame.with_columns(*[(nw.col(name) - fitted["mean"][name]).alias(out) for name, out in self.pairs()])


@dataclass(frozen=True)
class Double(ColumnStage):
    """Doubles; learns nothing."""

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return frame.with_columns(*[(nw.col(name) * 2).alias(out) for name, out in self.pairs()])


@dataclass(frozen=True)
class Below(Stage):
    """Drops rows in which the column is not below the bound."""

    column: str
    bound: float
    tags: ClassVar[Tags] = Tags(keeps_rows=False)

    def bind(self, schema: pa.Schema) -> Below:
        return self

    def inputs(self) -> tuple[str, ...]:
        return (self.column,)

    def outputs(self) -> tuple[str, ...]:
        return ()

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return schema

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return frame.filter(nw.col(self.column) < self.bound)

    def filter(self, frame: nw.DataFrame, fitted: Fitted, log: RowLog) -> nw.DataFrame:
        kept = self.transform(frame, fitted)
        log.drop("Below", len(frame) - len(kept))
        return kept


class CountingEngine(LocalEngine):
    """Counts the scans of the data, and the fragments read in each."""

    def __init__(self) -> None:
        super().__init__(device="cpu")
        self.scans: list[int] = []

    def reduce(
        self, task: Callable[..., Any], merge: Callable[..., Any], fragments: Sequence[Any], *, label: str = "reduce"
    ) -> Any:
        self.scans.append(len(fragments))
        return super().reduce(task, merge, fragments, label=label)


@dataclass
class World:
    """A counting engine and a dataset of it."""

    engine: CountingEngine = field(default_factory=CountingEngine)

    def data(self, rows: int = 20, **more: Any) -> Dataset:
        values = np.arange(rows, dtype=float)
        table = pa.table(
            {"a": values, "b": values * 10, "c": values**2, "s": [f"s{n % 3}" for n in range(rows)], **more}
        )
        return self.engine.from_arrow(table, fragment_bytes=52 * 7)


@pytest.fixture
def world() -> World:
    return World()


def positions(*stages: Stage) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return, for each level, which stages are finished and at which places their statistics are gathered."""
    levels = plan(stages, SCHEMA).levels
    return [
        (level.finishes, tuple(request.position for request in level.scan.requests) if level.scan else ())
        for level in levels
    ]


# Levels


LEVELS = {
    "stages that wait for nothing share a scan": ([Centre("a"), Centre("b"), Centre("c")], [((0, 1, 2), (0, 0, 0))]),
    "one waits for what makes its column": ([Centre("a"), Centre("a"), Centre("b")], [((0, 2), (0, 0)), ((1,), (1,))]),
    "what learns nothing holds nobody up": ([Double("a"), Centre("a")], [((1,), (1,))]),
    "a column is read as early as it has its values": (
        [Double("a"), Centre("b"), Centre("a"), Double("c")], [((1, 2), (0, 1))],
    ),
    "what learns nothing passes the wait on": (
        [Centre("a"), Double("a", output_columns=["d"]), Centre("d"), Centre("a")], [((0,), (0,)), ((2, 3), (2, 1))],
    ),
    "rows are dropped before what comes after": ([Centre("a"), Below("b", 5), Centre("c")], [((0, 2), (0, 2))]),
    "what learns from filled columns learns with what fills them": (
        [st.Imputer("a"), st.StandardScaler("a")], [((0, 1), (0, 0, 0, 1, 1, 1, 1))],
    ),
    "rows dropped by what is learned hold all up": (
        [Centre("a"), Below("a", 5), Centre("c")], [((0,), (0,)), ((2,), (2,))],
    ),
}  # fmt: skip


def test_stages_are_finished_in_as_few_scans_as_their_columns_allow(subtests: pytest.Subtests) -> None:
    for name, (stages, expected) in LEVELS.items():
        with subtests.test(name):
            assert positions(*stages) == expected


def test_a_trainer_waits_for_its_features_and_gathers_its_labels_at_once() -> None:
    found = plan([Centre("a"), st.XGBoostRegressor("c", features=["a", "b"]), Centre("prediction")], SCHEMA)
    assert [(level.finishes, level.trains) for level in found.levels] == [((0, 1), ()), ((), (1,)), ((2,), ())]
    assert found.scans == 2


def test_the_schema_of_every_place_is_known() -> None:
    found = plan([Double("a", output_columns=["d"]), st.XGBoostRegressor("c")], SCHEMA)
    assert [schema.names for schema in found.schemas] == [
        ["a", "b", "c", "s"], ["a", "b", "c", "s", "d"], ["a", "b", "c", "s", "d", "prediction"],
    ]  # fmt: skip


def test_an_empty_pipeline_has_nothing_to_do(world: World) -> None:
    model = Pipeline().fit(world.data())
    assert model.transform(world.data()).to_arrow().equals(world.data().to_arrow())
    assert world.engine.scans == []


# Fusing


def probes(*stages: Stage) -> list[tuple[int, tuple[Statistic, ...]]]:
    """Return the statistics of the first scan by position."""
    level = plan(stages, SCHEMA).levels[0]
    assert level.scan is not None
    return [(probe.position, probe.statistics) for probe in level.scan.probes()]


def test_statistics_of_one_kind_at_one_place_are_one_and_at_two_places_two() -> None:
    joined = [Centre(["a", "b"]), Centre(["b", "c"], output_columns=["d", "e"])]
    assert probes(*joined) == [(0, (Moments(("a", "b")),))]
    assert probes(Centre(["a", "b"]), Centre("c")) == [(0, (Moments(("a", "b", "c")),))]
    two = [(0, (Moments(("b",)),)), (1, (Moments(("a",)),))]
    assert probes(Double("a"), Centre("a"), Centre("b")) == two


def test_every_stage_gets_its_own_columns_of_what_was_fused(world: World) -> None:
    model = Pipeline(Centre(["a", "b"]), Centre("c")).fit(world.data())
    assert [set(state["mean"]) for state in model.fitted] == [{"a", "b"}, {"c"}]
    assert model.fitted[0]["mean"] == {"a": 9.5, "b": 95.0}


@pytest.mark.parametrize("folds", [None, 3])
def test_values_are_not_counted_where_something_is_added_up_by_them(world: World, folds: int | None) -> None:
    encoder = st.TargetEncoder("s", label="a", target_type="continuous", num_folds=folds, output_columns=["t"])
    stages = [st.CountEncoder("s", output_columns=["n"]), encoder]
    ((_, statistics),) = probes(*stages)
    assert [type(each).__name__ for each in statistics] == ["GroupSums" if folds is None else "Folded"]
    found = Pipeline(*stages).fit(world.data()).fitted[0]["counts"]["s"]
    assert dict(zip(found["value"].to_pylist(), found["count"].to_pylist(), strict=True)) == {"s0": 7, "s1": 7, "s2": 6}


def test_values_of_other_columns_are_counted_beside(world: World) -> None:
    encoder = st.TargetEncoder("s", label="a", target_type="continuous", output_columns=["e"])
    data = world.data(t=["u", None] * 10)
    model = Pipeline(encoder, st.CountEncoder(["s", "t"], output_columns=["n", "m"])).fit(data)
    found = {name: table.to_pydict() for name, table in model.fitted[1]["counts"].items()}
    assert found["t"] == {"value": ["u"], "count": [10]}
    assert found["s"] == {"value": ["s0", "s1", "s2"], "count": [7, 7, 6]}


def test_explain_names_the_stages_whose_counts_are_read_off(world: World) -> None:
    encoder = st.TargetEncoder("s", label="a", target_type="continuous", num_folds=3, output_columns=["t"])
    told = Pipeline(encoder, st.CountEncoder("s", output_columns=["n"])).explain(world.data())
    assert "gathers Folded of s, a, __row__ for TargetEncoder, CountEncoder;" in told
    assert "ValueCounts" not in told


# What fitting does


def test_what_is_learned_is_what_comes_to_the_stage(world: World) -> None:
    data = world.data()
    model = Pipeline(Double("a"), Centre("a"), Centre("b"), Double("b"), Below("b", 0.0), Centre("c")).fit(data)
    assert model.fitted[1]["mean"] == {"a": 19.0}
    assert model.fitted[2]["mean"] == {"b": 95.0}
    assert model.fitted[5]["mean"] == {"c": sum(n**2 for n in range(10)) / 10}
    assert world.engine.scans == [3, 3]


SCANS: list[list[Stage]] = [
    [Centre("a")],
    [Centre("a"), Centre("a"), Centre("a")],
    [Double("a"), Double("b")],
    [Centre("a"), Below("a", 0.0), Centre("b"), Double("b"), Centre("b")],
    [st.Imputer(["a", "b"]), st.StandardScaler(["a", "b", "c"]), st.StringIndexer("s"), st.Clip("a", lower=0)],
    [st.StandardScaler(["a", "b"]), st.XGBoostRegressor("c", num_boost_round=1), Centre("prediction")],
    [st.VarianceThresholdSelector(["a", "b"], 100), st.XGBoostRegressor("c", num_boost_round=1)],
    [st.VarianceThresholdSelector(variance_threshold=100), Centre(numeric()), Double("c"), Centre("c")],
    [st.VarianceThresholdSelector(["a", "b"]), Centre("b"), st.XGBoostRegressor("c", num_boost_round=1)],
]


@pytest.mark.thorough
def test_the_scans_that_are_told_are_those_that_are_made(subtests: pytest.Subtests) -> None:
    for stages in SCANS:
        with subtests.test("-".join(stage.title for stage in stages)):
            world, pipeline = World(), Pipeline(*stages)
            data = world.data()
            told = pipeline.explain(data)
            assert world.engine.scans == []  # nothing is read to explain
            report = pipeline.fit(data).report
            assert report is not None
            made = len(world.engine.scans)
            assert report.scans == pipeline.plan(data).scans == made
            assert f"{made} scan(s)" in told
            assert told.count("\nscan ") == made
            seconds = [part for part in report.seconds if part.startswith("scan")]
            assert seconds == [f"scan {number + 1}" for number in range(made)]


def test_steps_before_the_pipeline_are_applied_first(world: World) -> None:
    data = world.data().filter(nw.col("a") < 4).select("b", "a")
    model = Pipeline(Centre("b")).fit(data)
    assert model.fitted[0]["mean"] == {"b": 15.0}
    assert model.report is not None
    assert (model.report.rows.read, model.report.rows.kept, model.report.rows.dropped) == (20, 4, {"filter": 16})


def test_a_model_applied_before_does_not_hide_an_equal_stage(world: World) -> None:
    data = world.data()
    shift = Pipeline(Centre("a"))
    moved = shift.fit(data).transform(data)
    lowered = Pipeline(Below("a", 0.0)).fit(moved).transform(moved)
    again = shift.fit(lowered)
    assert again.fitted[0]["mean"] == {"a": -5.0}  # the mean of -9.5 to -0.5
    assert again.transform(lowered).to_arrow()["a"].to_pylist() == [n - 4.5 for n in range(10)]


@pytest.mark.thorough
def test_states_are_equal_to_the_bit_whatever_the_order_of_fragments_in_flight() -> None:
    values = np.random.default_rng(1).normal(size=5000) * 1e6
    found = []
    for in_flight in (1, 3):
        engine = LocalEngine(device="cpu", in_flight=in_flight)
        data = engine.from_arrow(pa.table({"a": values}), fragment_bytes=8 * 100)
        found.append(Pipeline(Centre("a")).fit(data).fitted[0]["mean"]["a"])
    assert found[0] == found[1]


# Stages that decide on columns: the variances of a, b and c are 35, 3500 and about 13,600


def test_stages_after_a_selector_are_bound_to_what_it_leaves(world: World) -> None:
    stages = [st.VarianceThresholdSelector(["a", "b"], 100), Centre(numeric() - "c"), Double(numeric())]
    model = Pipeline(*stages).fit(world.data())
    assert [stage.inputs() for stage in model.stages] == [(), ("b",), ("b", "c")]
    assert model.fitted[1]["mean"] == {"b": 95.0}
    made = model.transform(world.data().select("c", "b")).to_arrow()
    assert made.schema.names == ["c", "b"]
    assert made["b"].to_pylist() == [20.0 * n - 190 for n in range(20)]


def test_a_selector_holds_up_only_what_reads_its_columns() -> None:
    stages = [st.VarianceThresholdSelector("a"), Centre("b"), Centre("a"), Double("c"), Centre("c")]
    assert [(level.finishes) for level in plan(stages, SCHEMA).levels] == [(0, 1, 4), (2,)]


def test_a_trainer_after_two_selectors_in_a_row_learns_from_what_both_leave(world: World) -> None:
    chosen = [st.VarianceThresholdSelector(numeric() - "c", 100), st.VarianceThresholdSelector(numeric() - "c", 2e5)]
    model = Pipeline(*chosen, st.LinearRegression("c")).fit(world.data(d=np.arange(20.0) ** 3, e=np.full(20, 3.0)))
    assert [set(state["variances"]) for state in model.fitted[:2]] == [{"a", "b", "d", "e"}, {"b", "d"}]
    assert model.stages[2].inputs() == ("d",)
    assert len(world.engine.scans) == 3


def test_a_trainer_whose_labels_were_gathered_before_is_trained_on_what_is_left(world: World) -> None:
    model = Pipeline(
        st.VarianceThresholdSelector(["a", "b"], 100), st.XGBoostRegressor("c", num_boost_round=2), Double("prediction")
    ).fit(world.data())
    expected = Pipeline(st.XGBoostRegressor("c", features=["b"], num_boost_round=2)).fit(world.data())
    assert world.engine.scans == [3, 3]  # one for each of the two models
    assert model.stages[1].inputs() == ("b",)
    assert model.predict({"b": 30.0})["prediction"] == 2 * expected.predict({"b": 30.0})["prediction"]


def test_what_is_left_out_is_not_read_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    scans: list[tuple[str, ...]] = []
    gather = Dataset.probe

    def watched(self: Dataset, probes: Sequence[Any], **options: Any) -> Any:
        task = SummariseTask(self.reader, self.steps, tuple(probes))
        scans.append(task.plan()[1])
        return gather(self, probes, **options)

    monkeypatch.setattr(Dataset, "probe", watched)
    Pipeline(st.VarianceThresholdSelector(["a", "b"], 100), Centre(numeric())).fit(world.data())
    assert scans == [("a", "b"), ("b", "c")]


def test_a_column_that_was_left_out_and_is_named_later_is_told_with_the_reason(world: World) -> None:
    stages = [Double("c"), st.VarianceThresholdSelector(["a", "b"], 100), Centre("a"), Centre("b")]
    told = "'a', which Centre names, was left out by VarianceThresholdSelector: its variance is 35.0, and not above 100"
    with pytest.raises(SchemaError, match=told) as caught:
        Pipeline(*stages).fit(world.data())
    assert (caught.value.column, caught.value.stage) == ("a", "Centre")
    assert world.engine.scans == [3]
    none = [st.VarianceThresholdSelector(["a", "b"], 1e9), st.XGBoostRegressor("c")]
    with pytest.raises(ConfigError, match=r"selects no column.*\n.*Left out, by the stages before, were: a, b"):
        Pipeline(*none).fit(world.data())


# Errors


def test_a_stage_that_does_not_fit_is_refused_before_reading(world: World) -> None:
    with pytest.raises(SchemaError, match="'s' is string, but Centre takes numeric"):
        Pipeline(Centre("a"), Centre("s")).fit(world.data())
    for before in (Centre("a"), st.VarianceThresholdSelector("a", 100)):
        with pytest.raises(SchemaError, match="column 'd' is not in the data") as caught:
            Pipeline(before, Centre("d")).fit(world.data())
        assert caught.value.stage == "Centre"
    assert world.engine.scans == []


def test_no_rows_left_says_what_took_them(world: World) -> None:
    with pytest.raises(EmptyInputError, match="no row is left of 0 read"):
        Pipeline(Centre("a")).fit(world.data(rows=0))
    with pytest.raises(EmptyInputError, match=r"no row is left of 20 read, .*; dropped: 20 by 'filter'"):
        Pipeline(Centre("a")).fit(world.data().filter(nw.col("a") < 0))


def test_a_value_that_makes_a_stage_meaningless_is_told_with_stage_column_and_row(world: World) -> None:
    values = np.arange(20.0)
    values[[13, 17]] = np.inf
    middle = [Centre("x"), st.Clip("x", upper=3), Centre("a"), Double("a"), Centre("b")]  # looked for where gathered
    for stages in ([Centre("a"), Double("x"), Centre("x")], middle):
        with pytest.raises(DataValueError, match="'x' has 2 values that are infinite") as caught:
            Pipeline(*stages).fit(world.data(x=values))
        assert (caught.value.stage, caught.value.column, caught.value.row) == ("Centre", "x", 13)


def test_a_step_that_was_never_fitted_cannot_be_applied(world: World) -> None:
    step = StageStep(Centre("a", output_columns=("a",)), None, 0)
    with pytest.raises(ExecutionError, match="AssertionError: Centre is used before it is fitted"):
        world.data().with_step(step).to_arrow()


def test_validation_data_must_have_what_trainers_read(world: World) -> None:
    pipeline = Pipeline(Centre("a"), st.XGBoostRegressor("c", features=["a"], num_boost_round=1))
    with pytest.raises(SchemaDriftError, match=r"lacks 1 column\(s\).*: c\."):
        pipeline.fit(world.data(), validation=world.data().select("a", "b"))
    assert world.engine.scans == []
    pipeline.fit(world.data(), validation=world.data().select("c", "a"))


# In words


def test_explain_tells_scans_columns_statistics_and_training(world: World) -> None:
    stages = [Double("a"), Centre("a"), st.StandardScaler(["a", "b"]), st.XGBoostRegressor("c", features=["a", "b"])]
    lines = Pipeline(*stages).explain(world.data()).splitlines()
    assert lines[0] == "Fit on local, cpu: 3 fragment(s) of 20 rows, 2 scan(s)"
    assert lines[1] == "scan 1: reads 2 column(s): a, c"
    assert lines[2] == "  applies Double"
    assert "  gathers Moments of a for Centre; 3 partial(s), merged by local" in lines
    assert any(line.startswith("  gathers Checks of c for XGBoostRegressor") for line in lines)
    assert "scan 2: reads 2 column(s): a, b" in lines
    assert "  gathers Moments of a, b for StandardScaler; 3 partial(s), merged by local" in lines
    told = Pipeline(Double("a"), Centre("a"), st.StandardScaler("b")).explain(world.data())
    assert "gathers Moments of b for StandardScaler;" in told  # and names only those that use a statistic
    assert "gathers Moments of a for Centre;" in told
    assert lines[-1] == "train XGBoostRegressor: on all ranks at once, each reads its share of 3 column(s): a, b, c"


def test_explain_tells_which_stage_decides_on_columns(world: World) -> None:
    told = Pipeline(Centre("c"), st.VarianceThresholdSelector(["a", "b"]), Centre(numeric())).explain(world.data())
    first, second = told.split("scan 2")
    assert "decides, by VarianceThresholdSelector, which of 2 column(s) stay: a, b; stages after it take those" in first
    assert "decides" not in second
