"""What runs did, where and for how long: records of them, and what follows from records for runs to come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from penstock.runs.alarms.alarm import Alarm as Alarm
    from penstock.runs.alarms.alarm import read_alarms as read_alarms
    from penstock.runs.alarms.checking import AlarmResult as AlarmResult
    from penstock.runs.alarms.checking import check_alarms as check_alarms
    from penstock.runs.alarms.checking import runs_before as runs_before
    from penstock.runs.alarms.raising import raise_alarms as raise_alarms
    from penstock.runs.analysis import ProcessTime as ProcessTime
    from penstock.runs.analysis import Remark as Remark
    from penstock.runs.analysis import SlotTime as SlotTime
    from penstock.runs.analysis import SpanTime as SpanTime
    from penstock.runs.analysis import find_notable as find_notable
    from penstock.runs.analysis import phase_seconds as phase_seconds
    from penstock.runs.analysis import process_time as process_time
    from penstock.runs.analysis import slot_times as slot_times
    from penstock.runs.analysis import slowest_tasks as slowest_tasks
    from penstock.runs.analysis import span_times as span_times
    from penstock.runs.comparison import Difference as Difference
    from penstock.runs.comparison import Ratio as Ratio
    from penstock.runs.comparison import RunComparison as RunComparison
    from penstock.runs.comparison import compare as compare
    from penstock.runs.cost import RunCost as RunCost
    from penstock.runs.cost import run_cost as run_cost
    from penstock.runs.energy.energy import Energy as Energy
    from penstock.runs.energy.energy import run_energy as run_energy
    from penstock.runs.placement.cluster_plan import ClusterPlan as ClusterPlan
    from penstock.runs.placement.machine_type import MachineType as MachineType
    from penstock.runs.placement.machine_type import read_machines as read_machines
    from penstock.runs.placement.planning import plan_cluster as plan_cluster
    from penstock.runs.run import TASKS as TASKS
    from penstock.runs.run import Run as Run
    from penstock.runs.run_recording import RunRecording as RunRecording
    from penstock.runs.run_recording import record as record
    from penstock.runs.run_store import RunStore as RunStore
    from penstock.runs.scaling.laws import Amdahl as Amdahl
    from penstock.runs.scaling.laws import UniversalScalability as UniversalScalability
    from penstock.runs.scaling.model import ScalingModel as ScalingModel
    from penstock.runs.scaling.prediction import Prediction as Prediction
    from penstock.runs.trace_events import chrome_trace as chrome_trace
    from penstock.runs.trace_events import write_chrome_trace as write_chrome_trace

__getattr__, __dir__, __all__ = lazy_imports(__name__)
