"""A search in a notebook: its trials, the best first."""

from __future__ import annotations

from penstock.report.notebook.pieces import TextTable, render, show_facts, show_value
from penstock.report.text import show_label, show_number
from penstock.search.search_result import SearchResult


def search_html(result: SearchResult) -> str:
    """Return the display of a search: its trials, the best first."""
    table = result.table
    mean, spread, rank = (f"{kind}_test_{result.metric}" for kind in ("mean", "std", "rank"))
    parameters = [name for name in table.column_names if name.startswith("param_")]
    head = ["trial", *(name.removeprefix("param_") for name in parameters), result.metric, "std"]
    trials = sorted(table.to_pylist(), key=lambda row: (row.get(rank) is None, row.get(rank), row["trial"]))
    rows = [
        [
            str(row["trial"]),
            *("none" if row[name] is None else show_value(row[name], exact=True) for name in parameters),
            show_number(row[mean]) if row.get(mean) is not None else show_label(row["reason"] or row["state"], 60),
            "" if row.get(spread) is None else show_number(row[spread]),
        ]
        for row in trials
    ]
    better = "larger" if result.larger_better[result.metric] else "smaller"
    facts = {"trials": len(rows), "best": f"{show_number(result.best_score)}, {better} is better"}
    return render("search", facts=show_facts(facts), trials=TextTable(head, rows))
