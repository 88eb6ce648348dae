"""Any estimator of cuML: fitted on the GPU of one rank, scored anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.base import Fitted, Stage, Tags
from penstock.stages.classes import classes_of
from penstock.stages.parameter_checks import one_of
from penstock.stages.shapes import CLASSES, Fields, Integer, ListOf, Shape, Text, by_column
from penstock.stages.target import null_where
from penstock.stages.training.cuml import _several as several
from penstock.stages.training.cuml._estimators import CumlDescribed, check_twin, describe, entry_of, own, unfitted
from penstock.stages.training.cuml._state import stage_of, state_of
from penstock.stages.training.sklearn import _fit as fit
from penstock.stages.training.sklearn._estimator_stage import EstimatorStage
from penstock.stages.training.sklearn._kinds import Described
from penstock.stages.training.sklearn._score import named


@dataclass(frozen=True, eq=False)
class CumlEstimator(EstimatorStage):
    """An estimator of cuML, fitted on one or several GPUs, that scores every partition where it lies, also without one.

    A rank's partitions become CuPy matrices and one matrix on its GPU, and never pass the host; how large that is, is
    said before it is read. One rank has all rows, in the order of the dataset. Several ranks, with a GPU each, have a
    share of them each and fit together what cuML can fit so, on any engine; for what it cannot the first has all rows,
    and the notes of the fit say why. The estimators of ``cuml.dask`` itself are refused. Columns that `transform` adds,
    by the method that is called; a row with a null feature has null in all of them:

    =================== ======================================================================
    method              columns
    =================== ======================================================================
    predict_proba       ``probability``, ``prediction``
    decision_function   ``rawPrediction``, ``prediction``
    predict             ``prediction``
    transform           ``output_columns``
    =================== ======================================================================

    ``prediction`` is the class in the label's type; float64 of a regressor, a list of float64 of several labels; int32
    of anything else: the number of a cluster, -1 for an outlier. ``probability`` is float64, of class 2, for two
    classes; a list of float64, of each class, otherwise. ``rawPrediction`` is float64, or a list, as `estimator` has
    one or more for a row.

    Parameters
    ----------
    estimator : estimator
        Unfitted: ``cuml.KMeans(n_clusters=8)``, or a proxy of `cuml.accel`, of which the estimator of cuML behind it is
        taken. A copy is kept, and nothing that is passed is ever changed.
    label : str or sequence of str, optional
        The column to learn: integers, booleans, strings or whole numbers of a classifier; numbers of a regressor,
        several where it learns several at once. Without null.
    features : str, sequence of str, or Selector, optional
        Numeric columns, without null; all but label and weight, unless given.
    weight : str, optional
        Column of row weights, not negative, without null, for an estimator whose `fit` takes ``sample_weight``.
    method : {"auto", "predict_proba", "decision_function", "predict", "transform"}, default="auto"
        What scores. Auto is the first that there is: of a classifier in this order, of others predict, then transform.
    memory_limit : int, optional
        The most bytes that a rank's matrix of features, label and weight may take; a quarter of the memory of the GPU,
        unless given.
    prediction, probability, raw_prediction : str
        Names of the columns that are added.
    output_columns : str or sequence of str, default="transformed"
        Of `transform`: a name for each number that it gives, or one for a list of all of them.
    dtype : {"float32", "float64"}, default="float32"
        The type of the matrix, in which most estimators of cuML work too. Scores are float64 in any case.

    Raises
    ------
    MissingExtraError
        When it is made: cuML is not installed, or skops, where scikit-learn's estimator is to be kept. Before the
        matrix is read: raft-dask is not installed, and several ranks are to fit.
    ConfigError
        When it is made: the estimator is none of cuML's, what it learns cannot be kept, it has no such method, takes no
        weights, or needs a label. Before anything is read: the label is among the features. Before the matrix is read:
        a rank has no GPU, or the same as another, the matrix is larger than the limit, an `SVC` would learn more than
        two classes.
    UnsupportedStepError
        When it is made: a parameter is a function, which cannot be stored without running code.
    SchemaError
        Before reading: a column is missing or of the wrong type.
    DataValueError
        Before training: a label, weight or feature is null, infinite or too large for `dtype`, a label of a classifier
        has a fraction, a weight is negative, all are 0, there is one class or more than 1,000. After it: a coefficient
        is NaN. When predicting: a feature, or what the estimator gives, is infinite. And whatever values cuML refuses.
    StageTimeoutError
        NCCL did not connect the ranks within `SpmdOptions.timeout`.
    ArtifactVersionError, UntrustedArtifactError
        When scoring with a loaded model that keeps an estimator of scikit-learn: as of `SklearnEstimator`.

    Notes
    -----
    What an estimator learns is kept in one of two forms, and docs/gpu.md has the table:

    * as the state of a stage of this library that does the same to new rows: a `KMeans` of cuML becomes one of this
      library, and likewise `PCA`, `TruncatedSVD`, `LogisticRegression`, and as `LinearRegression` those of that name,
      `Ridge`, `Lasso` and `ElasticNet`. Such a model is plain numbers: it needs neither a GPU nor cuML, scikit-learn or
      skops, and partitions on a GPU are scored there. `as_stage` returns the stage and what it has learned.
    * as scikit-learn's estimator that cuML makes of it (``as_sklearn()``), stored by skops without code, as
      `SklearnEstimator` does; it scores on the CPU. So are those with a counterpart in scikit-learn, and of the first
      ones `KMeans` with ``method="transform"`` and regressions on several labels. `fitted_estimator` returns it.

    What can be kept in neither form is refused when the stage is made, with what to take instead: what scores no rows
    but those it was fitted on (`DBSCAN`, `TSNE`: `penstock.fit_predict` and `penstock.fit_transform` take these), and
    what cuML converts to no estimator of scikit-learn (`UMAP`, `naive_bayes`).

    Several GPUs fit `KMeans`, `PCA`, `TruncatedSVD`, `LinearRegression`, `Ridge`, `Lasso`, `ElasticNet`,
    `LogisticRegression` and random forests together, with the parameters that cuML takes there, without weights (but
    `KMeans`), and one label; docs/gpu.md names what it does not. What is kept is the same. Numbers differ as those of
    two runs do: sums are added in another order, and a forest or `KMeans` draws otherwise for another number of ranks.

    Learned are ``learned``, the state of the stage; or ``estimator`` (a skops file), ``sklearn`` (the version) and of a
    label of classes ``classes``; and ``rows``, ``widths`` (how many numbers a column has for each row, 0 for one that
    is no list) and ``warnings``. cuML's own algorithms need not find the bits that scikit-learn finds, nor the same
    twice: sums of floats on a GPU have no fixed order.

    Examples
    --------
    On a machine with a GPU; the model that is saved scores without one::

        data = ps.LocalEngine(device="gpu").read_parquet("clicks")
        model = ps.Pipeline(st.CumlEstimator(cuml.KMeans(n_clusters=8))).fit(data)
        model.save("models/clusters")
    """

    dtype: str = field(default="float32", kw_only=True, metadata=one_of("float32", "float64"))

    tags: ClassVar[Tags] = Tags(accepts="numeric", vectors=True, devices=frozenset({"gpu"}))
    describes: ClassVar[type[Described]] = CumlDescribed

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.estimator, Described) and not self._becomes_stage:
            check_twin(self.estimator, self.title)

    def _unfitted(self) -> Any:
        return unfitted(own(self.estimator, self.title), self.title)

    def _describe(self) -> Described:
        return describe(self.estimator, self.title)

    @property
    def _traits(self) -> CumlDescribed:
        return self._described  # type: ignore[return-value]

    @property
    def _becomes_stage(self) -> bool:
        """Whether what it learns is kept as the state of a stage, which has one label, and no distances to centres."""
        distances = self._traits.stage == "KMeans" and self._method == "transform"
        return self._traits.stage is not None and not distances and len(self._labels) <= 1

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        learned = super().finish(results)
        classes = classes_of(learned) or ()
        if self._traits.two_classes and len(classes) > 2:
            label = self._labels[0]
            raise ConfigError(
                f"label {label!r} has {len(classes)} classes, and cuml.{self._traits.name} is kept of two only",
                hint="Take scikit-learn's own with SklearnEstimator, or cuml.LinearSVC.",
                column=label,
                stage=self.title,
            )
        return learned

    def _to_fit(self, rank: Rank) -> Any:
        if isinstance(self.estimator, Described):
            problem = f"{self._described.text:.200} is that of a loaded model, of which only this is known"
            raise ConfigError(problem, hint="Make the stage anew, where cuML is installed.", stage=self.title)
        if rank.kind != "gpu":
            instead = self._traits.stage or "scikit-learn's own with SklearnEstimator"
            hint = f"Use an engine with device='gpu', on a machine that has one; without a GPU take {instead}."
            raise ConfigError("cuML needs a GPU to fit, and partitions are on a CPU", hint=hint, stage=self.title)
        return unfitted(self.estimator, self.title)

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        """Fit on the GPUs of all ranks; on that of the first alone where cuML has nothing else, which is noted."""
        if rank.size == 1 or not learned["rows"]:
            return super().train(rank, learned)
        estimator = self._to_fit(rank)
        reason = self._why_alone(estimator)
        if reason is None:
            return self._train_together(rank, learned, estimator)
        if rank.index:
            return {}
        fitted = super().train(rank.with_all_rows(), learned)
        return {**fitted, "warnings": [f"one of {rank.size} GPUs fitted it: {reason}", *fitted["warnings"]]}

    def _why_alone(self, estimator: Any) -> str | None:
        """Return why one GPU has to fit it."""
        entry, weighted = entry_of(estimator, self.title), self.weight is not None
        reason = several.why_alone(estimator, entry, len(self.inputs()), weighted=weighted)
        if reason is not None or self._traits.stage is None or self._becomes_stage:
            return reason
        return "several learn one label" if self._labels else "with distances the cluster of every row is kept"

    def _train_together(self, rank: Rank, learned: Fitted, estimator: Any) -> Fitted:
        """Return what all ranks learned together; nothing on those but the first that has rows, and on rank 0."""
        several.check_gpus(rank, self.title)
        rows, sizes = fit.read_share(rank, self._reader(learned), learned["rows"], self.memory_limit)
        entry, classes = entry_of(estimator, self.title), len(classes_of(learned) or ())
        fitted: Fitted = {}
        with fit.values_refused(self._described.text[:200], self.inputs()):
            with several.group(rank, sizes, streams=int(entry.several == entry.name)) as together:
                fitting = partial(several.fit, estimator, entry, together, rows, classes)
                model, warned = fit.call(fitting, rank.threads)
            more = several.totals(rank, estimator, model)
            if together is not None and together.place == 0:
                kept = {**self._learn(estimator, learned), "warnings": warned}
                kept.get("learned", {}).update(more)
                fitted = {**kept, "widths": self._widths(matrices.to_host(rows.x[:1]), kept)}
        rank.report(1, "; ".join(warned[:3]))
        first = next(index for index, size in enumerate(sizes) if size)
        return rank.gather(fitted)[first] if first else fitted

    def _reader(self, learned: Fitted) -> fit.ToRows:
        return replace(super()._reader(learned), dtype=self.dtype, on_device=True)

    def _learn(self, estimator: Any, learned: Fitted) -> Fitted:
        twin = estimator.as_sklearn()
        if not self._becomes_stage:
            return super()._learn(twin, learned)
        state = state_of(str(self._traits.stage), twin, self.inputs(), learned)
        return {"learned": state, **{name: value for name, value in learned.items() if name not in state}}

    def _widths(self, row: np.ndarray, fitted: Fitted) -> dict[str, int]:
        if "learned" not in fitted:
            return super()._widths(row, fitted)
        frame = frames.from_arrow(pa.table(dict(zip(self.inputs(), row.astype(np.float64).T, strict=True))))
        made = self.transform(frame, fitted)
        (values,) = frames.to_arrow(made.select(*self.outputs())).to_pylist()
        return {name: len(value) if isinstance(value, list) else 0 for name, value in values.items()}

    def _predicted(self, fitted: Fitted) -> tuple[Any, ...] | None:
        """Return the places of the classes: labels have no other values on a GPU."""
        classes = classes_of(fitted)
        return None if classes is None else tuple(range(len(classes)))

    def as_stage(self, fitted: Fitted) -> tuple[Stage, Fitted]:
        """Return the stage of this library that an estimator has become, bound, and what that has learned.

        Parameters
        ----------
        fitted : mapping
            What this stage learned: ``model.fitted[place]``.

        Raises
        ------
        ConfigError
            It is kept as an estimator of scikit-learn, which `fitted_estimator` returns.
        """
        if "learned" not in fitted:
            problem = f"{self._described.text:.200} is kept as an estimator of scikit-learn, and is no stage"
            raise ConfigError(problem, hint="Call fitted_estimator(fitted).", stage=self.title)
        state = fitted["learned"]
        return stage_of(self, self._traits, state), state

    def fitted_estimator(self, fitted: Fitted) -> Any:
        """Return the fitted scikit-learn estimator; it is shared, so change nothing of it. Its classes are places.

        Raises
        ------
        ConfigError
            It is kept as the state of a stage, which `as_stage` returns.
        ArtifactVersionError, UntrustedArtifactError, ArtifactError
            It was fitted by another minor version of scikit-learn, or its file is not to be trusted or read.
        """
        if "learned" in fitted:
            problem = f"{self._described.text:.200} is kept as the state of {self._traits.stage}"
            raise ConfigError(problem, hint="Call as_stage(fitted).", stage=self.title)
        return super().fitted_estimator(fitted)

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        if "learned" not in fitted:
            return super().fitted_shape(schema, fitted)
        stage, state = self.as_stage(fitted)
        shapes = {"rows": Integer(), "warnings": ListOf(Text()), "widths": by_column(self.outputs(), Integer())}
        learned = stage.fitted_shape(schema, state)
        return Fields({**shapes, "learned": learned}, {"classes": CLASSES})  # type: ignore[dict-item]

    def learned_schema(self, schema: pa.Schema, fitted: Fitted) -> pa.Schema:
        return super().learned_schema(schema, {**fitted, **fitted.get("learned", {})})

    def notes(self, fitted: Fitted) -> list[str]:
        """Return the warnings of the fit, and what the stage tells of its state."""
        if "learned" not in fitted:
            return super().notes(fitted)
        stage, state = self.as_stage(fitted)
        return [*super().notes(fitted), *stage.notes(state)]

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Score the rows that have all features."""
        if "learned" not in fitted:
            return super().transform(frame, fitted)
        stage, state = self.as_stage(fitted)
        made = stage.transform(frame.select(*self.inputs()), state)
        if self._method == "transform":
            return frame.with_columns(*self._transformed(made, stage.outputs()))
        return frame.with_columns(*(made[name] for name in self.outputs()))

    def _transformed(self, made: nw.DataFrame, names: tuple[str, ...]) -> list[nw.Series]:
        """Return the columns that a projection has made under names of its own as `output_columns`."""
        scores = matrices.to_matrix(made, names, "float64")
        missing = np.isnan(scores).any(axis=1)
        columns = named(np.where(missing[:, None], 0.0, scores), self.outputs(), self._described.text[:200])
        series = (matrices.column(made, name, values.copy()) for name, values in columns.items())
        return [null_where(made, each, missing) for each in series]
