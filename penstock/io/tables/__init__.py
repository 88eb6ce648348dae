"""Tables that keep a log, Delta Lake and Iceberg: planned from the log, and read by the Parquet reader on the workers.

The log says which files and which of their rows are in a table, how many rows they have, and what its columns are
called in them: `delta_log` and `iceberg_scan` turn it into `TableFile`, of which `TableSource` reads pieces.
"""
