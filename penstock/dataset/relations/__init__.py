"""Relational verbs of a dataset: what is asked for is noted, and is one query once its rows are needed.

A verb makes a `Pending` result: an operation on relations, which are datasets or other pending results. `operation`
says what an operation is, on frames of Polars; the modules named after verbs have one each. An engine runs them by its
own query engine: see `penstock.engines.relating`.
"""
