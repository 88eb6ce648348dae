"""Every evaluator of the library, found and not listed: the same metrics on each engine, however the rows are cut."""

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

import penstock.stages.evaluation
from penstock import stages
from penstock.errors import DataValueError
from penstock.stages.evaluation import (
    BinaryClassificationEvaluator,
    ClusteringEvaluator,
    Evaluator,
    MulticlassClassificationEvaluator,
    MultilabelClassificationEvaluator,
    RankingEvaluator,
    RegressionEvaluator,
    evaluate,
)
from penstock.testing.compare import RTOL, demand_equal
from penstock.testing.datasets import cut, restricted, shuffled, uneven
from penstock.testing.trials import counted, home

ROWS = 200


def discover() -> list[type[Evaluator]]:
    package = penstock.stages.evaluation
    modules = [importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
    kinds = {value for module in modules for value in vars(module).values() if inspect.isclass(value)}
    return sorted(
        (k for k in kinds if issubclass(k, Evaluator) and not inspect.isabstract(k)), key=lambda k: k.__name__
    )


@dataclass(frozen=True)
class Columns:
    """What an evaluator is told of `table`, and a value that it must refuse, by column.

    A row of weight 2 is two rows to all metrics but those `reweighed` in a way of MLlib's.
    """

    told: Mapping[str, object]
    bad: Mapping[str, object]
    scans: int = 1
    reweighed: frozenset[str] = frozenset()


KNOWN = {
    BinaryClassificationEvaluator: Columns({"label": "clicked"}, {"clicked": 2, "rawPrediction": None}),
    RegressionEvaluator: Columns(
        {"label": "fare", "prediction": "guess"}, {"fare": float("inf"), "guess": None}, reweighed=frozenset({"r2"})
    ),
    MulticlassClassificationEvaluator: Columns(
        {"label": "kind", "prediction": "kind_found", "probability": "kinds"}, {"kind": None, "kinds": [0.1, 0.2, None]}
    ),
    MultilabelClassificationEvaluator: Columns(
        {"label": "tags", "prediction": "tags_found"}, {"tags": None, "tags_found": [1.0, 1.0]}
    ),
    RankingEvaluator: Columns({"label": "tags", "prediction": "ranked", "k": 3}, {"ranked": [1.0, None]}),
    ClusteringEvaluator: Columns(
        {"prediction": "cluster", "features": ("x", "y"), "label": "kind"},
        {"cluster": None, "y": float("inf")},
        scans=2,
        reweighed=frozenset({"silhouette"}),
    ),
}

EXAMPLES = [kind(**KNOWN[kind].told, weight=weight) for kind in discover() if kind in KNOWN for weight in (None, "w")]
examples = pytest.mark.parametrize("evaluator", EXAMPLES, ids=lambda each: f"{each.title}-{each.weight}")
weighed = pytest.mark.parametrize("evaluator", [each for each in EXAMPLES if each.weight], ids=lambda each: each.title)
"""Those that gather all that there is: engines are asked about them, and in ``exhaustive.py`` about the others too."""


def lists(draw: np.random.Generator, least: int) -> pa.Array:
    return pa.array([draw.permutation(5)[: draw.integers(least, 5)].astype(float).tolist() for _ in range(ROWS)])


def table() -> pa.Table:
    """Labels of every sort, with predictions that tie here and there."""
    draw = np.random.default_rng(3)
    clicked, kind, cluster = draw.integers(0, 2, ROWS), draw.integers(0, 3, ROWS), draw.integers(0, 4, ROWS)
    kinds = draw.dirichlet([1.0, 1.0, 1.0], ROWS)
    fare = 1e6 + draw.normal(size=ROWS)
    columns = {
        "clicked": clicked,
        "rawPrediction": np.round(clicked + draw.normal(size=ROWS), 1),
        "probability": draw.random(ROWS),
        "fare": fare,
        "guess": fare + draw.normal(0.3, 1.0, ROWS),
        "kind": kind.astype(float),
        "kind_found": draw.integers(0, 3, ROWS).astype(float),
        "kinds": pa.array(kinds.tolist()),
        "tags": lists(draw, 1),
        "tags_found": lists(draw, 1),
        "ranked": lists(draw, 1),
        "cluster": cluster,
        "x": cluster + draw.normal(size=ROWS),
        "y": draw.normal(size=ROWS) - cluster,
        "w": draw.integers(0, 4, ROWS) + 0.5,
    }
    return pa.table(columns)


def scattered(engine, rows=None, few=True):
    rows = shuffled(table() if rows is None else rows)
    return cut(engine, rows, uneven(rows.num_rows, few=few))


def test_every_evaluator_has_columns_here_and_a_name_among_the_stages():
    assert set(discover()) == set(KNOWN)
    assert {kind.__name__ for kind in discover()} <= set(dir(stages))


@pytest.mark.one_cluster
@weighed
def test_the_same_fragments_give_the_same_on_every_engine(evaluator, distributed_engine):
    expected = evaluator.evaluate(scattered(home(distributed_engine.kind), few=False))
    found = evaluator.evaluate(scattered(distributed_engine, few=False))
    rtol = RTOL if distributed_engine.kind == "gpu" else 0.0  # sums of a GPU are in any order
    demand_equal(dict(found), dict(expected), evaluator.title, rtol=rtol)
    demand_equal(found.tables, expected.tables, evaluator.title, rtol=rtol)


@pytest.mark.thorough
@examples
def test_rows_shuffled_into_uneven_fragments_change_no_metric(evaluator, local):
    expected = evaluator.evaluate(cut(local, table()))
    assert None not in expected.values()
    demand_equal(dict(evaluator.evaluate(scattered(local))), dict(expected), evaluator.title, rtol=RTOL)


@pytest.mark.thorough
@weighed
def test_weights_count_rows_as_often_as_they_say(evaluator, local):
    whole = table().set_column(table().column_names.index("w"), "w", pa.array(np.arange(ROWS) % 3, pa.int64()))
    repeated = whole.take(np.repeat(np.arange(ROWS), np.arange(ROWS) % 3))
    found = evaluator.evaluate(scattered(local, whole))
    expected = type(evaluator)(**KNOWN[type(evaluator)].told).evaluate(cut(local, repeated))
    for name in set(evaluator.names) - KNOWN[type(evaluator)].reweighed:
        demand_equal(found[name], expected[name], name, rtol=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KNOWN)
def test_a_bad_value_is_refused_with_its_row(kind, local, subtests):
    for weight in (None, "w"):
        for column, value in {**KNOWN[kind].bad, **({"w": -1.0} if weight else {})}.items():
            with subtests.test(column, weight=weight):
                demand_refused(kind(**KNOWN[kind].told, weight=weight), column, value, local)


def test_a_bad_weight_is_refused_with_its_row_on_every_engine(distributed_engine):
    demand_refused(BinaryClassificationEvaluator(label="clicked", weight="w"), "w", -1.0, distributed_engine)


def demand_refused(evaluator, column, value, engine):
    rows = shuffled(table())
    values = rows[column].to_pylist()
    values[70] = values[150] = value
    place = rows.column_names.index(column)
    kind = pa.float64() if isinstance(value, float) else rows.schema.field(column).type
    dataset = cut(engine, rows.set_column(place, column, pa.array(values, kind)), uneven(ROWS, few=True))
    with pytest.raises(DataValueError) as caught:
        evaluator.evaluate(dataset)
    assert (caught.value.column, caught.value.row, caught.value.stage) == (column, 70, evaluator.title)
    assert "2 " in caught.value.message


@pytest.mark.thorough
@examples
def test_without_rows_every_metric_is_undefined_with_a_reason(evaluator, local):
    found = evaluator.evaluate(cut(local, table().slice(0, 0), [0, 0, 0]))
    assert dict(found) == dict.fromkeys(evaluator.names)
    assert all(found.reasons[name] for name in evaluator.names)


@pytest.mark.thorough
@examples
def test_one_row_gives_numbers_or_reasons(evaluator, local):
    found = evaluator.evaluate(cut(local, table().slice(0, 1), [0, 1, 0]))
    assert all(np.isfinite(value) if value is not None else found.reasons[name] for name, value in found.items())


@pytest.mark.thorough
@pytest.mark.one_cluster
@weighed
def test_slices_and_replicates_can_be_had_of_it(evaluator, engine):
    found = evaluate(scattered(engine), [evaluator], slices=["clicked"], bootstrap=3)
    assert found.slices["clicked"].column_names == ["clicked", "rows", *evaluator.names]
    assert set(found.intervals) <= set(evaluator.names)
    assert found.intervals


def test_all_evaluators_share_one_scan_of_their_columns(local):
    evaluators = {kind.__name__: kind(**known.told) for kind, known in KNOWN.items() if known.scans == 1}
    dataset = restricted(scattered(local), sorted({name for each in evaluators.values() for name in each.columns()}))
    with counted(local) as scans:
        evaluate(dataset, evaluators)
    assert len(scans) == 1


@pytest.mark.thorough
def test_one_more_scan_serves_all_that_need_two(local):
    evaluators = {f"{kind.__name__}{i}": kind(**known.told) for kind, known in KNOWN.items() for i in range(2)}
    with counted(local) as scans:
        evaluate(scattered(local), evaluators, slices=["clicked"])
    assert len(scans) == 2
