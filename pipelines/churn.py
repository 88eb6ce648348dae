"""Customers of a telephone company who leave: a logistic regression against boosted trees, on the same columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pydantic import BaseModel, Field

import penstock as ps
from penstock import stages as st
from penstock.stages.evaluation import Evaluator

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = ["tenure", "MonthlyCharges", "TotalCharges"]
FLAGS = ["SeniorCitizen"]
CATEGORIES = [
    "gender", "Partner", "Dependents", "PhoneService", "MultipleLines", "InternetService", "OnlineSecurity",
    "OnlineBackup", "DeviceProtection", "TechSupport", "StreamingTV", "StreamingMovies", "Contract",
    "PaperlessBilling", "PaymentMethod",
]  # fmt: skip
ANSWER, LABEL = "Churn", "churned"
SCHEMA = pa.schema(
    [("customerID", pa.string()), ("SeniorCitizen", pa.int64()), ("tenure", pa.int64())]
    + [("MonthlyCharges", pa.float64()), ("TotalCharges", pa.string()), (ANSWER, pa.string())]
    + [(name, pa.string()) for name in CATEGORIES]
)


@ps.register_function("churn: clean")
def clean(customers: pd.DataFrame) -> pd.DataFrame:
    """Return charges as numbers, which are blank for new customers, and answers without what only repeats another."""
    import pandas as pd

    answers = customers[CATEGORIES].replace({"No internet service": "No", "No phone service": "No"})
    return answers.assign(TotalCharges=pd.to_numeric(customers["TotalCharges"].str.strip(), errors="coerce"))


@ps.register_function("churn: answer")
def answer(customers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers as numbers; what is neither yes nor no is null."""
    import pandas as pd

    return pd.DataFrame({LABEL: customers[ANSWER].map({"Yes": 1, "No": 0})})


class Parameters(BaseModel, extra="forbid"):
    """What `conf/pipelines/churn.yaml` and ``--set`` can change."""

    reg_param: float = Field(default=0.001, ge=0)
    num_boost_round: int = Field(default=150, ge=1)
    max_depth: int = Field(default=3, ge=1)
    learning_rate: float = Field(default=0.05, gt=0)
    seed: int = 0


def prepare(dataset: ps.Dataset, parameters: Parameters) -> ps.Dataset:
    """Return the customers with 1 for those who left, and 0 for the others. Not used for scoring."""
    labelled = st.FunctionStage("churn: answer", ANSWER, {LABEL: "int8"}, frame="pandas")
    return ps.Pipeline(labelled).fit(dataset).transform(dataset)


def build(parameters: Parameters) -> ps.Pipeline:
    """Return the pipeline: cleaned with pandas, imputed, indexed, then learned twice."""
    features = [*NUMBERS, *FLAGS, *CATEGORIES]
    cleaned = {"TotalCharges": "float64", **dict.fromkeys(CATEGORIES, "string")}
    return ps.Pipeline(
        st.FunctionStage("churn: clean", ["TotalCharges", *CATEGORIES], cleaned, frame="pandas"),
        st.Imputer(NUMBERS, strategy="median"),
        st.StandardScaler(NUMBERS),
        st.StringIndexer(CATEGORIES),
        st.LogisticRegression(
            LABEL,
            features=features,
            reg_param=parameters.reg_param,
            raw_prediction="logistic_margin",
            probability="logistic_probability",
            prediction="logistic_prediction",
        ),
        st.XGBoostClassifier(
            LABEL,
            features=features,
            num_boost_round=parameters.num_boost_round,
            max_depth=parameters.max_depth,
            learning_rate=parameters.learning_rate,
            seed=parameters.seed,
        ),
    )


def evaluators(parameters: Parameters) -> dict[str, Evaluator]:
    """Return what measures them, side by side."""
    return {
        "logistic": st.BinaryClassificationEvaluator(
            label=LABEL, raw_prediction="logistic_margin", probability="logistic_probability"
        ),
        "boosted": st.BinaryClassificationEvaluator(label=LABEL),
    }
