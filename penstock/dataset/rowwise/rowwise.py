"""Columns made, renamed, cast and dropped, lists as rows, rows of several datasets: as a dataset offers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError
from penstock.core.names import column_names
from penstock.core.schemas import require, with_fields
from penstock.dataset.rowwise.cast import checked_cast
from penstock.dataset.rowwise.rename import checked_names
from penstock.dataset.rowwise.union import union
from penstock.dataset.rowwise.with_columns import WithColumns, computed_columns
from penstock.dataset.steps import RowLog, Step

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


class RowWise:
    """The part of a dataset that changes rows one by one."""

    def with_columns(self, columns: Mapping[str, Any] | None = None, /, **more: Any) -> Dataset:
        """Return the dataset with columns added or replaced, each computed from others of the same row.

        Parameters
        ----------
        columns : mapping of str to narwhals.Expr, optional
            By name; for names that are no words of Python's.
        **more
            Expressions of Narwhals, or constants (texts as ``nw.lit``), by name. All see the columns as they are
            before, also those that are replaced. A column that nobody asks for is not computed.

        Returns
        -------
        Dataset
            New columns stand at the end. Rows keep their order and numbers.

        Raises
        ------
        ConfigError
            Nothing is given, or something that is no expression of Narwhals.
        SchemaError
            Before reading: an expression names a column that is not there, does not fit the types, or depends on other
            rows or on their order (``mean``, ``shift``, ``rank``, ``over``): each partition is computed by itself.
        DataValueError
            When it is read: an expression cannot take a value, or makes one that its type does not hold, with the file
            and the row.

        Notes
        -----
        Types are those of the expression over no rows, and known before anything is read. What has no value is null,
        inside an expression too: a NaN, as 0 / 0 is, as anywhere in a dataset. ``1 / 0`` is infinite, ``1 // 0`` and
        ``1 % 0`` of integers are null. An integer that its type does not hold is an error (int8 holds -128 to 127):
        cast to a larger type before. Decimals keep all digits, of a quotient 18 behind the point or more, and are
        rounded a half away from zero, as ``round`` does.
        ``str``, ``dt``, ``list`` and ``struct`` are there as in Narwhals; a format of dates has to be given, and what
        cuDF lacks is an error where it runs.

        Examples
        --------
        >>> import penstock as ps, narwhals as nw, pyarrow as pa
        >>> table = pa.table({"fare": [12.0, 9.0], "miles": [4.0, 0.0], "note": [" a", "b "]})
        >>> data = ps.LocalEngine(device="cpu").from_arrow(table)
        >>> made = data.with_columns(rate=nw.col("fare") / nw.col("miles"), note=nw.col("note").str.strip_chars())
        >>> made.to_arrow().to_pylist()[0]
        {'fare': 12.0, 'miles': 4.0, 'note': 'a', 'rate': 3.0}
        """
        data = cast("Dataset", self)
        return data.with_step(WithColumns(computed_columns({**(columns or {}), **more}, data.schema)))

    def rename(self, columns: Mapping[str, str]) -> Dataset:
        """Return the dataset with columns under other names, in their places.

        Parameters
        ----------
        columns : mapping of str to str
            New names by old ones; two columns may swap theirs.

        Raises
        ------
        SchemaError
            A column is not there, or a new name is one that Penstock keeps.
        ConfigError
            Two columns would have one name.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"a": [1], "b": [2]}))
        >>> data.rename({"a": "b", "b": "a"}).head().to_dicts()
        [{'b': 1, 'a': 2}]
        """
        data = cast("Dataset", self)
        return data.with_step(checked_names(columns, data.schema))

    def cast(
        self, types: Mapping[str, str | pa.DataType], *, errors: str = "raise", formats: Mapping[str, str] | None = None
    ) -> Dataset:
        """Return the dataset with columns in other types; no value is changed by it unnoticed.

        Parameters
        ----------
        types : mapping of str to str or pyarrow.DataType
            As for a declared schema: ``"float64"``, ``"date32"``, ``"timestamp[ms, tz=UTC]"``, ``"decimal128(9, 2)"``.
        errors : {"raise", "null", "quarantine"}, default "raise"
            What becomes of a value that its type does not hold: an error; null, counted in ``WriteResult.nulled``; or
            its row is set aside as it came in, with the reason, where the dataset is written.
        formats : mapping of str to str, optional
            Of columns of texts that become dates or timestamps, or of these that become texts, in codes of strftime
            (``%.f`` is the fraction of a second, with its dot); ISO 8601 unless given.

        Returns
        -------
        Dataset
            Null stays null; a text ``NaN`` is null. A column that is not read is not looked at, unless rows are set
            aside for it.

        Raises
        ------
        ConfigError
            A type, `errors` or a format is not known.
        SchemaError
            Before reading: a column is not there, or there is no way from its type to the other: to timestamps from
            numbers, say, or between those with a zone and those without.
        DataValueError
            When it is read: file, row and the first value that the type does not hold.

        Notes
        -----
        Numbers have to stay what they are, but for float64 that is rounded to float32, and decimals to floats: 3.7 and
        300 are no int8, 2**53 + 1 is no float64. Booleans are 0 and 1. A timestamp is a date where it is midnight
        (``dt.date()`` drops the time of day). Texts are read as in a CSV file, spaces around them left out: ``12``,
        ``1e3``, ``true``, ``2024-02-29``, ``2024-02-29T12:30:05.25``, and with a zone ``2024-02-29T12:30:05Z``.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> table = pa.table({"day": ["29.02.2024", "1.3.2024"], "sold": ["12", "none"]})
        >>> data = ps.LocalEngine(device="cpu").from_arrow(table).cast({"day": "date32"}, formats={"day": "%d.%m.%Y"})
        >>> data.cast({"sold": "int64"}, errors="null").head().rows()
        [(datetime.date(2024, 2, 29), 12), (datetime.date(2024, 3, 1), None)]
        """
        data = cast("Dataset", self)
        return data.with_step(checked_cast(types, errors, formats, data.schema))

    def drop(self, *columns: str) -> Dataset:
        """Return the dataset without some columns.

        Raises
        ------
        SchemaError
            A column is not there.
        ConfigError
            No column would be left.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> ps.LocalEngine(device="cpu").from_arrow(pa.table({"a": [1], "b": [2]})).drop("a").columns
        ['b']
        """
        data = cast("Dataset", self)
        names = column_names(columns[0] if len(columns) == 1 else columns, "columns of drop")
        gone = set(require(data.schema, names))
        rest = [name for name in data.columns if name not in gone]
        if not rest:
            raise ConfigError("drop would leave no column", hint=f"Columns are: {', '.join(data.columns)}.")
        return data.select(rest)

    def explode(self, column: str, *, keep_empty: bool = True) -> Dataset:
        """Return the dataset with a row for each value in the lists of a column.

        Parameters
        ----------
        column : str
            Of lists; it has their values then, and other columns are repeated.
        keep_empty : bool, default True
            Keep a row whose list is null or empty, with null, as Spark's ``explode_outer``; False drops and counts it.

        Returns
        -------
        Dataset
            Rows have no numbers any more: folds after it go by a column.

        Raises
        ------
        SchemaError
            The column is not there, or has no lists.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"id": [1, 2, 3], "tags": [["a", "b"], [], None]}))
        >>> data.explode("tags").head().rows(), data.explode("tags", keep_empty=False).count()
        ([(1, 'a'), (1, 'b'), (2, None), (3, None)], 2)
        """
        data = cast("Dataset", self)
        return data.with_step(checked_list(column, keep_empty, data.schema))

    def union(self, *others: Dataset, missing_columns: str = "error") -> Dataset:
        """Return the rows of this dataset, and then those of others, as one; nothing is read or copied.

        Parameters
        ----------
        *others : Dataset
            With the same columns, in any order. They may be read of other files and formats, by other steps; one may
            come several times.
        missing_columns : {"error", "null"}, default "error"
            What to do about a column that not all of them have: it may be null in the others.

        Returns
        -------
        Dataset
            With the columns in the order of the first, in the smallest type that holds those of all without loss:
            integers widen to larger ones and float32 to float64, nothing else. Rows are numbered on from dataset to
            dataset, so that splits and folds deal all of them; what is persisted stays so.

        Raises
        ------
        ConfigError
            There is no other, or it is no dataset.
        SchemaDriftError
            A column is not in all of them, or its types do not go together.

        Notes
        -----
        An error names the file and the row in it, whichever of the datasets it is of.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> engine = ps.LocalEngine(device="cpu")
        >>> old = engine.from_arrow(pa.table({"day": [1, 2], "sold": pa.array([5, 7], pa.int8())}))
        >>> new = engine.from_arrow(pa.table({"sold": [900], "day": [3]}))
        >>> old.union(new).head().rows()
        [(1, 5), (2, 7), (3, 900)]
        """
        return union([cast("Dataset", self), *others], missing_columns)


@dataclass(frozen=True)
class Explode(Step):
    """Makes a row of every value in a list.

    Parameters
    ----------
    column : str
    keep_empty : bool
        Whether a row without a value, as its list is null or empty, stays, with null.
    """

    column: str
    keep_empty: bool
    keeps_rows = False
    makes_rows = True

    @property
    def label(self) -> str:
        return f"explode({self.column})"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, {self.column: schema.field(self.column).type.value_type})

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        return wanted | {self.column}

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        has_values = (nw.col(self.column).list.len() > 0).fill_null(False)
        rows = frame if self.keep_empty else frame.filter(has_values)
        log.drop(f"{self.label}: null or empty", len(frame) - len(rows))
        # Libraries differ in what they do with an empty list, not with null.
        made = rows.with_columns(nw.when(has_values).then(nw.col(self.column)).alias(self.column)).explode(self.column)
        log.drop(self.label, len(rows) - len(made))
        return made


def checked_list(column: str, keep_empty: bool, schema: pa.Schema) -> Explode:
    """Return the step that explodes a column of `schema`; SchemaError where it is not there, or has no lists."""
    (name,) = require(schema, column)
    kind = schema.field(name).type
    if not pa.types.is_list(kind):
        raise SchemaError(
            f"column {name!r} is {kind}, but explode takes a list",
            hint='A text becomes one by with_columns(x=nw.col("x").str.split(",")).',
            column=name,
        )
    return Explode(name, keep_empty)
