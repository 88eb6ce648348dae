"""The data generators: the same rows however they are asked for, whole directories, and the look of the real files."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from types import ModuleType

import _write
import clicks
import measurements
import mixed
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scored
import trips
import zones
from polars.testing import assert_frame_equal
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import r2_score

from tests.data.conftest import content, frame

COUNTS = [f"I{number}" for number in range(1, 14)]
CATEGORIES = [f"C{number}" for number in range(1, 27)]
FEW_VALUES = {"C6": 24, "C9": 3, "C17": 10, "C20": 4, "C22": 18, "C23": 15, "C25": 30}


GENERATORS = {module.__name__: module for module in (clicks, trips, measurements, mixed, scored)}


@pytest.fixture(params=GENERATORS)
def generator(request: pytest.FixtureRequest) -> ModuleType:
    return GENERATORS[request.param]


@pytest.fixture(scope="module")
def click_rows() -> pl.DataFrame:
    return frame(clicks, 60_000)


@pytest.fixture(scope="module")
def trip_rows() -> pl.DataFrame:
    return frame(trips, 60_000)


def share(condition: pl.Series) -> float:
    return float(condition.fill_null(False).mean())


class TestRows:
    def test_a_seed_gives_the_same_rows_and_bytes_and_another_one_other_rows(self, generator, tmp_path):
        assert frame(generator, 500, 7).equals(frame(generator, 500, 7))
        assert not frame(generator, 500, 7).equals(frame(generator, 500, 8))
        first, second = (generator.write(tmp_path / name, 300)[0].read_bytes() for name in ("a", "b"))
        assert first == second

    def test_first_rows_do_not_depend_on_how_many_follow(self, generator, small_chunks):
        for rows in (1, 99, 100, 101, 250):
            exact = generator in (measurements, mixed)
            assert_frame_equal(frame(generator, rows), frame(generator, 320).head(rows), check_exact=exact)

    def test_chunks_differ(self, generator, small_chunks):
        first, second = generator.generate(200, 0)
        assert not first.equals(second)

    @pytest.mark.thorough
    def test_chunks_have_250_000_rows(self):
        assert [table.num_rows for table in trips.generate(250_001, 0)] == [250_000, 1]

    def test_tables_have_the_schema_and_nulls_only_where_the_real_files_have_them(self, generator):
        (table,) = generator.generate(200, 0)
        assert table.schema == generator.SCHEMA
        assert generator in (clicks, trips) or sum(column.null_count for column in table.columns) == 0

    def test_negative_rows_or_seed_are_refused_at_the_call(self, generator):
        for rows, seed in ((-1, 0), (1, -1)):
            with pytest.raises(ValueError, match=f"rows is {rows} and seed is {seed}, expected 0 or more"):
                generator.generate(rows, seed)


class TestDirectory:
    def test_file_sizes_do_not_change_the_rows(self, generator, tmp_path, small_chunks):
        paths = generator.write(tmp_path / "out", 250, rows_per_file=70, row_group_rows=30)
        assert len(paths) == 4
        assert_frame_equal(content(paths), frame(generator, 250), check_exact=generator in (measurements, mixed))

    def test_files_and_row_groups_have_the_sizes_asked_for(self, tmp_path):
        paths = trips.write(tmp_path / "out", 150, rows_per_file=70, row_group_rows=30)
        files = [pq.ParquetFile(path).metadata for path in paths]
        sizes = [[file.row_group(group).num_rows for group in range(file.num_row_groups)] for file in files]
        assert sizes == [[30, 30, 10], [30, 30, 10], [10]]

    def test_parts_are_numbered_and_success_stands_beside_them(self, tmp_path):
        paths = trips.write(tmp_path / "deep" / "out", 150, rows_per_file=100)
        assert paths == [tmp_path / "deep" / "out" / f"part-0000{number}.parquet" for number in (0, 1)]
        assert {p.name for p in (tmp_path / "deep" / "out").iterdir()} == {p.name for p in paths} | {"_SUCCESS"}

    def test_nothing_is_left_beside_the_directory_and_no_old_part_in_it(self, tmp_path):
        (tmp_path / "out").mkdir()  # an empty one is filled
        assert content(trips.write(tmp_path / "out", 30, rows_per_file=10)).height == 30
        paths = trips.write(tmp_path / "out", 10, overwrite=True)
        assert sorted((tmp_path / "out").glob("part-*")) == paths
        assert [path.name for path in tmp_path.iterdir()] == ["out"]

    def test_no_rows_are_one_file_with_the_schema(self, generator, tmp_path):
        (path,) = generator.write(tmp_path / "out", 0)
        assert (pq.read_metadata(path).num_rows, pq.read_schema(path)) == (0, generator.SCHEMA)

    def test_strings_are_dictionaries_packed_with_zstd(self, tmp_path):
        (path,) = clicks.write(tmp_path / "out", 1_000)
        columns = [pq.read_metadata(path).row_group(0).column(index) for index in range(14, 40)]
        assert {column.path_in_schema for column in columns} == set(CATEGORIES)
        assert all("RLE_DICTIONARY" in column.encodings and column.compression == "ZSTD" for column in columns)

    def test_a_directory_with_something_in_it_and_a_file_are_refused(self, tmp_path):
        (tmp_path / "out").touch()
        with pytest.raises(FileExistsError, match=re.escape(f"{tmp_path} is a directory with something in it")):
            trips.write(tmp_path, 10)
        with pytest.raises(FileExistsError, match="out is a file, expected a new or empty directory"):
            trips.write(tmp_path / "out", 10, overwrite=True)
        assert [path.name for path in tmp_path.iterdir()] == ["out"]

    def test_a_failure_leaves_the_old_directory_whole(self, tmp_path):
        def failing() -> Iterator[pa.Table]:
            yield next(trips.generate(10, 0))
            raise RuntimeError("out of luck")

        (old,) = trips.write(tmp_path / "out", 20)
        layout = _write.Layout(overwrite=True, rows_per_file=10)
        with pytest.raises(RuntimeError, match="out of luck"):
            _write.write_directory(tmp_path / "out", failing(), trips.SCHEMA, 20, layout)
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
        assert_frame_equal(content([old]), frame(trips, 20))

    def test_a_wrong_option_is_refused(self, tmp_path):
        for option, message in (
            ({"rows_per_file": 0}, "rows_per_file is 0, expected at least 1"),
            ({"row_group_rows": -1}, "row_group_rows is -1, expected at least 1"),
            ({"format": "orc"}, "format is 'orc', expected one of parquet, csv, jsonl"),
        ):
            with pytest.raises(ValueError, match=message):
                trips.write(tmp_path / "out", 10, **option)
        with pytest.raises(ValueError, match="format is 'csv', which has no lists; expected parquet or jsonl"):
            scored.write(tmp_path / "out", 20, format="csv")


class TestText:
    @pytest.mark.parametrize("generator", [clicks, trips, measurements])
    def test_csv_has_a_header_and_an_empty_field_for_null(self, generator, tmp_path):
        paths = generator.write(tmp_path / "out", 250, format="csv", rows_per_file=200, row_group_rows=90)
        schema = frame(generator, 0).schema
        read = pl.concat(pl.read_csv(path, schema=schema, null_values="") for path in paths)
        assert_frame_equal(read, frame(generator, 250), check_exact=generator is measurements)
        assert {path.read_text().partition("\n")[0] for path in paths} == {",".join(generator.SCHEMA.names)}

    def test_csv_without_rows_is_a_header(self, tmp_path):
        (path,) = clicks.write(tmp_path / "out", 0, format="csv")
        assert path.read_text() == ",".join(["label", *COUNTS, *CATEGORIES]) + "\n"

    @pytest.mark.parametrize("generator", [clicks, trips, scored])
    def test_jsonl_has_an_object_a_row(self, generator, tmp_path):
        paths = generator.write(tmp_path / "out", 250, format="jsonl", rows_per_file=200, row_group_rows=90)
        rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
        for row in rows:
            row |= {name: datetime.fromisoformat(row[name]) for name in row if name.endswith("datetime")}
        assert_frame_equal(pl.DataFrame(rows, schema=frame(generator, 0).schema), frame(generator, 250))


class TestCommand:
    @pytest.mark.thorough
    @pytest.mark.parametrize("generator", [clicks, trips, measurements])
    def test_script_writes_what_the_function_writes(self, generator, tmp_path):
        flags = ["--rows", "50", "--seed", "3", "--rows-per-file", "40", "--format", "csv", "--out", tmp_path / "a"]
        command = [sys.executable, generator.__file__, *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        expected = generator.write(tmp_path / "b", 50, seed=3, rows_per_file=40, format="csv")
        assert [(tmp_path / "a" / path.name).read_bytes() for path in expected] == [p.read_bytes() for p in expected]
        assert done.stdout.startswith("2 files, ")

    def test_refusal_is_a_message_and_no_traceback(self, tmp_path, monkeypatch, capsys):
        (tmp_path / "precious").touch()
        monkeypatch.setattr(sys, "argv", ["trips.py", "--rows", "10", "--out", str(tmp_path)])
        with pytest.raises(SystemExit, match="2"):
            _write.main("Trips.", trips.write)
        assert "is a directory with something in it" in capsys.readouterr().err


class TestClicks:
    def test_columns_are_those_of_criteo(self):
        types = [pa.int32()] * 14 + [pa.string()] * 26
        assert pa.schema(zip(["label", *COUNTS, *CATEGORIES], types, strict=True)).names == clicks.SCHEMA.names
        assert clicks.SCHEMA.types == types

    def test_a_quarter_is_clicked(self, click_rows):
        assert set(click_rows["label"]) == {0, 1}
        assert click_rows["label"].mean() == pytest.approx(0.25, abs=0.015)

    def test_null_rates_are_those_of_criteo(self, click_rows):
        rates = {
            "I1": 0.45, "I2": 0.0, "I3": 0.215, "I10": 0.45, "I12": 0.765, "C1": 0.0, "C3": 0.034, "C19": 0.44,
            "C20": 0.44, "C22": 0.76, "C25": 0.44, "C26": 0.44,
        }  # fmt: skip
        # Five standard deviations of a share of 60,000 rows are at most 0.0102.
        assert {name: share(click_rows[name].is_null()) for name in rates} == pytest.approx(rates, abs=0.011)

    def test_categories_are_eight_hex_digits(self, click_rows):
        good = click_rows.select(pl.col(CATEGORIES).str.contains("^[0-9a-f]{8}$").all())
        assert all(good.row(0))

    def test_small_vocabularies_are_seen_whole(self, click_rows):
        assert {name: click_rows[name].drop_nulls().n_unique() for name in FEW_VALUES} == FEW_VALUES

    @pytest.mark.thorough
    def test_large_vocabularies_pass_100_000_at_4_million_rows(self):
        present = np.random.default_rng(0).random(int(4e6 * (1 - 0.034)))
        codes = clicks._codes("C3", clicks.CATEGORIES["C3"], present)
        assert 100_000 < pl.Series(codes).n_unique() < 115_000

    def test_large_vocabularies_are_skewed(self, click_rows):
        counts = click_rows["C3"].drop_nulls().value_counts(sort=True)["count"]
        assert counts[0] > 0.05 * click_rows.height
        assert share(counts == 1) > 0.5

    @pytest.mark.thorough
    def test_columns_share_no_category(self, click_rows):
        seen = [set(click_rows[name].drop_nulls()) for name in CATEGORIES]
        assert len(set.union(*seen)) == sum(len(values) for values in seen)

    def test_counts_are_heavily_skewed(self, click_rows):
        for column in ("I2", "I5", "I7"):
            usual = click_rows[column].filter(click_rows[column] <= clicks.COUNTS[column].largest)
            assert usual.mean() > 3 * usual.median(), column

    def test_only_i2_is_negative_down_to_minus_three(self, click_rows):
        least = dict(zip(COUNTS, click_rows.select(pl.col(COUNTS).min()).row(0), strict=True))
        assert {name for name, value in least.items() if value < 0} == {"I2"}
        assert set(click_rows["I2"].filter(click_rows["I2"] < 0)) == {-1, -2, -3}

    def test_a_few_counts_are_extreme(self, click_rows):
        extreme = [(click_rows[name] > 10 * count.largest).sum() for name, count in clicks.COUNTS.items()]
        assert 1 <= sum(extreme) <= 25

    def test_one_row_in_a_thousand_is_repeated(self, click_rows):
        keys = click_rows.hash_rows()
        assert share(keys == keys.shift()) == pytest.approx(0.001, abs=0.0007)


class TestTrips:
    def test_a_trip_is_billed_as_the_sum_of_its_amounts(self, trip_rows):
        parts = ["fare_amount", "extra", "mta_tax", "tip_amount", "tolls_amount", "improvement_surcharge"]
        reported = trip_rows.drop_nulls()
        total = reported.select(pl.sum_horizontal(*parts, "congestion_surcharge")).to_series()
        np.testing.assert_allclose(reported["total_amount"], total, atol=0.005)

    def test_jfk_costs_52_dollars(self, trip_rows):
        jfk = trip_rows.filter(pl.col("RatecodeID") == 2)
        assert set(jfk["fare_amount"].abs()) == {52.0}
        assert ((jfk["PULocationID"] == 132) | (jfk["DOLocationID"] == 132)).all()

    def test_the_meter_counts_half_dollars(self, trip_rows):
        assert (trip_rows["fare_amount"] * 2 % 1 == 0).all()

    def test_zones_are_numbered_and_some_are_popular(self, trip_rows):
        assert trip_rows.select(pl.col("PULocationID", "DOLocationID").is_between(1, 265).all()).row(0) == (True, True)
        assert trip_rows["PULocationID"].n_unique() > 200
        assert trip_rows["PULocationID"].value_counts(sort=True)["count"].head(10).sum() > 0.3 * trip_rows.height

    def test_evenings_are_busy_and_weekends_late(self, trip_rows):
        pickup = trip_rows["tpep_pickup_datetime"]
        hour, weekend = pickup.dt.hour(), pickup.dt.weekday() > 5
        assert (hour == 18).sum() > 3 * (hour == 4).sum()
        assert share((hour == 1).filter(weekend)) > 1.5 * share((hour == 1).filter(~weekend))

    def test_only_cards_tip(self, trip_rows):
        tips = trip_rows.filter(pl.col("fare_amount") > 0).group_by("payment_type").agg(pl.col("tip_amount").mean())
        assert set(tips.filter(pl.col("tip_amount") > 0)["payment_type"]) <= {0, 1}

    def test_unreported_fields_are_null_together(self, trip_rows):
        fields = ["passenger_count", "RatecodeID", "store_and_fwd_flag", "congestion_surcharge"]
        missing = trip_rows.select(pl.col(fields).is_null())
        assert missing.sum_horizontal().is_in([0, 4]).all()
        assert (missing["RatecodeID"] == (trip_rows["payment_type"] == 0)).all()
        assert trip_rows.drop(fields).null_count().sum_horizontal().item() == 0
        assert share(missing["RatecodeID"]) == pytest.approx(0.01, abs=0.0025)

    def test_a_few_rows_are_wrong(self, trip_rows):
        pickup = pl.col("tpep_pickup_datetime")
        for wrong, least, most in (
            (pl.col("fare_amount") < 0, 0.002, 0.004),
            (pl.col("trip_distance") == 0, 0.004, 0.008),
            (pl.col("passenger_count") == 0, 0.012, 0.018),
            (pl.col("tpep_dropoff_datetime") < pickup, 0.0002, 0.001),
            (pickup < datetime(2019, 3, 1), 0.0002, 0.001),
        ):
            assert least < share(trip_rows.select(wrong).to_series()) < most, str(wrong)

    @pytest.mark.thorough
    def test_fares_of_another_seed_can_be_predicted(self):
        (train, fare), (test, truth) = (trip_features(frame(trips, 20_000, seed)) for seed in (0, 1))
        model = HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(train, fare)
        assert r2_score(truth, model.predict(test)) > 0.9


def trip_features(rows: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    pickup, dropoff = pl.col("tpep_pickup_datetime"), pl.col("tpep_dropoff_datetime")
    duration = (dropoff - pickup).dt.total_seconds().alias("duration")
    features = rows.select("trip_distance", "PULocationID", "DOLocationID", pickup.dt.hour(), duration)
    return features.to_numpy(), rows["fare_amount"].to_numpy()


@pytest.mark.thorough
def test_every_zone_of_a_trip_is_in_the_table_of_zones_and_the_middle_of_the_map_is_manhattan(tmp_path, trip_rows):
    table = pl.concat(pl.read_csv(path) for path in zones.write(tmp_path / "zones"))
    assert table["LocationID"].to_list() == list(range(1, 266))
    assert set(trip_rows["PULocationID"]) | set(trip_rows["DOLocationID"]) <= set(table["LocationID"])
    assert table.filter(pl.col("LocationID").is_in([1, 132, 138])).rows() == [
        (1, "EWR", "Newark Airport"), (132, "Queens", "JFK Airport"), (138, "Queens", "LaGuardia Airport"),
    ]  # fmt: skip
    charged = trip_rows.filter(pl.col("congestion_surcharge").abs() > 0).join(
        table.filter(pl.col("Borough") == "Manhattan"), left_on="PULocationID", right_on="LocationID", how="semi"
    )
    assert len(charged) > len(trip_rows) / 3
