"""Categories replaced by how often they occur."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.preprocessing.categories.vocabulary import coder, codes, values_of
from penstock.stages.shapes import Fields, Integer, Shape, by_column, vocabulary
from penstock.statistics import Frequencies, Statistic, ValueCounts


@dataclass(frozen=True)
class CountEncoder(ColumnStage):
    """Replaces each value by how many rows had it at fit, as int64, or by their share of all rows, as float64.

    Null is counted as a value of its own, so that nothing that comes out is null; a value unseen at fit becomes 0.
    Two values of one count cannot be told apart afterwards. Neither MLlib nor scikit-learn has such a stage.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of strings, integers or booleans. The last two are matched by their text, see :class:`StringIndexer`.
    normalize : bool, default=False
        Give shares in place of counts.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    SchemaError
        At fit, before reading: a column is missing or of another type.

    Notes
    -----
    Learned are ``counts``, an Arrow table by column of ``value`` (in the type of the column, most frequent first) and
    ``count``, and ``nulls``, a number by column.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"c": ["b", "a", "b", None]}))
    >>> model = ps.Pipeline(st.CountEncoder("c")).fit(data)
    >>> new = ps.LocalEngine().from_arrow(pa.table({"c": ["a", "b", "z", None]}))
    >>> model.transform(new).to_arrow()["c"].to_pylist()
    [1, 2, 0, 1]
    """

    _: KW_ONLY
    normalize: bool = False

    tags: ClassVar[Tags] = Tags(accepts="categorical")

    def output_type(self, kind: pa.DataType) -> pa.DataType:
        """Return int64, or float64 for shares."""
        return pa.float64() if self.normalize else pa.int64()

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask how often each value occurs."""
        return {"values": ValueCounts(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``counts`` and ``nulls`` of each column."""
        found: Mapping[str, Frequencies] = results["values"]
        return {
            "counts": {name: found[name].table for name in self.inputs()},
            "nulls": {name: found[name].nulls for name in self.inputs()},
        }

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        tables = by_column(self.inputs(), lambda name: vocabulary(schema.field(name).type, count=pa.types.is_integer))
        return Fields({"counts": tables, "nulls": by_column(self.inputs(), Integer())})

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Encode all columns in one call, and look the counts up."""
        known = {name: values_of(fitted["counts"][name]) for name in self.inputs()}
        unseen = {name: len(values) for name, values in known.items()}
        found = codes(frame, known, unseen, {name: code + 1 for name, code in unseen.items()})
        made = [
            frames.decode(found[name], pa.array(self._counts(name, fitted))).alias(out) for name, out in self.pairs()
        ]
        return frame.with_columns(*made)

    def _counts(self, name: str, fitted: Fitted) -> np.ndarray:
        """Return what each code stands for: the counts, 0 for what is unseen, and that of null."""
        counts = np.append(fitted["counts"][name]["count"].to_numpy(), [0, fitted["nulls"][name]]).astype(np.int64)
        return counts / counts.sum() if self.normalize else counts

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Look the count of one value up."""
        *counts, missing = self._counts(name, fitted).tolist()
        code = coder(name, values_of(fitted["counts"][name]), len(counts) - 1)
        return lambda value: missing if (place := code(value)) is None else counts[place]
