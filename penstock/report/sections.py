"""An evaluation in sections, one for each prefix of its names, each with metrics, figures and slices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.report.bars import by_label, clusters
from penstock.report.curves import at_k, gains, precision_recall, roc
from penstock.report.figures import Figure, Metrics, numbers_of
from penstock.report.matrix import confusion_matrix
from penstock.report.observed import calibration, residual_histogram, residual_quantiles, residuals
from penstock.report.slices import slice_figure
from penstock.report.text import show_label, show_number
from penstock.stages.evaluation.result import Evaluation

_DRAWN: dict[str, Callable[[pa.Table, Metrics], list[Figure]]] = {
    "roc": roc,
    "pr": precision_recall,
    "calibration": calibration,
    "gains": gains,
    "confusionMatrix": confusion_matrix,
    "byLabel": by_label,
    "residuals": residuals,
    "residualHistogram": residual_histogram,
    "residualQuantiles": residual_quantiles,
    "clusters": clusters,
    "atK": at_k,
}


_DIRECTIONS = {True: "\u2191 higher", False: "\u2193 lower", None: ""}


@dataclass(frozen=True)
class MetricRow:
    """A metric in words; `value` is None where it is undefined, and `reason` says why.

    `exact` is for machines, `accuracy` has the interval and the bound of the error, where they are known.
    """

    name: str
    value: str | None
    exact: str
    accuracy: list[str]
    better: str
    reason: str


@dataclass(frozen=True)
class Section:
    """All that belongs to one evaluator; its anchor on the page is `anchor`."""

    title: str
    anchor: str
    metrics: list[MetricRow]
    figures: list[Figure]
    slices: list[Figure]

    @property
    def has_directions(self) -> bool:
        """Whether it is known of any metric if larger is better."""
        return any(row.better for row in self.metrics)


def sections_of(parts: Mapping[str, list[Figure]]) -> list[Section]:
    """Return sections of figures; those without any are left out."""
    return [
        Section(title, title.lower().replace(" ", "-"), [], figures, []) for title, figures in parts.items() if figures
    ]


def split(evaluation: Evaluation) -> list[Section]:
    """Return the sections, in the order in which their prefixes first occur."""
    prefixes = dict.fromkeys(_prefix(name) for name in (*evaluation, *evaluation.tables))
    for name in evaluation.slices:
        prefixes.setdefault(_owner(name, prefixes))
    return [_section(evaluation, prefix, f"part-{index}", prefixes) for index, prefix in enumerate(prefixes, 1)]


def _section(evaluation: Evaluation, prefix: str, anchor: str, prefixes: Iterable[str]) -> Section:
    names = {name: name.removeprefix(f"{prefix}.") for name in evaluation if _prefix(name) == prefix}
    values = {short: evaluation[name] for name, short in names.items()}
    tables = {_last(name): table for name, table in evaluation.tables.items() if _prefix(name) == prefix}
    slices = {name: table for name, table in evaluation.slices.items() if _owner(name, prefixes) == prefix}
    better = {**evaluation.larger_better, **_within(evaluation.larger_better, prefix)}
    overall = {**evaluation, **values}
    return Section(
        show_label(prefix) if prefix else "Results",
        anchor,
        [_metric(evaluation, name, short) for name, short in names.items()],
        _figures(tables, values),
        [slice_figure(_tail(name, prefix), table, overall, better) for name, table in slices.items()],
    )


def _figures(tables: Mapping[str, pa.Table], values: Metrics) -> list[Figure]:
    known = [figure for name, draw in _DRAWN.items() if name in tables for figure in draw(tables[name], values)]
    others = [
        Figure(show_label(name), grid=numbers_of(table) if table.num_rows else None)
        for name, table in tables.items()
        if name not in _DRAWN
    ]
    return known + others


def _metric(evaluation: Evaluation, name: str, short: str) -> MetricRow:
    value = evaluation[name]
    defined = value is not None and not math.isnan(value)
    return MetricRow(
        show_label(short, 40),
        show_number(value) if defined else None,
        repr(value),
        _accuracy(evaluation, name),
        _DIRECTIONS[evaluation.larger_better.get(name)],
        show_label(evaluation.reasons.get(name) or "no reason is given", 200),
    )


def _accuracy(evaluation: Evaluation, name: str) -> list[str]:
    interval, bound = evaluation.intervals.get(name), evaluation.bounds.get(name)
    ends = [f"{show_number(interval[0])} to {show_number(interval[1])}"] if interval is not None else []
    if name in evaluation.labels:
        ends.insert(0, show_label(f"of label {evaluation.labels[name]!r}", 40))
    return ends + ([f"exact to {bound:.2g}"] if bound is not None else [])


def _prefix(name: str) -> str:
    return name.rpartition(".")[0]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _tail(name: str, prefix: str) -> str:
    return name[len(prefix) + 1 :] if prefix else name


def _within(mapping: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the entries of a prefix under their short names."""
    return {_last(name): value for name, value in mapping.items() if _prefix(name) == prefix}


def _owner(name: str, prefixes: Iterable[str]) -> str:
    """Return the longest prefix that a name has; a column that was sliced by may itself have dots in its name."""
    return max((prefix for prefix in prefixes if prefix and name.startswith(f"{prefix}.")), key=len, default="")
