"""What runs did, where and for how long: records of them, and what follows from records for runs to come."""

from penstock.runs.record import record
from penstock.runs.run import TASKS, Run
from penstock.runs.run_store import RunStore

__all__ = ["TASKS", "Run", "RunStore", "record"]
