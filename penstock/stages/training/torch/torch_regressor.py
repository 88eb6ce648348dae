"""A neural network for a number: a PyTorch module trained by all ranks at once, scored anywhere."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import narwhals as nw
import pyarrow as pa

from penstock.stages.base import Fitted
from penstock.stages.parameter_checks import one_of
from penstock.stages.target import NumberTarget
from penstock.stages.training.torch._learner import TorchLearner


@dataclass(frozen=True)
class TorchRegressor(TorchLearner):
    """A neural network for a number; adds the float64 column ``prediction``, null where a feature or category is.

    Parameters
    ----------
    loss : {"mse", "l1", "huber", "smooth_l1"}, default="mse"
        As PyTorch defines them. Labels are taken as they are; divide them first if they are far from 1 in size.

    Raises
    ------
    SchemaError, ConfigError, UnsupportedStepError, DataValueError, MissingExtraError
        As `TorchClassifier` does, whose notes hold for it too; a label must be a finite number.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0] * 50, "y": [0.5, 2.5] * 50}))
    >>> stage = st.TorchRegressor("y", module_options={"hidden": []}, optimizer="sgd", learning_rate=0.5, epochs=60)
    >>> [round(value, 3) for value in ps.Pipeline(stage).fit(data).transform(data).head(2)["prediction"]]
    [0.5, 2.5]
    """

    _: KW_ONLY
    loss: str = field(default="mse", metadata=one_of("mse", "l1", "huber", "smooth_l1"))

    @property
    def target(self) -> NumberTarget:
        return NumberTarget(self.label, {self.prediction: pa.float64()})

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        outputs, missing = self.scores(frame, fitted)
        return self.target.with_columns(frame, {self.prediction: outputs[:, 0]}, fitted, missing)
