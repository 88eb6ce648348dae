"""What some stages can do besides: each a small contract of its own, which `StageStep` asks for, and nobody else.

A stage has a capability by having its methods, whatever it is derived from. `as_trainer`, beside `Trainer`, asks for
one more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.dataset.steps import RowLog, Step

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.stages.base import Fitted, Stage
    from penstock.stages.onnx_graph import OnnxGraph


class NumbersTaker(Protocol):
    """A stage that works on columns of numbers, whichever they are; with the tag `vectors`, on dense vectors too."""

    @property
    def number_columns(self) -> tuple[str, ...]:
        """The columns of numbers; the stage is bound."""

    def over_elements(self, sizes: Mapping[str, int]) -> Stage:
        """Return the same stage over the elements of those columns that are vectors, with their lengths."""


class DatasetStage(Protocol):
    """A trainer that an engine computes for all rows together, in place of ranks and of partitions."""

    def learn_from(self, dataset: Dataset, learned: Fitted) -> Fitted:
        """Return what is learned from all rows; `learned` is what `finish` made of the statistics before."""

    def step_on(self, dataset: Dataset, fitted: Fitted) -> Step:
        """Return the step that adds the outputs to the rows of this dataset; they are computed now."""


class FillsNulls(Protocol):
    """A stage that learns what to put in place of null, one value a column; with ``{}`` learned it leaves nulls."""

    def fills(self) -> Sequence[tuple[str, str]]:
        """Return (column, output) names of what it fills with one value each; the stage is bound."""


class SchemaLearner(Protocol):
    """A stage of which the schema that comes out depends on what it learns."""

    def learned_schema(self, schema: pa.Schema, fitted: Fitted) -> pa.Schema:
        """Return the schema after `transform` of the fitted stage.

        Where it is not the one known before, stages to come are bound anew, to the columns and types that there are.
        """


class ColumnChooser(Protocol):
    """A stage that leaves columns out, and learns which; a `SchemaLearner` too."""

    def doubtful(self) -> tuple[str, ...]:
        """Return the columns that `transform` leaves as they are, or out, as it learns; the stage is bound."""

    def left_out(self, fitted: Fitted) -> Mapping[str, str]:
        """Return those of the `doubtful` columns that `transform` leaves out, each with the reason in words."""


class TrainingTransformer(Protocol):
    """A stage that learns from a label, and must not tell a row its own."""

    def training_inputs(self) -> tuple[str, ...]:
        """Return the columns that `transform_training` reads; the stage is bound."""

    def transform_training(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Return what stages to come learn from, in rows that this stage has learned from itself; all rows."""


class StatePruner(Protocol):
    """A stage that learns what it needs during the fit alone, for `transform_training` or `notes`."""

    def kept(self, fitted: Fitted) -> Fitted:
        """Return what a model keeps of what was learned."""


class WarmStart(Protocol):
    """A trainer that can begin where it was, and go on from there on other rows."""

    def start_from(self, learned: Fitted, before: Fitted) -> Fitted:
        """Return what `train` is given to go on from what was learned `before`; the stage is bound.

        Parameters
        ----------
        learned : mapping
            What `finish` made of the statistics of the new rows alone. Of classes it has those before, also where some
            are not among these rows.

        Raises
        ------
        ConfigError, DataValueError
            These rows are not of the kind that it has learned from.
        """


class AppendOnly(Protocol):
    """A stage whose refits add to what it has learned, and change nothing of it."""

    @property
    def appends(self) -> bool:
        """Whether it does, by its parameters."""

    def extend(self, before: Fitted, results: Mapping[str, Any]) -> Fitted:
        """Return what was learned `before` with what the finished statistics of all rows add to it."""


class RowFilter(Protocol):
    """A stage that leaves rows out, and tells of each; its tags say that it does not keep rows."""

    def filter(self, frame: nw.DataFrame, fitted: Fitted, log: RowLog) -> nw.DataFrame:
        """Return what `transform` returns, and count in `log` the rows that are left out."""


class ScoresByState(Protocol):
    """A stage that transforms rows by many states at once, about as fast as by one."""

    def transform_by(self, frame: nw.DataFrame, states: Sequence[Fitted], place: np.ndarray) -> nw.DataFrame | None:
        """Return what `transform` makes of each row by one of the states, to the bit; None where it takes each alone.

        Parameters
        ----------
        place : numpy.ndarray of int, shape (n_rows,)
            The place of the state of each row; where there is none of that place, outputs are null.
        """


class WrapsStage(Protocol):
    """A stage that keeps what another has learned, model files too."""

    def wrapped(self, fitted: Fitted) -> tuple[Stage, Fitted]:
        """Return the other, and one of the states that it has learned; the stage is bound."""


class HasImportances(Protocol):
    """A fitted stage that can say how much each feature matters to it."""

    def importances(self, fitted: Fitted) -> Mapping[str, Mapping[str, float]]:
        """Return the importance of each feature, highest first, by the kind of importance."""


class HasCoefficients(Protocol):
    """A fitted stage that adds up features, each times a number."""

    def coefficients(self, fitted: Fitted) -> pa.Table:
        """Return ``feature``, ``value`` and ``kind``, "coefficient" or "intercept", and more columns of its own."""


class HasOnnx(Protocol):
    """A fitted stage that ONNX can express; `model.to_onnx` asks for it."""

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        """Put the columns that `transform` makes into the graph; the stage is bound.

        ConfigError, see `penstock.stages.onnx_graph.not_in_onnx`, for parameters that ONNX cannot express. It has no
        errors: what `transform` refuses, an infinity say, goes through.
        """
