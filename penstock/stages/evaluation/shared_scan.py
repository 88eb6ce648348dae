"""Several evaluators, the slices of each and their replicates, all from one scan."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError, class_name
from penstock.core.several import several
from penstock.dataset.dataset import Dataset, check_dataset
from penstock.dataset.joint_gather import gather_each
from penstock.dataset.steps import RowLog
from penstock.stages.evaluation.base import Evaluator, Evaluators
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.evaluation.views import AllRows, Asked, Bootstrap, Replicates, Results, Slices, View, check_slice
from penstock.statistics.base import State, Statistic
from penstock.statistics.grouped.base import Grouped

By = str | Sequence[str]


def evaluate(
    dataset: Dataset,
    evaluators: Evaluator | Evaluators,
    *,
    slices: str | Sequence[By] = (),
    bootstrap: Bootstrap | int | None = None,
) -> Evaluation:
    """Return the metrics of all evaluators from one scan that reads only their columns.

    A silhouette takes a second scan, of its own columns: it needs the clusters' centres before it looks at a row.

    Parameters
    ----------
    dataset : Dataset
        Scored: it has the labels and the predictions.
    evaluators : Evaluator, sequence of Evaluator, or mapping of name to Evaluator
        Equal statistics of several evaluators are gathered once. Of a mapping every metric and table is called
        ``name.metric``, so that several evaluators can report metrics of one name.
    slices : str, or sequence of str or of sequences of str
        Columns, or combinations of columns, by which to report every metric as well, with the number of rows:
        ``["country", ("country", "device")]``. They hold strings, booleans, integers or dates, at most 1,000 values;
        null is a value. The result's `slices` has a table for each, largest slice first.
    bootstrap : Bootstrap or int, optional
        How many replicates to gather for a confidence interval of every metric, the result's `intervals`; a
        replicate takes about as long as the metrics themselves.

    Returns
    -------
    Evaluation
        Metrics in the order of the evaluators; without rows all are None, with reasons.

    Raises
    ------
    ConfigError
        No evaluator, something else, or two that report metrics of one name; a bootstrap of rows that have lost their
        numbers.
    SchemaError
        A column is missing or of the wrong type; nothing was read.
    DataValueError
        A label, prediction or weight is null or outside its range, or a column has too many values to slice by; names
        column, count, first file and row.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"label": [0, 1, 1], "rawPrediction": [-1.0, 0.5, 2.0], "prediction": [0.0, 1.0, 1.0]})
    >>> scored = ps.LocalEngine(device="cpu").from_arrow(table)
    >>> areas = st.BinaryClassificationEvaluator(metrics=["areaUnderROC"])
    >>> evaluate(scored, [areas, st.RegressionEvaluator(metrics="mae")])
    {'areaUnderROC': 1.0, 'mae': 0.0}
    >>> evaluate(scored, {"click": areas}, slices=["label"]).slices["label"].to_pylist()
    [{'label': 1, 'rows': 2, 'click.areaUnderROC': None}, {'label': 0, 'rows': 1, 'click.areaUnderROC': None}]
    """
    check_dataset(dataset, "evaluate")
    schema, prefixed = dataset.schema, isinstance(evaluators, Mapping)
    slices = several(slices, "slices", "Sequence[str | Sequence[str]]")
    every = _all_rows(schema, evaluators)
    members, views = every.members, list[View]([every])
    views += [Slices(members, schema, prefixed, check_slice(schema, by)) for by in slices]
    if bootstrap is not None:
        wanted = bootstrap if isinstance(bootstrap, Bootstrap) else Bootstrap(bootstrap)
        views += Replicates.of(members, dataset, prefixed, wanted)
    first = _gather(dataset, views, [view.statistics() for view in views])
    second = _gather(dataset, views, [view.follow_ups(first[0][()]) for view in views])
    return Evaluation.joined(
        view.report(_merged(one, other)) for view, one, other in zip(views, first, second, strict=True)
    )


def evaluate_each(
    datasets: Sequence[Dataset], evaluators: Sequence[Evaluator] | Mapping[str, Evaluator]
) -> list[tuple[Evaluation, RowLog]]:
    """Return the metrics of several scored datasets, each as `evaluate` gives them, and what became of their rows.

    Datasets of the same rows, scored by several models, are read in one scan.

    Raises
    ------
    ConfigError, SchemaError, DataValueError
        As of `evaluate`, for the first dataset that they concern.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 7.0]}))
    >>> models = [ps.Pipeline(st.LinearRegression("y", features=["x"])).fit(data.limit(n)) for n in (2, 3)]
    >>> evaluator = st.RegressionEvaluator(label="y", metrics="mae")
    >>> both = evaluate_each([model.transform(data) for model in models], [evaluator])
    >>> [round(metrics["mae"], 3) for metrics, _ in both]
    [0.333, 0.222]
    """
    views = [_all_rows(each.schema, evaluators) for each in datasets]
    asked = [view.statistics() for view in views]
    first, logs = _gather_each(datasets, views, asked)
    second, _ = _gather_each(
        datasets, views, [view.follow_ups(found[()]) for view, found in zip(views, first, strict=True)]
    )
    metrics = [view.report(_merged(one, other)) for view, one, other in zip(views, first, second, strict=True)]
    return list(zip(metrics, logs, strict=True))


def as_evaluators(evaluators: Evaluator | Evaluators) -> Evaluators:
    """Return one evaluator, or several, as several.

    Raises
    ------
    ConfigError
        There is none, something else, or two that report one metric.
    """
    given: Evaluators = several(evaluators, "evaluators", "Sequence[Evaluator]")
    if not given:
        raise ConfigError("there is no evaluator", hint="Pass at least one, BinaryClassificationEvaluator() say.")
    for each in given.values() if isinstance(given, Mapping) else given:
        if not isinstance(each, Evaluator):
            raise ConfigError(
                f"{class_name(each)} is no evaluator", hint='Pass st.RegressionEvaluator(label="y"), say.'
            )
    if not isinstance(given, Mapping):
        _refuse_overlap(given)
    return given


def named_evaluators(evaluators: Evaluator | Evaluators) -> dict[str, Evaluator]:
    """Return evaluators by name, those without one by number; raises as `as_evaluators`."""
    given = as_evaluators(evaluators)
    return dict(given) if isinstance(given, Mapping) else {str(place): each for place, each in enumerate(given)}


def _refuse_overlap(evaluators: Sequence[Evaluator]) -> None:
    owner: dict[str, Evaluator] = {}
    for evaluator in evaluators:
        for name in evaluator.names:
            if name in owner:
                raise ConfigError(
                    f"metric {name!r} is reported by {owner[name]} and by {evaluator}",
                    hint="Give them names, {'click': ..., 'sale': ...}, or leave it out of one with metrics=(...).",
                    stage=evaluator.title,
                )
            owner[name] = evaluator


def _all_rows(schema: pa.Schema, evaluators: Evaluator | Evaluators) -> AllRows:
    members = {name: evaluator.bind(schema) for name, evaluator in named_evaluators(evaluators).items()}
    return AllRows(members, schema, isinstance(evaluators, Mapping))


def _gather_each(
    datasets: Sequence[Dataset], views: Sequence[View], asked: Sequence[Asked]
) -> tuple[list[dict[Hashable, Results]], list[RowLog]]:
    """Return for each dataset the results of what its view asked for, and what became of its rows."""
    groups = [view.group(_unique(each)) for view, each in zip(views, asked, strict=True)]
    if not any(_unique(each) for each in asked):
        return [{} for _ in datasets], [RowLog() for _ in datasets]
    gathered = gather_each(datasets, [[group] for group in groups], label="evaluate")
    answers = [
        _answers(each, group, _finish(dataset, view, group, states[0]))
        for dataset, view, each, group, (states, _) in zip(datasets, views, asked, groups, gathered, strict=True)
    ]
    return answers, [log for _, log in gathered]


def _gather(dataset: Dataset, views: Sequence[View], asked: Sequence[Asked]) -> list[dict[Hashable, Results]]:
    """Return, for each view, the results of what its members asked for, by the key of the set of rows; one scan."""
    groups = [
        view.group(_unique(each)) if any(each.values()) else None for view, each in zip(views, asked, strict=True)
    ]
    wanted = [group for group in groups if group is not None]
    states = iter(dataset.gather(wanted, label="evaluate")[0] if wanted else ())
    return [
        {} if group is None else _answers(each, group, _finish(dataset, view, group, next(states)))
        for view, each, group in zip(views, asked, groups, strict=True)
    ]


def _unique(asked: Asked) -> list[Statistic]:
    return list(dict.fromkeys(statistic for of_one in asked.values() for statistic in of_one.values()))


def _answers(asked: Asked, group: Grouped, found: Mapping[Hashable, tuple[Any, ...]]) -> dict[Hashable, Results]:
    place = {statistic: number for number, statistic in enumerate(group.statistics)}
    return {
        key: {
            member: {name: results[place[statistic]] for name, statistic in of_one.items()}
            for member, of_one in asked.items()
        }
        for key, results in found.items()
    }


def _merged(first: Mapping[Hashable, Results], second: Mapping[Hashable, Results]) -> dict[Hashable, Results]:
    """Return the results of both scans together."""
    return {
        key: {member: {**found, **second.get(key, {}).get(member, {})} for member, found in results.items()}
        for key, results in first.items()
    }


def _finish(dataset: Dataset, view: View, group: Grouped, state: State) -> Mapping[Hashable, tuple[Any, ...]]:
    """Finish statistics; values that make one meaningless are looked up, in one more scan, to name file and row."""
    try:
        return group.finish(state)
    except DataValueError as error:
        reading = (each.title for each in view.members.values() if error.column in each.columns())
        place: dict[str, Any] = {"stage": next(reading, None)}
        if error.predicate is not None and error.path is None:
            found = dataset.first_where(error.predicate, [error.column] if error.column else group.columns)
            place |= dict(zip(("path", "row"), found, strict=True)) if found else {}
        raise error.at(**place) from error
