"""Queries of many columns take calls in proportion to them."""

import sys
import threading
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import narwhals as nw
import pyarrow as pa
import pytest

import penstock as ps

DATA = ps.LocalEngine(device="cpu").from_arrow(pa.table({"a": [1, 2, 3]}))


def chained(columns: int) -> pa.Table:
    """Add columns one by one."""
    data = DATA
    for place in range(columns):
        data = data.with_columns({f"c{place}": nw.col("a") + place})
    return data.to_arrow()


def queried(before: str, part: str, by: str, after: str, parts: int) -> pa.Table:
    """Run a query that repeats a part, each time with its number."""
    text = before + by.join(part.format(place) for place in range(parts)) + after
    return DATA.engine.sql(text, t=DATA).to_arrow()  # type: ignore[attr-defined]


def calls(work: Callable[[], Any]) -> int:
    """Count the functions that are called, in threads that begin meanwhile too."""
    counter = count()

    def note(frame: Any, event: str, argument: Any) -> None:
        if event.endswith("call"):
            next(counter)

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # type: ignore[arg-type]
    return next(counter)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("work", "size"),
    [
        pytest.param(chained, 20, id="with_columns one by one"),
        pytest.param(partial(queried, "SELECT ", "a + {0} AS c{0}", ", ", " FROM t"), 80, id="SELECT"),
        pytest.param(partial(queried, "SELECT ", "sum(a + {0}) AS c{0}", ", ", " FROM t"), 20, id="aggregates"),
        pytest.param(partial(queried, "", "SELECT a + {0} AS c FROM t", " UNION ALL ", ""), 20, id="UNION ALL"),
    ],
)
def test_four_times_the_columns_take_four_times_the_calls(work: Callable[[int], pa.Table], size: int) -> None:
    work(3)  # what is imported late, is
    assert calls(partial(work, 4 * size)) < 4.5 * calls(partial(work, size))
