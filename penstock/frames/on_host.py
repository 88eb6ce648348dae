"""Expressions of the user's own, which Polars computes on both devices.

To cuDF the same expressions mean other things: null or true is null, a text is unequal to another where all texts are
null, small integers are divided in float32, and functions of numbers refuse nulls.
"""

from __future__ import annotations

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.frames import matrices


def on_host(frame: nw.DataFrame, read: pa.Schema) -> nw.DataFrame:
    """Return rows of which Polars computes expressions that read the columns of `read`, in these types.

    On a CPU that is the frame itself; from a GPU only these columns are copied, one of any kind if there are none.
    """
    if not frames.is_gpu(frame):
        return frame
    columns = frame.select(read.names or frame.columns[:1])
    return frames.from_arrow(frames.to_arrow(columns, read if read.names else None))


def on_device_of(frame: nw.DataFrame, computed: nw.DataFrame, schema: pa.Schema) -> nw.DataFrame:
    """Return what was computed of `on_host(frame)`, which has the columns of `schema`, where the frame is."""
    return frames.from_arrow(frames.to_arrow(computed, schema), "gpu") if frames.is_gpu(frame) else computed


def filter_rows(frame: nw.DataFrame, condition: nw.Expr, read: pa.Schema) -> nw.DataFrame:
    """Return the rows for which `condition`, which reads the columns of `read`, is true; null counts as false.

    To a GPU goes a byte a row.

    Examples
    --------
    >>> table = pa.table({"x": [1, None, 3]})
    >>> filter_rows(frames.from_arrow(table), nw.col("x") > 1, table.schema)["x"].to_list()
    [3]
    """
    if not frames.is_gpu(frame):
        return frame.filter(condition)
    chosen = on_host(frame, read).with_columns(chosen=condition)["chosen"].fill_null(False)
    return frame.filter(matrices.column(frame, "chosen", chosen.to_numpy()))
