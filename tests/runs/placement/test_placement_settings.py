"""Settings of a plan are what spark-submit, Dask, Slurm and Kubernetes read, and make as many workers as it has."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from penstock.config.settings import Settings
from penstock.engines.dask.settings import DaskSettings
from penstock.engines.settings import engine_settings
from penstock.engines.spark.submit import SparkOptions
from penstock.runs.placement import ClusterPlan, Demand, MachineType
from penstock.runs.placement.offers import Offer
from penstock.runs.placement.settings import dask_cluster, dask_engine, dask_worker, sbatch_header, spark_submit

SMALL = Offer("small", MachineType(cores=4, memory="16GiB", price=0.2), 4, 1.0, "cpu")
LARGE = Offer("large", MachineType(cores=16, memory="64GiB", price=0.8), 6, 1.0, "cpu")
GPU = Offer("gpu", MachineType(cores=16, memory="64GiB", gpus=2, speed_gpu=9.0, price=3.0), 2, 9.0, "gpu")
MIXED = ClusterPlan({SMALL: 3, LARGE: 2}, Demand(serial=600.0, spread=(0.5, 3.0)))
ON_GPUS = ClusterPlan({GPU: 5}, Demand(serial=600.0))
PLANS = (MIXED, ON_GPUS)


def spark(plan: ClusterPlan) -> SparkOptions:
    return SparkOptions.of([*shlex.split(spark_submit(plan)), "jobs/fit.py"], Path("none"), {"SPARK_CONF_DIR": "none"})


def test_executors_of_spark_have_the_workers_of_the_plan_and_their_tasks_a_gpu() -> None:
    for plan in PLANS:
        options = spark(plan)
        assert options.application == ("jobs/fit.py",)
        cores, task_cpus = int(options.values["--executor-cores"]), int(options.properties["spark.task.cpus"])
        assert int(options.values["--num-executors"]) * cores // task_cpus == plan.workers
    properties = spark(ON_GPUS).properties
    assert properties["spark.executor.resource.gpu.amount"] == "2"
    assert properties["spark.task.resource.gpu.amount"] == "1"


def test_executors_of_spark_fit_the_memory_and_the_cores_of_each_machine() -> None:
    options = spark(MIXED)
    heap, overhead = options.values["--executor-memory"], options.properties["spark.executor.memoryOverhead"]
    memory = sum(int(each.removesuffix("m")) for each in (heap, overhead)) * 2**20
    slots = int(options.values["--executor-cores"]) // int(options.properties["spark.task.cpus"])
    for offer in MIXED.machines:
        assert memory * offer.slots // slots <= offer.machine.usable_memory
        assert int(options.values["--executor-cores"]) * offer.slots // slots <= offer.machine.cores


def test_an_engine_file_of_dask_is_read(tmp_path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(dask_engine(MIXED, "tls://10.0.0.5:8786"))
    settings = engine_settings(str(path), None, Settings(), tmp_path, {})
    assert isinstance(settings, DaskSettings)
    assert (settings.cluster, settings.device) == ("tls://10.0.0.5:8786", "cpu")
    assert re.findall(r"of (\d) machines of type (\w+)", path.read_text()) == [("3", "small"), ("2", "large")]


def test_dask_takes_the_options_of_workers() -> None:
    from distributed.cli.dask_worker import main

    context = main.make_context("dask worker", dask_worker(LARGE)[2:])
    assert (context.params["nthreads"], context.params["n_workers"]) == (1, "6")
    assert dask_worker(GPU, None)[:3] == ["dask", "cuda", "worker"]


@pytest.mark.parametrize("plan, time, gpus", [(MIXED, "0-01:00:00", [None, None]), (ON_GPUS, "0-00:20:00", ["2"])])
def test_a_header_of_slurm_is_a_script_whose_components_are_the_types(plan, time, gpus, tmp_path) -> None:
    script = tmp_path / "job.sh"
    script.write_text(sbatch_header(plan))
    subprocess.run(["bash", "-n", script], check=True)
    lines = [line.removeprefix("#SBATCH ") for line in script.read_text().splitlines()[1:]]
    parts = " ".join(lines).split(" hetjob ")
    options = [dict(option.removeprefix("--").split("=") for option in part.split()) for part in parts]
    assert [(each["constraint"], int(each["nodes"])) for each in options] == list(plan.counts.items())
    assert {each["time"] for each in options} == {time}
    assert [each.get("gpus-per-node") for each in options] == gpus


def test_manifests_of_kubernetes_have_a_pod_for_each_machine() -> None:
    for plan in PLANS:
        cluster, *groups = yaml.safe_load_all(dask_cluster(plan))
        assert {each["apiVersion"] for each in (cluster, *groups)} == {"kubernetes.dask.org/v1"}
        assert all(group["spec"]["cluster"] == cluster["metadata"]["name"] for group in groups)
        workers = [each["spec"]["worker"] for each in (cluster, *groups)]
        pods = {each["spec"]["nodeSelector"]["node.kubernetes.io/instance-type"]: each["replicas"] for each in workers}
        assert pods == plan.counts


def test_the_scheduler_of_kubernetes_is_reached_by_its_service_and_pods_ask_for_their_gpus() -> None:
    scheduler = yaml.safe_load(dask_cluster(ON_GPUS))["spec"]["scheduler"]
    (container,) = scheduler["spec"]["containers"]
    assert {p["targetPort"] for p in scheduler["service"]["ports"]} == {p["name"] for p in container["ports"]}
    (container,) = yaml.safe_load(dask_cluster(ON_GPUS))["spec"]["worker"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 2
