"""Describing the columns of a dataset, as a dataset offers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from penstock.core.selectors import Columns, resolve

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.dataset.description.data_description import DataDescription


class Describing:
    """The part of a dataset that says what its columns hold."""

    def describe(
        self,
        columns: Columns | None = None,
        *,
        quantiles: Sequence[float] = (0.25, 0.5, 0.75),
        top: int = 5,
        full: bool = False,
        label: str | None = None,
    ) -> DataDescription:
        """Return what the columns hold, from one scan on any engine.

        Parameters
        ----------
        columns : str, sequence of str, or Selector, optional
            All, unless given; of any type. Of structs, maps and binary only values that are missing are counted.
        quantiles : sequence of float, default=(0.25, 0.5, 0.75)
            Fractions between 0 and 1.
        top : int, default=5
            How many of the most frequent values to tell, of strings, booleans and integers of few values.
        full : bool, default=False
            Gather histograms, correlations, which columns are missing together, and warnings of what would hurt a
            model, too: all that the page of ``write_report()`` shows. It is the same scan, with more to compute.
        label : str, optional
            The column that is to be predicted: of each other one it is told how much of it that says, so that one that
            gives the label away is noticed. The description is a full one then, and takes a second scan.

        Returns
        -------
        DataDescription
            By column what :class:`~penstock.dataset.description.column_description.ColumnDescription` says. It has
            ``to_polars()`` (one row a column), ``to_dict()`` (for JSON), ``write_report()`` (a page), ``compare()``
            with another description, and shows itself as a table.

        Raises
        ------
        SchemaError
            A column is not there.
        ConfigError
            No column is selected, one is named twice, or an option is out of range.

        Notes
        -----
        NaN is null, and null is missing: it takes part in nothing else. An infinite number does, and leaves the mean
        and the spread of its column undefined; it is counted.

        Memory does not grow with the rows. Different values are counted exactly up to 10,000 a column (fewer where more
        than about a hundred columns are described, or where texts are longer than 64 bytes on average), and estimated
        by HyperLogLog beyond, with a standard error of 0.8 %, which ``distinct_error`` says. Counts of frequent values
        may then be too low by ``top_error``, of n rows less than ``n / 10000``. Quantiles are values of the data, exact
        up to 65,536 values; beyond, ``quantile_error`` bounds by which share of the rows a rank may be wrong.

        Bars of a histogram are as wide as each other, 30 at most; their counts are read off the quantiles, exact where
        those are. Correlations are Pearson's, over the rows that have both, of the first 100 columns of numbers. Which
        columns are equal is exact, and patterns of missing values are counted exactly up to 1,000 of them.

        The association of a column with the label is Theil's uncertainty coefficient, the mutual information over the
        entropy of the label, less what chance would give (Miller and Madow). Numbers are cut into 50 parts of as many
        rows, labels of more than 20 numbers into 20; of texts the 200 most frequent stand for themselves.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> table = pa.table({"x": [1.0, 3.0, None, 2.0], "zone": ["a", "b", "a", None]})
        >>> description = ps.LocalEngine(device="cpu").from_arrow(table).describe()
        >>> description
        4 rows, 2 columns
        column  type    count  missing  distinct  mean  std  min  25%  50%  75%  max  length  top
        x       double  3      1        3         2     1    1    1    2    3    3
        zone    string  3      1        2                    a                   b    1 to 1  a: 2, b: 1
        >>> description["x"].mean, description["zone"].top
        (2.0, (('a', 2), ('b', 1)))
        >>> print(*ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [7, 7]})).describe(full=True).warnings)
        constant: x: every value is the same
        """
        from penstock.dataset.description.describe import check_options, describe  # they import the dataset
        from penstock.dataset.description.full import describe_fully

        dataset = cast("Dataset", self)
        check_options(quantiles, top)
        names = tuple(dataset.schema.names) if columns is None else resolve(columns, dataset.schema, "describe")
        if full or label is not None:
            return describe_fully(dataset, names, tuple(quantiles), top, label)
        return describe(dataset, names, tuple(quantiles), top)
