"""Rows left out, each counted once by the reason it was left out for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import reduce
from operator import or_

import narwhals as nw

from penstock.dataset.steps import RowLog
from penstock.stages.base import Fitted, Stage


class FilterStage(Stage):
    """A stage that leaves rows out, and says which in `filter`."""

    @abstractmethod
    def filter(self, frame: nw.DataFrame, fitted: Fitted, log: RowLog) -> nw.DataFrame:
        """Return the rows that stay, and count the others."""

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Return the rows that stay."""
        return self.filter(frame, fitted, RowLog())


def drop_rows(frame: nw.DataFrame, reasons: Mapping[str, nw.Expr], log: RowLog) -> nw.DataFrame:
    """Return the rows for which no condition is true; null counts as false.

    Parameters
    ----------
    reasons : mapping
        Conditions by what is told of the rows for which they are true; a row counts for the first of them. There is at
        least one.
    log : RowLog
        Gets the counts.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> log = RowLog()
    >>> drop_rows(frames.from_arrow(pa.table({"x": [1, 5, None]})), {"x > 4": nw.col("x") > 4}, log)["x"].to_list()
    [1, None]
    >>> log.dropped
    {'x > 4': 1}
    """
    conditions = {reason: condition.fill_null(False) for reason, condition in reasons.items()}
    dropped = reduce(or_, conditions.values())
    bad = frame.filter(dropped)
    if not len(bad):
        return frame
    for reason, condition in conditions.items():
        rest = bad.filter(~condition)
        log.drop(reason, len(bad) - len(rest))
        bad = rest
    return frame.filter(~dropped)
