"""Who runs against whom, and on what."""

from __future__ import annotations

from dataclasses import dataclass

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


CONTENDERS = (
    Contender("local", "prepare", "penstock_prepare.py"),
    Contender("spark", "prepare", "penstock_prepare.py"),
    Contender("dask", "prepare", "penstock_prepare.py"),
    Contender("polars", "prepare", "polars_prepare.py", ("local",)),
    Contender("dask.dataframe", "prepare", "dask_prepare.py", ("dask", "local")),
    Contender("mllib", "prepare", "mllib_prepare.py", ("local", "spark")),
    Contender("spark", "train", "penstock_train.py"),
    Contender("dask", "train", "penstock_train.py"),
    Contender("local", "train", "penstock_train.py"),
    Contender("sparkxgb", "train", "sparkxgb_train.py", ("spark",)),
    Contender("xgboost.dask", "train", "xgboost_dask_train.py", ("dask",)),
)
