"""scikit-learn: GridSearchCV over a Pipeline, on a pandas frame that holds all rows, with a process for each core."""

from __future__ import annotations

import sys
import time

import pandas as pd
from joblib import parallel_config
from joblib.externals.loky import get_reusable_executor
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from benchmarks.contenders import CATEGORIES, CORES, COUNTS, FOLD, METRIC
from benchmarks.measure import measured, report
from benchmarks.searched import folds, settings


def pipeline() -> Pipeline:
    columns = ColumnTransformer(
        [
            ("impute", SimpleImputer(strategy="mean"), COUNTS),
            ("index", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), CATEGORIES),
        ]
    )
    return Pipeline([("columns", columns), ("scale", StandardScaler()), ("model", LogisticRegression())])


def search(data: str) -> GridSearchCV:
    """Search; its penalty is a sum over the rows that are trained on, and 0 is none."""
    rows = pd.read_parquet(data)
    trained = len(rows) * (folds() - 1) / folds()
    penalties = [1 / (each["reg_param"] * trained) if each["reg_param"] else float("inf") for each in settings("grid")]
    grid = GridSearchCV(
        pipeline(),
        {"model__C": penalties},
        scoring="roc_auc",
        cv=PredefinedSplit(rows[FOLD]),
        n_jobs=CORES,
        refit=False,
        error_score="raise",
    )
    with parallel_config(backend="loky", inner_max_num_threads=1):
        return grid.fit(rows[[*COUNTS, *CATEGORIES]], rows["label"])


def main(name: str, data: str, warm_up: str) -> None:
    began = time.perf_counter()
    rows = pd.read_parquet(warm_up)
    pipeline().fit(rows, rows["label"])
    started = time.perf_counter() - began
    with measured() as cost:
        found = search(data)
    get_reusable_executor().shutdown(kill_workers=True)  # or they would wait for more, and whoever waits for them
    report(started, cost, {METRIC: found.cv_results_["mean_test_score"].tolist()})


if __name__ == "__main__":
    main(*sys.argv[1:4])
