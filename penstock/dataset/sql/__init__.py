"""One dialect of SQL on every engine: a text becomes the relational verbs of datasets, and nothing else is run.

`query` is the way in. `parsing` makes a tree of a text, `scopes` says what its names stand for, `sources` and `joins`
make rows of FROM and WHERE, `aggregates` of GROUP BY, `selecting` and `ordering` of all the rest. `expressions` turns
what is computed of a row into Narwhals, by the tables of `literals`, `conditions`, `arithmetic`, `casts`, `dates` and
`functions`. `refusals` words what the dialect has not.
"""
