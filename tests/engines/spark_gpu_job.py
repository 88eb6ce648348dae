"""Runs on a cluster of two executors that say they have a GPU each, and prints what tasks and ranks saw as JSON."""

import contextlib
import json
import sys
import tempfile
from pathlib import Path

import psutil
import pyarrow as pa
from gang_bodies import AddUp
from pyspark import BarrierTaskContext, TaskContext

from penstock.engines.spark import SparkEngine
from penstock.spmd import SpmdOptions

# The first worker that asks has GPU 0, the second GPU 1: the addresses that a machine with two would give them.
DISCOVERY = """#!/bin/sh
mkdir {folder}/taken 2>/dev/null && number=0 || number=1
echo '{{"name": "gpu", "addresses": ["'$number'"]}}'
"""


def addresses(item):
    return list(TaskContext.get().resources()["gpu"].addresses)


def rank_addresses(_):
    context = BarrierTaskContext.get()
    context.barrier()
    yield list(context.resources()["gpu"].addresses)


def listening():
    open_ports = []
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended meanwhile
            open_ports += process.net_connections("tcp")
    return sorted({c.laddr.ip.removeprefix("::ffff:") for c in open_ports if c.status == psutil.CONN_LISTEN})


def main(folder):
    script = Path(folder) / "gpus.sh"
    script.write_text(DISCOVERY.format(folder=folder))
    script.chmod(0o700)
    conf = {
        "spark.master": "local-cluster[2,2,1024]",
        "spark.worker.resource.gpu.amount": 1,
        "spark.worker.resource.gpu.discoveryScript": script,
        "spark.executor.cores": 2,
        "spark.executor.memory": "700m",
        "spark.executor.resource.gpu.amount": 1,
        "spark.task.resource.gpu.amount": 0.5,
    }
    with SparkEngine(conf=conf, device="cpu") as engine:
        cluster, context = engine._cluster, engine.session.sparkContext
        gang = context.parallelize(range(2), 2).withResources(cluster.rank_profile("gpu"))
        table = engine.from_arrow(pa.table({"x": range(4)}))
        trained = engine.spmd(AddUp(rounds=1), {"train": table}, SpmdOptions(world_size=2))
        seen = {
            "slots": engine.slots,
            "ranks": cluster.ranks("gpu"),
            "rank_cpus": cluster.rank_cpus("gpu", cluster.ranks("gpu")),
            "tasks": list(engine.map(addresses, range(8))),
            "gang": gang.barrier().mapPartitions(rank_addresses).collect(),
            "total": trained["total"],
            "listening": listening(),
        }
    print(json.dumps(seen))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(folder)
    sys.exit(0)
