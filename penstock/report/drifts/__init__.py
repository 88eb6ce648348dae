"""The page of a comparison with the profile of a model."""

from penstock.report.drifts.drift_page import render_drift

__all__ = ["render_drift"]
