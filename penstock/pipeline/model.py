"""A fitted pipeline: transforms, evaluates, scores single rows, and is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

import pyarrow as pa

from penstock.core.displayed import Displayed
from penstock.core.errors import ConfigError, SchemaDriftError, class_name
from penstock.core.known_classes import classes_of_scores
from penstock.core.names import column_names
from penstock.core.recording import step
from penstock.dataset.cast_as_fitted import cast_as_fitted
from penstock.dataset.dataset import Dataset, check_dataset
from penstock.dataset.steps import output_schema, prune
from penstock.frames.interchange import as_arrow, is_table
from penstock.pipeline.drift.monitor import Monitor
from penstock.pipeline.drift.profile import Profile
from penstock.pipeline.fit import FitReport
from penstock.pipeline.foreign_frames import is_foreign_frame, transform_frame
from penstock.pipeline.model_exports import ModelExports
from penstock.pipeline.monitoring import Monitoring, check_not_monitored
from penstock.pipeline.parameters import get_params
from penstock.pipeline.refitting.kept_statistics import KeptState, KeptStatistics
from penstock.pipeline.refitting.learning_on import LearningOn
from penstock.pipeline.row_scorer import RowScorer
from penstock.stages.base import Fitted, Stage
from penstock.stages.evaluation.base import Evaluator, Evaluators
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.evaluation.shared_scan import evaluate
from penstock.stages.evaluation.views import Bootstrap
from penstock.stages.names import stage_names
from penstock.stages.step import StageStep
from penstock.stages.trainer import Trainer


@dataclass(frozen=True)
class PipelineModel(LearningOn, ModelExports, Monitoring, Displayed):
    """Fitted stages: transforms, evaluates, and is saved without code.

    Attributes
    ----------
    stages : tuple of Stage
        Bound to the columns they were fitted on.
    fitted : tuple of mapping
        What each learned.
    schema : pyarrow.Schema
        The columns it was fitted on.
    report : FitReport or None
        What the fit did; None for a loaded model.
    given_names : tuple of str or None
        The name that the user gave to each stage, if any.
    evaluators : tuple of Evaluator, or mapping of name to Evaluator
        What `evaluate` measures by unless it is given others; they are saved with it, and no part of the `digest`.
    statistics : mapping of (int, str) to KeptState, or None
        What was gathered, by the position of a stage and its name for it, where a fit kept it; not in the `digest`.
    profile : Profile or None
        What later rows are compared with, where it is kept; not in the `digest`.
    """

    stages: tuple[Stage, ...]
    fitted: tuple[Fitted, ...]
    schema: pa.Schema
    report: FitReport | None = field(default=None, compare=False, repr=False)
    given_names: tuple[str | None, ...] = ()
    evaluators: Evaluators = ()
    statistics: KeptStatistics | None = field(default=None, compare=False, repr=False)
    profile: Profile | None = field(default=None, compare=False, repr=False)
    _display = "penstock.report.notebook.pipelines:model_html"

    def __repr__(self) -> str:
        return f"PipelineModel({', '.join(self.names)})"

    def __post_init__(self) -> None:
        if not self.given_names:
            object.__setattr__(self, "given_names", (None,) * len(self.stages))

    @property
    def names(self) -> tuple[str, ...]:
        """How the stages are called, as in the `Pipeline`."""
        return stage_names(self.stages, self.given_names)

    def get_params(self) -> dict[str, Any]:
        """Return the parameters as `Pipeline.get_params` does; of the stages as they were fitted, columns resolved."""
        return get_params(dict(zip(self.names, self.stages, strict=True)))

    @property
    def steps(self) -> tuple[StageStep, ...]:
        """The stages as steps of a dataset."""
        return tuple(
            StageStep(stage, fitted, place, name=name)
            for place, (stage, fitted, name) in enumerate(zip(self.stages, self.fitted, self.given_names, strict=True))
        )

    @property
    def output_columns(self) -> tuple[str, ...]:
        """What `predict` returns unless it is told: what the last stage makes, or a selector leaves of its columns."""
        if not self.stages:
            return tuple(self.schema.names)
        last = self.steps[-1]
        made = (*last.stage.outputs(), *(name for name in last.doubtful if name not in last.left_out))
        return made or tuple(output_schema(self.steps, self.schema).names)

    @property
    def classes(self) -> dict[str, tuple[Any, ...]]:
        """The classes of each column of scores, in the order of its lists; a number is of the second of two."""
        schema = output_schema(self.steps, self.schema)
        noted = {name: classes_of_scores(schema, name) for name in schema.names}
        return {name: classes for name, classes in noted.items() if classes}

    @property
    def input_columns(self) -> list[str]:
        """The columns that scoring needs; labels are not among them."""
        made = [name for stage in self.stages for name in stage.outputs()]
        _, need = prune(self.steps, made)
        return [name for name in self.schema.names if name in need]

    @property
    def label_columns(self) -> list[str]:
        """The columns that the stages learn to predict, as they are in the data."""
        names = dict.fromkeys(each.target.label for each in self.stages if isinstance(each, Trainer))
        return [name for name in names if name is not None and name in self.schema.names]

    @property
    def digest(self) -> str:
        """``sha256:...`` of everything that was learned, boosters and weights too; with it, of all parameters.

        Models of equal digests give equal scores. What is learned from statistics, or by a trainer that promises the
        same bits for any number of ranks, has the same digest on every engine; see `preprocessing_digest` for the rest.

        Raises
        ------
        UnsupportedStepError
            A stage learned something that cannot be stored either, an estimator that skops does not know.
        """
        from penstock.artefact.digest import digest

        return digest(self)

    @property
    def preprocessing_digest(self) -> str:
        """The `digest` of the stages that are no trainers: equal for equal statistics, wherever they were gathered."""
        from penstock.artefact.digest import preprocessing_digest

        return preprocessing_digest(self)

    @overload
    def transform(self, dataset: Dataset, *, monitor: bool | Monitor = ...) -> Dataset: ...
    @overload
    def transform(self, dataset: Any, *, monitor: bool | Monitor = ...) -> Any: ...
    def transform(self, dataset: Any, *, monitor: bool | Monitor = False) -> Any:
        """Return `dataset` with all stages to be applied; nothing is read.

        A lazy DataFrame of Spark or of Dask becomes another one: its library does the stages to its partitions, on
        CPUs, without a copy to disk; to a streaming frame of Spark too. Rows that a stage would set aside are an error.

        The columns that the model needs get the types that it was fitted on, so that pandas' float64 for integers of
        which one is missing, or whole numbers in place of floating ones, give what the same values give in a row; a
        value that the type does not hold is an error.

        Parameters
        ----------
        dataset : Dataset or DataFrame
        monitor : bool or Monitor, default=False
            Compare the rows with the `profile` of the model in the pass that writes them: the result of `write` and its
            like has the `DriftReport` as ``drift``. What writes nothing, as `to_polars`, compares nothing.

        Raises
        ------
        ConfigError
            It is no dataset; or a frame, and a stage goes by the numbers of rows. Rows are to be monitored that are a
            frame, or by a model without a profile.
        SchemaDriftError
            A column that the model needs is missing or of another type; names all that are missing.
        DataValueError
            When it is read: a value that the type fitted on does not hold, a fraction for an integer, say; names the
            column, how many there are, the first with its file and row.
        """
        if is_foreign_frame(dataset):
            check_not_monitored(monitor)
            return transform_frame(dataset, self.transform)
        check_dataset(dataset, "transform")
        try:
            dataset = cast_as_fitted(dataset, self.input_columns, self.schema)
        except SchemaDriftError as error:
            raise self._not_for(dataset, error) from error
        for each in self.steps:
            dataset = dataset.with_step(each)
        output_schema(dataset.steps, dataset.reader.source.schema)
        return self._monitored(dataset, monitor) if monitor else dataset

    def _not_for(self, dataset: Dataset, error: SchemaDriftError) -> SchemaDriftError:
        """Return the error with the model and the first file, which the user may have mixed up with others."""
        path = next((path for fragment in dataset.fragments for path in fragment.paths), None)
        message = f"{error.message} The digest of the model's preprocessing is {self.preprocessing_digest}."
        return SchemaDriftError(message, hint=error.hint, path=path, column=error.column)

    def evaluate(
        self,
        dataset: Dataset,
        *evaluators: Evaluator | Mapping[str, Evaluator],
        slices: Sequence[str | Sequence[str]] = (),
        bootstrap: Bootstrap | int | None = None,
    ) -> Evaluation:
        """Transform and evaluate in one scan; see `penstock.evaluate`, also for the parameters.

        Several evaluators, or one mapping of names to evaluators, are taken; those of the model, unless any are given.

        Returns
        -------
        Evaluation
            A dict of metric name to value, with a reason for each that is undefined.

        Raises
        ------
        ConfigError
            There is no evaluator; two report a metric of one name.
        """
        wanted = _together(evaluators) or self.evaluators
        if not wanted:
            raise ConfigError(
                "the model has no evaluators, and none are given",
                hint='Pass some: model.evaluate(dataset, st.RegressionEvaluator(label="y")); on the command line name'
                " the pipeline: penstock evaluate PIPELINE --model MODEL --data DATA.",
            )
        return evaluate(self.transform(dataset), wanted, slices=slices, bootstrap=bootstrap)

    def with_evaluators(self, *evaluators: Evaluator | Mapping[str, Evaluator]) -> PipelineModel:
        """Return the model with `evaluators` of its own: several, or one mapping of names to evaluators.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> from penstock import stages as st
        >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}))
        >>> model = ps.Pipeline(st.LinearRegression("y")).fit(data)
        >>> model.with_evaluators(st.RegressionEvaluator(label="y", metrics="rmse")).evaluate(data)["rmse"] < 1e-9
        True
        """
        return replace(self, evaluators=_together(evaluators))

    def predict(
        self, rows: Mapping[str, Any] | Sequence[Mapping[str, Any]] | Any, *, columns: str | Sequence[str] | None = None
    ) -> Any:
        """Score one row, or a few, in this thread: no engine, no files; the numbers of `transform`, to the bit.

        The first call prepares the model, and later ones are short, so that a server can answer with it. It may be
        called from several threads.

        Parameters
        ----------
        rows : mapping, sequence of mappings, or frame
            Values by column, of the types in `schema`; None, NaN or NA for a missing one. Labels and other columns that
            scoring does not need may be left out, and are passed over. Numbers are taken for numbers that are equal:
            3.0 for an integer, not 3.5. A frame of pandas, Polars or Arrow stands for its rows; many are better scored
            by `transform`.
        columns : str or sequence of str, optional
            What to return; what the last stage makes, or a selector leaves of its columns, unless given.

        Returns
        -------
        dict, or list of dict
            A dict for a mapping, and a list of as many dicts for a sequence or a frame.

        Raises
        ------
        SchemaDriftError
            A column that the model needs is missing.
        SchemaError
            A value is of another type than its column, or the model gives no such column.
        DataValueError
            The type of the column does not hold the value, a stage refuses it, or leaves the row out.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> from penstock import stages as st
        >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1.0, None, 3.0]}))
        >>> model = ps.Pipeline(st.Imputer("x"), st.StandardScaler("x")).fit(data)
        >>> model.predict({"x": 3}), model.predict([{"x": None}, {"x": 1}])
        ({'x': 1.0}, [{'x': 0.0}, {'x': -1.0}])
        """
        wanted = () if columns is None else column_names(columns, "columns of predict")
        scorer = self._scorer(wanted or self.output_columns)
        if isinstance(rows, Mapping):
            return scorer.one(rows)
        return scorer.of_table(as_arrow(rows)) if is_table(rows) else scorer.many(rows)

    def _scorer(self, columns: tuple[str, ...]) -> RowScorer:
        prepared: dict[tuple[str, ...], RowScorer] = self.__dict__.setdefault("_scorers", {})
        if columns not in prepared:
            prepared[columns] = RowScorer.of(self.steps, self.schema, columns)
        return prepared[columns]

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy has: not what `predict` has prepared, which a copy prepares anew."""
        return {name: value for name, value in self.__dict__.items() if name != "_scorers"}

    def save(
        self, path: str | Path, *, overwrite: bool = False, storage_options: Mapping[str, Any] | None = None
    ) -> str:
        """Write the model to a directory, or to the URL of one, whole or not at all; see `penstock.artefact`.

        Returns
        -------
        str
            ``sha256:...`` of the manifest, which `load` takes as `expect`. What was learned has the `digest`.
        """
        from penstock.artefact import save

        return save(self, path, overwrite=overwrite, storage_options=storage_options)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        expect: str | None = None,
        stages: Mapping[str, type[Stage]] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> PipelineModel:
        """Read a model, from a directory or the URL of one, without running code; see `penstock.artefact`.

        Parameters
        ----------
        expect : str, optional
            ``sha256:...`` of the manifest as printed at save; anything else is refused.
        stages : mapping of name to Stage, optional
            Stages of your own that it may name.
        storage_options : mapping, optional
            Passed to fsspec; never shown in a message.
        """
        from penstock.artefact import load

        with step("load"):
            parts = load(path, expect=expect, stages=stages or {}, storage_options=storage_options)
        kept = {key: KeptState(*pair) for key, pair in parts.statistics.items()}
        profile = None if parts.profile is None else Profile.from_state(parts.profile)
        model = (parts.stages, parts.fitted, parts.schema, None, parts.given_names, parts.evaluators)
        return cls(*model, kept or None, profile)


def _together(evaluators: Sequence[Evaluator | Mapping[str, Evaluator]]) -> Evaluators:
    """Return evaluators, or the one mapping that is given in their place."""
    together = evaluators[0] if len(evaluators) == 1 and isinstance(evaluators[0], Mapping) else tuple(evaluators)
    for evaluator in together.values() if isinstance(together, Mapping) else together:
        if not isinstance(evaluator, Evaluator):
            hint = 'Pass st.RegressionEvaluator(label="y"), say; several one by one, or as a dict by name.'
            raise ConfigError(f"{class_name(evaluator)} is no evaluator", hint=hint)
    return together  # type: ignore[return-value]
