"""A stage or statistic of one's own that breaks its contract is refused in words that name it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import pyarrow as pa
import pytest

import penstock as ps
from penstock.authoring import ColumnStage, Statistic, Tags
from penstock.errors import ConfigError, ExecutionError, SchemaError
from penstock.statistics import Moments
from penstock.testing.compare import demand_alike


@dataclass(frozen=True)
class Centred(ColumnStage):
    tags = Tags(accepts="numeric")

    def statistics(self, schema: pa.Schema) -> Any:
        return {"moments": Moments(self.columns)}

    def finish(self, results: Any) -> Any:
        return {"mean": {name: moment.mean for name, moment in results["moments"].items()}}

    def output_type(self, kind: pa.DataType) -> pa.DataType:
        return pa.float64()

    def transform(self, frame: Any, fitted: Any) -> Any:
        return frame.with_columns(**{out: nw.col(name) - fitted["mean"][name] for name, out in self.pairs()})


@dataclass(frozen=True)
class Total(Statistic):
    def summarise(self, frame: Any) -> Any:
        return [float(frame[name].sum()) for name in self.columns]

    def merge(self, states: Any) -> Any:
        return [sum(values) for values in zip(*states, strict=True)]

    def finish(self, state: Any) -> Any:
        return state


@dataclass(frozen=True)
class TotalWithMethod(Total):
    def reads(self) -> Any:
        return self.columns


@pytest.fixture
def data() -> ps.Dataset:
    return ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1.0, 3.0], "g": ["a", None]}))


def _with(**methods: Callable[..., Any]) -> ColumnStage:
    return type("Mine", (Centred,), methods)("x")


def test_statistics_that_are_none_are_refused_at_planning(data, subtests):
    for asked, problem in [
        ([Total(("x",))], r"statistics of Mine returned \[Total.*, expected a dict of statistics by name"),
        (None, "statistics of Mine returned None, expected a dict of statistics by name"),
        ({"total": ("x",)}, r"Mine asks for \('x',\), expected a Statistic"),
        ({"total": Total("x")}, "Total.reads is 'x', expected a tuple of column names.*\n.*'x',"),  # type: ignore[arg-type]
        ({"total": TotalWithMethod(("x",))}, "TotalWithMethod.reads is .*, expected a tuple.*\n.*@property"),
    ]:
        with subtests.test(asked=asked), pytest.raises(ConfigError, match=problem):
            ps.Pipeline(_with(statistics=lambda self, schema, asked=asked: asked)).explain(data)


def test_a_bind_that_returns_nothing_is_refused_at_planning(data):
    with pytest.raises(ConfigError, match="bind of Mine returned None, expected the stage that is bound"):
        ps.Pipeline(_with(bind=lambda self, schema: None)).explain(data)


def test_a_finish_that_returns_nothing_is_refused(data):
    with pytest.raises(ConfigError, match=r"finish of mine .Mine. returned NoneType, expected a dict") as caught:
        ps.Pipeline(("mine", _with(finish=lambda self, results: None))).fit(data)
    assert "Return {}" in caught.value.hint


def test_a_transform_that_fails_is_named_with_its_file(data, subtests):
    for transform, problem in [
        (lambda self, frame, fitted: None, "Mine gave NoneType, expected a DataFrame of Narwhals"),
        (lambda self, frame, fitted: frame["x"], "Mine gave Series, expected a DataFrame of Narwhals"),
        (lambda self, frame, fitted: frame.to_native(), "Mine gave DataFrame, expected a DataFrame of Narwhals"),
        (lambda self, frame, fitted: fitted["men"], "Mine raised KeyError: 'men'"),
    ]:
        with subtests.test(transform=transform):
            model = ps.Pipeline(_with(transform=transform)).fit(data)
            with pytest.raises(ExecutionError, match=problem) as caught:
                model.transform(data).to_arrow()
            assert (caught.value.stage, caught.value.place["path"]) == ("Mine", "<memory>")


def test_tags_of_an_unknown_type_are_refused():
    with pytest.raises(ConfigError, match=r"Tags\.accepts is 'numbers', expected one of 'any', 'numeric'"):
        Tags(accepts="numbers")


def test_a_statistic_gathered_of_a_column_that_is_not_there_is_refused(data):
    with pytest.raises(SchemaError, match=r"column 'X' is not in the data\. Did you mean 'x'"):
        data.gather([Total(("X",))])
    with pytest.raises(ConfigError, match=r"Total\.reads is 'x', expected a tuple"):
        data.gather([Total("x")])  # type: ignore[arg-type]


@dataclass(frozen=True)
class ByGroup(Centred):
    """Reads a column beside those that it replaces."""

    by: str = field(default="g", kw_only=True)

    def inputs(self) -> tuple[str, ...]:
        return (*self.columns, self.by)  # type: ignore[misc]

    def transform(self, frame: Any, fitted: Any) -> Any:
        made = super().transform(frame, fitted)
        return made.with_columns(
            **{out: nw.when(~nw.col(self.by).is_null()).then(nw.col(out)) for _, out in self.pairs()}
        )


def test_a_column_stage_may_read_a_column_beside_its_own(data):
    model = ps.Pipeline(ByGroup("x", output_columns=("z",))).fit(data)
    assert model.transform(data).to_arrow().to_pydict() == {"x": [1.0, 3.0], "g": ["a", None], "z": [-1.0, None]}
    assert model.predict({"x": 5.0, "g": "b"})["z"] == 3.0


def test_predictions_of_a_constant_may_differ_by_their_rounding_alone():
    one, other, far = (pa.table({"prediction": [value, 0.1]}) for value in (0.1 + 1e-15, 0.1, 0.1 + 1e-6))
    demand_alike(one, other, "the output")
    demand_alike(other, one, "the output")
    with pytest.raises(AssertionError, match="differs by 5"):
        demand_alike(far, other, "the output")


def test_predictions_that_are_not_finite_are_called_so():
    table = pa.table({"prediction": [1.0, float("inf")]})
    with pytest.raises(AssertionError, match="'prediction' of the output is not finite in some rows"):
        demand_alike(table, table, "the output")
