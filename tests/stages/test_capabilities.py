"""What only some stages can do is found by the methods that a stage has, whatever it is derived from."""

from dataclasses import dataclass, replace

import narwhals as nw
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError
from penstock.stages.base import ColumnStage, Stage, Tags
from penstock.statistics import Counts

TABLE = pa.table({"x": [1.0, 2.0, 6.0], "y": [None, None, 1.0]})


@dataclass(frozen=True)
class HalfEmpty(Stage):
    """A selector that is derived from `Stage`, as the page on stages of one's own had it before `FeatureSelector`."""

    columns: tuple[str, ...]

    def bind(self, schema):
        return replace(self, columns=tuple(self.columns))

    def inputs(self):
        return ()

    def training_columns(self):
        return self.columns

    def outputs(self):
        return ()

    def doubtful(self):
        return self.columns

    def statistics(self, schema):
        return {"counts": Counts(self.columns)}

    def finish(self, results):
        return {"null": {name: count.nulls for name, count in results["counts"].items()}}

    def left_out(self, fitted):
        return {name: f"{nulls} nulls" for name, nulls in fitted["null"].items() if nulls > 1}

    def output_schema(self, schema):
        return schema

    def learned_schema(self, schema, fitted):
        return pa.schema([field for field in schema if field.name not in self.left_out(fitted)])

    def transform(self, frame, fitted):
        return frame.drop([name for name in frame.columns if name in self.left_out(fitted)])


@dataclass(frozen=True)
class Untold(ColumnStage):
    """Drops rows, and does not count them."""

    tags = Tags(keeps_rows=False)

    def transform(self, frame, fitted):
        return frame.filter(nw.col(self.inputs()[0]) > 1)


class OnlyLeftOut(ColumnStage):
    def left_out(self, fitted):
        return {}

    def transform(self, frame, fitted):
        return frame


class OnlyTransformTraining(ColumnStage):
    def transform_training(self, frame, fitted):
        return frame

    def transform(self, frame, fitted):
        return frame


@pytest.fixture
def data():
    return ps.LocalEngine(device="cpu").from_arrow(TABLE)


def test_a_selector_needs_no_base_but_stage(data):
    model = ps.Pipeline(HalfEmpty(("x", "y")), st.StandardScaler(ps.selectors.numeric())).fit(data)
    assert model.stages[1].inputs() == ("x",)
    assert model.transform(data).to_arrow().column_names == ["x"]
    assert list(model.predict({"x": 3.0})) == ["x"]


def test_a_later_stage_is_told_what_left_its_column_out(data):
    with pytest.raises(ps.errors.SchemaError, match="'y', which StandardScaler names, was left out by HalfEmpty: 2 nu"):
        ps.Pipeline(HalfEmpty(("x", "y")), st.StandardScaler("y")).fit(data)


def test_a_stage_that_drops_rows_needs_no_filter(data):
    model = ps.Pipeline(Untold("x")).fit(data)
    assert model.transform(data).to_arrow()["x"].to_pylist() == [2.0, 6.0]


def test_half_a_capability_is_refused_before_anything_is_read(data, subtests):
    for kind, problem in [
        (OnlyLeftOut, "OnlyLeftOut has left_out, but not doubtful"),
        (OnlyTransformTraining, "OnlyTransformTraining has transform_training, but not training_inputs"),
    ]:
        with subtests.test(kind=kind), pytest.raises(ConfigError, match=problem):
            ps.Pipeline(kind("x")).explain(data)
