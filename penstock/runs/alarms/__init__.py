"""Alarms of runs: what is recorded, or how it compares with runs before, beyond a threshold; and who is notified."""

from penstock.runs.alarms.alarm import Alarm, read_alarms
from penstock.runs.alarms.checking import AlarmResult, check_alarms, history_of, runs_before
from penstock.runs.alarms.raising import raise_alarms

__all__ = ["Alarm", "AlarmResult", "check_alarms", "history_of", "raise_alarms", "read_alarms", "runs_before"]
