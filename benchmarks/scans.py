"""A pipeline of 20 stages: as many scans as were planned, and what each costs beside its widest stage's scan alone.

The widest is the one that takes longest. Rows come from the files anew for every scan, also for those of one stage.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

import clicks as generator  # noqa: E402

from benchmarks.contenders import CATEGORIES, COUNTS, WARM_UP_ROWS  # noqa: E402
from benchmarks.side_by_side import arguments, folders, generated  # noqa: E402
from penstock import LocalEngine, Pipeline, PipelineModel  # noqa: E402
from penstock import stages as st  # noqa: E402
from penstock.dataset import Dataset  # noqa: E402
from penstock.pipeline.fusion import Pass  # noqa: E402
from penstock.pipeline.plan import Plan  # noqa: E402

_AT_MOST = 1.5  # times the seconds of the widest scan alone
_ROUNDS = 5


def _called(columns: list[str], suffix: str) -> tuple[str, ...]:
    return tuple(f"{name}_{suffix}" for name in columns)


_ENCODED = _called(CATEGORIES, "mean")
PIPELINE = Pipeline(  # each takes all columns of its kind, so that the widest is a good part of the work
    st.Winsorizer(COUNTS),
    st.Imputer(COUNTS, strategy="median"),
    st.StandardScaler(COUNTS, output_columns=_called(COUNTS, "standard")),
    st.MinMaxScaler(COUNTS, output_columns=_called(COUNTS, "range")),
    st.MaxAbsScaler(COUNTS, output_columns=_called(COUNTS, "share")),
    st.RobustScaler(COUNTS, output_columns=_called(COUNTS, "robust")),
    st.QuantileDiscretizer(COUNTS, num_buckets=4, output_columns=_called(COUNTS, "quarter")),
    st.QuantileTransformer(COUNTS, output_columns=_called(COUNTS, "rank")),
    st.KBinsDiscretizer(COUNTS, output_columns=_called(COUNTS, "bin")),
    st.PCA(COUNTS, 4),
    st.PCA(_called(COUNTS, "standard"), 4, prefix="standard_pca"),
    st.TruncatedSVD(_called(COUNTS, "robust"), 4),
    st.StringIndexer(CATEGORIES, output_columns=_called(CATEGORIES, "index")),
    st.CountEncoder(CATEGORIES, output_columns=_called(CATEGORIES, "count")),
    st.OneHotEncoder(["C9", "C17", "C20"], max_categories=10),
    st.OneHotEncoder(["C6", "C14", "C22", "C23", "C25"], max_categories=30),
    st.WeightOfEvidenceEncoder(CATEGORIES, num_folds=None, output_columns=_called(CATEGORIES, "evidence")),
    st.TargetEncoder(CATEGORIES, num_folds=None, smoothing=10.0, output_columns=_ENCODED),
    st.StandardScaler(_ENCODED),
    st.PCA(_ENCODED, 4, prefix="encoded_pca"),
)


def fit(rows: Dataset) -> tuple[PipelineModel, list[float]]:
    """Return the model, and the seconds of each scan; fail unless there were as many as `explain` told."""
    told = int(re.search(r"(\d+) scan\(s\)", PIPELINE.explain(rows))[1])  # type: ignore[index]
    model = PIPELINE.fit(rows)
    assert model.report is not None
    if model.report.scans != told:
        raise SystemExit(f"the fit took {model.report.scans} scans, and explain told of {told}")
    return model, [model.report.seconds[f"scan {number}"] for number in range(1, told + 1)]


def alone(plan: Plan, scan: Pass) -> Iterator[tuple[str, Pass]]:
    """Give a scan for each stage that learns from one, with the stage's place and title."""
    for stage in sorted({request.stage for request in scan.requests}):
        own = tuple(request for request in scan.requests if request.stage == stage)
        yield f"{stage + 1} {plan.stages[stage].title}", Pass.of(own)


def seconds(rows: Dataset, model: PipelineModel, scan: Pass) -> float:
    """Return how long a scan takes by itself, behind the stages that come before it."""
    for step in model.steps[: max(request.position for request in scan.requests)]:
        rows = rows.with_step(step)
    began = time.perf_counter()
    rows.probe(scan.probes())
    return time.perf_counter() - began


def compare(rows: Dataset) -> tuple[list[float], list[dict[str, float]]]:
    """Return the seconds of each scan of a fit, and those of its stages' own; the fastest of rounds of both."""
    plan = PIPELINE.plan(rows)
    owns = [dict(alone(plan, level.scan)) for level in plan.levels if level.scan is not None]
    taken = [math.inf] * len(owns)
    apart = [dict.fromkeys(own, math.inf) for own in owns]
    for _ in range(_ROUNDS):
        model, found = fit(rows)
        taken = list(map(min, taken, found))
        for own, least in zip(owns, apart, strict=True):
            least |= {title: min(least[title], seconds(rows, model, scan)) for title, scan in own.items()}
    return taken, apart


def main() -> None:
    options = arguments(__doc__).parse_args()
    engine = LocalEngine()
    with folders(options.data) as (folder, _):
        fit(engine.read_parquet(f"{generated(generator, WARM_UP_ROWS, folder)}/*.parquet"))
        taken, apart = compare(engine.read_parquet(f"{generated(generator, options.rows, folder)}/*.parquet"))
    show(taken, apart, options.rows)


def show(taken: list[float], apart: list[dict[str, float]], rows: int) -> None:
    """Print each scan beside the longest of its stages' own, and beside all of them one after the other."""
    shown = Table(
        title=f"{len(PIPELINE.stages)} stages, {len(taken)} scans as planned, {rows:,} rows; ratio at most {_AT_MOST}"
    )
    for heading in ("scan", "stages", "seconds", "widest", "ratio", "in turn", "widest is"):
        shown.add_column(heading, justify="left" if heading == "widest is" else "right", no_wrap=True)
    for number, (took, own) in enumerate(zip(taken, apart, strict=True), 1):
        widest = max(own, key=own.__getitem__)
        figures = (took, own[widest], took / own[widest], sum(own.values()))
        shown.add_row(str(number), str(len(own)), *(f"{value:.2f}" for value in figures), widest)
    Console().print(shown)


if __name__ == "__main__":
    main()
