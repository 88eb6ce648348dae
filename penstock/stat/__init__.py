"""Statistics of datasets and tests of hypotheses, by the words of scipy.stats and pyspark.ml.stat, on any engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from penstock.stat.anova import AnovaResult as AnovaResult
    from penstock.stat.anova import anova_test as anova_test
    from penstock.stat.chi_square import ChiSquareResult as ChiSquareResult
    from penstock.stat.chi_square import chi_square_test as chi_square_test
    from penstock.stat.correlations import CorrelationMatrix as CorrelationMatrix
    from penstock.stat.correlations import correlation as correlation
    from penstock.stat.inflation import variance_inflation as variance_inflation
    from penstock.stat.information import mutual_information as mutual_information
    from penstock.stat.kolmogorov_smirnov import KolmogorovSmirnovResult as KolmogorovSmirnovResult
    from penstock.stat.kolmogorov_smirnov import kolmogorov_smirnov_test as kolmogorov_smirnov_test
    from penstock.stat.summarizer import summarize as summarize
    from penstock.statistics.summaries import Summary as Summary

__getattr__, __dir__, __all__ = lazy_imports(__name__)
