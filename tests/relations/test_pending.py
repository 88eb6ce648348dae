"""Verbs read nothing; what they ask for is one query, and is run once."""

import pickle

import narwhals as nw
import pyarrow as pa
import pytest
from duck_tables import SALES, SHOPS, duck

import penstock as ps
from penstock import stages as st
from penstock.engines.local import query, results
from penstock.engines.local.query import PolarsQueries
from penstock.io.sources.memory import MemorySource


@pytest.fixture
def writes(monkeypatch):
    """The labels of the queries that have run."""
    labels: list[str] = []
    run = PolarsQueries.run

    def noted(queries, frame, staging, label):
        labels.append(label)
        return run(queries, frame, staging, label)

    monkeypatch.setattr(PolarsQueries, "run", noted)
    return labels


@pytest.fixture
def reads(monkeypatch):
    """The columns of each read of a table in memory, of which none is given to Polars as it is."""
    columns: list[tuple[str, ...]] = []
    monkeypatch.setattr(query, "scan_tables", lambda dataset: None)
    read = MemorySource.read

    def noted(source, piece, names, kind):
        columns.append(tuple(names))
        return read(source, piece, names, kind)

    monkeypatch.setattr(MemorySource, "read", noted)
    return columns


def chain(sales, shops):
    few = sales.filter(nw.col("sold") > 2).join(shops.select("shop", "town"), "shop")
    totals = few.filter(nw.col("town") != "nowhere").group_by("town").agg(total=nw.col("sold").sum(), n="len")
    return totals.filter(nw.col("n") > 1).select("town", "total").sort("total", "town", descending=True)


CHAIN = """
    SELECT town, sum(sales.sold)::BIGINT total FROM sales JOIN shops USING (shop)
    WHERE sales.sold > 2 AND town != 'nowhere' GROUP BY town HAVING count(*) > 1 ORDER BY total DESC, town DESC
"""


def test_a_chain_of_verbs_and_steps_is_one_query(sales, shops, writes, reads):
    made = chain(sales, shops)
    assert (made.schema, writes, reads) == (pa.schema({"town": pa.string(), "total": pa.int64()}), [], [])
    assert made.to_arrow().to_pylist() == duck(CHAIN)
    assert made.count() == 3
    assert writes == ["sort"]


def test_only_the_columns_that_a_chain_needs_are_read(sales, shops, reads):
    chain(sales, shops).count()
    assert {name for names in reads for name in names} == {"shop", "sold", "town"}


def test_what_two_are_made_of_is_run_once(sales, shops, writes):
    joined = sales.join(shops, "shop")
    towns = joined.group_by("town").agg(n="len")
    both = joined.join(towns, "town")
    assert both.count() == duck("SELECT count(*) n FROM sales JOIN shops USING (shop) WHERE town IS NOT NULL")[0]["n"]
    assert writes == ["join"]
    by_shop, by_town = joined.group_by("shop").agg(n="len"), joined.group_by("town").agg(n="len")
    assert (by_shop.count(), by_town.count()) == (3, 4)
    assert writes == ["join", "join", "group_by", "group_by"]


def test_a_diamond_within_a_query_is_read_once(sales, reads):
    counts = sales.select("shop").group_by("shop").agg(n="len")
    counts.join(counts.select("shop"), "shop").count()
    assert len(reads) == len(sales.fragments)


def test_steps_that_are_no_expressions_are_done_after_the_query(sales, shops, writes):
    def doubled(frame: nw.DataFrame) -> nw.DataFrame:
        return frame.with_columns(nw.col("sold") * 2)

    joined = sales.join(shops.select("shop", "town"), "shop")
    twice = joined.map_partitions(doubled, joined.schema).group_by().agg(sold="sum")
    assert twice.to_arrow().to_pylist() == duck(
        "SELECT 2 * sum(sales.sold)::BIGINT sold FROM sales JOIN shops USING (shop)"
    )
    assert writes == ["join", "group_by"]


def test_rows_that_a_function_makes_are_joined_in_their_order(local, shops):
    def reversed_rows(frame: nw.DataFrame) -> nw.DataFrame:
        return frame.with_columns(nw.col("x") + 1)

    data = local.from_arrow(pa.table({"x": list(range(20))}), fragment_bytes=40)
    made = data.map_partitions(reversed_rows, data.schema).join(shops.select("shop"), how="cross").to_arrow()
    assert made["x"].to_pylist() == [x + 1 for x in range(20) for _ in range(SHOPS.num_rows)]


def test_a_query_that_failed_is_tried_again(sales, shops, monkeypatch):
    joined = sales.join(shops, "shop")
    with monkeypatch.context() as broken:
        broken.setattr(query, "collect", lambda *_: 1 / 0)
        with pytest.raises(Exception, match="ZeroDivisionError"):
            joined.count()
    assert joined.count() == duck("SELECT count(*) n FROM sales JOIN shops USING (shop)")[0]["n"]


def test_a_pending_dataset_travels_as_its_rows(sales, shops):
    joined = sales.join(shops, "shop").select("row", "town")
    again = pickle.loads(pickle.dumps((joined.reader.source, joined.fragments)))
    assert again[0].schema.names == ["row", "shop", "sold", "price", "day", "town", "sold_right"]
    assert sum(fragment.rows for fragment in again[1]) == joined.count()


def test_a_model_is_fitted_and_scores_on_a_query(sales, shops):
    joined = sales.join(shops, "shop").filter(nw.col("price") >= 0)
    model = ps.Pipeline(st.Imputer("sold"), st.LinearRegression("price", features="sold")).fit(joined)
    assert model.transform(joined.sort("day")).count() == joined.count()


@pytest.mark.thorough
def test_files_go_into_a_query_as_polars_reads_them(local, tmp_path, reads, monkeypatch):
    monkeypatch.setattr(results, "TABLE_BYTES", 0)
    table = SALES.set_column(3, "price", pa.array([float("nan") if row == 3 else row / 4 for row in range(40)]))
    local.from_arrow(table, fragment_bytes=400).write_parquet(tmp_path / "sales")
    reads.clear()
    files = local.read_parquet(tmp_path / "sales")
    assert files.sort("price").to_arrow().slice(0, 2)["row"].to_pylist() == [3, 0]
    assert files.unique("shop", keep="last").to_arrow()["row"].to_pylist() == [
        row["row"] for row in duck("SELECT max(row) AS row FROM sales GROUP BY shop ORDER BY 1")
    ]
    assert reads == []


def test_a_small_result_is_a_table_and_a_large_one_files_of_the_same_rows(sales, shops, tmp_path, monkeypatch):
    def made(engine):
        joined = sales.join(shops, "shop", how="left").with_columns(at=nw.col("day").cast(nw.Datetime("us")))
        return engine.query(lambda frame: frame, joined), joined.filter(nw.col("row") >= 0).sort("price", "row")

    engine = ps.LocalEngine(device="cpu", staging_dir=tmp_path)
    tables = [data.to_arrow() for data in made(engine)]
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(results, "TABLE_BYTES", 500)
    staged = made(engine)
    assert [data.to_arrow() for data in staged] == tables
    assert [data.schema for data in staged] == [table.schema for table in tables]
    assert len(list(tmp_path.glob("penstock-*/rows/*.parquet"))) >= 1


def test_types_that_parquet_changes_do_not_depend_on_the_size_of_a_result(local, monkeypatch):
    def odd(frame):
        return frame.with_columns(
            kind=nw.col("town").cast(nw.Categorical()), both=nw.struct("shop", "town")
        ).to_native()

    data = local.from_arrow(SHOPS)
    schema = local.query(odd, data).schema
    monkeypatch.setattr(results, "TABLE_BYTES", 0)
    assert local.query(odd, data).schema == schema


@pytest.mark.thorough  # Polars cuts a result by its threads
def test_a_large_result_is_files_in_the_order_of_its_rows(local, tmp_path, monkeypatch):
    monkeypatch.setattr(results, "TABLE_BYTES", 2**16)
    rows = local.from_arrow(pa.table({"x": range(100_000)}), fragment_bytes=2**15).filter(nw.col("x") % 7 != 3)
    made = rows.join(local.from_arrow(pa.table({"y": [1, 2]})), how="cross").sort("x", "y", descending=[False, True])
    expected = [x for x in range(100_000) if x % 7 != 3 for _ in range(2)]
    assert made.to_arrow()["x"].to_pylist() == expected
    assert len({path for fragment in made.fragments for path in fragment.paths}) > 1
