"""The profile of a model, and what it says of other rows: on every engine, and in the pass that scores them."""

# ruff: noqa: F811  # fixtures are parameters by the names that they are imported by

import functools
import json

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from displays import Page
from drift.drifting import draw
from on_stand_in import cpu, gpu, stand_in  # noqa: F401
from scipy import stats

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, DriftError, EmptyInputError, SchemaError
from penstock.testing.datasets import count_reads

NUMBERS, TEXTS = ["n0", "n1"], ["c1", "c4"]
PIPELINE = ps.Pipeline(st.Imputer(NUMBERS), st.StringIndexer(TEXTS), st.LinearRegression("y", features=NUMBERS))


@functools.cache
def table(seed: int, rows: int = 700, shift: float = 0.0) -> pa.Table:
    """Rows with a label, and a column of few values to slice by; the shift is that of the numbers of one slice."""
    rng = np.random.default_rng(seed)
    columns = {name: values for name, values in draw(rng, rows).items() if name in (*NUMBERS, *TEXTS)}
    side = rng.choice(["left", "right"], rows)
    n0 = columns["n0"].to_numpy(zero_copy_only=False) + np.where(side == "left", shift, 0.0)
    made = {
        **columns,
        "n0": pa.array(n0, from_pandas=True),
        "side": side,
        "y": rng.normal(size=rows) + np.nan_to_num(n0),
    }
    return pa.table(made)


def rows(engine, drawn: pa.Table):
    return engine.from_arrow(drawn, fragment_bytes=8_000)


@pytest.fixture(scope="module")
def model(engines):
    return PIPELINE.fit(rows(engines.get("local"), table(0)), keep_profile=True)


@pytest.fixture(scope="module")
def shifted(model, engines):
    """Drift of rows where the numbers of one slice, and the predictions from them, have changed."""
    return model.drift(rows(engines.get("local"), table(1, shift=1.0)))


@pytest.mark.thorough
def test_every_engine_says_the_same_to_the_bit(distributed_engine, local):
    now, fitted = table(1, shift=1.0), PIPELINE.fit(local.from_arrow(table(0)))
    here, there = (fitted.with_profile(rows(each, table(0)), slices=["side"]) for each in (distributed_engine, local))
    assert here.profile.to_state() == there.profile.to_state()
    assert here.drift(rows(distributed_engine, now)).to_dict() == there.drift(rows(local, now)).to_dict()


@pytest.mark.thorough
def test_scores_are_monitored_in_the_pass_that_writes_them(engine, local, model, tmp_path):
    dataset, source = count_reads(rows(engine, table(1, shift=0.5)))
    written = model.transform(dataset, monitor=True).write_parquet(tmp_path / "out")
    if engine.in_process:
        assert source.times == 1
    assert written.drift.to_dict() == model.drift(rows(local, table(1, shift=0.5))).to_dict()
    assert not written.drift.passed
    plain = model.transform(rows(engine, table(1, shift=0.5))).write_parquet(tmp_path / "plain")
    assert (plain.drift, plain.rows) == (None, written.rows)
    assert pl.read_parquet(tmp_path / "out" / "*.parquet").equals(pl.read_parquet(tmp_path / "plain" / "*.parquet"))


@pytest.mark.thorough
def test_columns_that_are_left_out_of_the_output_are_monitored_too(local, model, tmp_path):
    dataset = rows(local, table(1))
    written = model.transform(dataset, monitor=True).select("prediction").write_parquet(tmp_path / "out")
    assert [each.name for each in written.drift.columns] == ["n0", "n1", "c1", "c4", "prediction", "y"]
    assert pl.read_parquet(tmp_path / "out" / "*.parquet").columns == ["prediction"]


@pytest.mark.thorough
def test_a_profile_takes_two_scans_and_a_comparison_one(local, model):
    dataset, source = count_reads(rows(local, table(0)))
    kept = model.with_profile(dataset)
    assert source.times == 2
    dataset, source = count_reads(rows(local, table(1)))
    kept.drift(dataset)
    assert source.times == 1


@pytest.mark.thorough
def test_a_measure_is_that_of_scipy_over_the_bins(local, model):
    other = table(1, shift=0.3)
    edges = model.profile.roles["input"].bins.edges["n0"]
    one, two = (np.searchsorted(edges, pl.DataFrame(t)["n0"].fill_nan(None).drop_nulls()) for t in (table(0), other))
    expected = stats.ks_2samp(one, two)
    found = model.drift(rows(local, other))["n0"]["kolmogorov_smirnov"]
    assert found.value == pytest.approx(expected.statistic, abs=1e-12)
    law = stats.kstwobign(scale=np.sqrt(1 / len(one) + 1 / len(two)))
    assert found.p_value == pytest.approx(law.sf(expected.statistic), rel=1e-9)


def test_a_column_without_ties_is_cut_at_quantiles_of_the_profile(local):
    drawn = pa.table({"x": np.random.default_rng(0).normal(size=6_300)})
    kept = ps.Pipeline(st.Clip("x", lower=-9.0)).fit(local.from_arrow(drawn), keep_profile=True).profile.roles["input"]
    bins = kept.counts["x"].bins
    assert (len(bins), bins[0], bins[-1]) == (64, 0, 0)
    assert bins[2:-1].max() - bins[2:-1].min() <= 2
    assert bins.sum() == 6_300


@pytest.mark.thorough
def test_only_what_a_slice_has_changed_in_is_told_of_it(local):
    kept = PIPELINE.fit(rows(local, table(0, 3000))).with_profile(rows(local, table(0, 3000)), slices=["side"])
    report = kept.drift(rows(local, table(1, 3000, shift=0.5)))
    drifted = {key: [each.name for each in part if each.drifted] for key, part in report.slices["side"].items()}
    assert drifted == {"left": ["n0", "prediction", "y"], "right": []}
    assert any(alarm.startswith("side = left: n0 (input)") for alarm in report.alarms)
    with pytest.raises(SchemaError, match="side"):
        kept.drift(rows(local, table(1)).select(*NUMBERS, *TEXTS))


@pytest.mark.thorough
def test_metrics_are_compared_where_there_are_labels(local):
    evaluator = st.RegressionEvaluator(label="y", metrics="rmse")
    before, now = (local.from_arrow(table(seed, 2000)) for seed in (0, 1))
    fitted = PIPELINE.fit(before)
    kept = fitted.with_profile(before, evaluators=[evaluator], bootstrap=40)
    worse = pl.DataFrame(table(1, 2000)).with_columns(pl.col("y") * 2).to_arrow()
    same, other = (kept.drift(data, evaluators=[evaluator], bootstrap=40).metrics[0]
                   for data in (now, local.from_arrow(worse)))  # fmt: skip
    assert (same.reference, same.current) == (
        fitted.evaluate(before, evaluator)["rmse"],
        fitted.evaluate(now, evaluator)["rmse"],
    )
    assert (same.drifted, other.drifted) == (False, True)
    with pytest.raises(ConfigError, match="the profile of the model has no metrics"):
        fitted.with_profile(before).drift(now, evaluators=[evaluator])


@pytest.mark.thorough
def test_rows_without_a_label_are_compared_without_it(local, model):
    report = model.drift(rows(local, table(1)).select(*NUMBERS, *TEXTS))
    assert [each.role for each in report.columns] == [*["input"] * 4, "score"]


@pytest.mark.thorough
def test_a_report_is_plain_values_a_frame_a_page_and_a_display(local, model, shifted):
    report = shifted
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert (told["passed"], told["rows"], told["reference_rows"]) == (False, 700, 700)
    assert [each["name"] for each in told["columns"] if each["drifted"]] == ["n0", "prediction", "y"]
    frame = report.to_polars()
    assert frame.filter(pl.col("drifted"))["column"].unique().sort().to_list() == ["n0", "prediction", "y"]
    assert frame.height == sum(len(each.measures) for each in report.columns)
    assert Page(report._repr_html_()).of("th")[4:7] == [each.name for each in report.drifted]
    page = report.to_html(title="monday")
    assert all(f"<h3>{h}</h3>" in page for h in ("Columns with an alarm", "Measures", "Then and now", "n0 (input)"))
    assert "<h3>No alarm</h3>" in model.drift(rows(local, table(0))).to_html()


@pytest.mark.thorough
def test_drift_raises_where_it_is_asked_to(local, model, shifted):
    assert model.drift(rows(local, table(0))).raise_if_drifted().passed
    with pytest.raises(DriftError, match=r"3 of 6 columns drifted.*kolmogorov_smirnov") as caught:
        shifted.raise_if_drifted()
    assert caught.value.column in ("n0", "prediction", "y")


@pytest.mark.thorough
def test_a_model_without_a_profile_says_how_to_get_one(local, tmp_path):
    bare = PIPELINE.fit(rows(local, table(0)))
    for ask in (bare.drift, lambda dataset: bare.transform(dataset, monitor=True)):
        with pytest.raises(ConfigError, match=r"the model has no profile(?s:.)*keep_profile=True"):
            ask(rows(local, table(1)))


@pytest.mark.thorough
def test_no_rows_are_compared_with_nothing(local, model, tmp_path):
    empty = rows(local, table(1)).limit(0)
    with pytest.raises(EmptyInputError, match="no rows to compare"):
        model.drift(empty)
    with pytest.raises(EmptyInputError, match="no rows to make a profile of"):
        model.with_profile(empty)
    assert model.transform(empty, monitor=True).write_parquet(tmp_path / "out").drift is None


@pytest.mark.thorough
def test_what_is_no_monitor_is_refused(local, model):
    with pytest.raises(ConfigError, match="monitor is str, expected True or a Monitor"):
        model.transform(rows(local, table(1)), monitor="yes")


@pytest.mark.thorough
def test_a_gpu_counts_what_a_cpu_counts(gpu, cpu):
    on_gpu, on_cpu = (
        PIPELINE.fit(cpu.from_arrow(table(0))).with_profile(each.from_arrow(table(0))).drift(each.from_arrow(table(1)))
        for each in (gpu, cpu)
    )
    inputs = [[column.measures for column in report.columns if column.role == "input"] for report in (on_gpu, on_cpu)]
    assert inputs[0] == inputs[1]


@pytest.mark.thorough
def test_limits_are_what_is_asked_of_a_column(local, model):
    now = rows(local, table(1, shift=1.0))
    loose = ps.DriftLimits(limits={"kolmogorov_smirnov": 0.9}, columns={"y": {"psi": 0.01}}, ignore=["n1", "c1", "c4"])
    report = model.drift(now, limits=loose)
    assert [each.name for each in report.columns] == ["n0", "prediction", "y"]
    assert [each.name for each in report.drifted] == ["y"]
    assert [each.name for each in report["y"].measures if each.drifted] == ["psi"]


@pytest.mark.thorough
def test_a_value_above_its_limit_that_chance_explains_is_no_alarm(local, model):
    few = rows(local, table(3, 40))
    limits = ps.DriftLimits(limits={"kolmogorov_smirnov": 0.01, "psi": 0.001})
    report = model.drift(few, limits=limits)
    assert all(report[name]["kolmogorov_smirnov"].value > 0.01 for name in NUMBERS)
    assert report.passed
