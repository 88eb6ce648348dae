"""Functions of the module: frames and columns put together."""

from typing import Any

import numpy as np
import pyarrow as pa

from cudf_stand_in import spec
from cudf_stand_in.casts import cast
from cudf_stand_in.dtypes import arrow_type, dtype_of
from cudf_stand_in.frame import DataFrame
from cudf_stand_in.index import Index, unlabelled
from cudf_stand_in.selection import require_same_index
from cudf_stand_in.series import Series


def concat(objs: Any, axis: Any = 0, ignore_index: bool = False) -> Any:
    """Put the rows of frames one after the other, or columns side by side."""
    given = list(objs)
    if not given:
        raise ValueError("No objects to concatenate")
    if axis in (1, "columns"):
        return _side_by_side(given)
    if isinstance(given[0], DataFrame):
        return _one_after_the_other(given, ignore_index)
    joined = _joined([each._values for each in given])
    if isinstance(given[0], Index):
        return Index(joined)
    labels = unlabelled(len(joined)) if ignore_index else _labels([each.index for each in given])
    return Series._of(joined, labels, None)


def _labels(given: list[Index]) -> Index:
    names = {each._name for each in given}
    return Index(_joined([each._values for each in given]), name=names.pop() if len(names) == 1 else None)


def _side_by_side(given: list[Any]) -> DataFrame:
    columns: dict[Any, pa.Array] = {}
    for each in given:
        require_same_index(given[0], each)
        for name, values in ({each.name: each._values} if isinstance(each, Series) else each._columns).items():
            if name in columns:
                raise NotImplementedError(f"A Column with duplicate name found: {name}, cuDF doesn't support it")
            columns[name] = values
    return DataFrame._of(columns, given[0].index)


def _one_after_the_other(given: list[Any], ignore_index: bool) -> DataFrame:
    if not ignore_index or any(list(each.columns) != list(given[0].columns) for each in given):
        raise NotImplementedError("frames of other columns, or whose labels are kept, are not in the stand-in")
    columns = {name: _joined([each._columns[name] for each in given]) for name in given[0].columns}
    return DataFrame._of(columns, unlabelled(sum(map(len, given))))


def _joined(parts: list[pa.Array]) -> pa.Array:
    if len({part.type for part in parts}) == 1:
        return pa.concat_arrays(parts)
    common = arrow_type(np.result_type(*(dtype_of(part.type) for part in parts)))
    return pa.concat_arrays([cast(part, common) for part in parts])


FUNCTIONS = {"concat": spec.checked("cudf", "concat", concat)}
