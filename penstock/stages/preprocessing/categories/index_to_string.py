"""Numbers of categories replaced by the categories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.parameter_checks import one_of
from penstock.stages.preprocessing.columns import refuse_rows


@dataclass(frozen=True)
class IndexToString(ColumnStage):
    """Replaces each number i by label i, counted from 0: the inverse of :class:`StringIndexer`.

    The classifiers of the library learn and predict labels of any type as they are, and need no such stage; it is for
    numbers that come from elsewhere, and for models of other libraries.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    labels : sequence of str, int or bool
        What the numbers stand for, all of one type, which is that of the result. Those that a fitted
        :class:`StringIndexer` gave numbers to are in the column ``value`` of its ``categories``.
    handle_invalid : {"error", "ignore"}, default="error"
        What becomes of a number that has no label, a fraction or one beyond the last: an error, as in MLlib, or null.
        Those that :class:`StringIndexer` gives to null and to unseen values are of that kind.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        There are no labels, or labels of several types or of another.
    SchemaError
        Before reading: a column is missing or not numeric.
    DataValueError
        When it runs, with ``handle_invalid="error"``: numbers without a label; column, count, first file and row are
        named.

    Notes
    -----
    A null stays null. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"i": [1.0, 0.0, None]}))
    >>> model = ps.Pipeline(st.IndexToString("i", labels=["no", "yes"])).fit(data)
    >>> model.transform(data).to_arrow()["i"].to_pylist()
    ['yes', 'no', None]
    """

    _: KW_ONLY
    labels: tuple[Any, ...]
    handle_invalid: str = field(default="error", metadata=one_of("error", "ignore"))

    tags: ClassVar[Tags] = Tags(accepts="numeric")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "labels", tuple(self.labels))
        kinds = {type(each) for each in self.labels}
        fit = all(-(2**63) <= each < 2**63 for each in self.labels if isinstance(each, int))
        if len(kinds) != 1 or not kinds <= {str, int, bool} or not fit:
            raise ConfigError(
                f"labels of IndexToString are {self.labels!r:.200}, expected strings, integers (int64) or booleans, all"
                " of one type and at least one",
                stage=self.title,
            )

    @property
    def _values(self) -> pa.Array:
        return pa.array(self.labels)

    def output_type(self, kind: pa.DataType) -> pa.DataType:
        """Return the type of the labels: string, int64 or bool."""
        return self._values.type

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Look up which numbers have labels in one select, then the labels."""
        if self.handle_invalid == "error":
            refuse_rows(frame, dict.fromkeys(self.inputs(), self._lacks_label), self._error)
        values = self._values
        places = frame.select(*[
            nw.when(~self._lacks_label(nw.col(name))).then(nw.col(name).cast(nw.Float64)).cast(nw.Int32).alias(name)
            for name in self.inputs()
        ])  # fmt: skip
        return frame.with_columns(*[frames.decode(places[name], values).alias(out) for name, out in self.pairs()])

    def _lacks_label(self, column: Any) -> Any:
        value = column.cast(nw.Float64)
        return ~((value >= 0) & (value < len(self.labels)) & (value % 1 == 0))

    def _error(self, name: str, count: int) -> DataValueError:
        return DataValueError(
            f"column {name!r} has {count} numbers without a label, expected whole ones, 0 to {len(self.labels) - 1}",
            hint='Pass the labels that are missing, or handle_invalid="ignore" for null in their place.',
            column=name,
            predicate=self._lacks_label(nw.col(name)),
        )

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Look the label of one number up."""
        labels, refuse = self.labels, self.handle_invalid == "error"

        def label(value: Any) -> Any:
            if value is None:
                return None
            if 0 <= value < len(labels) and value == int(value):
                return labels[int(value)]
            if refuse:
                raise self._error(name, 1)
            return None

        return label
