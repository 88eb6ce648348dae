"""Ours, on the engine named: a search over a pipeline, or over boosted trees, with the mean of each setting."""

from __future__ import annotations

import sys
import time
from typing import Any

from benchmarks.contenders import BINS, CATEGORIES, CORES, COUNTS, FOLD, METRIC, ROUNDS
from benchmarks.measure import measured, report
from benchmarks.ours import engine
from benchmarks.searched import folds, settings
from penstock import CrossValidator, Pipeline, SearchResult
from penstock import stages as st

FEATURES = [*COUNTS, *CATEGORIES]
PIPELINES = {
    "grid": Pipeline(
        st.Imputer(COUNTS, strategy="mean"),
        st.StringIndexer(CATEGORIES, string_order_type="alphabetAsc"),
        st.StandardScaler(FEATURES),
        ("model", st.LogisticRegression("label", features=FEATURES)),
    ),
    "boosted": Pipeline(
        ("model", st.XGBoostClassifier("label", features=FEATURES, num_boost_round=ROUNDS, max_bin=BINS))
    ),
}


def search(runner: Any, data: str, work: str) -> SearchResult:
    rows = runner.read_parquet(f"{data}/*.parquet")
    space = [{f"model.{name}": [value] for name, value in each.items()} for each in settings(work)]
    evaluator = st.BinaryClassificationEvaluator(label="label", metrics=METRIC)
    by_column = {"num_folds": folds(), "by": FOLD}
    search = CrossValidator(PIPELINES[work], space, evaluator, folds=by_column, refit=False, on_error="raise")
    return search.fit(rows)


def main(name: str, data: str, warm_up: str) -> None:
    began = time.perf_counter()
    kind, _, work = name.partition(".")
    runner = engine(kind, CORES)
    search(runner, warm_up, work)
    started = time.perf_counter() - began
    with measured() as cost:
        result = search(runner, data, work)
    report(started, cost, {METRIC: result.avg_metrics})


if __name__ == "__main__":
    main(*sys.argv[1:4])
