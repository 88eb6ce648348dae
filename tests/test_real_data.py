"""Real data, where it lies beside the checkout: fit, evaluate, save, load and score, and what is read of it."""

from pathlib import Path

import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import SchemaDriftError


def through(
    engine: Engine, pipeline: ps.Pipeline, data: Dataset, evaluator: object, folder: Path
) -> tuple[float, pd.DataFrame]:
    """Fit, evaluate, save, load and score; return the first metric on held-out rows, and these rows scored."""
    train, test = data.split([0.8, 0.2], seed=7)
    model = pipeline.fit(train)
    metrics = model.evaluate(test, evaluator)  # type: ignore[arg-type]
    model.save(folder / "model")
    again = ps.PipelineModel.load(folder / "model")
    again.transform(test).write_parquet(folder / "scored")
    written = engine.read_parquet(folder / "scored")
    assert written.count() == test.count()
    return next(iter(metrics.values())), written.to_pandas()


CHURN_NUMBERS = ["SeniorCitizen", "tenure", "MonthlyCharges", "TotalCharges"]


def read_churn(engine: Engine, folder: Path) -> Dataset:
    return engine.read_csv(folder / "churn.csv", null_values=["", " "])


def with_numeric_label(data: Dataset) -> Dataset:
    def churned(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(Churn=(frame["Churn"] == "Yes").astype("int8"))

    kinds = {field.name: field.type for field in data.schema}
    return data.map_partitions(churned, {**kinds, "Churn": "int8"}, frame="pandas")


def test_churn_is_learned_and_scored(engine: Engine, real_data: Path, tmp_path: Path) -> None:
    data = with_numeric_label(read_churn(engine, real_data))
    names = [field.name for field in data.schema if str(field.type) == "string"]
    categories = [name for name in names if name != "customerID"]
    pipeline = ps.Pipeline(
        st.Imputer(CHURN_NUMBERS, strategy="median"),
        st.StandardScaler(CHURN_NUMBERS),
        st.StringIndexer(categories),
        st.XGBoostClassifier("Churn", features=[*CHURN_NUMBERS, *categories], num_boost_round=12, max_depth=3),
    )
    auc, scored = through(engine, pipeline, data, st.BinaryClassificationEvaluator(label="Churn"), tmp_path)
    assert auc == pytest.approx(roc_auc_score(scored["Churn"], scored["rawPrediction"]), rel=1e-12)
    assert auc > 0.82


def test_blank_total_charges_of_churn_are_null_or_break_a_declared_number(local: Engine, real_data: Path) -> None:
    assert read_churn(local, real_data).to_pandas()["TotalCharges"].isna().sum() == 11
    columns = dict.fromkeys(pd.read_csv(real_data / "churn.csv", nrows=0).columns, "string")
    with pytest.raises(SchemaDriftError, match=r"TotalCharges.*' '|' '.*TotalCharges") as caught:
        local.read_csv(real_data / "churn.csv", schema={**columns, "TotalCharges": "float64"}).count()
    assert caught.value.column == "TotalCharges"
