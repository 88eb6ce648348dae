"""Learning curves against a plain loop over nested training sets."""

from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError
from penstock.search.thinning import all_thinned

pytestmark = pytest.mark.thorough

METRICS = ("f1", "logLoss")


def dataset(engine: Engine, rows: int = 400) -> Dataset:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows)
    table = pa.table({"row": np.arange(rows), "x": rng.normal(size=rows) + y, "y": y})
    return engine.from_arrow(table, fragment_bytes=table.nbytes // 3)


PIPELINE = ps.Pipeline(st.StandardScaler("x"), st.NaiveBayes("y", features="x", model_type="gaussian"))
EVALUATOR = st.MulticlassClassificationEvaluator(label="y", metrics=METRICS)


def test_every_metric_is_that_of_a_plain_loop_to_the_bit(local: Engine) -> None:
    data = dataset(local)
    sizes = (0.3, 1.0)
    curve = ps.learning_curve(PIPELINE, data, EVALUATOR, sizes=sizes, folds=2)
    nested = all_thinned(data.folds(2), sizes)
    for number, row in enumerate(curve.to_pylist()):
        folds = nested[2 * number : 2 * number + 2]
        models = [PIPELINE.fit(fold.train) for fold in folds]
        assert row["train_rows"] == fmean(fold.train.count() for fold in folds)
        for side, part in (("train", "train"), ("test", "validation")):
            of_folds = [m.evaluate(getattr(f, part), EVALUATOR) for m, f in zip(models, folds, strict=True)]
            for metric in METRICS:
                values = [evaluation[metric] for evaluation in of_folds]
                assert [row[f"split{fold}_{side}_{metric}"] for fold in range(2)] == values
                assert (row[f"mean_{side}_{metric}"], row[f"std_{side}_{metric}"]) == (fmean(values), pstdev(values))
    assert curve["size"].to_pylist() == [0.3, 1.0]


def test_training_rows_are_among_those_of_every_larger_size(local: Engine) -> None:
    data = dataset(local)
    plain, nested = data.folds(3), all_thinned(data.folds(3), (0.1, 0.5, 1.0))

    def rows(part: Dataset) -> set[int]:
        return set(part.to_arrow()["row"].to_pylist())

    for fold in range(3):
        small, half, whole = (nested[3 * size + fold] for size in range(3))
        assert rows(small.train) < rows(half.train) < rows(whole.train) == rows(plain[fold].train)
        assert rows(small.validation) == rows(whole.validation) == rows(plain[fold].validation)
        assert 0.4 < len(rows(half.train)) / len(rows(whole.train)) < 0.6


def test_integers_are_numbers_of_rows(local: Engine) -> None:
    curve = ps.learning_curve(PIPELINE, dataset(local), EVALUATOR, sizes=(160, 40), folds=2)
    assert curve["size"].to_pylist() == [40, 160]
    assert curve["train_rows"].to_pylist() == pytest.approx([40, 160], rel=0.3)


def test_sizes_that_make_no_sense_are_refused(local: Engine, subtests: pytest.Subtests) -> None:
    data = dataset(local)
    wrong: list[tuple[tuple[Any, ...], str]] = [
        ((), "shares above 0 and up to 1, or integers"),
        ((0.0, 0.5), "expected above 0 and up to 1"),
        ((0.5, 1.5), "expected above 0 and up to 1"),
        (("half",), "shares above 0"),
        ((0, 10), r"expected from 1 to 2\d\d rows"),
        ((10, 400), r"expected from 1 to 2\d\d rows, the fewest that a fold trains on"),
        ((0.0001, 0.5), "of size 0.0001, fold 0 has no row to train on"),
    ]
    for sizes, problem in wrong:
        with subtests.test(sizes=sizes), pytest.raises(ConfigError, match=problem):
            ps.learning_curve(PIPELINE, data, EVALUATOR, sizes=sizes, folds=3)
