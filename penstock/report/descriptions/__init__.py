"""The pages of `dataset.describe`: one description, or two side by side."""

from penstock.report.descriptions.comparison import render_comparison
from penstock.report.descriptions.description import render_description

__all__ = ["render_comparison", "render_description"]
