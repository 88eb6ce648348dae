"""What a model learns, and the columns that it writes: nothing, a number, or classes, see `penstock.stages.classes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import DataValueError, SchemaError
from penstock.core.selectors import is_numeric
from penstock.frames import matrices
from penstock.stages.base import Fitted, Stage, check_types
from penstock.statistics.base import Statistic
from penstock.statistics.extremes import Extreme
from penstock.statistics.rules import Rule, rules_for

if TYPE_CHECKING:
    from penstock.stages.shapes import Shape


@dataclass(frozen=True)
class Target:
    """What is learned beside features, and what is written of it: here nothing, or a number as features are numbers.

    Parameters
    ----------
    label : str or None
        The column to learn; None of clusters, say.
    columns : mapping of str to pyarrow.DataType
        The columns that are written, as far as they are known before anything is learned.
    """

    label: str | None
    columns: Mapping[str, pa.DataType]

    def check(self, stage: Stage, schema: pa.Schema) -> None:
        """Raise SchemaError for a label of a type that `stage` cannot learn."""
        check_types(stage, schema, () if self.label is None else (self.label,))

    def types(self, schema: pa.Schema) -> Mapping[str, pa.DataType]:
        """Return the columns that are written to rows of `schema`, as far as they are known before training."""
        return self.columns

    def learned_types(self, schema: pa.Schema, fitted: Fitted) -> Mapping[str, pa.DataType]:
        """Return the columns that are written, by what was learned."""
        return self.types(schema)

    def statistics(self) -> dict[str, Statistic]:
        """Ask for what there is to know of the label before training."""
        return {}

    def rules(self) -> Sequence[tuple[str, Rule]]:
        """Return what its values must be besides not null."""
        return ()

    def learn(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is learned of the label from the statistics.

        Raises
        ------
        DataValueError, ConfigError
            There is nothing to be learned from such labels, or not with such parameters.
        """
        return {}

    def known(self, results: Mapping[str, Any], before: Fitted) -> Mapping[str, Any]:
        """Return the statistics of new rows, for `learn` to find in them what was learned `before`.

        Raises
        ------
        DataValueError
            There are labels that cannot be learned besides: classes that were not there before.
        """
        return results

    def shapes(self) -> dict[str, Shape]:
        """Return the shapes of what `learn` returns."""
        return {}

    def with_columns(
        self, frame: nw.DataFrame, results: Mapping[str, Any], fitted: Fitted, missing: Any = None
    ) -> nw.DataFrame:
        """Return `frame` with results: arrays on its device, by column, null in the rows where `missing` is true."""
        return frame.with_columns(*self._made(frame, results, missing))

    def _made(self, frame: nw.DataFrame, results: Mapping[str, Any], missing: Any) -> list[nw.Series]:
        made = [matrices.column(frame, name, values) for name, values in results.items()]
        return made if missing is None else [null_where(frame, series, missing) for series in made]

    def row_values(self, fitted: Fitted) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        """Return what makes Python values of the results of a single row."""
        return lambda results: {name: values[0].tolist() for name, values in results.items()}


@dataclass(frozen=True)
class NumberTarget(Target):
    """A label of finite numbers."""

    label: str

    def check(self, stage: Stage, schema: pa.Schema) -> None:
        kind = schema.field(self.label).type
        if not is_numeric(kind):
            problem = f"label {self.label!r} is {kind}, expected a number"
            raise SchemaError(problem, column=self.label, stage=stage.title)

    def rules(self) -> Sequence[tuple[str, Rule]]:
        return rules_for((self.label,), "infinite")


def check_weights(name: str | None, largest: Any) -> None:
    """Raise DataValueError where the largest weight of all rows is 0, so that there is nothing to learn from."""
    if largest is not None and not largest > 0:
        raise DataValueError(
            f"all weights in column {name!r} are 0, so there is nothing to learn from",
            hint="A row of weight 0 is as if absent; name the right column, or leave the weight out.",
            column=name,
        )


def largest_weight(name: str | None, extremes: Mapping[str, Extreme]) -> float:
    """Return the largest weight of all rows, 1 where there are no weights; DataValueError where it is 0."""
    if name is None:
        return 1.0
    check_weights(name, extremes[name].max)
    return float(extremes[name].max)


def refuse_overflow(finite: Any, missing: Any, problem: str, columns: Sequence[str]) -> None:
    """Raise DataValueError for rows whose results are not finite though no feature is missing.

    Parameters
    ----------
    finite, missing : numpy.ndarray or cupy.ndarray of bool, of shape (n_rows,)
    """
    lost = int((~finite & ~missing).sum())
    if lost:
        raise DataValueError(
            f"{lost} row(s) {problem}: {', '.join(columns[:10])}",
            hint="Clip the features to the range that they can have.",
            rows=lost,
        )


def null_where(frame: nw.DataFrame, series: nw.Series, missing: Any) -> nw.Series:
    """Return a series for `frame` with null in the rows where `missing`, a mask on its device, is true."""
    if not bool(missing.any()):
        return series
    both = series.alias("value").to_frame().with_columns(matrices.column(frame, "known", ~missing))
    return both.select(nw.when(nw.col("known")).then(nw.col("value")).alias(series.name))[series.name]
