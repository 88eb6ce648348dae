"""The 22 queries in the manner of TPC-H: as verbs of a dataset (`verbs`), and some as Polars says them (`polars`)."""
