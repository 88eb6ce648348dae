"""libsvm files as scikit-learn writes them, read as it reads them."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import penstock as ps
from penstock import stages as st
from penstock.errors import BadRowsError, ConfigError, CorruptFileError, SchemaDriftError


def matrix(table: pa.Table, width: int) -> sparse.csr_matrix:
    """Return the vectors of a table as a matrix."""
    lists = [table[name].combine_chunks() for name in ("features_indices", "features_values")]
    values, indices = lists[1].flatten().to_numpy(), lists[0].flatten().to_numpy()
    return sparse.csr_matrix((values, indices, lists[0].offsets.to_numpy()), shape=(table.num_rows, width))


@pytest.mark.thorough
@pytest.mark.parametrize(("zero_based", "with_queries"), [(False, True), (True, False)])
def test_a_file_of_scikit_learns_is_read_as_it_reads_it_however_it_is_cut(local, zero_based, with_queries, tmp_path):
    random = np.random.default_rng(7)
    features = sparse.random(500, 40, 0.1, format="csr", random_state=7)
    labels, queries = random.normal(size=500), np.sort(random.integers(0, 50, 500)) if with_queries else None
    path = str(tmp_path / "a.libsvm")
    dump_svmlight_file(features, labels, path, zero_based=zero_based, query_id=queries, comment="two\nlines")
    expected = load_svmlight_file(path, n_features=40, zero_based=zero_based, query_id=with_queries)
    data = local.read_libsvm(path, zero_based=zero_based, num_features=40, fragment_bytes=8_000)
    table = data.to_arrow()
    assert len(data.fragments) > 3
    assert (matrix(table, 40) != expected[0]).nnz == 0
    assert table["label"].to_pylist() == expected[1].tolist()
    assert ("qid" in table.column_names) == with_queries
    assert not with_queries or table["qid"].to_pylist() == queries.tolist()  # type: ignore[union-attr]


def test_a_trainer_takes_the_vectors(local, tmp_path):
    path = tmp_path / "a.libsvm"
    path.write_text("".join(f"{2 * row} 1:{row} 3:1\n" for row in range(1, 30)))
    pipeline = ps.Pipeline(st.LinearRegression("label", features=["features_indices", "features_values"]))
    data = local.read_libsvm(path)
    predictions = pipeline.fit(data).transform(data).to_arrow()["prediction"].to_pylist()
    assert predictions == pytest.approx([2.0 * row for row in range(1, 30)])


def test_comments_blank_lines_and_any_white_space_are_skipped(local, tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"# head\n\n1\t2:0.5   4:1e3 # tail 5:6\r\n  -1.5 \n\n+2 1:-0.25")
    assert local.read_libsvm(path).to_arrow().to_pydict() == {
        "label": [1.0, -1.5, 2.0],
        "features_indices": [[1, 3], [], [0]],
        "features_values": [[0.5, 1000.0], [], [-0.25]],
    }


def test_a_line_that_is_not_of_the_form_is_named_or_set_aside(local, tmp_path, subtests):
    for line, fault in (
        ("x 1:1", "a label that is no number"),
        ("1,2 1:1", "a label that is no number"),
        ("1 0:1", "the index 0, but the first one is 1 unless zero_based=True"),
        ("1 2:1 1:1", "indices that do not ascend"),
        ("1 2:1 2:1", "indices that do not ascend"),
        ("1 41:1", "an index beyond the 40 features"),
        ("1 1:nan", "a value that is NaN"),
        ("1 1:a", "a value that is no number"),
        ("1 1", "a feature that is not index:value"),
        ("1 1:2:3", "a feature that is not index:value"),
        ("1 -1:2", "an index that is no whole number"),
        ("1 qid:3 1:2", "an index that is no whole number"),
    ):
        with subtests.test(line=line):
            path = tmp_path / "a.libsvm"
            path.write_text("".join(f"1 1:{row}\n" for row in range(9)) + line + "\n2 40:1\n")
            with pytest.raises(BadRowsError, match=f"{path}, line 10 has {fault}"):
                local.read_libsvm(path, num_features=40)
            data = local.read_libsvm(path, num_features=40, max_bad_records=1)
            assert data.to_arrow()["label"].to_pylist() == [1.0] * 9 + [2.0]


def test_a_line_without_the_query_that_the_first_has_is_bad_and_so_are_files_that_disagree(local, tmp_path):
    (tmp_path / "a.libsvm").write_text("1 qid:1 1:1\n")
    (tmp_path / "b.libsvm").write_text("1 1:1\n")
    with pytest.raises(SchemaDriftError, match=r"column 'qid' of .*a\.libsvm is not in .*b\.libsvm"):
        local.read_libsvm(str(tmp_path / "*.libsvm"))
    (tmp_path / "c.libsvm").write_text("1 qid:1 1:1\n1 1:1\n")
    with pytest.raises(BadRowsError, match="line 2 has no qid, which the first line of the file has"):
        local.read_libsvm(tmp_path / "c.libsvm")


def test_it_is_only_read_and_options_are_checked(local, tmp_path):
    with pytest.raises(ConfigError, match="libsvm is only read, not written"):
        local.from_arrow(pa.table({"x": [1]})).write(tmp_path / "out", format="libsvm")
    with pytest.raises(ConfigError, match="num_features is 0, expected 1 or more"):
        local.read_libsvm(tmp_path / "a.libsvm", num_features=0)
    (tmp_path / "a.libsvm").write_bytes(b"PAR1\x00\x00\x00")
    with pytest.raises(CorruptFileError, match="not a file of libsvm lines"):
        local.read_libsvm(tmp_path / "a.libsvm")
