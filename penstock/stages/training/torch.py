"""Neural networks: PyTorch modules trained by all ranks at once, scored anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import SchemaError
from penstock.core.selectors import is_numeric
from penstock.frames import matrices
from penstock.stages.base import Fitted, with_fields
from penstock.stages.shapes import Fields
from penstock.stages.training._learner import Classifier, known
from penstock.stages.training._torch.learner import TorchLearner
from penstock.statistics import Statistic
from penstock.statistics.rules import Rule


@dataclass(frozen=True)
class TorchClassifier(Classifier, TorchLearner):
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
    loss: str = "cross_entropy"

    _LOSSES: ClassVar[tuple[str, ...]] = ("cross_entropy",)
    _OTHERS: ClassVar[str] = "use TorchRegressor"

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return instances for the conformance suite: all rows in one batch, whose order then means nothing."""
        return (
            cls("label", features=("n3", "y"), module_options={"hidden": [4]}, epochs=2, batch_size=200),
            cls(
                "class", features=("n3",), categories=("label",), module="tabular", weight="w", epochs=2, batch_size=200
            ),
        )

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        return {**super().statistics(schema), **self._label_statistics()}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        learned = super().finish(results)
        counted = results["labels"][self.label]
        self._check_classes(counted)
        self._check_weighed(results)
        return {"classes": counted.table.select(["value"]).sort_by("value").combine_chunks(), **learned}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Fields:
        return super().fitted_shape(schema, fitted).beside(classes=self._classes_shape)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        from penstock.stages.training._log_loss import sigmoid, softmax

        raw, missing = self.scores(frame, fitted)
        likeliest = raw.argmax(axis=1) if len(frame) else raw[:, 0]
        if fitted["classes"].num_rows == 2:
            raw = raw[:, 1] - raw[:, 0]
            probability = sigmoid(raw)
        else:
            probability = softmax(raw.T).T.copy()
        made = {self.raw_prediction: raw, self.probability: probability}
        columns = [known(frame, matrices.column(frame, name, values), missing) for name, values in made.items()]
        code = self._winners(probability, likeliest)
        code[missing] = -1
        classes = fitted["classes"]["value"].combine_chunks()
        return frame.with_columns(*columns, frames.decode(matrices.column(frame, self.prediction, code), classes))


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
    loss: str = "mse"

    _LOSSES: ClassVar[tuple[str, ...]] = ("mse", "l1", "huber", "smooth_l1")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return instances for the conformance suite: all rows in one batch, whose order then means nothing."""
        return (
            cls("y", features=("w",), categories=("label",), module="tabular", loss="huber", epochs=2, batch_size=200),
        )

    def _check_label(self, schema: pa.Schema, label: str) -> None:
        kind = schema.field(label).type
        if not is_numeric(kind):
            raise SchemaError(f"label {label!r} is {kind}, expected a number", column=label, stage=self.title)

    def _rules(self) -> list[tuple[str, Rule]]:
        return [*super()._rules(), (self.label, Rule("infinite"))]

    def outputs(self) -> tuple[str, ...]:
        return (self.prediction,)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, {self.prediction: pa.float64()})

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        outputs, missing = self.scores(frame, fitted)
        return frame.with_columns(known(frame, matrices.column(frame, self.prediction, outputs[:, 0]), missing))
