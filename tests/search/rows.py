"""Rows to search on: numbers with gaps, categories, two kinds of label, weights."""

import numpy as np
import pyarrow as pa


def labelled(rows: int = 900, seed: int = 0) -> pa.Table:
    """Return rows whose label depends on ``x``, ``z`` and the category ``c``."""
    rng = np.random.default_rng(seed)
    x, z, c = rng.normal(size=rows), rng.gamma(2.0, size=rows), rng.choice(list("abcdef"), rows)
    score = x + 0.5 * z + (c == "a") - 1
    columns = {
        "x": pa.array(x, mask=rng.random(rows) < 0.1),
        "z": z,
        "c": c,
        "weight": rng.gamma(1.0, size=rows),
        "clicked": (score + rng.normal(size=rows) > 0).astype(np.int64),
        "price": score + 0.3 * rng.normal(size=rows),
    }
    return pa.table(columns)
