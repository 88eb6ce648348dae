"""A neural network for classes: a PyTorch module trained by all ranks at once, scored anywhere."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import narwhals as nw

from penstock.stages.base import Fitted
from penstock.stages.class_weights import CLASS_WEIGHT, ClassWeight
from penstock.stages.classes import Classes, check_thresholds
from penstock.stages.parameter_checks import checked_by, one_of
from penstock.stages.training.torch._learner import TorchLearner


@dataclass(frozen=True)
class TorchClassifier(TorchLearner):
    """A neural network for two classes or more.

    Labels may be integers, booleans, strings, or floating numbers without a fraction; their values are the classes, in
    ascending order. Columns added by `transform`, named as MLlib names them:

    ============== ============================ ==========================================
    column         two classes                  more classes
    ============== ============================ ==========================================
    rawPrediction  float64: margin of class 2   list of float64: margin of each class
    ..             less that of class 1
    probability    float64: of class 2          list of float64: of each class
    prediction     the class, in the label's type
    ============== =======================================================================

    A row with a null feature or category has null in all three.

    Parameters
    ----------
    loss : {"cross_entropy"}
    class_weight : {"balanced"}, mapping of class to float, or None, default=None
        What a row of a class weighs, times its own weight; classes that are not named weigh 1. "balanced" gives each of
        k classes the same weight together, ``n / (k * count)`` a row, as in scikit-learn; with a `weight`, n and the
        counts are sums of it.
    thresholds : sequence of float, optional
        One for each class: predicted is the class whose probability divided by its threshold is largest; see
        :class:`LogisticRegression`.
    raw_prediction, probability : str
        Names of those columns.

    Raises
    ------
    SchemaError, ConfigError, UnsupportedStepError
        Before reading: a column is missing or of the wrong type, or no module of the name is registered. While
        training, a ConfigError: a module does not keep its contract, or cannot be spread as `strategy` says.
    DataValueError
        Before training: a label, weight, feature or category is null or infinite, a feature is too large for float32, a
        code or weight is negative, a label has a fraction, there is a single class, or more than 1,000. While training:
        a loss is not finite; names epoch, batch and learning rate. When predicting: a feature is infinite, or outputs
        overflow.
    MissingExtraError
        PyTorch or safetensors is not installed.

    Notes
    -----
    Learned are ``weights`` (safetensors), ``classes``, ``cardinalities``, ``epochs``, ``best_epoch`` (from 1) and
    ``history``: the mean ``loss`` of each epoch, and ``validation_loss`` where there is validation data, to 5 digits.
    Every rank reads its rows once and keeps them in memory, 4 bytes a feature; with ``strategy="pipeline"``, those of
    all ranks. In which batch a row is depends on its
    number in the dataset, the seed and the epoch. Any number of ranks learns the same up to the rounding of float32,
    unless there is dropout, whose random numbers are each rank's own. A training that goes on from a checkpoint, which
    is saved every `checkpoint_interval` epochs, learns what an undisturbed one learns. Scores of a row may differ in
    the last digits of float32 with the rows beside it.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0] * 50, "label": ["no", "yes"] * 50}))
    >>> stage = st.TorchClassifier("label", module_options={"hidden": [8]}, learning_rate=0.1, batch_size=20)
    >>> ps.Pipeline(stage).fit(data).transform(data).head(2)["prediction"].to_list()
    ['no', 'yes']
    """

    _: KW_ONLY
    thresholds: tuple[float, ...] | None = field(default=None, metadata=checked_by(check_thresholds))
    probability: str = "probability"
    raw_prediction: str = "rawPrediction"
    loss: str = field(default="cross_entropy", metadata=one_of("cross_entropy"))
    class_weight: ClassWeight = field(default=None, metadata=CLASS_WEIGHT)

    @property
    def target(self) -> Classes:
        return Classes.of(self, others="use TorchRegressor")

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        from penstock.stages.training.linear._log_loss import sigmoid, softmax

        raw, missing = self.scores(frame, fitted)
        likeliest = raw.argmax(axis=1) if len(frame) else raw[:, 0]
        if fitted["classes"].num_rows == 2:
            raw = raw[:, 1] - raw[:, 0]
            probability = sigmoid(raw)
        else:
            probability = softmax(raw.T).T.copy()
        return self.target.with_columns(frame, self.target.results(raw, probability, likeliest), fitted, missing)
