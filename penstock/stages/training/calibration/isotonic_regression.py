"""Isotonic regression: the monotone function of one feature that is nearest to the label, in one scan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.core.selectors import Columns
from penstock.frames import matrices
from penstock.stages.base import Fitted, RowFunction, Tags
from penstock.stages.number_columns import with_results
from penstock.stages.parameter_checks import in_range, wrong_parameter
from penstock.stages.shapes import Fields, Shape
from penstock.stages.target import NumberTarget, check_weights
from penstock.stages.trainer import Trainer
from penstock.stages.training._finite import finite_matrix, refuse_infinite
from penstock.stages.training.calibration._isotonic import STEPS, Isotonic
from penstock.statistics.base import Statistic
from penstock.statistics.labels_by_value import LABEL, LabelsByValue


@dataclass(frozen=True)
class IsotonicRegression(Trainer):
    """The monotone function of one feature that is nearest to the label, by least squares; adds ``prediction``.

    It is learned in one scan, from the sums of weights and labels at each distinct value of the feature, and found by
    pooling adjacent violators. Between boundaries it is linear; beyond the first and the last it is constant.

    Parameters
    ----------
    label : str
        The column to learn: numbers.
    features : str, sequence of str, or Selector, optional
        One column of numbers or booleans: the only one besides label and weight, unless given.
    weight : str, optional
        Column of row weights, 0 or more. A row of weight 0 is as if absent.
    isotonic : bool, default=True
        Whether predictions rise with the feature; otherwise they fall.
    num_bins : int, default=0
        0 to keep every distinct value, 20 bytes each, up to 1 GiB. Otherwise, at least 2, the most cells of equal width
        that values are put in; a cell then stands for its rows by their means.
    prediction : str, default="prediction"
        Name of the column of predictions, float64; null where the feature is null.

    Raises
    ------
    SchemaError, ConfigError
        Before reading: a column is missing or not numeric; there is not one feature.
    DataValueError
        At fit: a feature, the label or a weight is null, infinite or beyond 1e150, a weight is negative, or none is
        positive; column, file and row are named. At scoring: a feature is infinite.
    ExecutionError
        At fit: the distinct values take more than 1 GiB; set `num_bins`.

    Notes
    -----
    Rows of one value are taken together first, with the mean of their labels: the function is that of MLlib's
    ``IsotonicRegression`` (Spark 3.1 and later), and of scikit-learn's with ``out_of_bounds="clip"``, which also takes
    values less than 1e-15 apart for one. MLlib's parameter ``featureIndex`` is not there: name the column.

    Learned is ``function``, a table of ``boundary`` and ``prediction`` (MLlib's ``boundaries`` and ``predictions``):
    both ends of each stretch where the function is constant. With `num_bins` boundaries do not depend on how rows are
    partitioned, and every prediction is that of the exact function for rows whose feature is the mean of their cell.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1.0, 2.0, 3.0, 5.0], "y": [1.0, 4.0, 2.0, 6.0]}))
    >>> model = ps.Pipeline(st.IsotonicRegression("y")).fit(data)
    >>> model.transform(data).to_arrow()["prediction"].to_pylist(), model.predict({"x": 4.0})
    ([1.0, 3.0, 3.0, 6.0], {'prediction': 4.5})
    """

    label: str
    _: KW_ONLY
    features: Columns | None = None
    weight: str | None = None
    isotonic: bool = True
    num_bins: int = field(default=0, metadata=in_range(least=0, whole=True))
    prediction: str = "prediction"

    tags: ClassVar[Tags] = Tags(accepts="numeric")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_bins == 1:
            raise wrong_parameter(self, "num_bins", "0 for every distinct value, or at least 2")

    @property
    def target(self) -> NumberTarget:
        return NumberTarget(self.label, {self.prediction: pa.float64()})

    def bind(self, schema: pa.Schema) -> Self:
        bound = super().bind(schema)
        if len(bound.inputs()) != 1:
            raise ConfigError(
                f"{self.title} has {len(bound.inputs())} features, expected one: {', '.join(bound.inputs()[:10])}",
                hint='Name the column: features="score".',
                stage=self.title,
            )
        return bound

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the labels at each value of the feature."""
        return {"labels": LabelsByValue((*self.inputs(), self.label, *self._weights), num_bins=self.num_bins)}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return the function as a table."""
        tied = results["labels"]
        check_weights(self.weight, tied.weight.max(initial=0.0))
        means = tied.sums[LABEL] / tied.weight
        return {"function": Isotonic.fitted(tied.values, means, tied.weight, increasing=self.isotonic).table()}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        return Fields({"function": STEPS})

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Predict.

        Raises
        ------
        DataValueError
            A feature is infinite.
        """
        feature = finite_matrix(frame, self.inputs(), "float64")[:, 0]
        values = Isotonic.stored(fitted["function"]).values(feature, frames.kind_of(frame))
        return with_results(frame, {self.prediction: values})

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        function, (name,) = Isotonic.stored(fitted["function"]), self.inputs()

        def call(row: dict[str, Any]) -> None:
            value = row[name]
            if value is not None:
                at = np.array([value], dtype=np.float64)
                refuse_infinite((name,), matrices.count_infinite(at[:, None]), "float64")
                value = function.values(at)[0].item()
            row[self.prediction] = value

        return call
