"""The churn pipeline, on customers made up here and on the real ones where they lie beside the checkout."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from penstock.cli import jobs
from penstock.cli.project import load_pipeline
from penstock.cli.requests import FitRequest, ScoreRequest, TuneRequest
from penstock.cli.results import FitResult, TuneResult
from penstock.pipeline import PipelineModel

FOLDER = Path(__file__).parents[2] / "pipelines"


def customers(rows: int, seed: int) -> pd.DataFrame:
    """Return customers of whom those with short contracts and high charges leave."""
    rng = np.random.default_rng(seed)
    churn = load_pipeline("churn", FOLDER)
    assert churn.schema is not None
    answers = {name: rng.choice(["Yes", "No", "No internet service"], rows) for name in churn.schema.names}
    tenure, charges = rng.integers(0, 72, rows), rng.uniform(20, 120, rows).round(2)
    total = np.where(tenure == 0, " ", np.char.mod("%.2f", tenure * charges))
    leaves = rng.random(rows) < 1 / (1 + np.exp(0.1 * tenure - 0.05 * (charges - 40)))
    numbers = {"SeniorCitizen": rng.integers(0, 2, rows), "tenure": tenure, "MonthlyCharges": charges}
    table = pd.DataFrame({**answers, **numbers, "TotalCharges": total, "Churn": np.where(leaves, "Yes", "No")})
    return table.assign(customerID=[f"{seed}-{row}" for row in range(rows)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("churn")
    customers(1000, 1).to_csv(folder / "customers.csv", index=False)
    customers(300, 2).drop(columns="Churn").to_csv(folder / "new.csv", index=False)
    return folder


def fit(data: Path, out: Path) -> FitResult:
    few = ["num_boost_round=40"]
    return jobs.fit(
        FitRequest(
            pipeline="churn", data=[str(data)], out=out / "model", score=out / "scored", pipelines=FOLDER,
            engine="local", device="cpu", set=few, overwrite=True,
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def fitted(folder: Path) -> FitResult:
    return fit(folder / "customers.csv", folder)


@pytest.mark.thorough
def test_both_models_are_measured_side_by_side(fitted):
    assert fitted.metrics["logistic.areaUnderROC"] > 0.8  # the data is made by a logistic model
    assert fitted.metrics["boosted.areaUnderROC"] > 0.75


@pytest.mark.thorough
def test_blank_charges_are_null_and_then_imputed(folder, fitted):
    scored = pq.read_table(folder / "scored").to_pandas()
    new = scored[scored["customerID"].isin(_new_ones(folder))]
    assert len(new)
    assert new["TotalCharges"].nunique() == 1
    assert scored["TotalCharges"].notna().all()


def _new_ones(folder: Path) -> list[str]:
    raw = pd.read_csv(folder / "customers.csv")
    return list(raw.loc[raw["tenure"] == 0, "customerID"])


@pytest.mark.thorough
def test_customers_without_an_answer_are_scored(folder, fitted):
    result = jobs.score(
        ScoreRequest(
            model=fitted.model, pipeline="churn", data=[str(folder / "new.csv")], out=folder / "new", pipelines=FOLDER,
            engine="local", device="cpu",
        )
    )  # fmt: skip
    scored = pq.read_table(result.scored.path)
    assert scored.num_rows == 300
    assert not set(scored["prediction"].to_pylist()) - {0, 1}


@pytest.mark.thorough
def test_one_customer_is_scored_as_in_a_batch(folder, fitted):
    model = PipelineModel.load(fitted.model)
    scored = pq.read_table(folder / "scored").slice(0, 5).to_pylist()
    raw = pd.read_csv(folder / "customers.csv", keep_default_na=False).set_index("customerID")
    for row in scored:
        one = model.predict({**raw.loc[row["customerID"]].to_dict(), "customerID": row["customerID"]})
        assert one == {name: row[name] for name in one}


@pytest.mark.thorough
def test_real_customers_are_told_apart(real_data, tmp_path):
    metrics = fit(real_data / "churn.csv", tmp_path).metrics
    assert min(metrics["logistic.areaUnderROC"], metrics["boosted.areaUnderROC"]) > 0.81


def tune(data: Path, out: Path, **options: object) -> TuneResult:
    common = {"pipeline": "churn", "pipelines": FOLDER, "engine": "local", "device": "cpu"}
    return jobs.tune(TuneRequest(data=[str(data)], out=out / "tuned", **common, **options))


@pytest.mark.thorough
def test_its_search_runs_as_it_stands_in_its_file(folder, tmp_path):
    fixed = ["XGBoostClassifier.num_boost_round=10"]
    result = tune(folder / "customers.csv", tmp_path, trials=2, set=fixed)
    assert (result.trials, result.failed, result.metric) == (2, [], "boosted.areaUnderROC")
    assert result.best_score == pytest.approx(result.metrics["boosted.areaUnderROC"], abs=0.06)
