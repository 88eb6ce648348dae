"""Our engines, as the benchmarks start them."""

from __future__ import annotations

from typing import Any

import penstock as ps
from benchmarks.contenders import CATEGORIES, COUNTS
from penstock import stages as st


def engine(name: str, cores: int) -> Any:
    """Return the engine called `name` on `cores` cores of this machine."""
    if name == "spark":
        return ps.SparkEngine(conf={"spark.master": f"local[{cores}]", "spark.driver.memory": "6g"})
    if name == "dask":
        arguments = {"n_workers": cores, "threads_per_worker": 1, "memory_limit": "6GB"}
        return ps.DaskEngine({"class": "distributed.LocalCluster", "arguments": arguments})
    return ps.LocalEngine()


def preparation() -> ps.Pipeline:
    """Return the stages that clicks become numbers by; not fitted."""
    return ps.Pipeline(
        st.Clip(COUNTS, lower=0),
        st.Imputer(COUNTS, strategy="mean"),
        st.Log1p(COUNTS),
        st.StandardScaler(COUNTS),
        st.StringIndexer(CATEGORIES),
    )
