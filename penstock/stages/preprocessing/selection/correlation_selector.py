"""Columns that repeat another, left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.stages.base import Fitted
from penstock.stages.parameter_checks import in_range
from penstock.stages.preprocessing.selection.feature_selector import FeatureSelector
from penstock.stages.shapes import Fields, Number, Shape, Text, by_column
from penstock.statistics import CrossProducts, Gram, Statistic


@dataclass(frozen=True)
class CorrelationSelector(FeatureSelector):
    """Leaves out each column that is correlated with an earlier one that stays.

    Columns are gone through in their order. One that stays takes out all later ones whose Pearson correlation with it
    is larger in size than the threshold; one that was taken out takes out no others. So the first of several alike
    stays: put first what is cheaper or better to have. It is the rule of feature-engine's ``DropCorrelatedFeatures``,
    which goes through the columns by name.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1) to choose from, at most 5,000; not the label.
    threshold : float, default=0.95
        From 0 to 1; feature-engine's default is 0.8.

    Raises
    ------
    ConfigError
        The threshold is not from 0 to 1, or there are too many columns.
    SchemaError
        At fit, before reading: a column is missing or not numeric; or a later stage names one that was left out.
    DataValueError
        At fit: a value is null, infinite or beyond 1e150; column, count, file and row are named.

    Notes
    -----
    A constant column is correlated with nothing, and stays; see :class:`VarianceThresholdSelector`. All correlations
    come from one :class:`~penstock.statistics.Gram` statistic, whose means are taken off before anything is multiplied.

    Learned are, by column left out, ``twins``, the column that took it out, and ``correlations``, that with it.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"cm": [150.0, 160, 180], "inch": [59.1, 63.0, 70.9], "kg": [70.0, 50.0, 75.0]})
    >>> data = ps.LocalEngine().from_arrow(table)
    >>> model = ps.Pipeline(st.CorrelationSelector(["cm", "inch", "kg"])).fit(data)
    >>> model.transform(data).columns, model.fitted[0]["twins"]
    (['cm', 'kg'], {'inch': 'cm'})
    """

    _: KW_ONLY
    threshold: float = field(default=0.95, metadata=in_range(least=0, most=1))

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the products of all columns with each other."""
        return {"gram": Gram(self.doubtful())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``twins`` and ``correlations`` of the columns left out."""
        names, matrix = self.doubtful(), _correlations(results["gram"])
        twins: dict[str, str] = {}
        correlations: dict[str, float] = {}
        for place, name in enumerate(names):
            if name in twins:
                continue
            alike = place + 1 + np.flatnonzero(np.abs(matrix[place, place + 1 :]) > self.threshold)
            for other in alike:
                twins.setdefault(names[other], name)
                correlations.setdefault(names[other], float(matrix[place, other]))
        return {"twins": twins, "correlations": correlations}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        names = self.doubtful()
        twins = by_column(list(fitted["correlations"]), Text(names))
        return Fields({"twins": twins, "correlations": by_column(names, Number(), some=True)})

    def left_out(self, fitted: Fitted) -> Mapping[str, str]:
        """Return the columns that are correlated with one that stays."""
        return {
            name: f"its correlation with {twin!r} is {fitted['correlations'][name]:.6g}, beyond {self.threshold!r}"
            for name, twin in fitted["twins"].items()
        }


def _correlations(gram: CrossProducts) -> np.ndarray:
    """Return the correlation of each column with each; 0 where one is constant."""
    lengths = np.sqrt(np.diag(gram.cross))
    safe = np.where(lengths > 0, lengths, 1.0)
    return np.clip(gram.cross / safe[:, None] / safe, -1.0, 1.0)
