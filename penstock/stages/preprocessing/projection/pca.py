"""The directions in which rows vary most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.stages.base import Fitted
from penstock.stages.preprocessing.projection._projection import Projection, axes, factor
from penstock.stages.shapes import Fields, ListOf, Number, Shape
from penstock.statistics.gram import CrossProducts

_NO_MEAN = 1e-14
"""Standard deviations that a mean is from 0 when rounding is all there is to it, as in columns that were scaled."""


@dataclass(frozen=True)
class PCA(Projection):
    """Adds the first k principal components, float64 columns ``<prefix>_0`` to ``<prefix>_<k - 1>``.

    They are found from a :class:`~penstock.statistics.Gram` statistic: one scan, shared with the other stages. Columns
    are not scaled: put a :class:`StandardScaler` before it unless all are in one unit.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1), at most 5,000; they stay.
    k : int
        How many components, at most as many as columns.
    prefix : str, default="pca"
        What the names of the new columns begin with.
    centre : bool, default=True
        Subtract the mean before projecting, as scikit-learn does and MLlib does not. The components are the same.
    whiten : bool, default=False
        Divide each component by its standard deviation, so that all have variance 1 on the rows learned from.

    Raises
    ------
    ConfigError
        At fit, before reading: `k` is not from 1 to the number of columns, or a column to be added is there.
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit: a value is null, infinite or beyond 1e150; column, count, file and row are named. At use: infinite.

    Notes
    -----
    Learned are ``mean`` (list of float, one a column), ``components`` (k lists of loadings, one a column, of length 1,
    at right angles), ``explained_variance`` (with n - 1 in the denominator) and ``explained_variance_ratio`` (shares of
    the variance of all columns; MLlib's ``explainedVariance``), largest first.

    The sign of a component is free; here its loading largest in size is positive, of several that are equal, up to
    1e-9, the first (as in scikit-learn, where rounding decides between equal ones). Where rows vary in fewer than k
    directions, as when columns explain each other up to 1e-12 of the variance of one, the components left have no
    direction: loadings, variance and outputs are 0. Other libraries make up directions for them.

    A row with a null has nulls for components. What a row gets does not depend on the rows around it.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 3.0, 6.0], "y": [1.0, 5.0, 9.0]}))
    >>> model = ps.Pipeline(st.PCA(["x", "y"], 1)).fit(data)
    >>> [round(value, 9) for value in model.transform(data).to_arrow()["pca_0"].to_pylist()]
    [-5.0, 0.0, 5.0]
    >>> [round(value, 9) for value in model.fitted[0]["components"][0]]
    [0.6, 0.8]
    """

    _: KW_ONLY
    prefix: str = "pca"
    centre: bool = True
    whiten: bool = False

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``mean``, ``components`` and the variance that each explains."""
        gram: CrossProducts = results["gram"]
        freedom = max(gram.count - 1, 1)
        lengths, components = axes(factor(gram) / np.sqrt(freedom), self.k)
        deviations = np.sqrt(np.diag(gram.cross) / freedom)
        return {
            "mean": np.where(np.abs(gram.mean) > _NO_MEAN * deviations, gram.mean, 0.0).tolist(),
            "components": components.tolist(),
            "explained_variance": (lengths**2).tolist(),
            "explained_variance_ratio": (lengths**2 / (float(deviations @ deviations) or 1.0)).tolist(),
        }

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        features, count = len(self.inputs()), len(fitted["components"])
        numbers = ListOf(Number(least=0), count)
        components = ListOf(ListOf(Number(), features), self.k)
        shapes: dict[str, Shape] = {"mean": ListOf(Number(), features), "components": components}
        return Fields({**shapes, "explained_variance": numbers, "explained_variance_ratio": numbers})

    def directions(self, fitted: Fitted) -> tuple[np.ndarray, np.ndarray]:
        """Return the means, or zeros, and the components, whitened if that is asked for."""
        mean, components = np.array(fitted["mean"]), np.array(fitted["components"])
        if self.whiten:
            deviations = np.sqrt(np.array(fitted["explained_variance"]))
            components = components / np.where(deviations > 0, deviations, 1.0)[:, None]
        return (mean if self.centre else np.zeros_like(mean)), components
