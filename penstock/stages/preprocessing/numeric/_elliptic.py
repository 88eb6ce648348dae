"""What stages share that know how far a row is from the mean of all columns together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import gammaincinv

from penstock.core.errors import DataValueError
from penstock.frames import Kind, matrices
from penstock.stages.base import Fitted, Stage
from penstock.stages.parameter_checks import in_range, in_range_or
from penstock.stages.shapes import Fields, ListOf, Number, Shape
from penstock.stages.training.clustering._mixture import sum_of_squares
from penstock.stages.training.exact.design import in_blocks, linear
from penstock.stages.training.linear._coordinate_descent import is_regular
from penstock.statistics import Statistic
from penstock.statistics.fourth_moments import FourthMoments
from penstock.statistics.gram import CrossProducts, Gram
from penstock.statistics.shrinkage import SHRINKAGES, shrunk_covariance


@dataclass(frozen=True)
class EllipticStage(Stage):
    """A stage that learns mean and covariance of its columns, for the squared Mahalanobis distance of a row."""

    _: KW_ONLY
    quantile: float = field(default=0.999, metadata=in_range(above=0, most=1 - 1e-12))
    shrinkage: float | str | None = field(default=None, metadata=in_range_or(*SHRINKAGES, least=0, most=1))

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the products of all columns with each other."""
        return {"gram": (FourthMoments if self.shrinkage == "auto" else Gram)(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``mean`` and ``covariance``."""
        gram: CrossProducts = results["gram"]
        if not gram.count:
            raise DataValueError(
                f"{self.title} has no rows to learn from",
                hint="Look at the filters before it.",
                column=self.inputs()[0],
            )
        covariance = shrunk_covariance(gram, self.shrinkage)
        self._refuse_flat(gram, covariance)
        return {"mean": gram.mean.tolist(), "covariance": covariance.tolist()}

    def _refuse_flat(self, gram: CrossProducts, covariance: np.ndarray) -> None:
        """Raise DataValueError for columns of which one is constant, or explained by others."""
        deviations = np.sqrt(np.diag(covariance))
        flat = [name for name, deviation in zip(self.inputs(), deviations, strict=True) if not deviation]
        if not flat and is_regular(covariance / deviations[:, None] / deviations):
            return
        problem = f"column {flat[0]!r} is constant" if flat else "columns explain each other"
        raise DataValueError(
            f"{problem}, so that the covariance of {gram.count} row(s) has no inverse: {', '.join(self.inputs()[:10])}",
            hint="Leave such columns out, or pass a shrinkage.",
            column=flat[0] if flat else self.inputs()[0],
        )

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        numbers = ListOf(Number(), len(self.inputs()))
        return Fields({"mean": numbers, "covariance": ListOf(numbers, len(self.inputs()))})

    @cached_property
    def limit(self) -> float:
        """The quantile of the chi-square distribution, of as many degrees of freedom as there are columns."""
        return 2 * float(gammaincinv(len(self.inputs()) / 2, self.quantile))

    def distances(self, columns: Any, fitted: Fitted, kind: Kind) -> tuple[Any, Any]:
        """Return the squared distance of each row, not finite where it overflows, and which rows lack a value.

        Parameters
        ----------
        columns : array of shape (n_columns, n_rows), on the device `kind`
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return squared_distances(columns, *whitening(fitted), kind), np.isnan(columns).any(axis=0)


def whitening(fitted: Fitted) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean, and the matrix that makes independent numbers of variance 1 of distances from it."""
    return np.array(fitted["mean"])[:, None], np.linalg.inv(np.linalg.cholesky(np.array(fitted["covariance"])))


def squared_distances(columns: Any, mean: np.ndarray, lower: np.ndarray, kind: Kind) -> Any:
    """Return ``(x - mean)' covariance**-1 (x - mean)`` of rows, by what `whitening` returns.

    Examples
    --------
    >>> lower = whitening({"mean": [1.0, 0.0], "covariance": [[4.0, 0.0], [0.0, 1.0]]})
    >>> squared_distances(np.array([[1.0, 3.0], [2.0, 0.0]]), *lower, "cpu").tolist()
    [4.0, 1.0]
    """
    origin, factors = (matrices.to_device(each, kind) for each in (mean, lower))
    return in_blocks(columns, kind, lambda block: sum_of_squares(linear(block - origin, factors)))
