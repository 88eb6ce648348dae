"""The time of a run before it runs: what records of small runs say of any number of rows and workers."""

from penstock.runs.scaling.expected import expected_time, expected_time_under_way
from penstock.runs.scaling.laws import Amdahl, UniversalScalability
from penstock.runs.scaling.model import ScaledRun, ScalingModel
from penstock.runs.scaling.observation import RunObservation
from penstock.runs.scaling.prediction import Prediction, SpanPrediction, TimeEstimate
from penstock.runs.scaling.samples import first_rows

__all__ = [
    "Amdahl",
    "Prediction",
    "RunObservation",
    "ScaledRun",
    "ScalingModel",
    "SpanPrediction",
    "TimeEstimate",
    "UniversalScalability",
    "expected_time",
    "expected_time_under_way",
    "first_rows",
]
