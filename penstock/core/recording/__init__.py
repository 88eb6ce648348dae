"""What tasks take, measured where they run: a meter in each task, records that travel with its result, a recorder here.

Nothing is measured unless a recorder is active (`recording`), and no engine knows of it: what records is the function
that an engine is given.
"""

from penstock.core.recording.meter import PHASES, count, measure
from penstock.core.recording.recorder import Recorder, Span, active_recorder, note_event, note_output, recording, step
from penstock.core.recording.task_recording import RecordedTask, RecordedWork, TaskRecord

__all__ = [
    "PHASES",
    "RecordedTask",
    "RecordedWork",
    "Recorder",
    "Span",
    "TaskRecord",
    "active_recorder",
    "count",
    "measure",
    "note_event",
    "note_output",
    "recording",
    "step",
]
