"""Several evaluators share a scan; slices and replicates come from the same."""

import re

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.statistics.grouped.bootstrap import draws

ROWS = 600
DRAW = np.random.default_rng(8)
LABEL = DRAW.integers(0, 2, ROWS)
TABLE = pa.table(
    {
        "label": LABEL,
        "rawPrediction": LABEL + DRAW.normal(size=ROWS),
        "amount": DRAW.normal(size=ROWS),
        "predicted": DRAW.normal(size=ROWS),
        "country": pa.array(DRAW.choice(["FR", "DE", None], ROWS, p=[0.6, 0.3, 0.1]).tolist()),
        "mobile": DRAW.choice([True, False], ROWS),
        "w": DRAW.random(ROWS),
    }
)
AREA = st.BinaryClassificationEvaluator(metrics=["areaUnderROC"])
ERROR = st.RegressionEvaluator(label="amount", prediction="predicted", weight="w", metrics=["rmse", "mae"])


@pytest.fixture
def scored(local):
    return local.from_arrow(TABLE, fragment_bytes=8000)


def test_a_mapping_names_the_metrics(scored):
    both = ps.evaluate(scored, {"click": AREA, "sale": AREA})
    assert set(both) == {"click.areaUnderROC", "sale.areaUnderROC"}
    assert set(both.values()) == set(AREA.evaluate(scored).values())


@pytest.mark.thorough
@pytest.mark.parametrize("by", ["country", ("country", "mobile")])
def test_a_slice_has_the_metrics_of_its_rows_alone(scored, by):
    names = (by,) if isinstance(by, str) else by
    table = ps.evaluate(scored, [AREA, ERROR], slices=[by]).slices[",".join(names)]
    assert table.column_names == [*names, "rows", "areaUnderROC", "rmse", "mae"]
    assert table["rows"].to_pylist() == sorted(table["rows"].to_pylist(), reverse=True)
    alone = ps.LocalEngine(device="cpu")
    frame = TABLE.to_pylist()
    for row in table.to_pylist():
        rows = [each for each in frame if all(each[name] == row[name] for name in names)]
        expected = ps.evaluate(alone.from_arrow(pa.Table.from_pylist(rows, TABLE.schema)), [AREA, ERROR])
        assert row["rows"] == len(rows)
        assert {name: row[name] for name in expected} == pytest.approx(dict(expected), rel=1e-12)


def test_slices_of_as_many_rows_are_in_the_order_of_their_values(local):
    rows = pa.table({"label": [1.0] * 4, "prediction": [1.0] * 4, "part": ["b", None, "c", "a"]})
    found = ps.evaluate(local.from_arrow(rows), [st.RegressionEvaluator(metrics="mse")], slices=["part"])
    assert found.slices["part"]["part"].to_pylist() == [None, "a", "b", "c"]


def test_a_slice_where_a_metric_is_undefined_has_null(scored):
    assert ps.evaluate(scored, [AREA], slices=["label"]).slices["label"]["areaUnderROC"].null_count == 2


def test_slices_of_no_rows_are_an_empty_table():
    scored = ps.LocalEngine(device="cpu").from_arrow(TABLE.slice(0, 0))
    assert ps.evaluate(scored, [AREA], slices=["country"]).slices["country"].num_rows == 0


def test_slices_by_numbers_with_a_fraction_are_refused(scored):
    with pytest.raises(SchemaError, match="column 'w' is double, but slices are by strings"):
        ps.evaluate(scored, [AREA], slices=["w"])


def test_a_slice_by_a_column_that_is_not_there_names_the_nearest(scored):
    with pytest.raises(SchemaError, match="country"):
        ps.evaluate(scored, [AREA], slices=["contry"])


@pytest.mark.thorough
def test_intervals_are_percentiles_of_weighted_replicates(scored):
    found = ps.evaluate(scored, [ERROR], bootstrap=ps.Bootstrap(12, seed=9, confidence=0.8))
    error = np.abs(TABLE["amount"].to_numpy() - TABLE["predicted"].to_numpy())
    rows = np.arange(ROWS, dtype=np.uint64)
    means = [np.average(error, weights=TABLE["w"].to_numpy() * draws(rows, 9, b)) for b in range(12)]
    assert found.intervals["mae"] == pytest.approx(tuple(np.quantile(means, [0.1, 0.9])), rel=1e-12)
    assert found["mae"] == pytest.approx(np.average(error, weights=TABLE["w"].to_numpy()), rel=1e-12)


@pytest.mark.thorough
def test_intervals_cover_the_truth_about_as_often_as_they_say(local):
    labels = dict(zip("abcdefgh", np.random.default_rng(0).normal(size=(8, 150)), strict=True))
    rows = local.from_arrow(pa.table({**labels, "prediction": np.zeros(150)}))
    evaluators = {name: st.RegressionEvaluator(label=name, metrics="mse") for name in labels}
    found = ps.evaluate(rows, evaluators, bootstrap=ps.Bootstrap(20, confidence=0.9)).intervals
    hits = sum(low <= 1.0 <= high for low, high in found.values())
    assert len(found) == 8
    assert hits >= 4  # of 8 at 0.9, less than 4 happens once in 2,000 times


def test_a_metric_that_most_replicates_cannot_define_has_no_interval():
    scored = ps.LocalEngine(device="cpu").from_arrow(pa.table({"label": [0, 0], "rawPrediction": [0.1, 0.2]}))
    assert ps.evaluate(scored, [AREA], bootstrap=5).intervals == {}


def test_rows_without_numbers_have_no_bootstrap():
    scored = ps.LocalEngine(device="cpu").from_arrow(TABLE).map_partitions(lambda frame: frame, TABLE.schema)
    with pytest.raises(ConfigError, match="draws rows by their numbers"):
        ps.evaluate(scored, [AREA], bootstrap=5)


def test_a_bootstrap_that_means_nothing_is_refused():
    for options, said in [({"replicates": 1}, "at least 2"), ({"confidence": 1.0}, "between 0")]:
        with pytest.raises(ConfigError, match=said):
            ps.Bootstrap(**options)


def test_bad_values_are_told_with_file_and_row(tmp_path):
    engine = ps.LocalEngine(device="cpu")
    engine.from_arrow(TABLE.set_column(0, "label", pa.array([0] * 7 + [2] * (ROWS - 7)))).write_parquet(tmp_path / "d")
    with pytest.raises(DataValueError, match="593 values") as caught:
        ps.evaluate(engine.read_parquet(str(tmp_path / "d")), [AREA], slices=["country"], bootstrap=3)
    assert re.search(r"part-0+\.parquet$", caught.value.path)
    assert (caught.value.row, caught.value.stage) == (7, "BinaryClassificationEvaluator")


@pytest.mark.thorough
def test_a_filter_before_changes_which_rows_are_evaluated(scored):
    rows = scored.filter(nw.col("mobile"))
    found = ps.evaluate(rows, [ERROR], slices=["mobile"]).slices["mobile"]
    assert found["mobile"].to_pylist() == [True]
