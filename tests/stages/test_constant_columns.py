"""A column of one value is named in the fit report by the stages that make nothing of it, and in the saved model."""

import json

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset

COLUMNS = ("same", "varies")
SCALERS = (st.StandardScaler, st.MinMaxScaler, st.RobustScaler, st.QuantileTransformer, st.PowerTransformer)
LINEAR = (st.LinearRegression, st.LinearRegressionCV, st.GeneralizedLinearRegression, st.LogisticRegression)
STAGES = [*(each(COLUMNS) for each in SCALERS), *(each("label", features=COLUMNS) for each in LINEAR)]


@pytest.fixture
def data(local) -> Dataset:
    rows = np.arange(60.0)
    return local.from_arrow(pa.table({"same": np.full(60, 0.1), "varies": rows, "label": rows % 2}))


def test_a_constant_column_is_noted_and_no_other(data: Dataset, subtests: pytest.Subtests) -> None:
    for stage in STAGES:
        with subtests.test(stage=stage):
            (note,) = ps.Pipeline(stage).fit(data).report.notes
            assert note.startswith(f"{stage.title}: 1 constant column(s), ")
            assert note.endswith(": same")


def test_a_scaler_to_which_it_makes_no_difference_says_nothing(data: Dataset, subtests: pytest.Subtests) -> None:
    for options in [{"with_std": False}, {"columns": "varies"}]:
        with subtests.test(options=options):
            assert ps.Pipeline(st.StandardScaler(**{"columns": COLUMNS, **options})).fit(data).report.notes == []


def test_the_notes_are_in_the_saved_model(data: Dataset, tmp_path) -> None:
    model = ps.Pipeline(st.MinMaxScaler(COLUMNS)).fit(data)
    model.save(tmp_path / "model")
    assert json.loads((tmp_path / "model" / "report.json").read_text())["fit"]["notes"] == model.report.notes
