"""A row has one number, whatever files and fragments it lies in, and what is done by number is the same everywhere."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from penstock.dataset import Dataset
from penstock.errors import ConfigError
from penstock.io.fragments import Fragment, Piece, Sample, deal, kept_rows, pack, row_bytes, runs
from penstock.io.row_hashes import hash_rows

ROWS = 4000


@pytest.fixture
def numbers() -> pa.Table:
    return pa.table({"x": np.arange(ROWS)})


def rows_of(dataset: Dataset) -> list[int]:
    return dataset.to_arrow()["x"].to_pylist()


def test_pack_fills_fragments_to_the_target_and_numbers_them():
    pieces = [Piece("a", 0, 10), Piece("a", 10, 10), Piece("b", 0, 10), Piece("c", 0, 25), Piece("d", 0, 1)]
    fragments = pack(pieces, bytes_per_row=8, target=160)
    assert [fragment.rows for fragment in fragments] == [20, 10, 25, 1]
    assert [fragment.start for fragment in fragments] == [0, 20, 30, 55]
    assert [fragment.index for fragment in fragments] == [0, 1, 2, 3]


def test_pack_makes_as_few_fragments_as_fit_and_the_largest_as_small_as_it_can_be():
    for most, sizes in (
        (1500, [250] * 8), (10, [7, 1, 1, 9, 3, 3, 2, 8]), (10, [5, 0, 5, 1]), (10, [1, 1, 30, 1]), (20, [4] * 10),
    ):  # fmt: skip
        pieces = [Piece("a", 1000 * place, size) for place, size in enumerate(sizes)]
        fragments = pack(pieces, bytes_per_row=1, target=most)
        places = range(1, len(sizes))
        ways = [(0, *cut, len(sizes)) for count in range(len(sizes)) for cut in itertools.combinations(places, count)]
        largest = {way: max(sum(sizes[low:high]) for low, high in itertools.pairwise(way)) for way in ways}
        allowed = [way for way in ways if largest[way] <= max(most, *sizes)]
        fewest = min(map(len, allowed))
        assert len(fragments) == fewest - 1
        assert max(each.rows for each in fragments) == min(largest[way] for way in allowed if len(way) == fewest)


def test_pack_gives_files_the_same_fragments_whatever_comes_after_them():
    sizes = np.random.default_rng(0).integers(0, 40, 60).tolist()
    pieces = [Piece(str(place), 0, size) for place, size in enumerate(sizes)]
    whole = pack(pieces, bytes_per_row=1, target=30)
    for count in range(1, len(pieces)):
        assert pack(pieces[:count], bytes_per_row=1, target=30)[:-1] == whole[: len(pack(pieces[:count], 1, 30)) - 1]


def test_pack_cuts_a_large_file_as_if_it_were_alone():
    large = [Piece("large", 10 * place, 10) for place in range(7)]
    alone, beside = (pack(pieces, bytes_per_row=1, target=30) for pieces in (large, [Piece("s", 0, 1), *large]))
    assert [each.pieces for each in beside[1:]] == [each.pieces for each in alone]


def test_pack_fills_fragments_of_small_files_to_half_at_least():
    fragments = pack([Piece(str(place), 0, 4) for place in range(10)], bytes_per_row=1, target=20)
    assert [fragment.rows for fragment in fragments] == [12, 12, 12, 4]


def test_pack_joins_neighbours_of_one_file_and_nothing_else():
    pieces = [Piece("a", 0, 5), Piece("a", 5, 5), Piece("b", 0, 5), Piece("b", 6, 5)]
    (fragment,) = pack(pieces, bytes_per_row=1, target=100)
    assert [(piece.path, piece.first, piece.rows) for piece in fragment.pieces] == [
        ("a", 0, 10),
        ("b", 0, 5),
        ("b", 6, 5),
    ]
    ranges = [Piece("a", 0, 5, begin=0, end=50), Piece("a", 5, 5, begin=50, end=99)]  # of text are never joined
    assert pack(ranges, 1)[0].pieces == tuple(ranges)


@pytest.mark.thorough
def test_pack_takes_many_small_pieces_in_linear_time():
    (fragment,) = pack([Piece(str(number), 0, 1) for number in range(50_000)], bytes_per_row=1)
    assert fragment.rows == 50_000


def test_locate_gives_the_row_in_its_file():
    fragment = Fragment(3, 100, (Piece("a", 40, 10), Piece("b", 0, 5)))
    assert [fragment.locate(row) for row in (100, 109, 110, 114)] == [("a", 40), ("a", 49), ("b", 0), ("b", 4)]
    with pytest.raises(IndexError):
        fragment.locate(115)


def test_row_bytes_adds_up_widths():
    schema = pa.schema({"a": pa.int64(), "b": pa.float32(), "c": pa.bool_(), "s": pa.string()})
    assert row_bytes(schema) == 8 + 4 + 1 + 28


LONG = {
    "texts": [f"{row:04d}" * 250 for row in range(1000)],
    "texts of a dictionary": [f"{row % 7:04d}" * 250 for row in range(1000)],
    "lists of a dictionary": [[0.0] * 125] * 1000,
}


@pytest.mark.parametrize("name", LONG)
def test_long_values_make_small_fragments_wherever_they_come_from(local, tmp_path, name):
    rows = pa.table({"value": LONG[name]})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=100)
    csv.write_csv(pa.table({"value": LONG["texts"]}), tmp_path / "rows.csv")
    size = 300_000  # of some 1,000 bytes a row; were each 28, all would be one fragment
    read = {
        "Parquet": local.read_parquet(tmp_path / "rows.parquet", fragment_bytes=size),
        "CSV": local.read_csv(tmp_path / "rows.csv", fragment_bytes=size),
        "memory": local.from_arrow(rows, fragment_bytes=size),
    }
    assert {
        name: max(fragment.rows for fragment in data.fragments) <= 300 for name, data in read.items()
    } == dict.fromkeys(read, True)


def test_files_that_are_added_leave_the_fragments_of_others(local, tmp_path):
    fragments = []
    for place, length in enumerate((10, 1000, 20)):
        pq.write_table(pa.table({"text": ["x" * length] * 100}), tmp_path / f"{place}.parquet")
        fragments.append(local.read_parquet(f"{tmp_path}/*.parquet", fragment_bytes=2000).fragments)
    assert fragments[2][: len(fragments[0])] == fragments[0]
    assert fragments[2][: len(fragments[1])] == fragments[1]


def test_the_hash_is_splitmix64_of_each_row_by_itself():
    # The first five outputs for seed 1234567 that are widely used as a test of implementations.
    published = [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821,
    ]  # fmt: skip
    found = hash_rows(np.arange(5, dtype=np.uint64), seed=1234567)
    assert [int(value * 2**53) for value in found] == [value >> 11 for value in published]
    whole = hash_rows(np.arange(1000, dtype=np.uint64), seed=-5)
    assert np.array_equal(whole[700:710], hash_rows(np.arange(700, 710, dtype=np.uint64), seed=-5))


def test_kept_rows_are_those_of_every_sample():
    first, second = Sample(1, 0.0, 0.5), Sample(2, 0.25, 1.0)
    rows = np.arange(50, 150, dtype=np.uint64)
    kept = kept_rows(Fragment(0, 50, (Piece("a", 0, 100),)), (first, second))
    assert kept is not None
    assert np.array_equal(kept, first.mask(rows) & second.mask(rows))


def test_split_parts_are_disjoint_complete_and_in_order_and_have_about_their_shares(local, numbers):
    parts = [rows_of(part) for part in local.from_arrow(numbers).split([6, 3, 1], seed=3)]
    assert sorted(itertools.chain(*parts)) == list(range(ROWS))
    assert parts == [sorted(part) for part in parts]
    for part, share in zip(parts, (0.6, 0.3, 0.1), strict=True):
        deviation = (len(part) - ROWS * share) / (ROWS * share * (1 - share)) ** 0.5
        assert abs(deviation) < 4  # binomial: 4 standard deviations


@pytest.mark.thorough
def test_split_gives_the_same_rows_whatever_the_fragments_and_files(local, numbers, tmp_path):
    for number, start in enumerate(range(0, ROWS, 900)):
        pq.write_table(numbers.slice(start, 900), tmp_path / f"{number}.parquet", row_group_size=70 + number)
    datasets = [local.from_arrow(numbers, fragment_bytes=each) for each in (80, 4096, 2**28)]
    expected = np.flatnonzero(hash_rows(np.arange(ROWS, dtype=np.uint64), 9) < 0.3).tolist()
    for data in (*datasets, local.read_parquet(str(tmp_path / "*.parquet"), fragment_bytes=2000)):
        assert rows_of(data.split([0.3, 0.7], seed=9)[0]) == expected


def test_a_split_of_a_split_with_the_same_seed_is_independent_of_it(local, numbers):
    half = local.from_arrow(numbers).split([0.5, 0.5], seed=4)[0]
    quarter = half.split([0.5, 0.5], seed=4)[0].count()
    assert abs(quarter - half.count() / 2) < 4 * (half.count() / 4) ** 0.5


def test_weights_that_are_no_shares_are_refused(local, numbers):
    for weights in ([], [0.5, 0.0], [0.5, -1.0], [0.5, float("nan")], [float("inf"), 1.0]):
        with pytest.raises(ConfigError, match="expected a list of positive numbers, one for each part"):
            local.from_arrow(numbers).split(weights, seed=1)


def test_deal_gives_every_row_to_one_rank_in_even_runs():
    fragments = pack([Piece("a", 0, 50), Piece("b", 0, 3), Piece("c", 0, 47)], bytes_per_row=1, target=60)
    for size in (1, 2, 3, 7, 101):
        runs = deal(fragments, size)
        rows = [fragment.start + row for run in runs for fragment in run for row in range(fragment.rows)]
        lengths = [sum(fragment.rows for fragment in run) for run in runs]
        assert rows == list(range(100))
        assert len(lengths) == size
        assert max(lengths) - min(lengths) <= 1


def test_runs_begin_evenly_spread_and_go_over_the_ends_of_pieces():
    fragments = pack([Piece("a", 0, 50), Piece("b", 0, 70), Piece("c", 0, 80)], bytes_per_row=1, target=120)
    found = [[(each.path, each.first, each.rows) for f in run for each in f.pieces] for run in runs(fragments, 4, 20)]
    assert found == [[("a", 0, 20)], [("b", 0, 20)], [("b", 50, 20)], [("c", 30, 20)]]
    (across,) = runs(fragments, 1, 60)
    assert [(piece.path, piece.rows) for f in across for piece in f.pieces] == [("a", 50), ("b", 10)]


def test_runs_of_all_rows_have_each_once():
    whole = Fragment(0, 0, (Piece("a", 0, 103),))
    rows = [row for run in runs([whole], 4, 10**9) for f in run for row in range(f.start, f.start + f.rows)]
    assert len(rows) == len(set(rows)) == 4 * (103 // 4)


def test_ranges_of_text_are_never_cut():
    pieces = [Piece("a.csv", 10 * n, 10, begin=100 * n, end=100 * n + 100) for n in range(6)]
    fragments = pack(pieces, bytes_per_row=1, target=20)
    assert [[piece.first for f in run for piece in f.pieces] for run in runs(fragments, 8, 5)] == [[0], [20]]
    assert [fragment.pieces for run in deal(pack(pieces[:1], 1), 2) for fragment in run] == [(pieces[0],)]
