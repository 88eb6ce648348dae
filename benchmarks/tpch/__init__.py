"""The 22 queries in the manner of TPC-H: as verbs of a dataset, and some as Polars, Spark and Dask say them."""
