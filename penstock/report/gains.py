"""What the rows of highest score hold of the positives."""

from __future__ import annotations

import pyarrow as pa

from penstock.report.axes import HEIGHT, WIDTH, axes, panel
from penstock.report.figures import Figure, Metrics, small_numbers_of
from penstock.report.rows import Row, read_rows
from penstock.report.scales import nice_domain
from penstock.report.svg import dot, drawing
from penstock.report.text import show_number, show_share


def gains(table: pa.Table, metrics: Metrics) -> list[Figure]:
    """Return the share of positives found, and how many times more than by chance, by share of rows."""
    rows = read_rows(table, ("fraction", "gain"))
    lifts = read_rows(table, ("fraction", "lift"))
    return [_gains(rows, table) if rows else Figure("Gains"), _lift(lifts) if lifts else Figure("Lift")]


def _gains(rows: list[Row], table: pa.Table) -> Figure:
    points = [(0.0, 0.0), *((row["fraction"], row["gain"]) for row in rows)]
    within = panel(nice_domain([0, 1]), nice_domain([0, 1, *(row["gain"] for row in rows)]))
    chance = within.rule((0, 0), (1, 1)) + within.along((0, 0), (1, 1), 0.62, "any order")
    dots = (dot(within.place((row["fraction"], row["gain"])), 4, "dot first", _gain_tip(row)) for row in rows)
    body = [axes(within, "Share of the rows", "Share of the positives found"), chance]
    caption = f"{_gain_tip(rows[0])}."
    drawn = drawing((WIDTH, HEIGHT), "Gains", caption, [*body, within.curve(points, "curve first"), *dots])
    return Figure("Gains", caption, drawn, small_numbers_of(table))


def _gain_tip(row: Row) -> str:
    return f"{_head(row)} hold {show_share(row['gain'])} of the positives"


def _lift(rows: list[Row]) -> Figure:
    within = panel((0, 1), nice_domain([0, 1, *(row["lift"] for row in rows)]))
    even = within.rule((0, 1), (1, 1)) + within.note((0, 1), "any order", shift=(6, -5))
    curve = within.curve(((row["fraction"], row["lift"]) for row in rows), "curve first")
    dots = (dot(within.place((row["fraction"], row["lift"])), 4, "dot first", _lift_tip(row)) for row in rows)
    body = [axes(within, "Share of the rows", "Positives, relative to any order"), even, curve, *dots]
    caption = f"{_lift_tip(rows[0])}."
    return Figure("Lift", caption, drawing((WIDTH, HEIGHT), "Lift", caption, body))


def _lift_tip(row: Row) -> str:
    return (
        f"{_head(row)} hold {show_number(row['lift'], 2)} times as many positives as any {show_share(row['fraction'])}"
    )


def _head(row: Row) -> str:
    return f"The {show_share(row['fraction'])} of rows with the highest scores"
