"""Every evaluator of the library, found and not listed: the same metrics on each engine, however the rows are cut."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics as sk

import penstock.stages.evaluation
from penstock.errors import DataValueError
from penstock.stages.evaluation import Evaluator, evaluate
from penstock.testing.compare import RTOL, demand_equal
from penstock.testing.datasets import cut, restricted, shuffled, uneven
from penstock.testing.trials import counted, home

ROWS = 200


def discover() -> list[type[Evaluator]]:
    package = penstock.stages.evaluation
    modules = [
        importlib.import_module(f"{package.__name__}.{found.name}") for found in pkgutil.iter_modules(package.__path__)
    ]
    kinds = {value for module in modules for value in vars(module).values() if inspect.isclass(value)}
    return sorted(
        (k for k in kinds if issubclass(k, Evaluator) and not inspect.isabstract(k)), key=lambda k: k.__name__
    )


EXAMPLES = [kind(weight=weight) for kind in discover() for weight in (None, "w")]
examples = pytest.mark.parametrize("evaluator", EXAMPLES, ids=lambda each: f"{each.title}-{each.weight}")


def table(offset: float = 0.0) -> pa.Table:
    """Labels that suit any evaluator, 0 and 1, with predictions that tie here and there; moved by `offset`."""
    draw = np.random.default_rng(3)
    label = draw.integers(0, 2, ROWS)
    scores = np.round(label + draw.normal(size=ROWS), 1)
    prediction = offset + label + draw.normal(0.3, 1.0, ROWS)
    weight = draw.integers(0, 4, ROWS) + 0.5
    return pa.table({"rawPrediction": scores, "prediction": prediction, "label": offset + label, "w": weight})


def scattered(engine, rows=None, few=True):
    rows = shuffled(table() if rows is None else rows)
    return cut(engine, rows, uneven(rows.num_rows, few=few))


def test_there_are_evaluators_for_classes_and_for_numbers():
    known = {metric for evaluator in EXAMPLES for metric in evaluator.larger_better}
    assert known == set(ORACLES)


@examples
def test_the_same_fragments_give_the_same_on_every_engine(evaluator, engine):
    expected = evaluator.evaluate(scattered(home(engine.kind), few=False))
    demand_equal(dict(evaluator.evaluate(scattered(engine, few=False))), dict(expected), evaluator.title)


@examples
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_rows_shuffled_into_uneven_fragments_change_no_metric(evaluator, engine, offset):
    if offset and "areaUnderROC" in evaluator.names:
        offset = 0.0  # labels are classes there, and have no place to move to
    expected = evaluator.evaluate(cut(home(engine.kind), table(offset)))
    demand_equal(dict(evaluator.evaluate(scattered(engine, table(offset)))), dict(expected), evaluator.title, rtol=RTOL)


def _var(label, prediction, weight):
    return np.average((prediction - np.average(label, weights=weight)) ** 2, weights=weight)


def _r2(label, prediction, weight):
    """MLlib's, whose total takes the unbiased variance of reliability weights; without weights it is the textbook's."""
    total, mean = weight.sum(), np.average(label, weights=weight)
    variance = np.sum(weight * (label - mean) ** 2) / (total - np.sum(weight**2) / total)
    return 1 - np.sum(weight * (label - prediction) ** 2) / (variance * (total - 1))


def _area_under_pr(label, score, weight):
    precision, recall, _ = sk.precision_recall_curve(label, score, sample_weight=weight)
    precision[-1] = precision[-2]  # MLlib's curve begins at the precision of the first threshold
    return sk.auc(recall, precision)


ORACLES = {
    "areaUnderROC": lambda label, score, weight: sk.roc_auc_score(label, score, sample_weight=weight),
    "areaUnderPR": _area_under_pr,
    "mse": lambda label, found, weight: sk.mean_squared_error(label, found, sample_weight=weight),
    "rmse": lambda label, found, weight: sk.root_mean_squared_error(label, found, sample_weight=weight),
    "mae": lambda label, found, weight: sk.mean_absolute_error(label, found, sample_weight=weight),
    "r2": _r2,
    "var": _var,
}


@examples
def test_every_metric_is_that_of_another_library_or_its_definition(evaluator, engine):
    prediction, label, *_ = (table()[name].to_numpy() for name in evaluator.columns())
    weight = table()["w"].to_numpy() if evaluator.weight else np.ones(ROWS)
    found = evaluator.evaluate(scattered(engine))
    assert found == {
        name: pytest.approx(ORACLES[name](label, prediction, weight), rel=1e-9) for name in evaluator.names
    }


@examples
@pytest.mark.parametrize("bad", [None, float("nan"), float("inf")])
def test_a_label_that_is_missing_or_infinite_is_refused_with_its_row(evaluator, engine, bad):
    rows = shuffled(table()).to_pydict()
    labels = [bad if place in (70, 150) else float(value) for place, value in enumerate(rows["label"])]
    dataset = cut(engine, pa.table(rows | {"label": pa.array(labels, pa.float64())}), uneven(ROWS, few=True))
    with pytest.raises(DataValueError) as caught:
        evaluator.evaluate(dataset)
    assert (caught.value.column, caught.value.row, caught.value.stage) == ("label", 70, evaluator.title)


@examples
def test_without_rows_every_metric_is_undefined_with_a_reason(evaluator, engine):
    found = evaluator.evaluate(cut(engine, table().slice(0, 0), [0, 0, 0]))
    assert dict(found) == dict.fromkeys(evaluator.names)
    assert all(found.reasons[name] for name in evaluator.names)


@examples
def test_one_row_gives_numbers_or_reasons(evaluator, engine):
    found = evaluator.evaluate(cut(engine, table().slice(0, 1), [0, 1, 0]))
    assert all(np.isfinite(value) if value is not None else found.reasons[name] for name, value in found.items())


def test_all_evaluators_share_one_scan_of_their_columns(engine):
    evaluators = [kind() for kind in discover()]
    dataset = restricted(scattered(engine), sorted({name for each in evaluators for name in each.columns()}))
    with counted(engine) as scans:
        evaluate(dataset, evaluators)
    assert len(scans) == 1
