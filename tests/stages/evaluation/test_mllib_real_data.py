"""All 39 metrics of MLlib's evaluators on real rows, where they lie beside the checkout: shuffled, once on Dask."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from mllib_metrics import frame_of, metrics_of

import penstock as ps
from penstock import stages as st
from penstock.testing.datasets import cut, shuffled, uneven

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

FEATURES = ("f0", "f1")
OURS = {
    "binary": partial(st.BinaryClassificationEvaluator, probability=None, metrics=("areaUnderROC", "areaUnderPR")),
    "regression": partial(
        st.RegressionEvaluator, label="amount", prediction="guess", metrics=("rmse", "mse", "r2", "mae", "var")
    ),
    "classes": partial(st.MulticlassClassificationEvaluator, label="kind", prediction="kind_guess"),
    "tags": partial(st.MultilabelClassificationEvaluator, label="tags", prediction="tags_guess"),
    "clusters": partial(st.ClusteringEvaluator, prediction="cluster", features=FEATURES),
    "ranking": partial(st.RankingEvaluator, label="tags", prediction="ranked", k=2),
}
WEIGHTED = ("binary", "regression", "classes", "clusters")
SERVICES = ["PhoneService", "OnlineSecurity", "OnlineBackup", "DeviceProtection", "TechSupport", "StreamingTV"]


def lists(flags: np.ndarray, descending: bool = False) -> list[list[float]]:
    step = -1 if descending else 1
    return [np.flatnonzero(row)[::step].astype(float).tolist() for row in flags]


def churn(folder: Path) -> dict[str, Any]:
    """Customers: who leaves by what they pay; the contract by the tenure; services by the neighbour's services."""
    rows = pl.read_csv(folder / "churn.csv", infer_schema=False)
    tenure, pays = (rows[name].cast(pl.Float64).to_numpy() for name in ("tenure", "MonthlyCharges"))
    has = np.column_stack([np.ones(len(rows)), *((rows[name] == "Yes").to_numpy() for name in SERVICES)]).astype(bool)
    had = np.roll(has, 1, axis=0)
    share = 0.1 + 0.8 * tenure / tenure.max()
    return {
        "label": (rows["Churn"] == "Yes").cast(pl.Float64).to_numpy(),
        "rawPrediction": pays - tenure,
        "amount": pays * tenure,
        "guess": np.round(pays) * tenure + 10,
        "kind": rows["Contract"].cast(pl.Enum(sorted(rows["Contract"].unique()))).to_physical().cast(float).to_numpy(),
        "kind_guess": np.digitize(tenure, [20, 45]).astype(float),
        "probability": np.column_stack([1 - share, share * 0.4, share * 0.6]).tolist(),
        "tags": lists(has),
        "tags_guess": lists(had),
        "ranked": lists(had, descending=True),
        "cluster": np.digitize(pays, [35, 75]),
        "f0": tenure,
        "f1": pays,
        "w": np.ceil(tenure / 12) + 0.5,
    }


def taxi(folder: Path) -> dict[str, Any]:
    """Trips: fares by the distance; quarters of fares, of distances and of the day as classes, tags and clusters."""
    rows = pl.read_parquet(folder / "taxi" / "eval.parquet").drop_nulls()
    names = ("fare_amount", "trip_distance", "h_distance", "hour")
    amount, first, second, third = (rows[name].cast(pl.Float64).to_numpy() for name in names)
    ranks = [np.digitize(each, np.quantile(each, [0.25, 0.5, 0.75])) for each in (amount, first, second, third)]
    has = np.column_stack([np.ones(len(rows)), *(rank > 1 for rank in ranks)]).astype(bool)
    had = np.column_stack([np.ones(len(rows)), *(rank > 0 for rank in ranks)]).astype(bool)
    return {
        "label": (amount > np.median(amount)).astype(float),
        "rawPrediction": np.round(first, 1) + 0.0,
        "amount": amount,
        "guess": 2.5 + 2.8 * first,
        "kind": ranks[0].astype(float),
        "kind_guess": ranks[1].astype(float),
        "probability": np.eye(4)[ranks[1]].tolist(),
        "tags": lists(has),
        "tags_guess": lists(had),
        "ranked": lists(had, descending=True),
        "cluster": ranks[2],
        "f0": first,
        "f1": second,
        "w": ranks[3] + 0.25,
    }


def theirs(session: Any, table: pa.Table, weighted: bool) -> dict[str, float]:
    from pyspark.ml import evaluation as ml

    vectors = np.column_stack([table[name] for name in FEATURES]).tolist()
    frame = frame_of(session, table.append_column("features", [vectors]))
    weight = {"weightCol": "w"} if weighted else {}
    kinds = {
        "binary": partial(ml.BinaryClassificationEvaluator, numBins=0, **weight),
        "regression": partial(ml.RegressionEvaluator, labelCol="amount", predictionCol="guess", **weight),
        "classes": partial(ml.MulticlassClassificationEvaluator, labelCol="kind", predictionCol="kind_guess", **weight),
        "tags": partial(ml.MultilabelClassificationEvaluator, labelCol="tags", predictionCol="tags_guess"),
        "clusters": partial(ml.ClusteringEvaluator, predictionCol="cluster", **weight),
        "ranking": partial(ml.RankingEvaluator, labelCol="tags", predictionCol="ranked", k=2),
    }
    told = {kind: metrics_of(make(), frame, METRICS[kind]) for kind, make in kinds.items()}
    return {f"{kind}.{name}": value for kind, metrics in told.items() for name, value in metrics.items()}


METRICS = {
    "binary": ("areaUnderROC", "areaUnderPR"),
    "regression": ("rmse", "mse", "r2", "mae", "var"),
    "classes": tuple(st.MulticlassClassificationEvaluator.larger_better)[:14],
    "tags": tuple(st.MultilabelClassificationEvaluator.larger_better)[:12],
    "clusters": ("silhouette",),
    "ranking": tuple(st.RankingEvaluator.larger_better)[:5],
}


@pytest.mark.slow
@pytest.mark.each_value
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [churn, taxi])
def test_every_metric_of_real_rows_is_mllibs(rows, weighted, request, engines, real_data):
    wanted = request.config.getoption("--engines")
    if "spark" not in wanted:
        pytest.skip("spark is not among --engines")
    table = pa.table(rows(real_data)).slice(0, 1500)
    expected = theirs(engines.get("spark").session, table, weighted)
    assert len(expected) == 39
    evaluators = {
        kind: make(metrics=METRICS[kind], weight="w" if weighted and kind in WEIGHTED else None)
        for kind, make in OURS.items()
    }
    engine = engines.get("dask" if weighted and "dask" in wanted else "local")
    found = ps.evaluate(cut(engine, shuffled(table), uneven(table.num_rows)), evaluators)
    assert found == {metric: pytest.approx(value, rel=1e-12, abs=1e-15) for metric, value in expected.items()}
