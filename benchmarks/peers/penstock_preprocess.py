"""Ours, on the engine named: one pipeline of four encoders, fitted, or fitted, applied and written."""

from __future__ import annotations

import sys
import time
from typing import Any

from benchmarks.contenders import BINNED, BUCKETS, COMPONENTS, CORES, ENCODED, ONE_HOT, PROJECTED, SMOOTHING
from benchmarks.measure import measured, report
from benchmarks.ours import engine
from benchmarks.preprocessed import written
from penstock import Pipeline, PipelineModel
from penstock import stages as st

STAGES = (
    *(st.OneHotEncoder(name, max_categories=size, handle_invalid="ignore") for name, size in ONE_HOT.items()),
    st.TargetEncoder(ENCODED, smoothing=SMOOTHING, num_folds=None),
    st.QuantileDiscretizer(BINNED, num_buckets=BUCKETS),
    st.PCA(PROJECTED, COMPONENTS),
)


def preprocess(runner: Any, data: str, out: str, work: str) -> PipelineModel:
    rows = runner.read_parquet(f"{data}/*.parquet")
    model = Pipeline(*STAGES).fit(rows)
    if work == "fit_transform":
        made = [name for stage in model.stages for name in stage.outputs()]
        model.transform(rows).select("label", *made).write_parquet(out, overwrite=True)
    return model


def answer(model: PipelineModel) -> dict[str, Any]:
    """Return what was learned, in the words that all contenders use."""
    *one_hot, encoder, discretizer, pca = model.fitted
    return {
        "categories": {
            name: fitted["categories"][name]["value"].to_pylist() for name, fitted in zip(ONE_HOT, one_hot, strict=True)
        },
        "encodings": {name: _encodings(encoder["encodings"][name]) for name in ENCODED},
        "edges": {name: discretizer["splits"][name] for name in BINNED},
        "explained_variance_ratio": pca["explained_variance_ratio"],
        "components": pca["components"],
    }


def _encodings(table: Any) -> dict[str, float]:
    return dict(zip(table["value"].to_pylist(), table["encoding_0"].to_pylist(), strict=True))


def main(name: str, data: str, warm_up: str, out: str) -> None:
    began = time.perf_counter()
    kind, _, work = name.partition(".")
    runner = engine(kind, CORES)
    preprocess(runner, warm_up, f"{out}-warm", work)
    started = time.perf_counter() - began
    with measured() as cost:
        model = preprocess(runner, data, out, work)
    found = answer(model)
    if work == "fit_transform":
        ones = {
            name: {value: f"{name}_{place}" for place, value in enumerate(values)}
            for name, values in found["categories"].items()
        }
        found |= written(out, ones, model.stages[-1].outputs())
    report(started, cost, found, {"scans": model.report.scans + (work == "fit_transform")})


if __name__ == "__main__":
    main(*sys.argv[1:5])
