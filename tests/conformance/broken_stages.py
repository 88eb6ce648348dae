"""Small stages, each with one fault that has been made before; the suite must catch every one."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa

from penstock.errors import DataValueError
from penstock.stages import TargetEncoder
from penstock.stages.base import ColumnStage, Fitted, Tags, Trainer, with_fields
from penstock.statistics import Counts, Extremes
from penstock.statistics.base import ColumnStatistic, State


@dataclass(frozen=True)
class Sound(ColumnStage):
    """Takes the smallest value off every number; nothing is wrong with it."""

    tags = Tags(accepts="numeric")

    def output_type(self, kind: pa.DataType) -> pa.DataType:
        return pa.float64()

    def statistics(self, schema: pa.Schema) -> dict[str, Any]:
        return {"counts": Counts(self.inputs()), "ends": Extremes(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        for name, count in results["counts"].items():
            if not count.valid:
                raise DataValueError(f"column {name!r} has no value", column=name)
        least = {name: float(results["ends"][name].min) for name in self.inputs()}
        for name, value in least.items():
            if math.isinf(value):
                raise self.infinite(name)
        return {"least": least}

    def infinite(self, name: str) -> DataValueError:
        error = DataValueError(f"column {name!r} has an infinity", column=name)
        error.predicate = nw.col(name).abs() == math.inf
        return error

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return frame.with_columns(*[self.made(name, fitted).alias(out) for name, out in self.pairs()])

    def made(self, name: str, fitted: Fitted) -> nw.Expr:
        return nw.col(name).cast(nw.Float64) - fitted["least"][name]


@dataclass(frozen=True)
class RoundsRows(Sound):
    """Says something else of a row by itself than of a frame."""

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any]:
        return lambda value: None if value is None else round(value - fitted["least"][name], 1)


@dataclass(frozen=True)
class LooksAtRows(Sound):
    """Says that it takes lazy frames, and looks at rows, which these do not have."""

    tags = Tags(accepts="numeric", lazy=True)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return frame if frame["n1"].is_null().all() else super().transform(frame, fitted)


@dataclass(frozen=True)
class Squares(ColumnStatistic):
    """Sums of values and of their squares, from which the variance is taken as a difference."""

    def summarise(self, frame: nw.DataFrame) -> State:
        floats = {name: frame[name].cast(nw.Float64).drop_nulls().to_numpy() for name in self.columns}
        return {name: [len(x), float(x.sum()), float((x * x).sum())] for name, x in floats.items()}

    def merge_column(self, states: Any) -> State:
        return [sum(parts) for parts in zip(*states, strict=True)]

    def finish_column(self, name: str, state: State) -> Any:
        rows, total, squares = state
        return squares / rows - (total / rows) ** 2 if rows else 0.0


@dataclass(frozen=True)
class First(ColumnStatistic):
    """The value that comes first, in whatever order rows come."""

    def summarise(self, frame: nw.DataFrame) -> State:
        return {name: frame[name].drop_nulls().cast(nw.Float64).head(1).to_list() for name in self.columns}

    def merge_column(self, states: Any) -> State:
        return next((state for state in states if state), [])

    def finish_column(self, name: str, state: State) -> Any:
        return state[0] if state else 0.0


class SumOfSquares(Sound):
    def statistics(self, schema: pa.Schema) -> dict[str, Any]:
        return {**super().statistics(schema), "squares": Squares(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        return {**super().finish(results), "variance": dict(results["squares"])}

    def made(self, name: str, fitted: Fitted) -> nw.Expr:
        return super().made(name, fitted) * math.sqrt(abs(fitted["variance"][name]))


class FirstSeen(Sound):
    def statistics(self, schema: pa.Schema) -> dict[str, Any]:
        return {**super().statistics(schema), "first": First(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        return {"least": dict(results["first"])}


class FromItsPartition(Sound):
    def made(self, name: str, fitted: Fitted) -> nw.Expr:
        return nw.col(name).cast(nw.Float64) - nw.col(name).min()


class InPlace(Sound):
    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        native = nw.to_native(frame)
        for name, out in self.pairs():
            made = native[name].cast(pl.Float64) - fitted["least"][name]
            native.replace_column(native.get_column_index(out), made)
        return frame


class LearnsWhileItIsUsed(Sound):
    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        made = super().transform(frame, fitted)
        fitted["least"]["n1"] += 1.0
        return made


class WrongSchema(Sound):
    def output_type(self, kind: pa.DataType) -> pa.DataType:
        return kind


class DropsColumn(Sound):
    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return super().transform(frame, fitted).drop("s1", strict=False)


class TellsOfTooMuch(Sound):
    def doubtful(self) -> tuple[str, ...]:
        return ()

    def left_out(self, fitted: Fitted) -> Mapping[str, str]:
        return {"s1": "it is not liked"}


class Reorders(Sound):
    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return super().transform(frame, fitted).sort("id")[::-1]


class Drops(Sound):
    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return super().transform(frame, fitted).filter(~nw.col(self.inputs()[0]).is_null())


class ReadsMore(Sound):
    def made(self, name: str, fitted: Fitted) -> nw.Expr:
        return super().made(name, fitted) + nw.col("y")


class NotANumber(Sound):
    def made(self, name: str, fitted: Fitted) -> nw.Expr:
        return (super().made(name, fitted) - 1.0) ** 0.5


class DividesByZero(Sound):
    def finish(self, results: Mapping[str, Any]) -> Fitted:
        ends = results["ends"]
        return {**super().finish(results), "scale": {n: 1 / (ends[n].max - ends[n].min) for n in self.inputs()}}


class InfiniteForConstants(Sound):
    def made(self, name: str, fitted: Fitted) -> nw.Expr:
        return 1.0 / (super().made(name, fitted) + 0.0)


class Tells(Sound):
    def finish(self, results: Mapping[str, Any]) -> Fitted:
        if not all(count.valid for count in results["counts"].values()):
            raise DataValueError("there are no values")
        return super().finish(results)


class NoPlace(Sound):
    def infinite(self, name: str) -> DataValueError:
        return DataValueError(f"column {name!r} has an infinity", column=name)


class ForeignState(Sound):
    def finish(self, results: Mapping[str, Any]) -> Fitted:
        return {"least": {name: np.float64(value) for name, value in super().finish(results)["least"].items()}}


class InfiniteState(Sound):
    """Learns a number that is finite of most data, and does not use it."""

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        learned, ends = super().finish(results), results["ends"]
        spans = {name: float(ends[name].max) - float(ends[name].min) for name in self.inputs()}
        return {**learned, "scale": {name: 1 / span if span else math.inf for name, span in spans.items()}}


@dataclass(frozen=True)
class CodeForParameter(Sound):
    function: Callable[[float], float] = abs


@dataclass(frozen=True)
class Unhashable(Sound):
    options: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "options", {})


class Thawed(Sound):
    __setattr__ = object.__setattr__


class HoldsAFunction(Sound):
    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "helper", lambda value: value)


class BindsOnAndOn(Sound):
    def bind(self, schema: pa.Schema) -> Any:
        bound = super().bind(schema)
        return replace(bound, output_columns=tuple(f"{name}_z" for name in bound.outputs()))


class Anonymous(Sound):
    def __repr__(self) -> str:
        return object.__repr__(self)


class TakesAnyParameter(Sound):
    @classmethod
    def from_parameters(cls, values: Mapping[str, Any]) -> Any:
        return cls(tuple(values["columns"]))


class TakesAnything(Sound):
    tags = Tags(accepts="categorical")

    def bind(self, schema: pa.Schema) -> Any:
        names = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns)  # type: ignore[arg-type]
        return replace(self, columns=names, output_columns=names)


class DeclaresTooLittle(Sound, Trainer):
    def training_columns(self) -> tuple[str, ...]:
        return self.inputs()

    def train(self, rank: Any, learned: Fitted) -> Fitted:
        rows = sum(rank.batches("train", (*self.inputs(), "y"), len))
        assert rows
        return learned


class TwoFits(Sound):
    drawn: list[int] = []  # noqa: RUF012  # shared on purpose: every fit learns something else

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        self.drawn.append(0)
        least = super().finish(results)["least"]
        return {"least": {name: value + len(self.drawn) for name, value in least.items()}}


class ReadsAgain(Sound):
    """Goes over a dataset of its own once more when it is finished, in a way that a test says."""

    look: Callable[[], object] = staticmethod(lambda: None)

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        self.look()
        return super().finish(results)


class TrainsOnTwoReads(Sound, Trainer):
    """Reads its rows a second time while it trains."""

    def training_columns(self) -> tuple[str, ...]:
        return self.inputs()

    def train(self, rank: Any, learned: Fitted) -> Fitted:
        for _ in range(2):
            rows = sum(rank.batches("train", self.inputs(), len))
        assert rows
        return learned

    def made(self, name: str, fitted: Fitted) -> nw.Expr:
        return nw.lit(fitted["least"][name])


class ForgetsItsState(TrainsOnTwoReads):
    """Keeps where it began among what it has learned, each time that it goes on."""

    def train(self, rank: Any, learned: Fitted) -> Fitted:
        assert sum(rank.batches("train", self.inputs(), len))
        return learned

    def start_from(self, learned: Fitted, before: Fitted) -> Fitted:
        return {**learned, "start": before["least"]}


class AppendsInFront(Sound):
    """Puts what it learns in a refit before what it has learned."""

    appends = True

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        learned = super().finish(results)
        return {**learned, "seen": pa.table({"value": list(learned["least"].values())})}

    def extend(self, before: Fitted, results: Mapping[str, Any]) -> Fitted:
        whole, seen = self.finish(results), before["seen"]["value"].to_pylist()
        new = [value for value in whole["least"].values() if value not in seen]
        return {**whole, "seen": pa.table({"value": [*new, *seen]})}


class TellsLabels(TargetEncoder):
    """Encodes the rows that it has learned from with their own labels among the rest."""

    def transform_training(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return self.transform(frame, fitted)


class TellsInWords(TellsLabels):
    """Tells the label as a text."""

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, dict.fromkeys(self.outputs(), pa.string()))

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return super().transform(frame, fitted).with_columns(nw.col(*self.outputs()).cast(nw.String))


class TellsInLists(TellsLabels):
    """Tells the label in the second place of a list, after what says nothing."""

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, dict.fromkeys(self.outputs(), pa.list_(pa.float64())))

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        native = nw.to_native(super().transform(frame, fitted))
        lists = [pl.concat_list(pl.lit(1.0), name).alias(name) for name in self.outputs()]
        return nw.from_native(native.with_columns(lists), eager_only=True)


class TellsByNull(TargetEncoder):
    """Has no value for the rows of one label; those that it has are sound."""

    def training_inputs(self) -> tuple[str, ...]:
        return (*super().training_inputs(), self.label)

    def transform_training(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        made = super().transform_training(frame, fitted)
        return made.with_columns(*[nw.when(nw.col(self.label) == 1).then(nw.col(name)) for name in self.outputs()])


class LeavesOneOut(TargetEncoder):
    """Encodes each row that it has learned from by all the others: what is missing from the mean is its label."""

    def training_inputs(self) -> tuple[str, ...]:
        return (*self.inputs(), self.label)

    def transform_training(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        prior, rows = fitted["prior"][0], fitted["encodings"]["s1"]["count"].to_numpy().sum()
        others = (prior * int(rows) - nw.col(self.label).cast(nw.Float64)) / (int(rows) - 1)
        return frame.with_columns(*[others.alias(name) for name in self.outputs()])
