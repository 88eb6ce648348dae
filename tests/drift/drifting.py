"""Rows of 39 columns as clicks have them: 13 of numbers, 26 of texts, drawn anew each time from one distribution."""

import numpy as np
import pyarrow as pa

NUMBERS = tuple(f"n{place}" for place in range(13))
TEXTS = tuple(f"c{place}" for place in range(26))
_WORDS = pa.array([f"w{place}" for place in range(5000)])
_SIZES = (3, 12, 40, 300, 5000)


def draw(rng: np.random.Generator, rows: int) -> dict[str, pa.Array]:
    """Return columns of normal, log-normal, heavy-tailed and few numbers, and texts of few and of many values."""
    kinds = (
        lambda: rng.normal(size=rows),
        lambda: np.floor(rng.lognormal(1.0, 1.5, rows)).astype(np.int64),
        lambda: rng.standard_cauchy(rows),
        lambda: rng.integers(0, 6, rows),
        lambda: rng.exponential(size=rows),
    )
    columns = {}
    for place, name in enumerate(NUMBERS):
        columns[name] = pa.array(kinds[place % 5](), mask=rng.uniform(size=rows) < 0.01)
    for place, name in enumerate(TEXTS):
        weights = np.cumsum((np.arange(_SIZES[place % 5]) + 2.0) ** -1.2)
        drawn = np.searchsorted(weights / weights[-1], rng.uniform(size=rows))
        columns[name] = _WORDS.take(pa.array(drawn, mask=rng.uniform(size=rows) < 0.01))
    return columns
