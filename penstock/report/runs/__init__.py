"""The page of a run: a timeline of workers, phases, scans, slow tasks, memory, lineage and cost."""

from penstock.report.runs.run_page import render_run

__all__ = ["render_run"]
