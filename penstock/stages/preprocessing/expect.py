"""Rules that rows must keep."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import BadRowsError, ConfigError
from penstock.dataset.quarantine import check_names, set_aside
from penstock.dataset.steps import RowLog
from penstock.expressions import Expression, parse
from penstock.frames import ROW
from penstock.stages.base import Fitted, Tags
from penstock.stages.parameter_checks import one_of
from penstock.stages.preprocessing._dropping import FilterStage


@dataclass(frozen=True)
class Expect(FilterStage):
    """Checks a condition on every row, and raises, drops or sets aside where it does not hold.

    Parameters
    ----------
    condition : str
        In Python's syntax, see :func:`penstock.expressions.parse`: ``"0 <= age < 120"``. A null leaves a comparison
        open, and open counts as not held; ``"x is None or x > 0"`` lets nulls pass.
    action : {"raise", "drop", "quarantine"}, default="raise"
        What to do with rows that break it. Quarantined rows are written beside the output by ``write_parquet``, and
        dropped elsewhere; both are counted by the name of the rule.
    name : str, optional
        Name of the rule in errors, counts and the quarantine table; the condition itself unless given.

    Raises
    ------
    ConfigError
        The condition is not one, or another parameter is wrong.
    SchemaError
        Before reading: a column of the condition is missing, or not of a type that suits it.
    BadRowsError
        When it runs, with ``action="raise"``: names rule, count, and the first file and row with its values.

    Notes
    -----
    The quarantine table has the columns ``row`` (int64, the number of the row in what was read; null where a step
    before has made new rows), ``reason`` (the name of the rule) and those of the data at this place.

    The rule is checked wherever rows pass through, at fit too, even if nothing after it reads its columns. Statistics
    of later stages are gathered from the rows that are left.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"age": [30, 200, None]}))
    >>> model = ps.Pipeline(st.Expect("age is None or age < 120", action="drop")).fit(data)
    >>> model.transform(data).to_arrow()["age"].to_pylist()
    [30, None]
    """

    condition: str
    _: KW_ONLY
    action: str = field(default="raise", metadata=one_of("raise", "drop", "quarantine"))
    name: str | None = None

    # Not even "raise" promises its rows: a stage that keeps them is left out where nothing reads what it makes.
    tags: ClassVar[Tags] = Tags(keeps_rows=False, numbers_rows=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._parsed()
        if self.action == "drop":  # the only action that needs no row numbers, and it is spared them
            object.__setattr__(self, "tags", Tags(keeps_rows=False))

    def _parsed(self) -> Expression:
        try:
            return parse(self.condition)
        except ConfigError as error:
            raise error.at(stage=self.title) from error

    @property
    def rule(self) -> str:
        """The name of the rule, or the condition."""
        return self.name or self.condition

    def bind(self, schema: pa.Schema) -> Self:
        """Check that the condition suits the columns."""
        self._parsed().check(schema, stage=self.title)
        if self.action == "quarantine":
            check_names(schema, self.title)
        return self

    def inputs(self) -> tuple[str, ...]:
        """Return the columns of the condition."""
        return self._parsed().columns

    def outputs(self) -> tuple[str, ...]:
        """Return none."""
        return ()

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return `schema`: columns are left alone."""
        return schema

    def filter(self, frame: nw.DataFrame, fitted: Fitted, log: RowLog) -> nw.DataFrame:
        """Return the rows that keep the rule, and note the others."""
        holds = self._parsed().expr
        bad = frame.filter(~holds)
        if not len(bad):
            return frame
        if self.action == "raise":
            raise self._error(bad, len(frame))
        if self.action == "drop":
            log.drop(self.rule, len(bad))
        else:
            log.quarantine(self.rule, set_aside(bad, self.rule))
        return frame.filter(holds)

    def _error(self, bad: nw.DataFrame, rows: int) -> BadRowsError:
        first = frames.to_arrow(bad.head(1)).to_pylist()[0]
        values = ", ".join(f"{name} = {_shorten(first[name])}" for name in self.inputs())
        return BadRowsError(
            f"{len(bad)} of {rows} rows break the rule {self.rule!r}, the first with {values}",
            hint='Pass action="drop" or "quarantine" to go on without them; "x is None or ..." lets nulls pass.',
            row=first.get(ROW),
        )


def _shorten(value: Any, most: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= most else text[:most] + "..."
