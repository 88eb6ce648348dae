"""Scores and probabilities that come as vectors, an element a class: of two classes element 1 is the positive one's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.frames import Kind
from penstock.statistics.rules import ColumnRules, Rule, refuse


def positive_class(frame: nw.DataFrame[Any], name: str) -> nw.DataFrame[Any]:
    """Return `frame` with element 1 in place of each list of column `name`; as it is when that holds numbers.

    MLlib's rule for vectors, but of two classes alone: a list of other than two elements, and one whose element 1 is
    NaN or null, give null.
    Kernel: cuDF's own element of a list, for which Narwhals has no way there.

    Examples
    --------
    >>> frame = frames.from_arrow(pa.table({"probability": [[0.75, 0.25], [0.5, float("nan")], [1.0]]}))
    >>> positive_class(frame, "probability")["probability"].to_list()
    [0.25, None, None]
    """
    if not is_vector(frame, name):
        return frame
    if frames.is_gpu(frame):
        lists = nw.to_native(frame[name]).list
        native = lists.get(1).where(lists.len() == 2)
        return frames.nan_to_null(frame.with_columns(nw.from_native(native, series_only=True).alias(name)))
    kind = nw.List(frame.schema[name].inner)  # type: ignore[attr-defined]
    return frames.nan_to_null(frame.with_columns(nw.col(name).cast(kind)).with_columns(_element_one(name)))


def _element_one(name: str) -> nw.Expr:
    of_two = nw.when(nw.col(name).list.len() == 2).then(nw.col(name))
    return of_two.list.get(1).alias(name)


def is_vector(frame: nw.DataFrame[Any], name: str) -> bool:
    """Return whether column `name` holds lists.

    Examples
    --------
    >>> is_vector(frames.from_arrow(pa.table({"probability": [[0.75, 0.25]]})), "probability")
    True
    """
    return isinstance(frame.schema[name], (nw.List, nw.Array))


def elements(frame: nw.DataFrame[Any], name: str) -> tuple[Any, Any]:
    """Return the elements of lists, none of which is null, one after another, and how many each list has.

    They are float64 with NaN for null, and where the frame is. Kernel: cuDF's own, which Narwhals has not.

    Examples
    --------
    >>> values, lengths = elements(frames.from_arrow(pa.table({"v": [[0.75, None], [1.0]]})), "v")
    >>> values.tolist(), lengths.tolist()
    ([0.75, nan, 1.0], [2, 1])
    """
    if frames.is_gpu(frame):
        there = nw.to_native(frame[name]).list
        return there.leaves.astype("float64").to_cupy(na_value=float("nan")), there.len().to_cupy()
    lists = frames.to_arrow(frame.select(name))[name].combine_chunks()
    values = lists.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values, pc.list_value_length(lists).to_numpy()


def vector_kind(frame: nw.DataFrame[Any], name: str) -> Kind | None:
    """Return where the lists of column `name` are; None when it holds none."""
    return frames.kind_of(frame) if is_vector(frame, name) else None


def element_types(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """Return `schema` with the type of the elements for those of the columns `names` that hold lists of numbers.

    Examples
    --------
    >>> element_types(pa.schema({"score": pa.list_(pa.float32())}), ["score"]).field("score").type
    DataType(float)
    """
    return pa.schema([pa.field(f.name, _element_type(f.type) if f.name in names else f.type) for f in schema])


def _element_type(kind: pa.DataType) -> pa.DataType:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    is_vector = any(test(kind) for test in tests)
    held = is_vector and (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))
    return kind.value_type if held else kind


def refuse_elements(checks: ColumnRules, counts: Sequence[int], name: str, vectors: Kind | None) -> None:
    """Raise as `rules.refuse` does, with a predicate that suits column `name` if it holds lists.

    Parameters
    ----------
    vectors : {"cpu", "gpu"} or None
        Where the lists are, if they are: on a GPU no expression tells bad ones, and the predicate is None.
    """
    element = _element_one(name).cast(nw.Float64)

    def error(column: str, rule: Rule, count: int) -> DataValueError:
        found = rule.error(column, count)
        if vectors is not None and column == name:
            if rule.test == "null":
                problem = f"column {name!r} has {count} values that are not lists of two numbers, one for each class"
                hint = "Of more classes take a MulticlassClassificationEvaluator; filter rows without scores."
                found = DataValueError(problem, hint=hint, column=name)
            found.predicate = rule(nw.when(~element.is_nan()).then(element)) if vectors == "cpu" else None
        return found

    refuse(checks, counts, error)
