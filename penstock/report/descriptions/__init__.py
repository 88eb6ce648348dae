"""The pages of `dataset.describe`: one description, or two side by side."""

from penstock.report.descriptions.description import render_comparison, render_description

__all__ = ["render_comparison", "render_description"]
