"""Dense vectors among the columns of numbers of stages: lists of one length stand for their elements."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.frames import from_arrow
from penstock.frames.elements import elements
from penstock.testing.compare import demand_equal

SIZE = 5
NAMES = [f"v_{place}" for place in range(SIZE)]
OUTPUTS = ["prediction"]


def numbers(rows=400, seed=0):
    drawn = np.random.default_rng(seed)
    groups = drawn.integers(0, 3, rows)
    return drawn.normal(size=(rows, SIZE)) * np.arange(1, SIZE + 1) + 4.0 * groups[:, None]


def label(values):
    return (values.sum(axis=1) > np.median(values.sum(axis=1))).astype(np.int64)


def vectors(values, kind=None):
    return pa.array(values.tolist(), pa.list_(kind or pa.float64()))


VALUES = numbers()
TABLE = pa.table({"x": VALUES[:, 0] ** 2, "v": vectors(VALUES), "y": label(VALUES)})
COLUMNS = pa.table({"x": TABLE["x"], **dict(zip(NAMES, VALUES.T, strict=True)), "y": TABLE["y"]})


def read(engine, folder, table=TABLE, parts=3):
    folder.mkdir(parents=True, exist_ok=True)
    rows = table.num_rows // parts
    for part in range(parts):
        pq.write_table(table.slice(part * rows, rows), folder / f"{part}.parquet")
    return engine.read_parquet(f"{folder}/*.parquet", fragment_bytes=400)


def fit(engine, stage, table):
    return ps.Pipeline(stage).fit(engine.from_arrow(table))


def transformed(model, engine, table, *columns):
    return model.transform(engine.from_arrow(table)).select(*columns).to_arrow()


# What every stage does with vectors is in the conformance suite; here is what it does not look at.


def test_engines_and_ranks_agree(distributed_engine, local, tmp_path, subtests):
    there, here = read(distributed_engine, tmp_path / "there"), read(local, tmp_path / "here")
    for stage in (st.KMeans("v", k=3), st.LogisticRegression("y", features=["x", "v"]), st.PCA(["v", "x"], 2)):
        with subtests.test(stage=stage):
            expected = ps.Pipeline(stage).fit(here)
            model = ps.Pipeline(stage).fit(there, options=ps.SpmdOptions(world_size=2))
            assert model.digest == expected.digest
            made = list(model.stages[0].outputs())
            found = model.transform(there).select(*made).to_arrow()
            assert found == transformed(expected, local, TABLE.slice(0, 399), *made)


def test_trees_of_vectors_are_those_of_their_elements(local):
    options = {"num_boost_round": 8, "contributions": True}
    of_vector = fit(local, st.XGBoostClassifier("y", features=["x", "v"], **options), TABLE)
    of_columns = fit(local, st.XGBoostClassifier("y", features=["x", *NAMES], **options), COLUMNS)
    made = ["probability", "contributions"]
    found, expected = transformed(of_vector, local, TABLE, *made), transformed(of_columns, local, COLUMNS, *made)
    demand_equal(found, expected, "made", rtol=1e-5 if local.kind == "gpu" else 0.0)  # sums of a GPU are in any order
    assert of_vector.importances() == of_columns.importances()


@pytest.mark.cpu("trees of a GPU are other ones than those that XGBoost grows here")
@pytest.mark.thorough
def test_trees_of_parts_are_those_of_one_matrix(local, tmp_path):
    import xgboost

    weight = np.linspace(0.1, 3.0, len(VALUES))
    data = read(local, tmp_path, TABLE.append_column("w", pa.array(weight)), parts=8)
    model = ps.Pipeline(st.XGBoostRegressor("y", features="v", weight="w", num_boost_round=5, max_bin=16)).fit(data)
    matrix = xgboost.QuantileDMatrix(VALUES.astype(np.float32), TABLE["y"].to_numpy(), weight=weight, max_bin=16)
    expected = xgboost.train({"seed_per_iteration": True, "max_bin": 16}, matrix, 5).predict(matrix)
    assert model.transform(data).select("prediction").to_arrow()["prediction"].to_numpy().tolist() == expected.tolist()


def test_coefficients_name_the_elements(local):
    table = fit(local, st.LogisticRegression("y", features=["x", "v"]), TABLE).coefficients()
    assert table["feature"].to_pylist()[: SIZE + 1] == ["x", *NAMES]


def test_vectors_stand_beside_sparse_ones(local):
    words = pa.array([["a", "b"][: 1 + row % 2] for row in range(TABLE.num_rows)])
    table, columns = (each.append_column("words", words) for each in (TABLE, COLUMNS))

    def pipeline(*features):
        hashed = st.HashingTF("words", num_features=8, output_columns=["tf"])
        trees = st.XGBoostRegressor("y", features=[*features, "tf_indices", "tf_values"], num_boost_round=5)
        return ps.Pipeline(hashed, trees)

    of_vector = pipeline("v").fit(local.from_arrow(table))
    of_columns = pipeline(*NAMES).fit(local.from_arrow(columns))
    assert transformed(of_vector, local, table, *OUTPUTS) == transformed(of_columns, local, columns, *OUTPUTS)


def test_elements_keep_their_type(local, subtests):
    for kind in [pa.float32(), pa.int16(), pa.uint64(), pa.bool_()]:
        with subtests.test(kind=kind):
            values = (np.abs(VALUES).astype(int) % 2).astype(bool) if kind == pa.bool_() else np.abs(VALUES).astype(int)
            frame = elements(from_arrow(pa.table({"v": vectors(values, kind)})), "v", SIZE)
            assert frame.to_arrow().schema.types == [kind] * SIZE
            np.testing.assert_array_equal(frame.to_numpy(), values)


def test_what_is_missing_is_null_in_the_elements(subtests):
    for kind in [pa.float32(), pa.int64(), pa.bool_()]:
        with subtests.test(kind=kind):
            lists = pa.array([[1, 0], None, [None, 1]]).cast(pa.list_(kind))
            frame = elements(from_arrow(pa.table({"v": lists})), "v", 2)
            assert frame.rows() == [(1, 0), (None, None), (None, 1)]


def test_a_missing_vector_is_missing_to_trees_and_unscored_by_others(local):
    table = TABLE.set_column(1, "v", pa.array([None, *vectors(VALUES)[1:].to_pylist()], pa.list_(pa.float64())))
    columns = COLUMNS
    for name in NAMES:
        column = pa.array([None, *COLUMNS[name].to_pylist()[1:]])
        columns = columns.set_column(columns.schema.get_field_index(name), name, column)
    trees = [st.XGBoostRegressor("y", features=each, num_boost_round=4) for each in ("v", NAMES)]
    scored = [
        transformed(fit(local, stage, of), local, of, *OUTPUTS)
        for stage, of in zip(trees, (table, columns), strict=True)
    ]
    assert scored[0] == scored[1]
    clusters = transformed(fit(local, st.KMeans("v", k=2), TABLE), local, table, *OUTPUTS)
    assert clusters["prediction"].null_count == 1


def test_a_part_without_any_vector_does_not_matter_where_what_is_missing_does_not(local, tmp_path):
    empty = TABLE.set_column(1, "v", pa.nulls(TABLE.num_rows, pa.list_(pa.float64())))
    both = pa.concat_tables([empty, TABLE])
    data = read(local, tmp_path, both, parts=2)
    ps.Pipeline(st.XGBoostRegressor("y", features="v", num_boost_round=2)).fit(data)
    with pytest.raises(DataValueError, match=r"column 'v' has 400 values that are null"):
        ps.Pipeline(st.KMeans("v")).fit(data)


def test_vectors_of_several_lengths_are_refused_with_file_and_row(local, tmp_path):
    lists = [*VALUES.tolist()]
    lists[307] = [1.0, 2.0]
    data = read(local, tmp_path, TABLE.set_column(1, "v", pa.array(lists)), parts=2)
    for stage in (st.KMeans("v"), st.XGBoostRegressor("y", features="v"), st.PCA("v", 2)):
        with pytest.raises(DataValueError, match=r"'v' has 1 lists that are not of length 5") as caught:
            ps.Pipeline(stage).fit(data)
        assert (caught.value.path.endswith("1.parquet"), caught.value.row) == (True, 107)


def test_scoring_refuses_vectors_of_another_length(local):
    model = fit(local, st.KMeans("v"), TABLE)
    other = pa.table({"v": [[1.0] * SIZE, [1.0, 2.0]]})
    with pytest.raises(DataValueError, match="1 lists that are not of length 5") as caught:
        model.transform(local.from_arrow(other)).to_arrow()
    assert caught.value.row == 1
    with pytest.raises(DataValueError, match="1 lists that are not of length 5"):
        model.predict({"v": [1.0, 2.0]})


def test_a_bad_element_is_refused_with_file_and_row(local, tmp_path):
    values = VALUES.copy()
    values[250, 3] = np.inf
    data = read(local, tmp_path, TABLE.set_column(1, "v", vectors(values)), parts=2)
    for stage in (st.KMeans("v"), st.PCA("v", 2), st.XGBoostRegressor("y", features="v")):
        with pytest.raises(DataValueError, match="'v_3'") as caught:
            ps.Pipeline(stage).fit(data)
        assert (caught.value.column, caught.value.row) == ("v", 50)
        assert caught.value.path.endswith("1.parquet")


def test_scoring_refuses_an_infinite_float32(local, subtests):
    model = fit(local, st.KMeans("v"), TABLE)
    values = VALUES.astype(np.float32)
    for bad in [np.inf, -np.inf]:
        with subtests.test(bad=bad):
            values[7, 3] = bad
            with pytest.raises(DataValueError, match="column 'v_3' has 1 values that are infinite") as caught:
                transformed(model, local, pa.table({"v": vectors(values, pa.float32())}), "prediction")
            assert (caught.value.column, caught.value.row) == ("v", 7)


def test_there_is_a_vector_at_least(local):
    none = pa.nulls(3, pa.list_(pa.float64()))
    for lists in (none, pa.array([[], []], pa.list_(pa.float64()))):
        with pytest.raises(DataValueError, match="has no vector with an element"):
            fit(local, st.KMeans("v"), pa.table({"v": lists}))


def test_a_column_has_not_the_name_of_an_element(local):
    with pytest.raises(ConfigError, match="element is called the same"):
        fit(local, st.KMeans(["v", "v_0"]), COLUMNS.append_column("v", TABLE["v"]))


def test_other_columns_may_have_the_names_of_elements(local):
    beside = TABLE.append_column("v_0", pa.array(["a"] * TABLE.num_rows))
    stage = st.KMeans("v", k=3)
    assert fit(local, stage, beside).fitted[0]["cost"] == fit(local, stage, TABLE).fitted[0]["cost"]


def test_a_weight_is_no_vector(local):
    with pytest.raises(SchemaError, match="'v' is list"):
        fit(local, st.KMeans("x", weight="v"), TABLE)


def test_more_components_than_elements_are_refused_at_fit(local):
    with pytest.raises(ConfigError, match="at most 5"):
        fit(local, st.PCA("v", 6), TABLE)


@pytest.mark.thorough
def test_a_search_tells_vectors_of_several_lengths_apart(local):
    table = TABLE.append_column("w", vectors(VALUES[:, :2]))
    evaluator = st.BinaryClassificationEvaluator(label="y")
    pipeline = ps.Pipeline(("model", st.LogisticRegression("y", features="v")))
    spaces = [{"model.features": [(name,) for name in names]} for names in ("vw", "v", "w")]
    both, *alone = [
        ps.CrossValidator(pipeline, space, evaluator, folds=2).fit(local.from_arrow(table)) for space in spaces
    ]
    assert both.best_score == max(found.best_score for found in alone)
    assert [both.outcomes[number].metrics for number in (0, 1)] == [found.outcomes[0].metrics for found in alone]


@pytest.mark.thorough
def test_a_search_tells_an_element_from_a_column_of_its_name(local):
    other = numbers(seed=1) - 5.0
    table = TABLE.select(["v"])
    for name, column in zip(NAMES, other.T, strict=True):
        table = table.append_column(name, pa.array(column))
    evaluator = st.ClusteringEvaluator(features=tuple(NAMES))
    pipeline = ps.Pipeline(("model", st.KMeans("v", k=3, distance_measure="cosine")))
    spaces = [{"model.features": each} for each in ([("v",), tuple(NAMES)], [("v",)], [tuple(NAMES)])]
    both, *alone = [
        ps.CrossValidator(pipeline, space, evaluator, folds=2).fit(local.from_arrow(table)) for space in spaces
    ]
    assert [both.outcomes[number].metrics for number in (0, 1)] == [found.outcomes[0].metrics for found in alone]


def test_a_step_over_vectors_takes_no_lazy_frame(local):
    steps = ps.Pipeline(st.StandardScaler("v"), st.StandardScaler("x")).fit(local.from_arrow(TABLE)).steps
    assert [step.is_lazy for step in steps] == [False, True]


def test_a_vector_is_read_in_the_scan_that_finds_its_length(local, tmp_path):
    model = ps.Pipeline(st.StandardScaler("v"), st.PCA("v", 2)).fit(read(local, tmp_path))
    assert model.report.scans == 2  # as of columns: one for each of the two


@pytest.mark.thorough
def test_onnx_has_an_input_for_a_vector(local, subtests):
    import onnxruntime as ort

    for stages in [
        [st.StandardScaler("v", with_mean=True), st.LogisticRegression("y", features=["x", "v"])],
        [st.KMeans("v", k=3)],
        [st.PCA(["v", "x"], 2)],
        [st.XGBoostClassifier("y", features=["v", "x"], num_boost_round=5)],
        [st.VectorAssembler(["x", "v"]), st.ElementwiseProduct("features", scaling_vec=range(SIZE + 1))],
    ]:
        with subtests.test(stages=stages):
            model = ps.Pipeline(*stages).fit(local.from_arrow(TABLE))
            names = list(model.output_columns)
            graph = model.to_onnx(columns=names)
            inputs = {each.name: [n.dim_value for n in each.type.tensor_type.shape.dim] for each in graph.graph.input}
            assert inputs["v"] == [0, SIZE]
            session = ort.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
            given = {"v": VALUES, "x": TABLE["x"].to_numpy()[:, None]}
            outputs = session.run(None, {name: given[name] for name in inputs})
            scored = transformed(model, local, TABLE, *names)
            for name, found in zip(names, outputs, strict=True):
                known = np.array(scored[name].to_pylist())
                np.testing.assert_allclose(found.reshape(known.shape), known, rtol=1e-6, atol=1e-6, err_msg=name)


def test_an_assembler_takes_vectors_and_a_slicer_gives_them_back(local):
    parts = ps.Pipeline(
        st.VectorAssembler(["v", "x"], output="all"), st.VectorSlicer("all", indices=[SIZE, 1, 0], output="some")
    ).fit(local.from_arrow(TABLE))
    found = transformed(parts, local, TABLE, "all", "some")
    expected = np.column_stack([VALUES, TABLE["x"].to_numpy()])
    np.testing.assert_array_equal(np.array(found["all"].to_pylist()), expected)
    np.testing.assert_array_equal(np.array(found["some"].to_pylist()), expected[:, [SIZE, 1, 0]])
    row = {"v": TABLE["v"][0].as_py(), "x": TABLE["x"][0].as_py()}
    assert parts.predict(row, columns=["all", "some"]) == found.slice(0, 1).to_pylist()[0]


def test_a_slicer_refuses_an_index_that_no_element_has(local):
    with pytest.raises(ConfigError, match="have 5, and there are 5 elements"):
        fit(local, st.VectorSlicer("v", indices=[5]), TABLE)


def test_a_slicer_takes_different_places(subtests):
    for indices in [[], [-1], [1, 1], [0.5], "0"]:
        with subtests.test(indices=indices), pytest.raises(ConfigError, match="indices of VectorSlicer"):
            st.VectorSlicer("v", indices=indices)


def test_a_product_has_a_number_for_each_element(local):
    model = fit(local, st.ElementwiseProduct("v", scaling_vec=range(SIZE)), TABLE)
    found = np.array(transformed(model, local, TABLE, "v")["v"].to_pylist())
    np.testing.assert_array_equal(found, VALUES * np.arange(SIZE))
    for columns, table in (("v", TABLE), (NAMES, COLUMNS)):
        with pytest.raises(ConfigError, match="has 2 numbers for 5"):
            fit(local, st.ElementwiseProduct(columns, scaling_vec=(1, 2)), table)
