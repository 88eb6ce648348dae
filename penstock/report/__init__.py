"""Evaluations as one self-contained HTML page."""

from penstock.report.page import render, write_report

__all__ = ["render", "write_report"]
