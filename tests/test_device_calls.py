"""Calls of cuDF, CuPy and pylibcudf for a fragment, counted on their stand-in."""

import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cudf_stand_in import spec
from on_stand_in import gpu  # noqa: F401
from on_stand_in import stand_in_of_trainers as stand_in  # noqa: F401

import penstock
from penstock import stages as st
from penstock.engines.local import LocalEngine
from penstock.pipeline import Pipeline

pytestmark = [pytest.mark.stand_in, pytest.mark.cpu("cuDF is a stand-in")]

BUDGETS = {"fit": 150, "transform": 135, "train": 52, "evaluate": 60}
"""Calls for a fragment."""
ROUNDS = {"logistic": 12 * 8, "kmeans": 15}
"""Calls for a round: of a logistic regression on eight fragments, of k-means on the rows of a rank."""
TRIPS = {"fit": 8, "transform": 2, "train": 4, "evaluate": 4}
"""Calls for a fragment that bring something to the host."""
TO_HOST = {"to_arrow", "to_numpy", "to_parquet", "get", "item", "tolist", "__bool__", "__float__", "__int__"}
FRAGMENTS, ROWS = 8, 200
NUMBERS, TEXTS = (tuple(f"{letter}{number}" for number in range(count)) for letter, count in (("I", 13), ("C", 26)))


def count(work: Callable[[], object]) -> Counter[str]:
    """Return the calls that work makes, by the lines of Penstock that make them and the name of the function."""
    calls = Counter[str]()
    with spec.observing(lambda name: calls.update([f"{_line()} {name}"])):
        work()
    return calls


def _line() -> str:
    """Return the lines of the package that lead to a call, from the last one outside `frames`."""
    package, lines = Path(penstock.__file__).parent, []
    for frame, line in traceback.walk_stack(None):
        if (path := Path(frame.f_code.co_filename)).is_relative_to(package):
            lines.append(f"{path.relative_to(package)}:{line}")
            if path.relative_to(package).parts[0] != "frames":
                break
    return " < ".join(lines)


def write(folder: Path, fragments: int) -> None:
    source = np.random.default_rng(0)
    for fragment in range(fragments):
        score = source.random(ROWS)
        columns = {"label": source.integers(0, 2, ROWS), "rawPrediction": score, "probability": score}
        for name in NUMBERS:
            columns[name] = pa.array(source.integers(0, 50, ROWS).astype("int32"), mask=source.random(ROWS) < 0.2)
        for name in TEXTS:
            columns[name] = pa.array([f"v{value}" if value else None for value in source.integers(0, 30, ROWS)])
        pq.write_table(pa.table(columns), folder / f"part-{fragment:02}.parquet")


def works(engine: LocalEngine, folder: Path) -> dict[str, Callable[[], object]]:
    rows = engine.read_parquet(f"{folder}/*.parquet", fragment_bytes=1)
    preparation = Pipeline(
        st.Clip(NUMBERS, lower=0),
        st.Imputer(NUMBERS, strategy="mean"),
        st.Log1p(NUMBERS),
        st.StandardScaler(NUMBERS),
        st.StringIndexer(TEXTS, min_frequency=2),
    )
    model = preparation.fit(rows)
    booster = st.XGBoostClassifier("label", features=NUMBERS, num_boost_round=2)
    evaluator = st.BinaryClassificationEvaluator(metrics=("areaUnderROC", "logLoss"))
    return {
        "fit": lambda: preparation.fit(rows),
        "transform": lambda: model.transform(rows).write_parquet(folder / "out", overwrite=True),
        "train": lambda: Pipeline(booster).fit(rows),
        "evaluate": lambda: evaluator.evaluate(rows),
    }


@pytest.mark.parametrize("name", BUDGETS)
def test_calls_for_a_fragment_are_within_their_budget(gpu: LocalEngine, tmp_path: Path, name: str) -> None:  # noqa: F811
    write(tmp_path, FRAGMENTS)
    calls = count(works(gpu, tmp_path)[name])
    trips = Counter({line: times for line, times in calls.items() if line.rpartition(".")[2] in TO_HOST})
    assert calls.total() / FRAGMENTS <= BUDGETS[name], "\n".join(f"{n:5} {line}" for line, n in calls.most_common(40))
    assert trips.total() / FRAGMENTS <= TRIPS[name], "\n".join(f"{n:5} {line}" for line, n in trips.most_common())


@pytest.mark.parametrize("name", ROUNDS)
def test_calls_for_a_round_are_within_their_budget(gpu: LocalEngine, tmp_path: Path, name: str) -> None:  # noqa: F811
    write(tmp_path, FRAGMENTS)
    raw = gpu.read_parquet(f"{tmp_path}/*.parquet", fragment_bytes=1)
    rows = Pipeline(st.Imputer(NUMBERS)).fit(raw).transform(raw)
    trainer = {
        "logistic": st.LogisticRegression("label", features=NUMBERS, tol=1e-12),
        "kmeans": st.KMeans(NUMBERS, k=4, tol=0),
    }[name]
    pipelines = (Pipeline(replace(trainer, max_iter=rounds)) for rounds in (2, 4))
    few, more = (count(partial(pipeline.fit, rows)) for pipeline in pipelines)
    assert (more - few).total() / 2 <= ROUNDS[name], "\n".join(f"{n:5} {line}" for line, n in (more - few).items())


def test_calls_grow_with_fragments_alone(gpu: LocalEngine, tmp_path: Path) -> None:  # noqa: F811
    counted = []
    for fragments in (2, 8):
        (folder := tmp_path / str(fragments)).mkdir()
        write(folder, fragments)
        counted.append(count(works(gpu, folder)["fit"]).total())
    assert counted[1] <= 4 * counted[0]
