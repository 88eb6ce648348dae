"""A confusion matrix: rows are the true labels, each shaded by where its weight went."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from markupsafe import Markup

from penstock.report.figures import Figure, Metrics, small_numbers_of
from penstock.report.rows import as_number, label_order, read_rows
from penstock.report.svg import FONT, WIDTH, Attributes, box, drawing, element, join, words
from penstock.report.text import measure, show_compact, show_count, show_label, show_share

_MOST = 12
_WIDE_FROM, _WIDE = 6, 880.0
_SHADE = 0.75  # text stays legible on a cell of this share of the colour, in both schemes
_LABEL_EMS = 8.0
OTHER = "other"

Cells = Mapping[tuple[Any, Any], float]


def confusion_matrix(table: pa.Table, metrics: Metrics) -> list[Figure]:
    """Return the matrix; of more than twelve labels the twelve of most weight, and all others in one."""
    title = "Confusion matrix"
    rows = [row for row in read_rows(table, ["weight"], ["label", "prediction"]) if row["weight"] >= 0]
    if not rows:
        return [Figure(title)]
    cells = {(_key(row["label"]), _key(row["prediction"])): row["weight"] for row in rows}
    labels = sorted({label for pair in cells for label in pair}, key=label_order)
    kept = _heaviest(cells, labels)
    names = [show_label(label, _LABEL_EMS) for label in kept]
    if len(kept) < len(labels):
        names.append(OTHER)
    drawn = _draw(title, _counts(cells, kept), names)
    caption, wide = _caption(len(labels), len(kept)), len(names) > _WIDE_FROM
    return [Figure(title, caption, drawn, small_numbers_of(table), wide=wide)]


def _key(label: Any) -> Any:
    """Return what finds a label again: the integer 1 is the float 1.0, and NaN is null."""
    return None if label != label else as_number(label)


def _heaviest(cells: Cells, labels: Sequence[Any]) -> list[Any]:
    weights: dict[Any, float] = defaultdict(float)
    for (label, _), weight in cells.items():
        weights[label] += weight
    first = set(sorted(labels, key=lambda label: -weights[label])[:_MOST])
    return [label for label in labels if label in first]


def _counts(cells: Cells, kept: Sequence[Any]) -> list[list[float]]:
    """Return the weights by true label and prediction, both in the order of `kept`, what is not in it last."""
    places = {label: index for index, label in enumerate(kept)}
    sums: dict[tuple[int, int], list[float]] = defaultdict(list)
    for (label, prediction), weight in cells.items():
        sums[places.get(label, len(kept)), places.get(prediction, len(kept))].append(weight)
    size = 1 + max(index for pair in sums for index in pair)
    size = max(size, len(kept))
    return [[math.fsum(sums[row, column]) for column in range(size)] for row in range(size)]


def _caption(known: int, kept: int) -> str:
    shading = "Rows are true labels, columns predictions; the darker a cell, the larger its share of the true label."
    return shading if kept == known else f"{shading} Of {known:,} labels the {kept} of most weight."


def _draw(title: str, counts: Sequence[Sequence[float]], names: Sequence[str]) -> Markup:
    width = _WIDE if len(names) > _WIDE_FROM else WIDTH
    left = 20 + FONT * max(measure(name) for name in names)
    across = (width - left) / len(names)
    down = min(max(across * 0.62, 34.0), 64.0)
    turned = any(FONT * measure(name) > across - 4 for name in names)
    top = 44 + (FONT * max(measure(name) for name in names) * 0.75 if turned else 6)
    body = [words((left, 16), "Prediction", "axis"), words((0, top - 10), "True label", "axis")]
    for index, name in enumerate(names):
        body.append(column_head(left + across * (index + 0.5), top - 10, name, turned))
        body.append(words((left - 12, top + down * (index + 0.5) + 4), name, "label", "end"))
        body.append(_row(counts[index], names, index, (left, top + down * index), (across, down)))
    total = show_count(math.fsum(weight for row in counts for weight in row))
    return drawing((width, top + down * len(names) + 4), title, f"{len(names)} labels, weight {total}.", body)


def column_head(x: float, y: float, name: str, turned: bool) -> Markup:
    """Return the name of a column of cells, above their middle; `turned` where names are wider than cells."""
    if not turned:
        return words((x, y), name, "label", "middle")
    place: Attributes = {"x": x + 4, "y": y + 2, "class": "label", "text-anchor": "end"}
    return element("text", {**place, "transform": f"rotate(45 {x + 4:.1f} {y + 2:.1f})"}, name)


def _row(
    counts: Sequence[float], names: Sequence[str], row: int, corner: tuple[float, float], size: tuple[float, float]
) -> Markup:
    total = math.fsum(counts)
    parts: list[Markup] = []
    for column, weight in enumerate(counts):
        share = weight / total if total else 0.0
        tip = f"label {names[row]}, prediction {names[column]}: {show_count(weight)}, {show_share(share)} of the label"
        left, top = corner[0] + column * size[0], corner[1]
        parts.append(box((left + 1, top + 1), (size[0] - 2, size[1] - 2), "cell", tip, _SHADE * share))
        kind = "value strong" if row == column else "value"
        parts.append(words((left + size[0] / 2, top + size[1] / 2 + 4), show_compact(weight), kind, "middle"))
    return join(parts)
