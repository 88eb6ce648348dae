"""Trains two ranks on a cluster that begins with one executor and asks for more, and prints what they added up."""

import pyarrow as pa
from gang_bodies import AddUp

from penstock.engines.spark import SparkEngine
from penstock.spmd import SpmdOptions

if __name__ == "__main__":
    conf = {
        "spark.master": "local-cluster[2,1,1024]",
        "spark.executor.memory": "700m",
        "spark.executor.cores": 1,
        "spark.dynamicAllocation.enabled": True,
        "spark.dynamicAllocation.shuffleTracking.enabled": True,
        "spark.dynamicAllocation.initialExecutors": 1,
        "spark.dynamicAllocation.minExecutors": 1,
        "spark.dynamicAllocation.maxExecutors": 2,
    }
    with SparkEngine(conf=conf, device="cpu") as engine:
        slots = engine.slots
        table = engine.from_arrow(pa.table({"x": range(4)}))
        trained = engine.spmd(AddUp(rounds=1), {"train": table}, SpmdOptions(world_size=2))
    print(slots, trained["total"])
