"""The directions that rows are longest in, seen from zero."""

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


@dataclass(frozen=True)
class TruncatedSVD(Projection):
    """Adds where rows lie along the first k right singular vectors, ``<prefix>_0`` to ``<prefix>_<k - 1>``, float64.

    Like :class:`PCA` without subtracting means, neither when it learns nor when it projects: what is called latent
    semantic analysis where columns are counts of words. It is found from a :class:`~penstock.statistics.Gram`
    statistic: one scan, shared with the other stages.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1), at most 5,000; they stay.
    k : int
        How many singular vectors, at most as many as columns; scikit-learn's ``n_components``.
    prefix : str, default="svd"
        What the names of the new columns begin with.

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
    Learned are ``components`` (k lists of loadings, one a column, of length 1, at right angles), ``singular_values`` of
    the rows, largest first, ``explained_variance`` (variance of each output with n in the denominator, as in
    scikit-learn) and ``explained_variance_ratio`` (to the variance of all columns). The decomposition is exact;
    scikit-learn's is by chance unless ``algorithm="arpack"``.

    Signs are those of :class:`PCA`: the loading largest in size is positive. Where rows point in fewer than k
    directions, the singular values left, their loadings and the outputs are 0.

    A row with a null has nulls in its place. What a row gets does not depend on the rows around it.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [3.0, 6.0], "y": [4.0, 8.0]}))
    >>> model = ps.Pipeline(st.TruncatedSVD(["x", "y"], 1)).fit(data)
    >>> [round(value, 9) for value in model.transform(data).to_arrow()["svd_0"].to_pylist()]
    [5.0, 10.0]
    >>> round(model.fitted[0]["singular_values"][0] ** 2, 9)
    125.0
    """

    _: KW_ONLY
    prefix: str = "svd"

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``components``, ``singular_values`` and the variance that each explains."""
        gram: CrossProducts = results["gram"]
        around = factor(gram) / np.sqrt(gram.count)
        # The mean is one more row of the root of the products around zero: no sum of squares swallows small deviations.
        lengths, components = axes(np.column_stack([around, gram.mean]), self.k)
        variance = ((components @ around) ** 2).sum(axis=1)
        total = float(np.trace(gram.cross)) / gram.count
        return {
            "components": components.tolist(),
            "singular_values": (lengths * np.sqrt(gram.count)).tolist(),
            "explained_variance": variance.tolist(),
            "explained_variance_ratio": (variance / (total or 1.0)).tolist(),
        }

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        numbers = ListOf(Number(), self.k)
        components = ListOf(ListOf(Number(), len(self.inputs())), self.k)
        names = ("singular_values", "explained_variance", "explained_variance_ratio")
        return Fields({"components": components, **dict.fromkeys(names, numbers)})

    def directions(self, fitted: Fitted) -> tuple[np.ndarray, np.ndarray]:
        """Return zeros and the components."""
        components = np.array(fitted["components"])
        return np.zeros(components.shape[1]), components
