"""Ours, on the engine named: one call for MLlib's metrics, all that the evaluators know, or scikit-learn's."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from benchmarks.contenders import CORES, METRICS, SHARED
from benchmarks.measure import measured, report
from benchmarks.ours import engine
from penstock import stages as st
from penstock.core.progress import Progress, Track
from penstock.stages.evaluation import Evaluation, Evaluator, evaluate


class Scans(Progress):
    """Counts the scans of an evaluation."""

    count = 0

    @contextmanager
    def track(self, label: str, total: int) -> Iterator[Track]:
        self.count += label == "evaluate"
        yield Track()


ASKED: dict[str, Mapping[str, tuple[str, ...] | None]] = {"": METRICS, "all": dict.fromkeys(METRICS), "shared": SHARED}
FRAGMENT_BYTES = 2**26  # three fragments of lists at a time, and what is made of them, in less than 1 GiB
EVALUATORS: dict[str, Callable[..., Evaluator]] = {
    "binary": st.BinaryClassificationEvaluator,
    "regression": partial(st.RegressionEvaluator, label="amount", prediction="predicted"),
    "classes": partial(
        st.MulticlassClassificationEvaluator,
        label="class_label",
        prediction="class_prediction",
        probability="class_probability",
    ),
    "tags": partial(st.MultilabelClassificationEvaluator, label="tags", prediction="predicted_tags"),
    "clusters": partial(st.ClusteringEvaluator, prediction="cluster", features=("f0", "f1", "f2", "f3")),
    "ranking": partial(st.RankingEvaluator, label="relevant", prediction="ranked"),
}


def main(name: str, data: str, warm_up: str) -> None:
    began = time.perf_counter()
    kind, _, asked = name.partition(".")
    runner = engine(kind, CORES)
    evaluators = {each: EVALUATORS[each](metrics=metrics) for each, metrics in ASKED[asked].items()}

    def run(folder: str) -> Evaluation:
        return evaluate(runner.read_parquet(f"{folder}/*.parquet", fragment_bytes=FRAGMENT_BYTES), evaluators)

    run(warm_up)
    started = time.perf_counter() - began
    runner.progress = Scans()
    with measured() as cost:
        found = run(data)
    details: dict[str, Any] = {"scans": runner.progress.count, "reasons": found.reasons}
    report(started, cost, dict(found), details)


if __name__ == "__main__":
    main(*sys.argv[1:4])
