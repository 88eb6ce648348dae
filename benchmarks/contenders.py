"""Who runs against whom, and on what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

COUNTS = [f"I{i}" for i in range(1, 14)]
CATEGORIES = [f"C{i}" for i in range(1, 27)]
ROUNDS, DEPTH, BINS = 30, 6, 256
CORES = 2
WARM_UP_ROWS = 50_000


@dataclass(frozen=True)
class Contender:
    """A script of this folder that does one piece of work; ``against`` are ours that it is compared with."""

    name: str
    work: str
    script: str
    against: tuple[str, ...] = ()

    @property
    def one_process(self) -> bool:
        """Whether it computes in threads of the process that it is started as."""
        return self.name.partition(".")[0] in ("local", "polars", "sklearn", "xgboost")


CONTENDERS = (
    Contender("local", "prepare", "penstock_prepare.py"),
    Contender("local.persisted", "prepare", "penstock_prepare.py"),
    Contender("spark", "prepare", "penstock_prepare.py"),
    Contender("dask", "prepare", "penstock_prepare.py"),
    Contender("polars", "prepare", "polars_prepare.py", ("local", "local.persisted")),
    Contender("dask.dataframe", "prepare", "dask_prepare.py", ("dask", "local")),
    Contender("mllib", "prepare", "mllib_prepare.py", ("local", "local.persisted", "spark")),
    Contender("spark", "train", "penstock_train.py"),
    Contender("dask", "train", "penstock_train.py"),
    Contender("local", "train", "penstock_train.py"),
    Contender("sparkxgb", "train", "sparkxgb_train.py", ("spark",)),
    Contender("xgboost.dask", "train", "xgboost_dask_train.py", ("dask",)),
)

METRICS = {  # every metric of MLlib's evaluators, by the name under which the contenders report
    "binary": ("areaUnderROC", "areaUnderPR"),
    "regression": ("rmse", "mse", "r2", "mae", "var"),
    "classes": (
        *("f1", "accuracy", "weightedPrecision", "weightedRecall", "weightedTruePositiveRate"),
        *("weightedFalsePositiveRate", "weightedFMeasure", "truePositiveRateByLabel", "falsePositiveRateByLabel"),
        *("precisionByLabel", "recallByLabel", "fMeasureByLabel", "logLoss", "hammingLoss"),
    ),
    "tags": (
        *("f1Measure", "subsetAccuracy", "accuracy", "hammingLoss", "precision", "recall", "precisionByLabel"),
        *("recallByLabel", "f1MeasureByLabel", "microPrecision", "microRecall", "microF1Measure"),
    ),
    "clusters": ("silhouette",),
    "ranking": ("meanAveragePrecision", "meanAveragePrecisionAtK", "precisionAtK", "ndcgAtK", "recallAtK"),
}

SHARED = {  # those of them that scikit-learn has as well
    "binary": METRICS["binary"],
    "regression": ("rmse", "mse", "r2", "mae"),
    "classes": (
        *("f1", "accuracy", "weightedPrecision", "weightedRecall", "weightedFMeasure"),
        *("precisionByLabel", "recallByLabel", "fMeasureByLabel", "logLoss", "hammingLoss"),
    ),
}

EVALUATIONS = (
    Contender("local", "evaluate", "penstock_evaluate.py"),
    Contender("local.all", "evaluate", "penstock_evaluate.py"),
    Contender("spark", "evaluate", "penstock_evaluate.py"),
    Contender("dask", "evaluate", "penstock_evaluate.py"),
    Contender("mllib", "evaluate", "mllib_evaluate.py", ("local", "local.all", "spark")),
    Contender("mllib.cached", "evaluate", "mllib_evaluate.py", ("local", "local.all", "spark")),
    Contender("local.shared", "shared", "penstock_evaluate.py"),
    Contender("sklearn", "shared", "sklearn_evaluate.py", ("local.shared",)),
)

LEVELS = (0.25, 0.5, 0.75)
DESCRIPTIONS = (
    Contender("local", "describe", "penstock_describe.py"),
    Contender("local.full", "describe", "penstock_describe.py"),
    Contender("spark", "describe", "penstock_describe.py"),
    Contender("dask", "describe", "penstock_describe.py"),
    Contender("polars", "describe", "polars_describe.py", ("local",)),
    Contender("mllib", "describe", "mllib_describe.py", ("local", "local.full", "spark")),
    Contender("mllib.approximate", "describe", "mllib_describe.py", ("local", "local.full", "spark")),
)

FEATURES = [f"f{i}" for i in range(20)]
REG_PARAMS, FOLDS = (0.001, 0.01, 0.1, 1.0, 10.0), 5
HYPERPARAMETERS: dict[str, dict[str, Any]] = {  # by work, under our names; those of MLlib are the same in camel case
    "linear": {"reg_param": 0.1, "elastic_net_param": 0.0},
    "logistic": {"reg_param": 0.01, "max_iter": 100, "tol": 1e-6},
    "kmeans": {"k": 8, "max_iter": 20, "init_mode": "k-means||", "init_steps": 2, "tol": 1e-4, "seed": 1},
    "ridge_cv": {"reg_params": REG_PARAMS, "num_folds": FOLDS},
}


IN_MEMORY = ("logistic", "kmeans")
"""What scikit-learn minimises too, by the same rules."""


def _trainings(work: str) -> Iterator[Contender]:
    ours = tuple(f"{engine}.{work}" for engine in ("local", "spark", "dask"))
    yield from (Contender(name, work, "penstock_models.py") for name in ours)
    yield from (Contender(f"{peer}.{work}", work, "mllib_models.py", ours[:2]) for peer in ("mllib", "mllib.cached"))
    if work in IN_MEMORY:
        yield Contender(f"sklearn.{work}", work, "sklearn_models.py", ours[:1])


TRAININGS = tuple(contender for work in HYPERPARAMETERS for contender in _trainings(work))

ONE_HOT = {"c10": 10, "c20": 20, "c50": 50}  # how many values each has
ENCODED = ["c200", "c1000", "c10000"]
BINNED = ["x0", "x1", "x2", "x3"]
PROJECTED = [f"f{i}" for i in range(10)]
SMOOTHING, BUCKETS, COMPONENTS = 10.0, 10, 4
RANK_ERROR = 1e-3  # what our quantiles promise at most, asked of MLlib as `relativeError`


def _preprocessings(work: str) -> Iterator[Contender]:
    ours = tuple(f"{engine}.{work}" for engine in ("local", "spark", "dask"))
    yield from (Contender(name, work, "penstock_preprocess.py") for name in ours)
    yield from (
        Contender(f"{peer}.{work}", work, "mllib_preprocess.py", ours[:2]) for peer in ("mllib", "mllib.cached")
    )
    yield Contender(f"sklearn.{work}", work, "sklearn_preprocess.py", ours[:1])


PREPROCESSINGS = tuple(contender for work in ("fit", "fit_transform") for contender in _preprocessings(work))

SETTINGS: dict[str, dict[str, tuple[Any, ...]]] = {  # by work, under our names: 12 of a pipeline, 8 of boosting
    "grid": {"reg_param": (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)},
    "boosted": {"max_depth": (4, 6), "learning_rate": (0.1, 0.3), "min_child_weight": (1.0, 20.0)},
}
FOLD, METRIC = "fold", "areaUnderROC"
ABSENT = "none"  # what a category that is null is called
SEARCHES = (
    Contender("local.grid", "grid", "penstock_search.py"),
    Contender("spark.grid", "grid", "penstock_search.py"),
    Contender("mllib.grid", "grid", "mllib_search.py", ("local.grid", "spark.grid")),
    Contender("sklearn.grid", "grid", "sklearn_search.py", ("local.grid",)),
    Contender("local.boosted", "boosted", "penstock_search.py"),
    Contender("xgboost.boosted", "boosted", "xgboost_search.py", ("local.boosted",)),
    Contender("xgboost.kept.boosted", "boosted", "xgboost_search.py", ("local.boosted",)),
    Contender("sparkxgb.boosted", "boosted", "sparkxgb_search.py", ("local.boosted",)),
)
