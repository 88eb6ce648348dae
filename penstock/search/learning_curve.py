"""What a pipeline is worth by the number of rows that it is trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import pstdev
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.dataset.dataset import Dataset, check_dataset
from penstock.dataset.folds.folds import Folds
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.reuse import held_meanwhile
from penstock.search.joint_scan import JointScan
from penstock.search.search_result import mean_of
from penstock.search.thinning import all_thinned
from penstock.search.trials import check_trainings, run_trials
from penstock.search.validation import as_folds
from penstock.spmd import SpmdOptions
from penstock.stages.evaluation.base import Evaluator, Evaluators
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.evaluation.shared_scan import as_evaluators
from penstock.statistics.counts import RowCount

_SIZES = (0.1, 0.325, 0.55, 0.775, 1.0)


def learning_curve(
    pipeline: Pipeline,
    dataset: Dataset,
    evaluators: Evaluator | Evaluators,
    *,
    sizes: Sequence[float] = _SIZES,
    folds: int | Mapping[str, Any] | Folds = 5,
    options: SpmdOptions | None = None,
) -> pa.Table:
    """Return the metrics of a pipeline by how many rows it is trained on: whether more of them would help.

    The training rows of a size are among those of every larger one, and what a fold validates with is the same for all.
    All sizes and folds are fitted side by side: one scan for each level of the pipeline, and one for the metrics.

    Parameters
    ----------
    pipeline : Pipeline
    dataset : Dataset
    evaluators : Evaluator, sequence of Evaluator, or mapping of str to Evaluator
    sizes : sequence of float or int, default (0.1, 0.325, 0.55, 0.775, 1.0)
        Shares of the training rows, above 0 and up to 1; or all integers, numbers of rows. Rows are drawn by their
        number, about so many of each fold.
    folds : int, mapping or Folds, default 5
        As of `CrossValidator`.
    options : SpmdOptions, optional
        Of the trainings.

    Returns
    -------
    pyarrow.Table
        A row for each size, ascending: ``size``; ``train_rows``, how many rows there were on average over the folds;
        and for each metric ``mean_train_<metric>``, ``std_train_<metric>`` (on the rows that were trained on),
        ``mean_test_<metric>`` and ``std_test_<metric>`` (on the others), null where a fold has none, and
        ``split<fold>_train_<metric>`` and ``split<fold>_test_<metric>``.

    Raises
    ------
    ConfigError
        A size is out of range, or so small that a fold has no row to train on.
    SchemaError, ConfigError, DataValueError
        As of `Pipeline.fit`, on any fold and size.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": range(60), "y": [2.0 * i + i % 3 for i in range(60)]}))
    >>> evaluator = st.RegressionEvaluator(label="y", metrics="rmse")
    >>> curve = learning_curve(ps.Pipeline(st.LinearRegression("y")), data, evaluator, sizes=(0.2, 1.0), folds=3)
    >>> curve.column_names[:4], curve["train_rows"].to_pylist()
    (['size', 'train_rows', 'mean_train_rmse', 'std_train_rmse'], [8.0, 40.0])
    """
    check_dataset(dataset, "learning_curve")
    if not isinstance(pipeline, Pipeline):
        raise ConfigError(f"learning_curve takes a Pipeline, found {pipeline!r:.100}")
    measures, of_rows = as_evaluators(evaluators), as_folds(dataset, folds)
    check_trainings(pipeline.plan(dataset), dataset, options or SpmdOptions())
    fractions = _fractions(sizes, of_rows)
    curve = all_thinned(of_rows, list(fractions.values()))
    rows = _by_size(_train_rows(curve), len(of_rows))
    _check_rows(list(fractions), rows)
    with held_meanwhile(dataset) as held:
        scores = run_trials({0: pipeline}, replace(curve, dataset=held), measures, options, on_training=True)[0]
    if scores.error is not None:
        raise scores.error
    columns = {"size": pa.array(list(fractions)), "train_rows": [sum(each) / len(each) for each in rows]}
    for metric in scores.evaluations[0]:
        of_sides = {"train": scores.training, "test": scores.evaluations}
        columns |= _columns(metric, {side: _by_size(each, len(of_rows)) for side, each in of_sides.items()})
    return pa.table(columns)


def _fractions(sizes: Sequence[float], folds: Folds) -> dict[float, float]:
    """Return the share of training rows that each size is, ascending."""
    ascending = np.unique(np.asarray(sizes))
    if not len(ascending) or ascending.dtype.kind not in "iuf":
        raise ConfigError(f"sizes is {sizes!r:.100}, expected shares above 0 and up to 1, or integers")
    smallest, largest, shares = ascending[0], ascending[-1], ascending.dtype.kind == "f"
    most = 1 if shares else min(_train_rows(folds))
    if not (smallest > 0 and largest <= most):
        expected = "above 0 and up to 1" if shares else f"from 1 to {most} rows, the fewest that a fold trains on"
        raise ConfigError(f"sizes is {sizes!r:.100}, expected {expected}")
    return {size: size / most for size in ascending.tolist()}


def _train_rows(folds: Folds) -> list[int]:
    """Return how many rows each fold trains on."""
    scan = JointScan(folds.dealt)
    keys = [scan.ask(split.train, (), RowCount()) for split in folds.splits]
    answers = scan.run("rows")
    return [answers[key].value() for key in keys]


def _by_size(of_folds: Sequence[Any], folds: int) -> list[Sequence[Any]]:
    """Return what there is of each fold, size by size."""
    return [of_folds[first : first + folds] for first in range(0, len(of_folds), folds)]


def _check_rows(sizes: Sequence[float], rows: Sequence[Sequence[int]]) -> None:
    for size, of_folds in zip(sizes, rows, strict=True):
        if not all(of_folds):
            raise ConfigError(
                f"of size {size}, fold {list(of_folds).index(0)} has no row to train on", hint="Leave out small sizes."
            )


def _columns(metric: str, of_sides: Mapping[str, Sequence[Sequence[Evaluation]]]) -> dict[str, pa.Array]:
    """Return the columns of one metric: on both sides of the folds its means and deviations, and then each fold's."""
    summaries, splits = dict[str, pa.Array](), dict[str, pa.Array]()
    for side, sizes in of_sides.items():
        values = [[evaluation.get(metric) for evaluation in of_folds] for of_folds in sizes]
        means = [mean_of(each) for each in values]
        spreads = [None if mean is None else pstdev(each) for mean, each in zip(means, values, strict=True)]  # type: ignore[type-var]
        summaries |= {f"mean_{side}_{metric}": _floats(means), f"std_{side}_{metric}": _floats(spreads)}
        splits |= {f"split{fold}_{side}_{metric}": _floats(each) for fold, each in enumerate(zip(*values, strict=True))}
    return summaries | splits


def _floats(values: Sequence[float | None]) -> pa.Array:
    return pa.array(values, pa.float64())
