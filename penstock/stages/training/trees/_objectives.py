"""What XGBoost's objectives ask of labels, checked over all rows before training starts.

XGBoost tells of a label that an objective cannot learn from without its place, and takes some without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import DataValueError, check_one_of
from penstock.stages.base import Stage, check_types
from penstock.stages.target import NumberTarget
from penstock.statistics.aggregates import aggregate
from penstock.statistics.base import State, Statistic

Test = Callable[[tuple[str, ...]], nw.Expr]


@dataclass(frozen=True)
class Fault:
    """Labels that an objective cannot learn from.

    Attributes
    ----------
    bad : callable
        Gives, for the names of the columns (the label, and for intervals their upper end), what is true for such rows.
    problem, expected : str
    place : int or None
        Which of the columns is to blame; None when it is both together.
    """

    bad: Test
    problem: str
    expected: str
    place: int | None = 0

    def error(self, objective: str, columns: tuple[str, ...], count: int) -> DataValueError:
        """Return the error that tells of `count` such rows; its predicate finds them."""
        column = None if self.place is None else columns[self.place]
        named = f"column {column!r}" if column else f"columns {' and '.join(map(repr, columns))}"
        return DataValueError(
            f"{named}: {count} label(s) {self.problem}, but {objective!r} takes {self.expected}",
            hint="Filter or correct these rows, or choose another objective.",
            predicate=self.bad(columns),
            column=column,
        )


def _label(columns: tuple[str, ...]) -> nw.Expr:
    return nw.col(columns[0]).cast(nw.Float64)


def _upper(columns: tuple[str, ...]) -> nw.Expr:
    return nw.col(columns[1]).cast(nw.Float64)


_NEGATIVE = Fault(lambda names: _label(names) < 0, "negative", "numbers of 0 or more")
_NOT_POSITIVE = Fault(lambda names: _label(names) <= 0, "zero or negative", "numbers greater than 0")
_NOT_BINARY = Fault(lambda names: (_label(names) != 0) & (_label(names) != 1), "neither 0 nor 1", "0 and 1")
_NOT_WHOLE = Fault(lambda names: _label(names) % 1 != 0, "fractional", "whole numbers")
_INTERVAL = (
    _NEGATIVE,
    Fault(lambda names: nw.col(names[1]).is_null(), "null", "infinity where the end was not seen", 1),
    Fault(lambda names: _upper(names) <= 0, "zero or negative", "upper ends greater than 0", 1),
    Fault(lambda names: _upper(names) < _label(names), "upside down", "a lower end, then an upper end", None),
)
_HIGHEST_GRADE = 31
_FAULTS = "labels for the objective"

FAULTS: Mapping[str, tuple[Fault, ...]] = {
    "reg:squarederror": (),
    "reg:squaredlogerror": (Fault(lambda names: _label(names) <= -1, "-1 or less", "numbers greater than -1"),),
    "reg:logistic": (
        Fault(lambda names: (_label(names) < 0) | (_label(names) > 1), "outside 0 to 1", "numbers from 0 to 1"),
    ),
    "reg:pseudohubererror": (),
    "reg:absoluteerror": (),
    "reg:quantileerror": (),
    "reg:gamma": (_NOT_POSITIVE,),
    "reg:tweedie": (_NEGATIVE,),
    "count:poisson": (_NEGATIVE,),
    "survival:cox": (
        Fault(lambda names: _label(names) == 0, "0", "times of events, and those of censored rows with a minus sign"),
    ),
    "survival:aft": _INTERVAL,
    "rank:ndcg": (
        _NEGATIVE,
        _NOT_WHOLE,
        Fault(lambda names: _label(names) > _HIGHEST_GRADE, "greater than 31", "grades from 0 to 31"),
    ),
    "rank:pairwise": (_NEGATIVE,),
    "rank:map": (_NOT_BINARY,),
    "binary:logistic": (),
    "multi:softprob": (),
    "multi:softmax": (),
}
"""The faults of each objective, beyond null and infinite labels, which none takes."""

REGRESSION = tuple(name for name in FAULTS if name.startswith(("reg:", "count:", "survival:")))
RANKING = tuple(name for name in FAULTS if name.startswith("rank:"))
CLASSIFICATION = tuple(name for name in FAULTS if name.startswith(("binary:", "multi:")))


def check_objective(objective: str | None, known: Sequence[str], stage: str) -> None:
    """Raise ConfigError unless an objective is one of the `known` ones, or None.

    Examples
    --------
    >>> check_objective("reg:gamma", REGRESSION, "XGBoostRegressor")
    """
    if objective is not None:
        check_one_of(f"objective of {stage}", objective, known, stage=stage)


@dataclass(frozen=True)
class ObjectiveTarget(NumberTarget):
    """A label of numbers that one of XGBoost's objectives can learn from.

    Parameters
    ----------
    objective : str
    upper : str or None
        Column of the upper ends of intervals, of which labels are the lower ends.
    """

    objective: str
    upper: str | None = None

    @property
    def faults(self) -> LabelFaults:
        """Counts the labels that the objective cannot learn from."""
        return LabelFaults((self.label, *([self.upper] if self.upper else [])), self.objective)

    def check(self, stage: Stage, schema: pa.Schema) -> None:
        super().check(stage, schema)
        check_types(stage, schema, (self.upper,) if self.upper else ())

    def statistics(self) -> dict[str, Statistic]:
        return {_FAULTS: self.faults}

    def learn(self, results: Mapping[str, Any]) -> dict[str, Any]:
        self.faults.refuse(results[_FAULTS])
        return {}


@dataclass(frozen=True)
class LabelFaults(Statistic):
    """How many rows have each of an objective's faults; ``columns`` are the label, and the upper end of an interval.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> faults = LabelFaults(("y",), "count:poisson")
    >>> faults.finish(faults.summarise(frames.from_arrow(pa.table({"y": [1.0, -2.0]}))))
    [1]
    """

    objective: str

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the rows of one partition."""
        broken = {place: fault.bad(self.columns) for place, fault in enumerate(FAULTS[self.objective])}
        counts = aggregate(frame, {place: bad.fill_null(False).sum() for place, bad in broken.items()})
        return [int(counts[place]) for place in broken]

    def merge(self, states: Sequence[State]) -> State:
        """Add up the counts."""
        return [sum(counts) for counts in zip(*states, strict=True)]

    def finish(self, state: State) -> list[int]:
        """Return the counts, in the order of `FAULTS`."""
        return list(state)

    def refuse(self, counts: Sequence[int]) -> None:
        """Raise DataValueError for the first fault that some rows have."""
        for fault, count in zip(FAULTS[self.objective], counts, strict=True):
            if count:
                raise fault.error(self.objective, self.columns, count)
