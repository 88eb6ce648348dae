"""A function of the user's own as a stage."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Self

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import UserCodeError
from penstock.core.schemas import declared
from penstock.core.selectors import Columns, resolve
from penstock.core.type_names import type_name
from penstock.dataset.steps import MapPartitions, RowLog
from penstock.stages.base import Fitted, Stage, normalise_columns, with_fields
from penstock.stages.functions import CarriesFunction, check_function
from penstock.stages.parameter_checks import wrong_parameter


@dataclass(frozen=True)
class FunctionStage(CarriesFunction, Stage):
    """Adds or replaces the columns that a registered function makes of others, partition by partition.

    Parameters
    ----------
    function : str
        The name it was registered under, see :func:`penstock.register_function`. It takes a frame of `columns`,
        possibly without rows, and returns one of `returns`, with as many rows in the same order; more columns are left
        out. What it makes of a row must not depend on the rows around it: how rows are cut to partitions is not up to
        you.
    columns : str, sequence of str, or Selector
        What it reads.
    returns : mapping of name to type
        What it returns: ``{"fare": "float64"}``. A type may be one of pyarrow's; where it has no name, a struct say,
        the stage cannot be saved. The result is cast to these types, and a value that its type does not
        hold is an error; numbers are only rounded from float64 to float32.
    frame : {"narwhals", "polars", "pandas", "arrow", "cudf"}, default="narwhals"
        The library whose frame it takes; it may return any of them. Narwhals is over Polars, also where partitions are
        on a GPU. Types in pandas are those of `Dataset.to_pandas`, the same for every partition: integers and booleans
        are nullable.

    Raises
    ------
    UnsupportedStepError
        The function is not registered: before reading, and when a saved model is used.
    ConfigError, SchemaError
        Before reading: `function` is no name; `returns` is empty or names a type that is not known; a column is
        missing.
    UserCodeError
        When it runs: the function raised, or returned another number of rows. SchemaError: it left out a column, or
        returned a value that its type does not hold.

    Notes
    -----
    A stage that learns, or says which types it takes, is a subclass of `penstock.stages.base.Stage`. Nothing is learned
    here, and the code is no part of a saved model, only its name.

    Examples
    --------
    >>> import narwhals as nw, penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> @ps.register_function("per month")
    ... def per_month(frame):
    ...     return frame.select(monthly=nw.col("total") / nw.col("months"))
    >>> data = ps.LocalEngine().from_arrow(pa.table({"total": [24.0, 30.0], "months": [12, 3]}))
    >>> stage = st.FunctionStage("per month", ["total", "months"], {"monthly": "float64"})
    >>> ps.Pipeline(stage).fit(data).transform(data).to_arrow()["monthly"].to_pylist()
    [2.0, 10.0]
    """

    function: str
    columns: Columns
    returns: Mapping[str, str | pa.DataType] = field(hash=False)
    _: KW_ONLY
    frame: str = "narwhals"

    def __post_init__(self) -> None:
        check_function(self.function)
        super().__post_init__()
        normalise_columns(self, "columns")
        frames.check_form(self.frame)
        if not self.returns:
            raise wrong_parameter(self, "returns", "names and types")
        self._returned()
        object.__setattr__(self, "returns", {name: type_name(kind) for name, kind in self.returns.items()})

    @property
    def title(self) -> str:
        return f"FunctionStage({self.function!r})"

    def _returned(self) -> pa.Schema:
        return declared(dict(self.returns))

    def bind(self, schema: pa.Schema) -> Self:
        self.code()
        return dataclasses.replace(self, columns=resolve(self.columns, schema, self.title))

    def inputs(self) -> tuple[str, ...]:
        return self.columns  # type: ignore[return-value]

    def outputs(self) -> tuple[str, ...]:
        return tuple(self.returns)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        returned = self._returned()
        return with_fields(schema, dict(zip(returned.names, returned.types, strict=True)))

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Call the function, and check what it returns."""
        call = MapPartitions(self.code(), self._returned(), self.frame, self.inputs(), self.title)
        made = call.apply(frame, RowLog())
        if len(made) != len(frame):
            raise UserCodeError(
                f"{self.title} returned {len(made)} rows for {len(frame)}",
                hint="Rows are dropped with Dataset.filter, or with Expect; a stage of its own can make new ones.",
                stage=self.title,
            )
        return frame.with_columns(*[made[name] for name in self.outputs()])
