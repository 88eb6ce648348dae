"""The methods of a model that say whether rows are still as it has known them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from penstock.core.errors import ConfigError, class_name
from penstock.core.schemas import require
from penstock.dataset.dataset import Dataset
from penstock.pipeline.drift.alarm import raise_alarm
from penstock.pipeline.drift.drift_limits import DriftLimits
from penstock.pipeline.drift.drift_report import DriftReport, MetricDrift
from penstock.pipeline.drift.monitor import Monitor, monitor_steps
from penstock.pipeline.drift.profile import INPUT, LABEL, SCORE, MetricValues, Profile
from penstock.pipeline.drift.profiling import By, ColumnWatch, compare, gathered, make_profile, slicings_of
from penstock.stages.evaluation.base import Evaluator
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.evaluation.shared_scan import as_evaluators
from penstock.stages.evaluation.views import Bootstrap

if TYPE_CHECKING:
    from penstock.pipeline.drift.alarm import Alarm
    from penstock.pipeline.model import PipelineModel

_WITHOUT = "the model has no profile of the rows that it was fitted on"
_HINT = "Fit with keep_profile=True, or take rows it is right on: model.with_profile(dataset)."


class Monitoring:
    """A part of `PipelineModel`, which keeps a profile."""

    @property
    def _model(self) -> PipelineModel:
        return cast("PipelineModel", self)

    def with_profile(
        self,
        dataset: Dataset,
        *,
        slices: Sequence[By] = (),
        evaluators: Sequence[Evaluator] = (),
        bootstrap: Bootstrap | int | None = None,
    ) -> PipelineModel:
        """Return the model with the profile of `dataset`, from two scans: what later rows are compared with.

        Parameters
        ----------
        dataset : Dataset
            Rows that the model is right on: those of the fit, rows held out, or of a later week.
        slices : sequence of str or of sequences of str, optional
            Columns, or combinations of columns, by whose values rows are compared too; of few values, at most 1,000.
        evaluators : sequence of Evaluator, optional
            Whose metrics are kept too, from a scan of its own. The rows have labels then.
        bootstrap : Bootstrap or int, optional
            Replicates by which the standard errors of metrics are known, so that their changes can be tested.

        Raises
        ------
        SchemaDriftError, SchemaError
            The model does not fit the rows, or a column to slice by is missing.
        EmptyInputError
            There are no rows.

        Notes
        -----
        Columns of numbers get at most 64 bins, which end at quantiles of these rows; of columns of strings the 256 most
        frequent values are counted; of columns of other types what is missing. The columns are the inputs of the model,
        its `output_columns`, and labels that are there. It is saved with the model, and no part of its `digest`.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> from penstock import stages as st
        >>> engine = ps.LocalEngine(device="cpu")
        >>> rows = engine.from_arrow(pa.table({"x": [*map(float, range(1000))]}))
        >>> model = ps.Pipeline(st.StandardScaler("x")).fit(rows).with_profile(rows)
        >>> model.drift(rows).passed
        True
        """
        model = self._model
        transformed = model.transform(dataset)
        wanted = slicings_of(slices)
        for by in wanted:
            require(dataset.schema, by, stage="slices of a profile")
        metrics = self._metrics(dataset, evaluators, bootstrap) if evaluators else None
        return replace(model, profile=make_profile(transformed, self._watches(transformed, wanted), metrics))

    def drift(
        self,
        dataset: Dataset,
        *,
        limits: DriftLimits | None = None,
        alarm: Alarm | None = None,
        evaluators: Sequence[Evaluator] = (),
        bootstrap: Bootstrap | int | None = None,
    ) -> DriftReport:
        """Return what has changed since the profile of the model, from one scan that writes nothing.

        Parameters
        ----------
        dataset : Dataset
            Rows to score; labels may be among them.
        limits : DriftLimits, optional
            Unless given, what is not by chance at a level of 0.01 is an alarm.
        alarm : callable, str or sequence of str, optional
            Who is told of an alarm, see `Monitor`.
        evaluators : sequence of Evaluator, optional
            Whose metrics are compared too, with those of the profile; from a scan of its own.
        bootstrap : Bootstrap or int, optional
            As of `with_profile`.

        Returns
        -------
        DriftReport
            Measures by column, each beside what chance alone gives with so many rows; new and vanished values, slices,
            metrics. ``raise_if_drifted()`` raises where there is an alarm.

        Raises
        ------
        ConfigError
            The model has no profile, or none of metrics.
        SchemaDriftError, SchemaError, EmptyInputError
            As of `with_profile`.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> from penstock import stages as st
        >>> engine = ps.LocalEngine(device="cpu")
        >>> monday, tuesday = (engine.from_arrow(pa.table({"x": [1.0, 2.0, None] * n})) for n in (300, 500))
        >>> model = ps.Pipeline(st.Imputer("x")).fit(monday, keep_profile=True)
        >>> model.drift(tuesday)
        0 of 2 columns drifted; 1,500 rows against 900, level 0.01
        """
        monitor, profile = Monitor(limits=limits or DriftLimits(), alarm=alarm), self._known_profile
        transformed = self._model.transform(dataset)
        metrics: Sequence[MetricDrift] = ()
        if evaluators:
            if profile.metrics is None:
                raise ConfigError(
                    "the profile of the model has no metrics",
                    hint="Take it with some: with_profile(..., evaluators=[...]), or --evaluate with --save-profile.",
                )
            metrics = metric_drifts(profile.metrics, self._metrics(dataset, evaluators, bootstrap))
        current = gathered(transformed, self._known_watches(transformed, profile), "drift")
        report = compare(profile, current, monitor.limits, metrics)
        raise_alarm(monitor.alarm, report)
        return report

    def _monitored(self, transformed: Dataset, monitor: Monitor | bool) -> Dataset:
        """Return scored rows with the steps that compare them with the profile, where they are written."""
        chosen = Monitor() if monitor is True else monitor
        if not isinstance(chosen, Monitor):
            raise ConfigError(
                f"monitor is {class_name(monitor)}, expected True or a Monitor", hint="Write monitor=True."
            )
        profile = self._known_profile
        steps = list(transformed.steps)
        watches = self._known_watches(transformed, profile)
        made = monitor_steps(profile, watches, chosen)
        for watch, step in sorted(zip(watches, made, strict=True), key=lambda pair: -pair[0].position):
            steps.insert(watch.position, step)
        return replace(transformed, steps=tuple(steps))

    def _metrics(
        self, dataset: Dataset, evaluators: Sequence[Evaluator], bootstrap: Bootstrap | int | None
    ) -> MetricValues:
        found = self._model.evaluate(dataset, *as_evaluators(evaluators), bootstrap=bootstrap)
        return metric_values(found, bootstrap if isinstance(bootstrap, Bootstrap) else Bootstrap())

    @property
    def _known_profile(self) -> Profile:
        if self._model.profile is None:
            raise ConfigError(_WITHOUT, hint=_HINT)
        return self._model.profile

    def _known_watches(self, transformed: Dataset, profile: Profile) -> list[ColumnWatch]:
        for by in profile.slicings:
            require(transformed.schema, by, stage="slices of the profile")
        watches = self._watches(transformed, profile.slicings)
        return [each.with_bins(profile.roles[each.role].bins) for each in watches if each.role in profile.roles]

    def _watches(self, transformed: Dataset, slicings: Sequence[tuple[str, ...]]) -> list[ColumnWatch]:
        """Return what is watched: labels and inputs before the stages, scores, which come last, after them."""
        model = self._model
        end = len(transformed.steps)
        start = end - len(model.stages)
        rows = replace(transformed, steps=transformed.steps[:start]).schema
        labels = tuple(
            name for name in model.label_columns if name in rows.names and rows.field(name) == model.schema.field(name)
        )
        watches = [ColumnWatch(LABEL, start, labels)] if labels else []
        watches += [
            ColumnWatch(INPUT, start, tuple(model.input_columns)),
            ColumnWatch(SCORE, end, model.output_columns),
        ]
        return [replace(each, slicings=tuple(slicings)) for each in watches]


def check_not_monitored(monitor: Monitor | bool) -> None:
    """Raise ConfigError where rows of a frame are to be monitored, which its own library reads and writes."""
    if monitor:
        problem = "rows of a frame are transformed by its own library, which gathers nothing on the way"
        raise ConfigError(problem, hint="Make a dataset of it: engine.from_spark(frame), engine.from_dask(frame).")


def metric_values(evaluation: Evaluation, bootstrap: Bootstrap) -> MetricValues:
    """Return the metrics of an evaluation, with standard errors where it has the intervals of a bootstrap."""
    return MetricValues(dict(evaluation), {name: _error(evaluation, name, bootstrap) for name in evaluation})


def metric_drifts(reference: MetricValues, current: MetricValues) -> Sequence[MetricDrift]:
    """Return the metrics that both have, with a test of each that bootstraps give standard errors of.

    Examples
    --------
    >>> found = metric_drifts(MetricValues({"rmse": 1.0}, {"rmse": 0.3}), MetricValues({"rmse": 3.0}, {"rmse": 0.4}))[0]
    >>> found.difference, found.error, round(found.p_value, 6)
    (2.0, 0.5, 6.3e-05)
    """
    return [_compared(name, reference, current) for name in current.values if name in reference.values]


def _compared(name: str, reference: MetricValues, current: MetricValues) -> MetricDrift:
    before, now = reference.values[name], current.values[name]
    errors = [each.errors.get(name) for each in (reference, current)]
    error = math.hypot(*(each for each in errors if each is not None)) if None not in errors else None
    if not error or before is None or now is None:
        return MetricDrift(name, before, now, error, None)
    return MetricDrift(name, before, now, error, math.erfc(abs(now - before) / error / math.sqrt(2)))


def _error(evaluation: Evaluation, name: str, bootstrap: Bootstrap) -> float | None:
    """Return the standard error that an interval stands for, of a normal distribution."""
    from scipy import special

    if name not in evaluation.intervals:
        return None
    low, high = evaluation.intervals[name]
    return float((high - low) / 2 / special.ndtri((1 + bootstrap.confidence) / 2))
