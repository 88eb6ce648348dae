"""The stand-in for cuDF: held to the names of the real one, and like it where that differs from Polars and Arrow."""

import ast
import sys
from pathlib import Path
from typing import Any

import cudf_stand_in
import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cudf_stand_in import dtypes, spec
from cudf_stand_in.arrays import ndarray
from cudf_stand_in.frame import DataFrame
from cudf_stand_in.series import Series
from cudf_stand_in.spec import Checked

pytestmark = [pytest.mark.stand_in, pytest.mark.cpu("cuDF is a stand-in")]


@pytest.fixture
def cudf(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The stand-in where cuDF is imported."""
    for name, module in cudf_stand_in.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    return sys.modules["cudf"]


def frame_of(**columns: Any) -> nw.DataFrame:
    return nw.from_native(DataFrame.from_arrow(pa.table(columns)), eager_only=True)


def values(found: Any) -> list[Any]:
    return found.to_arrow().to_pylist()


def test_nothing_imports_the_real_library() -> None:
    texts = [path.read_text(encoding="utf-8") for path in Path(cudf_stand_in.__file__).parent.glob("*.py")]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    assert not {name.split(".")[0] for name in imported if name} & {"cudf", "cupy", "cupyx", "rmm"}


def test_a_name_that_cudf_lacks_may_not_be_written() -> None:
    with pytest.raises(AttributeError, match="has no 'sums'"):

        class Wrong(Checked, owner="cudf.Series"):
            def sums(self) -> None: ...


def test_a_property_may_not_stand_for_a_method() -> None:
    with pytest.raises(TypeError, match=r"sum of RAPIDS .* is a method"):

        class Wrong(Checked, owner="cudf.Series"):
            @property
            def sum(self) -> None: ...


def test_a_wrong_name_keyword_or_number_of_arguments_is_refused() -> None:
    column = Series([1, 2])
    with pytest.raises(AttributeError, match=rf"cudf.Series of RAPIDS {spec.VERSION} has no 'fill_null'"):
        column.fill_null(0)
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'wth'"):
        column.fillna(0, wth=0)
    with pytest.raises(TypeError, match="missing a required argument: 'cond'"):
        column.where()


def test_what_cudf_has_and_the_stand_in_lacks_says_so() -> None:
    with pytest.raises(NotImplementedError, match="has 'kurtosis', which its stand-in lacks"):
        Series([1]).kurtosis()
    with pytest.raises(NotImplementedError, match=r"fillna has \['limit'\], which its stand-in lacks"):
        Series([1]).fillna(0, limit=1)


def test_a_type_that_is_none_of_cudf_is_refused() -> None:
    for dtype in ("date32[pyarrow]", "float16", "int7"):
        with pytest.raises(TypeError):
            Series([1]).astype(dtype)


def test_a_column_of_a_type_that_cudf_lacks_is_refused() -> None:
    for kind in (pa.binary(), pa.time64("us"), pa.decimal256(50, 1), pa.float16()):
        with pytest.raises(TypeError, match="Unsupported type"):
            Series.from_arrow(pa.nulls(1, kind))


def test_types_are_those_that_cudf_says() -> None:
    assert Series([1]).dtype == np.dtype("int64")
    assert Series(["a"]).dtype == pd.StringDtype(na_value=np.nan)
    assert Series.from_arrow(pa.array([[1]], pa.list_(pa.int8()))).dtype == dtypes.ListDtype("int8")
    assert Series.from_arrow(pa.array([0], pa.date32())).dtype == np.dtype("datetime64[s]")
    assert Series.from_arrow(pa.nulls(1)).dtype == pd.StringDtype(na_value=np.nan)


def test_floor_of_a_column_with_a_null_is_refused_as_by_cupy(cudf: Any) -> None:
    assert frame_of(x=[1.5]).select(nw.col("x").floor())["x"].to_list() == [1.0]
    with pytest.raises(ValueError, match="CuPy currently does not support masked arrays"):
        frame_of(x=[1.5, None]).select(nw.col("x").floor())


def test_null_or_true_and_null_and_false_are_null(cudf: Any) -> None:
    found = frame_of(a=[None, None, True], b=[True, False, False])
    assert (found["a"] | found["b"]).to_list() == [None, None, True]
    assert (found["a"] & found["b"]).to_list() == [None, None, False]


def test_a_text_that_is_null_everywhere_is_unequal_to_all() -> None:
    column = Series([None, None], dtype=str)
    assert values(column != "x") == [True, True]
    assert values(column == "x") == values(column < "x") == values(column == 1) == [False, False]
    assert values(Series([None, "y"]) != "x") == [None, True]


def test_small_integers_are_divided_in_float32() -> None:
    for kind, quotient in (
        ("int8", "float32"),
        ("int32", "float32"),
        ("bool", "float32"),
        ("uint32", "float64"),
        ("int64", "float64"),
    ):
        column = Series([1, 0], dtype=kind)
        assert (column / 3).dtype == np.dtype(quotient)
        assert (column / Series([3, 3], dtype="int8")).dtype == np.dtype(quotient)


def test_integers_divided_by_zero_are_floating() -> None:
    column = Series([5, None, -5])
    assert values(column // 2) == [2, None, -3]
    assert values(column % 3) == [2, None, 1]
    assert values(column // 0) == [np.inf, None, -np.inf]


def test_beside_booleans_a_number_loses_its_fraction() -> None:
    assert values(Series([True, False]) + 1) == [2, 1]
    assert values(Series([True, False]) * 1.5) == [1, 0]


def test_reductions_are_numpys_scalars_also_of_64_bits() -> None:
    most = Series([2**64 - 1, None], dtype="uint64")
    assert most.max() == 2**64 - 1
    assert [type(found) for found in (most.max(), most.sum(), most.mean())] == [np.uint64, np.uint64, np.float64]
    assert type(Series([1], dtype="int8").sum()) is np.int64
    assert type(Series([1], dtype="float32").mean()) is np.float32
    assert np.isnan(Series([None], dtype="int8").min())


def test_texts_have_a_sum_and_no_mean() -> None:
    assert Series(["a", None, "b"]).sum() == "ab"
    with pytest.raises(TypeError, match=r"Series\.mean does not support StringColumn"):
        Series(["a"]).mean()


def test_nan_beside_a_column_is_a_number_and_in_a_column_null() -> None:
    column = Series([1.0, np.nan])
    assert values(column.isna()) == [False, True]
    assert values(column == np.nan) == [False, None]
    assert values(column.where(Series([False, True]), np.nan))[1] is None


def test_a_column_does_not_leave_the_device_unasked() -> None:
    for convert in (np.asarray, pa.array, list, bool):
        with pytest.raises((TypeError, ValueError)):
            convert(Series([1, 2]))


def test_numpy_and_cupy_are_not_mixed(cudf: Any) -> None:
    import cupy

    there = cupy.asarray(np.array([1.0, 2.0]))
    with pytest.raises(TypeError, match="Implicit conversion to a NumPy array is not allowed"):
        np.asarray(there)
    for mixed in (lambda: there + np.ones(2), lambda: np.ones(2) + there, lambda: cupy.stack([there, np.ones(2)])):
        with pytest.raises(TypeError, match="Unsupported type"):
            mixed()
    assert isinstance(np.stack([there, there]), ndarray)
    assert (there * 2 + np.float64(1)).get().tolist() == [3.0, 5.0]
    assert there[np.array([False, True])].tolist() == [2.0]
    assert isinstance(there.sum(), ndarray)


def test_cupy_lacks_what_numpy_has(cudf: Any) -> None:
    import cupy

    with pytest.raises(AttributeError, match=r"cupy of RAPIDS .* has no 'spacing'"):
        cupy.spacing(1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'like'"):
        cupy.asarray([1], like=None)


def test_numbers_with_nulls_are_floating_for_cupy_and_filled_only_with_what_fits() -> None:
    column = Series([1, None], dtype="int8")
    np.testing.assert_array_equal(column.to_cupy().get(), [1.0, np.nan])
    with pytest.raises(TypeError, match="Cannot safely cast"):
        column.to_cupy(na_value=np.nan)
    with pytest.raises(ValueError, match="must have no nulls"):
        Series([True, None]).to_cupy()


def test_a_column_of_another_type_is_not_mixed_in() -> None:
    with pytest.raises(TypeError, match="does not support mixed types"):
        Series([1, 2]).where(Series([True, False]), Series([None, None], dtype=str))
    assert values(Series([1, 2], dtype="int8").where(Series([True, None]), 3)) == [1, 3]


def test_casts_that_cudf_lacks_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="Casting list columns"):
        Series.from_arrow(pa.array([[1]])).astype("int64")
    with pytest.raises(ValueError, match="Could not convert strings"):
        Series(["1", "x"]).astype("int64")
    assert values(Series([True, None]).astype(str)) == ["True", None]
    assert values(Series([300, None]).astype("int8")) == [44, None]


def test_lists_and_texts_inside_that_are_all_null_lose_their_type() -> None:
    def exported(kind: pa.DataType, *lists: Any) -> pa.DataType:
        return Series.from_arrow(pa.array(lists, kind)).to_arrow().type

    assert exported(pa.list_(pa.string()), [None], []) == pa.list_(pa.null())
    assert exported(pa.list_(pa.int8()), None, None) == pa.null()
    assert exported(pa.list_(pa.string()), ["a"]) == pa.list_(pa.string())
    assert exported(pa.string(), None) == pa.string()


def test_codes_are_small_and_null_for_null_and_for_what_is_no_category(cudf: Any) -> None:
    for count, kind in ((2, "int8"), (127, "int16")):
        categories = cudf.Series([str(number) for number in range(count)])
        coded = cudf.Series(["1", None, "x"]).astype(cudf.CategoricalDtype(categories=categories))
        assert (str(coded.dtype), coded.cat.codes.dtype) == ("category", np.dtype(kind))
        assert values(coded.cat.codes) == [1, None, None]


def test_rows_of_two_indexes_are_not_compared() -> None:
    one, other = Series([1, 2]), Series([1, 2, 3])[1:]
    with pytest.raises(ValueError, match="identically-labeled"):
        _ = one == other
    with pytest.raises(NotImplementedError, match="two indexes"):
        one + other
