"""Clicks on advertisements: 13 counts and 26 categories in Criteo's schema, and a boosted classifier."""

from __future__ import annotations

import pyarrow as pa
from pydantic import BaseModel, Field

import penstock as ps
from penstock import stages as st
from penstock.stages.evaluation import Evaluator

COUNTS = [f"I{number}" for number in range(1, 14)]
CATEGORIES = [f"C{number}" for number in range(1, 27)]
SCHEMA = pa.schema(
    [("label", pa.int32())] + [(name, pa.int32()) for name in COUNTS] + [(name, pa.string()) for name in CATEGORIES]
)


class Parameters(BaseModel, extra="forbid"):
    """What `conf/pipelines/clicks.yaml` and ``--set`` can change."""

    label: str = "label"
    min_frequency: int = Field(default=15, ge=1)
    num_boost_round: int = Field(default=100, ge=1)
    max_depth: int = Field(default=6, ge=1)
    learning_rate: float = Field(default=0.1, gt=0)
    early_stopping_rounds: int | None = Field(default=None, ge=1)
    seed: int = 0


def build(parameters: Parameters) -> ps.Pipeline:
    """Return the pipeline; its raw rows have the columns of `SCHEMA`, and for scoring no label."""
    return ps.Pipeline(
        st.Clip(COUNTS, lower=0),
        st.Imputer(COUNTS, strategy="mean"),
        st.Log1p(COUNTS),
        st.StandardScaler(COUNTS),
        st.StringIndexer(CATEGORIES, min_frequency=parameters.min_frequency),
        st.XGBoostClassifier(
            parameters.label,
            features=COUNTS + CATEGORIES,
            num_boost_round=parameters.num_boost_round,
            max_depth=parameters.max_depth,
            learning_rate=parameters.learning_rate,
            early_stopping_rounds=parameters.early_stopping_rounds,
            seed=parameters.seed,
        ),
    )


def evaluators(parameters: Parameters) -> list[Evaluator]:
    """Return what measures it."""
    return [st.BinaryClassificationEvaluator(label=parameters.label)]
