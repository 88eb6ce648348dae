"""scikit-learn in memory: its encoders in a ColumnTransformer, on a pandas frame that holds all rows."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, TargetEncoder

from benchmarks.contenders import BINNED, BUCKETS, COMPONENTS, ENCODED, ONE_HOT, PROJECTED, SMOOTHING
from benchmarks.measure import measured, report
from benchmarks.preprocessed import written


class Unfolded(TargetEncoder):
    """Encodes rows by the means of all rows when it is fitted, too, as the others do: without the work of folds."""

    def fit_transform(self, X: Any, y: Any, **_: Any) -> Any:  # noqa: N803
        return self.fit(X, y).transform(X)


def transformer() -> ColumnTransformer:
    bins = KBinsDiscretizer(
        BUCKETS,
        encode="ordinal",
        strategy="quantile",
        quantile_method="inverted_cdf",
        subsample=None,  # of all rows, as the others; by default it takes 200,000
    )
    return ColumnTransformer(
        [
            ("one_hot", OneHotEncoder(sparse_output=False, dtype=np.int8), list(ONE_HOT)),
            ("encoded", Unfolded(smooth=SMOOTHING, target_type="binary"), ENCODED),
            ("binned", bins, BINNED),
            ("pca", PCA(COMPONENTS), PROJECTED),
        ],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")


def preprocess(data: str, out: str, work: str) -> ColumnTransformer:
    """Return the fitted transformer; its `fit` transforms, too, and gives nothing of it."""
    rows = pd.read_parquet(data)
    fitted = transformer()
    if work == "fit":
        return fitted.fit(rows, rows["label"])
    made = fitted.fit_transform(rows, rows["label"])
    Path(out).mkdir(parents=True)
    made.assign(label=rows["label"]).to_parquet(f"{out}/part-00000.parquet", compression="zstd")
    return fitted


def answer(fitted: ColumnTransformer) -> dict[str, Any]:
    """Return what was learned, in the words that all contenders use."""
    parts = fitted.named_transformers_
    encoded, pca = parts["encoded"], parts["pca"]
    return {
        "categories": dict(zip(ONE_HOT, [list(each) for each in parts["one_hot"].categories_], strict=True)),
        "encodings": {
            name: dict(zip(values, means.tolist(), strict=True))
            for name, values, means in zip(ENCODED, encoded.categories_, encoded.encodings_, strict=True)
        },
        "edges": {name: edges[1:-1].tolist() for name, edges in zip(BINNED, parts["binned"].bin_edges_, strict=True)},
        "explained_variance_ratio": pca.explained_variance_ratio_.tolist(),
        "components": pca.components_.tolist(),
    }


def main(name: str, data: str, warm_up: str, out: str) -> None:
    began = time.perf_counter()
    work = name.rpartition(".")[2]
    preprocess(warm_up, f"{out}-warm", work)
    started = time.perf_counter() - began
    with measured() as cost:
        fitted = preprocess(data, out, work)
    found = answer(fitted)
    if work == "fit_transform":
        ones = {name: {value: f"{name}_{value}" for value in values} for name, values in found["categories"].items()}
        found |= written(out, ones, [f"pca{place}" for place in range(COMPONENTS)])
    report(started, cost, found)


if __name__ == "__main__":
    main(*sys.argv[1:5])
