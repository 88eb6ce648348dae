"""What a stage is: parameters, the statistics it needs, what it learns from them, and a pure transform."""

from __future__ import annotations

import dataclasses
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError
from penstock.core.keywords import with_known_keywords
from penstock.core.names import column_names, expand
from penstock.core.schemas import with_fields as with_fields
from penstock.core.selectors import Columns, Selector, is_numeric, is_vector, resolve
from penstock.stages.parameter_checks import check_choice as check_choice
from penstock.stages.parameter_checks import check_declared, defaults_added
from penstock.stages.parameter_checks import check_number as check_number
from penstock.stages.stored_values import from_stored, stored_parameters
from penstock.statistics.base import Statistic

if TYPE_CHECKING:
    from penstock.stages.shapes import Shape

Fitted = Mapping[str, Any]
"""What a stage learned: finite numbers, strings, lists and dicts of them, Arrow tables, and `Blob` for model files."""


RowFunction = Callable[[dict[str, Any]], None]
"""Does to one row, a dict of Python values by column, what `transform` does to a frame: puts the outputs into it."""


@dataclass(frozen=True)
class Blob:
    """A model file in a format that loads without running code; ``kind`` names the format, ``xgboost-ubj`` say."""

    kind: str
    data: bytes

    def __repr__(self) -> str:
        # What tells trainings apart goes by it: two models of one length are not the same place to go on from.
        return f"Blob({self.kind}, {len(self.data)} bytes, sha256:{hashlib.sha256(self.data).hexdigest()[:16]})"


@dataclass(frozen=True)
class Tags:
    """What planner, suite and docs need to know of a stage.

    Attributes
    ----------
    keeps_rows : bool
        Every row that comes in goes out, in order.
    accepts : {"any", "numeric", "string", "categorical", "binary", "list", "string list"}
        Types of the columns it takes: categorical ones are strings, integers and booleans.
    devices : frozenset of {"cpu", "gpu"}
        Where partitions may be that it transforms; none where its engine computes it as a whole, see `DatasetStage`.
    numbers_rows : bool
        It reads the row number.
    single_rank : bool
        Of a trainer: one rank has all rows, whatever world size is asked for.
    opens_ports : bool
        Of a trainer: several ranks listen on every address of their machines, unauthenticated, as XGBoost's do; they
        need `SpmdOptions.allow_insecure`.
    hashes : bool
        It takes hashes of values for places, so that there may be any number of them.
    vectors : bool
        Of a stage that takes columns of numbers: a dense vector may be among them, and stands for its elements.
    skips_nulls : bool
        Nulls in columns that are read at fit alone are left out; those of others are labels, and refused.
    lazy : bool
        `transform` takes a lazy frame too, and gives one: it makes and drops columns by expressions alone, and asks for
        names and types at most, by `collect_schema`. Rows that are scored then go through a plan that is made once.
    tells_labels : str
        Why `transform_training` may tell of a row what it had in columns that are read at fit alone; empty where it may
        not. A trainer needs no reason: it predicts the rows that it was trained on.
    """

    keeps_rows: bool = True
    accepts: str = "any"
    devices: frozenset[str] = frozenset({"cpu", "gpu"})
    numbers_rows: bool = False
    single_rank: bool = False
    opens_ports: bool = False
    hashes: bool = False
    vectors: bool = False
    skips_nulls: bool = False
    lazy: bool = False
    tells_labels: str = ""

    def __post_init__(self) -> None:
        if self.accepts not in _ACCEPTS:
            raise ConfigError(f"Tags.accepts is {self.accepts!r}, expected one of {', '.join(map(repr, _ACCEPTS))}")


_ACCEPTS: dict[str, Any] = {
    "any": lambda kind: True,
    "numeric": is_numeric,
    "string": pa.types.is_string,
    "binary": pa.types.is_binary,
    "list": pa.types.is_list,
    "string list": lambda kind: kind == pa.list_(pa.string()),
    "categorical": lambda kind: (
        pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)
    ),
}


class Stage(ABC):
    """One step of a pipeline. Subclasses are frozen dataclasses: parameters only, checked when they are made.

    A stage names statistics and never loops over data; an engine gathers them and never knows a stage. What only some
    stages do besides, as leaving columns out, has a contract of its own in `penstock.stages.capabilities`.
    """

    if not TYPE_CHECKING:  # who would take what it returns for Any
        __new__ = with_known_keywords

    version: ClassVar[int] = 1
    tags: ClassVar[Tags] = Tags()

    def __post_init__(self) -> None:
        check_declared(self)

    @property
    def title(self) -> str:
        """What plans and errors call it."""
        return type(self).__name__

    @abstractmethod
    def bind(self, schema: pa.Schema) -> Self:
        """Return the stage with selectors resolved and column types checked against what comes in.

        Raises
        ------
        SchemaError, ConfigError
            A column is missing or of a type that the stage does not take.
        """

    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """Return the columns that `transform` reads; the stage is bound."""

    @abstractmethod
    def outputs(self) -> tuple[str, ...]:
        """Return the columns that `transform` makes or replaces; the stage is bound."""

    @abstractmethod
    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema after `transform`, known without data."""

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Return the statistics it needs, by a name of its own; none unless it learns."""
        return {}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return what is learned from the finished statistics."""
        return {}

    def notes(self, fitted: Fitted) -> list[str]:
        """Return what a user should know of the fit, and would not find out from what comes out; mostly nothing."""
        return []

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        """Return the shape that `fitted` must have for the stage to score; the stage is bound.

        A saved model is checked by it when it is loaded: somebody may have changed it. None takes it as it is.

        Parameters
        ----------
        schema : pyarrow.Schema
            What comes in.
        fitted : mapping
            The state itself, of which one part may decide the size of another; what it raises refuses the model.
        """
        return None

    @abstractmethod
    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Return a new frame; pure, partition by partition."""

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Return what `transform` does as a function of one row, equal to the bit; None where a frame is as fast.

        Parameters
        ----------
        schema : pyarrow.Schema
            Types of the values that come in; null is None, and there is no NaN.
        """
        return None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as JSON values.

        Raises
        ------
        UnsupportedStepError
            A parameter is code: a function, or a selector that was never bound.
        """
        return stored_parameters(self, self.title)

    def _identity(self, fitted: Fitted) -> list[Any]:
        """Return what a digest says of the stage beside what it learned: that of models saved before stays."""
        known = {name: value for name, value in self.parameters().items() if name not in defaults_added(self)}
        return [type(self).__name__, known]

    @classmethod
    def from_parameters(cls, values: Mapping[str, Any]) -> Self:
        """Return the stage with these parameters; lists stand for tuples.

        Raises
        ------
        ConfigError
            A parameter is not known.
        """
        return from_stored(cls, values)


@dataclass(frozen=True)
class SelectedColumns(Stage):
    """A stage whose inputs are columns that it is given; what it makes has one type, float64 unless it says another.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        The columns it works on.
    """

    columns: Columns

    made_type: ClassVar[pa.DataType | None] = pa.float64()
    """The type of every column that it makes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise_columns(self, "columns")

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns and check their types."""
        names = resolve(self.columns, schema, self.title)
        check_types(self, schema, names, vectors=self.tags.vectors)
        return dataclasses.replace(self, columns=names)

    def inputs(self) -> tuple[str, ...]:
        """Return the columns."""
        return self.columns  # type: ignore[return-value]

    @property
    def number_columns(self) -> tuple[str, ...]:
        """The columns that it works on; the stage is bound."""
        return self.columns  # type: ignore[return-value]

    def over_elements(self, sizes: Mapping[str, int]) -> Self:
        """Return the same stage over the elements of vectors of these lengths."""
        return dataclasses.replace(self, columns=expand(self.number_columns, sizes))

    def outputs(self) -> tuple[str, ...]:
        """Return none, unless the stage makes columns."""
        return ()

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the columns made."""
        return with_fields(schema, dict.fromkeys(self.outputs(), self.made_type))


@dataclass(frozen=True)
class ColumnStage(SelectedColumns):
    """A stage that makes one column of each of its columns, in place unless `output_columns` names others.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        The columns it works on.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.
    """

    output_columns: tuple[str, ...] | None = dataclasses.field(default=None, kw_only=True)

    made_type: ClassVar[pa.DataType | None] = None
    """The type of every result; None where it depends on what the column is, see `output_type`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise_columns(self, "output_columns")

    def bind(self, schema: pa.Schema) -> Self:
        bound = super().bind(schema)
        return dataclasses.replace(bound, output_columns=named_outputs(self, bound.columns))  # type: ignore[arg-type]

    def outputs(self) -> tuple[str, ...]:
        return self.output_columns or self.columns  # type: ignore[return-value]

    def pairs(self) -> list[tuple[str, str]]:
        """Return (column, output) names; what `inputs` has besides `columns` is not among them."""
        return list(zip(self.columns, self.outputs(), strict=True))  # type: ignore[arg-type]

    def over_elements(self, sizes: Mapping[str, int]) -> Self:
        """Return the same stage over the elements of vectors, each of which becomes an element of the result."""
        outputs = expand(self.outputs(), {out: sizes[name] for name, out in self.pairs() if name in sizes})
        return dataclasses.replace(super().over_elements(sizes), output_columns=outputs)

    def output_type(self, kind: pa.DataType) -> pa.DataType:
        """Return the type that a column of type `kind` becomes."""
        return kind if self.made_type is None else self.made_type

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, {out: self.output_type(schema.field(name).type) for name, out in self.pairs()})

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Return what `transform` does to a value of one column, of type `kind`, as a function; see `row_function`."""
        return None

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        found = [(name, out, self.value_function(name, schema.field(name).type, fitted)) for name, out in self.pairs()]
        functions = [(name, out, function) for name, out, function in found if function is not None]
        if len(functions) < len(found):
            return None

        def call(row: dict[str, Any]) -> None:
            row.update([(out, function(row[name])) for name, out, function in functions])

        return call


def normalise_columns(stage: Stage, *names: str) -> None:
    """Turn names given as a string or a list into tuples, so that equal stages are equal."""
    for name in names:
        value = getattr(stage, name)
        if value is not None and not isinstance(value, Selector):
            object.__setattr__(stage, name, column_names(value, f"{name} of {stage.title}", stage=stage.title))


def named_outputs(stage: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the `output_columns` of a stage, `names` where it has none; ConfigError unless there is one for each."""
    outputs = stage.output_columns or names
    if len(outputs) != len(names):
        problem = f"{stage.title} has {len(names)} columns but {len(outputs)} output_columns"
        raise ConfigError(problem, stage=stage.title)
    return tuple(outputs)


def check_types(stage: Stage, schema: pa.Schema, names: tuple[str, ...], *, vectors: bool = False) -> None:
    """Raise SchemaError for a column of a type that the stage does not take; with `vectors` they may be among them."""
    for name in names:
        kind = schema.field(name).type
        if not (_ACCEPTS[stage.tags.accepts](kind) or (vectors and is_vector(kind))):
            raise wrong_type(stage.title, name, kind, f"{stage.tags.accepts} columns")


def name_taken(title: str, name: str, hint: str) -> ConfigError:
    """Return the error about a column that the stage called `title` would add, and that is there already."""
    problem = f"{title} adds {name!r}, but there is a column of that name"
    return ConfigError(problem, hint=hint, column=name, stage=title)


def wrong_type(
    title: str, name: str, kind: pa.DataType, expected: str, hint: str | None = "Leave it out, or convert it before."
) -> SchemaError:
    """Return the error about a column of a type that the stage or evaluator called `title` does not take."""
    problem = f"column {name!r} is {kind}, but {title} takes {expected}"
    return SchemaError(problem, hint=hint, column=name, stage=title)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return `Trainer` for those who know it from here."""
        if name != "Trainer":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from penstock.stages.trainer import Trainer

        return Trainer
