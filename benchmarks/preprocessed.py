"""What makes two preprocessings of the same rows the same: what was learned, and what was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.contenders import BINNED, BUCKETS, COMPONENTS, ENCODED, ONE_HOT

Floats = NDArray[np.float64]
Answer = Mapping[str, Any]
SPACED = np.tile(np.arange(1, BUCKETS) / BUCKETS, len(BINNED))


def written(out: str, ones: Mapping[str, Mapping[str, str]], scores: Sequence[str]) -> dict[str, Any]:
    """Return what tells rows with a column for each category, named by `ones`, apart from others."""
    scan = pl.scan_parquet(f"{out}/*.parquet")
    names = [*ENCODED, *BINNED, *scores]
    rows = scan.select(pl.exclude(names).cast(pl.Int64).sum(), pl.col(names).std()).collect(engine="streaming")
    row = rows.row(0, named=True)
    return {
        "ones": {name: {value: row[made] for value, made in columns.items()} for name, columns in ones.items()},
        "deviations": [row[name] for name in names],
    }


def categories(answer: Answer) -> dict[str, list[str]]:
    """Return the categories of each column."""
    return {
        **{name: sorted(answer["categories"][name]) for name in ONE_HOT},
        **{name: sorted(answer["encodings"][name]) for name in ENCODED},
    }


def figures(answer: Answer, data: Path) -> dict[str, Floats]:
    """Return by name what has to be the same in all answers whose categories are the same."""
    found = {
        "encodings": _in_order(answer["encodings"], ENCODED),
        "ranks": _ranks(answer["edges"], data),
        "explained_variance_ratio": np.array(answer["explained_variance_ratio"]),
        "components": _signed(np.array(answer["components"])),
    }
    if "ones" not in answer:
        return found
    encoded, buckets, scores = np.split(np.array(answer["deviations"]), [len(ENCODED), len(ENCODED) + len(BINNED)])
    ones = _in_order(answer["ones"], list(ONE_HOT))
    return found | {"ones": ones, "encoded": encoded, "buckets": buckets, "scores": scores}


def _in_order(values: Mapping[str, Mapping[str, float]], columns: Sequence[str]) -> Floats:
    return np.array([value for name in columns for _, value in sorted(values[name].items())])


def _ranks(edges: Mapping[str, Sequence[float]], data: Path) -> Floats:
    """Return the share of values below each edge, or at it; not a number for an edge that is missing."""
    scan = pl.scan_parquet(f"{data}/*.parquet")
    shares = [(pl.col(name) <= edge).mean().alias(f"{name} {edge}") for name in BINNED for edge in edges[name]]
    ranks = np.array(scan.select(shares).collect(engine="streaming").row(0))
    return ranks if len(ranks) == len(SPACED) else np.full(len(SPACED), np.nan)


def _signed(components: Floats) -> Floats:
    """Return the components, whose sign is free, with that which makes their largest loading positive."""
    largest = np.abs(components).argmax(axis=1)
    signed: Floats = components * np.sign(components[np.arange(COMPONENTS), largest])[:, None]
    return signed
