"""Following a run: what begins and ends is appended to a file beside its record, which another process reads."""

from penstock.runs.watching.event_log import EVENTS, EventLog
from penstock.runs.watching.snapshot import RunProgress, Snapshot
from penstock.runs.watching.watcher import Watcher

__all__ = ["EVENTS", "EventLog", "RunProgress", "Snapshot", "Watcher"]
