"""Our engines, as the benchmarks start them."""

from __future__ import annotations

from typing import Any

import penstock as ps


def engine(name: str, cores: int) -> Any:
    """Return the engine called `name` on `cores` cores of this machine."""
    if name == "spark":
        return ps.SparkEngine(conf={"spark.master": f"local[{cores}]", "spark.driver.memory": "6g"})
    if name == "dask":
        arguments = {"n_workers": cores, "threads_per_worker": 1, "memory_limit": "6GB"}
        return ps.DaskEngine({"class": "distributed.LocalCluster", "arguments": arguments})
    return ps.LocalEngine()
