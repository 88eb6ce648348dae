"""Schedulers of the work: this process, Dask, Spark."""
