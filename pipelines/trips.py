"""Fares of taxi trips: dates, zones and the distance in the schema of New York's TLC, and a boosted regressor."""

from __future__ import annotations

import narwhals as nw
import pyarrow as pa
from pydantic import BaseModel, Field

import penstock as ps
from penstock import stages as st
from penstock.stages.evaluation import Evaluator

PICKUP, DROPOFF, FARE = "tpep_pickup_datetime", "tpep_dropoff_datetime", "fare_amount"
REPORTED = ["passenger_count", "trip_distance", "RatecodeID"]
ZONES = ["PULocationID", "DOLocationID"]
FEATURES = [*REPORTED, *ZONES, f"{PICKUP}_hour", f"{PICKUP}_weekday", "minutes"]
SCHEMA = pa.schema(
    [(name, pa.timestamp("us")) for name in (PICKUP, DROPOFF)]
    + [(name, pa.float64()) for name in (*REPORTED, FARE)]
    + [(name, pa.int64()) for name in ZONES]
)


class Parameters(BaseModel, extra="forbid"):
    """What `conf/pipelines/trips.yaml` and ``--set`` can change."""

    longest_hours: float = Field(default=6, gt=0)
    highest_fare: float = Field(default=500, gt=0)
    num_boost_round: int = Field(default=100, ge=1)
    max_depth: int = Field(default=6, ge=1)
    learning_rate: float = Field(default=0.1, gt=0)
    early_stopping_rounds: int | None = Field(default=None, ge=1)
    seed: int = 0


def prepare(dataset: ps.Dataset, parameters: Parameters) -> ps.Dataset:
    """Return the trips with a fare that can be learned; refunds have negative ones. Not used for scoring."""
    return dataset.filter((nw.col(FARE) > 0) & (nw.col(FARE) <= parameters.highest_fare))


def build(parameters: Parameters) -> ps.Pipeline:
    """Return the pipeline; trips that cannot be are set aside, also when a saved model scores raw rows."""
    possible = f"0 <= minutes <= {60 * parameters.longest_hours}"
    return ps.Pipeline(
        st.DateDifference(PICKUP, DROPOFF, unit="minutes", output_column="minutes"),
        st.Expect(possible, action="quarantine", name="drop-off after pick-up, and not much later"),
        st.DateParts(PICKUP, parts=("hour", "weekday")),
        st.Imputer(REPORTED, strategy="median"),
        st.XGBoostRegressor(
            FARE,
            features=FEATURES,
            num_boost_round=parameters.num_boost_round,
            max_depth=parameters.max_depth,
            learning_rate=parameters.learning_rate,
            early_stopping_rounds=parameters.early_stopping_rounds,
            seed=parameters.seed,
        ),
    )


def evaluators(parameters: Parameters) -> list[Evaluator]:
    """Return what measures it."""
    return [st.RegressionEvaluator(label=FARE)]
