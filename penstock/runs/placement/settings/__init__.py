"""A plan as the settings of what runs it: spark-submit, Dask, Slurm, Kubernetes."""

from penstock.runs.placement.settings.dask import dask_engine, dask_worker
from penstock.runs.placement.settings.kubernetes import dask_cluster
from penstock.runs.placement.settings.slurm import sbatch_header
from penstock.runs.placement.settings.spark import spark_submit

__all__ = ["dask_cluster", "dask_engine", "dask_worker", "sbatch_header", "spark_submit"]
