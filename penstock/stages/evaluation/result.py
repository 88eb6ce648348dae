"""What an evaluation gives: a plain dict of metrics, and beside it reasons, curves, intervals and slices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from penstock.core.displayed import Displayed
from penstock.core.redaction import presentable


class Evaluation(Displayed, dict[str, float | None]):
    """Metric names to values; an undefined metric is None, and `reasons` says why.

    Parameters
    ----------
    values : mapping of str to float or None
    reasons : mapping of str to str, optional
        For each metric that is None.
    tables : mapping of str to pyarrow.Table, optional
        Curves and counts behind the metrics, thinned for drawing; each evaluator's docstring names its own.
    bounds : mapping of str to float, optional
        How far the exact value can be from the one given, for metrics that were approximated.
    intervals : mapping of str to (float, float), optional
        Confidence interval of each metric, if a bootstrap was asked for.
    slices : mapping of str to pyarrow.Table, optional
        By the name of what was sliced: the columns sliced by, ``rows``, and one float64 column a metric.
    larger_better : mapping of str to bool, optional
        Whether a larger value of a metric is better.
    labels : mapping of str to label, optional
        The label that a metric of one label is of.

    Examples
    --------
    >>> reasons, intervals = {"r2": "the labels do not vary"}, {"rmse": (0.4, 0.7)}
    >>> evaluation = Evaluation({"rmse": 0.5, "r2": None}, reasons, intervals=intervals)
    >>> evaluation["rmse"], evaluation
    (0.5, {'rmse': 0.5, 'r2': None})
    >>> print(evaluation)
    rmse  0.5  [0.4, 0.7]
    r2    undefined: the labels do not vary
    """

    _display = "penstock.report.notebook.evaluations:evaluation_html"

    def __init__(
        self,
        values: Mapping[str, float | None] | None = None,
        reasons: Mapping[str, str] | None = None,
        *,
        tables: Mapping[str, pa.Table] | None = None,
        bounds: Mapping[str, float] | None = None,
        intervals: Mapping[str, tuple[float, float]] | None = None,
        slices: Mapping[str, pa.Table] | None = None,
        larger_better: Mapping[str, bool] | None = None,
        labels: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(values or {})
        self.reasons: dict[str, str] = dict(reasons or {})
        self.tables: dict[str, pa.Table] = dict(tables or {})
        self.bounds: dict[str, float] = dict(bounds or {})
        self.intervals: dict[str, tuple[float, float]] = dict(intervals or {})
        self.slices: dict[str, pa.Table] = dict(slices or {})
        self.larger_better: dict[str, bool] = dict(larger_better or {})
        self.labels: dict[str, Any] = dict(labels or {})

    def named(self, prefix: str) -> Evaluation:
        """Return the same with ``prefix.`` before every name.

        Examples
        --------
        >>> Evaluation({"rmse": 0.5}).named("price")
        {'price.rmse': 0.5}
        """
        made = Evaluation()
        for own, part in zip(made._parts(), self._parts(), strict=True):
            own.update({f"{prefix}.{name}": value for name, value in part.items()})
        return made

    @classmethod
    def joined(cls, evaluations: Iterable[Evaluation]) -> Evaluation:
        """Return all metrics, tables and slices in one; of a name that occurs twice the last."""
        made = cls()
        for each in evaluations:
            for own, part in zip(made._parts(), each._parts(), strict=True):
                own.update(part)
        return made

    def _parts(self) -> tuple[dict[str, Any], ...]:
        """Return the metrics, and all that is told of them by their names."""
        told = (self.reasons, self.tables, self.bounds, self.intervals, self.slices, self.larger_better, self.labels)
        return self, *told

    def __str__(self) -> str:
        """Return one line a metric, aligned."""
        names = max((len(name) for name in self), default=0)
        numbers = max((len(f"{value:.6g}") for value in self.values() if value is not None), default=0)
        return "\n".join(presentable(f"{name:<{names}}  {self._shown(name, numbers)}".rstrip()) for name in self)

    def _shown(self, name: str, width: int) -> str:
        value = self[name]
        if value is None:
            return f"undefined: {self.reasons.get(name, 'no reason given')}"
        low, high = self.intervals.get(name, (None, None))
        interval = "" if low is None else f"  [{low:.6g}, {high:.6g}]"
        bound = f"  +-{self.bounds[name]:.2g}" if name in self.bounds else ""
        label = f"  of {self.labels[name]!r}" if name in self.labels else ""
        return f"{f'{value:.6g}':<{width}}{interval}{bound}{label}"
